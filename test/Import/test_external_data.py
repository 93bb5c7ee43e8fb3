# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights stored beside the model, and only there."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper

from cases import make, node, rand

WEIGHT = np.array([1.5, -2.0, 0.25], np.float32)


def external(**entries):
    model = make(node("Add", "x w"), {"x": rand(2, 3)}, {"w": WEIGHT})
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        weight.external_data.add(key=key, value=str(value))
    return model


DENSE = """
CHECK: @w : tensor<3xf32> = dense<[1.500000e+00, -2.000000e+00, 2.500000e-01]>
"""


def test_whole_file(importer):
    (importer.folder / "w.bin").write_bytes(WEIGHT.tobytes())
    importer.check(external(location="w.bin"), DENSE)


def test_offset_and_length(importer):
    (importer.folder / "w.bin").write_bytes(b"abcde" + WEIGHT.tobytes() + b"xyz")
    importer.check(external(location="w.bin", offset=5, length=12, checksum="ignored"),
                   DENSE)


def test_folder_below(importer):
    (importer.folder / "data").mkdir()
    (importer.folder / "data" / "w.bin").write_bytes(WEIGHT.tobytes())
    importer.check(external(location="data/w.bin"), DENSE)


def test_as_onnx_saves(importer):
    model = make(node("Add", "x w"), {"x": rand(2, 3)}, {"w": WEIGHT})
    path = importer.folder / "saved.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0,
              location="saved.data")
    importer.check(path, DENSE)


def test_beyond_4_gib(importer):
    """A sparse file: the offset does not fit in 32 bits."""
    offset = 5 << 30
    with open(importer.folder / "w.bin", "wb") as file:
        file.seek(offset)
        file.write(WEIGHT.tobytes())
    importer.check(external(location="w.bin", offset=offset, length=12), DENSE)


@pytest.mark.parametrize("entries, message", [
    ({}, "initializer 'w': its external data has no location"),
    ({"location": "/etc/passwd"}, "the location must be relative to the model"),
    ({"location": "../w.bin"}, "the location must not have '..'"),
    ({"location": "data/../../w.bin"}, "the location must not have '..'"),
    ({"location": "missing.bin"}, "'missing.bin' cannot be read: No such file"),
    ({"location": "."}, "initializer 'w': external data in '.' "),
    ({"location": "folder"}, "is not a regular file"),
    ({"location": "pipe"}, "is not a regular file"),
    ({"location": "link_out"}, "it lies outside the model's folder"),
    ({"location": "linked/w.bin"}, "it lies outside the model's folder"),
    ({"location": "w.bin", "offset": -1}, "the offset of its external data is not a number"),
    ({"location": "w.bin", "length": "1e3"}, "the length of its external data is not a number"),
    ({"location": "w.bin", "length": 8}, "has length 8, the tensor needs 12 bytes"),
    ({"location": "w.bin", "offset": 1}, "ends at byte 12, the tensor needs 12 from byte 1"),
    ({"location": "w.bin", "offset": 2 ** 64 - 1}, "ends at byte 12"),
], ids=lambda value: "-".join(map(str, value.values())) or "none"
   if isinstance(value, dict) else "")
def test_refused(importer, tmp_path_factory, entries, message):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "w.bin").write_bytes(WEIGHT.tobytes())
    (importer.folder / "w.bin").write_bytes(WEIGHT.tobytes())
    (importer.folder / "folder").mkdir()
    os.mkfifo(importer.folder / "pipe")
    (importer.folder / "link_out").symlink_to(outside / "w.bin")
    (importer.folder / "linked").symlink_to(outside)
    assert message in importer.error(external(**entries))


def test_link_inside(importer):
    (importer.folder / "real.bin").write_bytes(WEIGHT.tobytes())
    (importer.folder / "w.bin").symlink_to("real.bin")
    importer.check(external(location="w.bin"), DENSE)
