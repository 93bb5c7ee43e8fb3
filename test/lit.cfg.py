# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text tests of the compiler: each .mlir file runs the commands on its RUN lines."""

import os

import lit.formats

config.name = "oneflow"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
# Samples, which the numeric tests run.
config.excludes = ["E2E"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.oneflow_build_root, "test")

config.environment["PATH"] = os.pathsep.join(
    [config.oneflow_tools_dir, config.environment["PATH"]]
)
# Distributions put a version into the name.
config.substitutions.append((r"\bFileCheck\b", config.filecheck))

# Not built without ONNX.
if os.path.exists(os.path.join(config.oneflow_tools_dir, "oneflow-compile")):
    config.available_features.add("oneflow-compile")
