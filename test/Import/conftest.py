# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs import-test on models that the tests make."""

import os
import subprocess

import pytest


class Importer:
    def __init__(self, folder):
        self.folder = folder

    def save(self, model, name="model.onnx"):
        path = self.folder / name
        path.write_bytes(model if isinstance(model, bytes)
                         else model.SerializeToString())
        return path

    def run(self, model, *arguments):
        """Runs the importer in the model's folder; the result of subprocess.run."""
        path = model if isinstance(model, os.PathLike) else self.save(model)
        return subprocess.run(
            [os.environ["IMPORT_TEST"], path.name, *map(str, arguments)],
            cwd=path.parent, capture_output=True, text=True, timeout=300)

    def check(self, model, expected, *arguments):
        """Imports and lets FileCheck compare the module with `expected`."""
        result = self.run(model, *arguments)
        assert result.returncode == 0, result.stderr
        checks = self.folder / "expected"
        checks.write_text(expected)
        compared = subprocess.run([os.environ["FILECHECK"], str(checks)],
                                  input=result.stdout, capture_output=True, text=True)
        assert compared.returncode == 0, compared.stderr

    def error(self, model, *arguments):
        """The message of an import that must fail."""
        result = self.run(model, *arguments)
        assert result.returncode == 1, (result.returncode, result.stdout, result.stderr)
        return result.stderr


@pytest.fixture
def importer(tmp_path):
    return Importer(tmp_path)
