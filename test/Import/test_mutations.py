# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged models are refused or imported; none crashes or hangs the importer."""

import os
import random
import subprocess

import numpy as np
import pytest
from onnx import TensorProto

from cases import CASES

NUMBERS = [0, 1, -1, 2, 3, 64, 65536, 2 ** 31, 2 ** 40, 2 ** 63 - 1, -2 ** 63]


def damage(model, choose):
    """Changes one part of a model, by structure."""
    graph = model.graph
    nodes, weights = list(graph.node), list(graph.initializer)
    integers = [weight for weight in weights
                if weight.data_type == TensorProto.INT64 and
                len(weight.raw_data) % 8 == 0 and weight.raw_data]
    attributes = [each for node in nodes for each in node.attribute]
    names = [info.name for info in graph.input] + [weight.name for weight in weights] + \
        [name for node in nodes for name in node.output] + ["", "nothing"]
    kind = choose.randrange(9)
    if kind == 0 and integers:
        weight = choose.choice(integers)
        values = np.frombuffer(weight.raw_data, np.int64).copy()
        values[choose.randrange(len(values))] = choose.choice(NUMBERS)
        weight.raw_data = values.tobytes()
    elif kind == 1 and weights:
        weight = choose.choice(weights)
        weight.dims[:] = [choose.choice(NUMBERS) for _ in range(choose.randrange(4))]
    elif kind == 2 and weights:
        choose.choice(weights).data_type = choose.randrange(26)
    elif kind == 3 and attributes:
        attribute = choose.choice(attributes)
        attribute.i = choose.choice(NUMBERS)
        if attribute.ints:
            attribute.ints[choose.randrange(len(attribute.ints))] = \
                choose.choice(NUMBERS)
    elif kind == 4 and attributes:
        choose.choice(attributes).type = choose.randrange(1, 15)
    elif kind == 5:
        node = choose.choice(nodes)
        if node.input:
            node.input[choose.randrange(len(node.input))] = choose.choice(names)
    elif kind == 6:
        node = choose.choice(nodes)
        node.op_type = choose.choice(choose.choice(CASES)().model.graph.node).op_type
    elif kind == 7 and graph.input:
        tensor = choose.choice(graph.input).type.tensor_type
        if tensor.shape.dim:
            choose.choice(tensor.shape.dim).dim_value = choose.choice(NUMBERS)
    else:
        model.opset_import[0].version = choose.randrange(7, 29)


@pytest.mark.parametrize("start", range(4))
def test_damaged(importer, start):
    choose = random.Random(start)
    models = []
    for build in CASES[start::4]:
        case = build()
        models.append(importer.save(case.model, f"{case.name}.onnx"))
        for index in range(10):
            model = type(case.model)()
            model.CopyFrom(case.model)
            for _ in range(choose.randrange(1, 4)):
                damage(model, choose)
            models.append(importer.save(model, f"{case.name}.{index}.onnx"))
    result = subprocess.run([os.environ["IMPORT_TEST"], *models, "--survive", "10"],
                            capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, (result.returncode, result.stderr[-2000:])
    # The undamaged ones at least.
    assert int(result.stdout) >= len(models) // 11
