# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scripts that write models share: nodes named as exporters name them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DTYPES = {"f32": (np.float32, TensorProto.FLOAT), "f64": (np.float64, TensorProto.DOUBLE)}


class GraphBuilder:
    """Collects nodes and initializers with the names exporters give them."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.nodes = []
        self.initializers = []

    def node(self, op, inputs, scope, output=None, outputs=1, **attributes):
        """Adds a node `scope/op` and returns the name of its result, or of each."""
        name = f"{scope}/{op}"
        taken = sum(node.name.startswith(name) for node in self.nodes)
        if taken:
            name += f"_{taken}"
        names = [output] if output else [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, scope, dtype=None):
        array = np.asarray(value, dtype or self.dtype)
        return self.node("Constant", [], scope, value=numpy_helper.from_array(array))

    def initializer(self, name, array):
        self.initializers.append(numpy_helper.from_array(array.astype(self.dtype), name))
        return name
