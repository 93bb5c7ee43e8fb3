# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants violations and asks the checker for each of them."""

import check_layering
import pytest

LICENSE_LINE = "// " + check_layering.LICENSE + "\n"

# file, its text below the license line, and a part of the message (None: none).
CASES = [
    ("include/oneflow/Sbp/Rule.h", '#include "mlir/IR/Builders.h"', "Sbp may not include mlir/"),
    ("lib/Sbp/Rule.cpp", '#include "oneflow/Plan/Split.h"\n#include <vector>', None),
    ("lib/Sbp/Rule.cpp", '#include "oneflow/Plan/Container.h"', "Sbp may not include oneflow/Plan/"),
    ("lib/Runtime/Rank.cpp", "#include <llvm/ADT/SmallVector.h>", "Runtime may not include llvm/"),
    ("lib/Runtime/Rank.cpp", "#include <mpi.h>", "Runtime may not include mpi.h"),
    ("lib/Runtime/Transport/Mpi.cpp", "#include <mpi.h>\n#include <sys/mman.h>", None),
    ("include/oneflow/Plan/KernelAbi.h", "#include <stdint.h>", None),
    ("include/oneflow/Plan/KernelAbi.h", '#include "oneflow/Sbp/Sbp.h"', "Plan may not include"),
    ("lib/Dialect/OneFlow/IR/Ops.cpp", '#include "oneflow/Dialect/Comm/IR/Comm.h"', "may not include"),
    ("include/oneflow/Dialect/Comm/IR/CommOps.td", 'include "oneflow/Dialect/OneFlow/IR/A.td"', None),
    ("include/oneflow/Dialect/OneFlow/IR/A.td", 'include "oneflow/Dialect/Comm/IR/B.td"', "may not"),
    ("lib/Dialect/OneFlow/IR/Ops.cpp", '#include "oneflow/Dialect/OneFlow/Transforms/P.h"', "may not"),
    ("lib/Conversion/CommToActor/A.cpp", '#include "oneflow/Target/Cpu.h"', "may not include"),
    ("lib/Pipelines/Pipelines.cpp", '#include "oneflow/Target/Cpu.h"', None),
    ("tools/oneflow-run/main.cpp", '#include "oneflow/Pipelines/Pipelines.h"', "may not include"),
    ("tools/oneflow-new/main.cpp", "#include <vector>", "has no rule"),
    ("lib/Target/Plan/A.cpp", '#include "../../Sbp/Private.h"', "may not include"),
    ("test/unit/Any.cpp", '#include "oneflow/Pipelines/Pipelines.h"', None),
    ("lib/Sbp/SbpUtils.h", "", "a name that says nothing"),
    ("lib/Common/Rule.h", "", "a name that says nothing"),
    ("docs/a.md", "run /" + "home/someone/build", "folder of one machine"),
    ("docs/a.md", "see build/work/a and $HOME/work/b", None),
    ("docs/a.md", "from https://" + "pypi.org/simple", "package registry"),
    ("lib/Sbp/Rule.cpp", "// TO" + "DO: finish", "unfinished work"),
    ("lib/Sbp/Rule.cpp", "//\n" * check_layering.MAX_LINES, "expected at most 800 lines"),
]


def plant(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return check_layering.check(str(root))


@pytest.mark.parametrize("name, text, message", CASES)
def test_planted(tmp_path, name, text, message):
    violations = plant(tmp_path, name, LICENSE_LINE + text + "\n")
    if message is None:
        assert violations == []
    else:
        assert len(violations) == 1
        assert violations[0].startswith(name + ":")
        assert message in violations[0]


def test_license_line(tmp_path):
    (violation,) = plant(tmp_path, "lib/Sbp/Rule.cpp", "int x;\n")
    assert "expected the license line" in violation


def test_every_library_pattern_names_one_library():
    for header in ("vector", "mlir/IR/Value.h", "mpi.h", "zip.h", "sys/stat.h", "onnx-ml.pb.h"):
        matching = [n for n, p in check_layering.LIBRARIES.items() if check_layering.re.match(p, header)]
        assert len(matching) == 1, (header, matching)
