# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test/summarize.py makes of ctest's results."""

import os
import subprocess
import sys

SUMMARIZE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "summarize.py")

# As ctest writes them.
PASSED = '<testcase name="A" time="1.5" status="run"><system-out>{}</system-out></testcase>'
FAILED = '<testcase name="B" time="2" status="fail"><failure message="Failed"/></testcase>'
SKIPPED = '<testcase name="C" time="0" status="notrun"><skipped message="SKIP"/></testcase>'


def summarize(tmp_path, cases, skips=""):
    (tmp_path / "tests.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    (tmp_path / "skips.txt").write_text(skips)
    result = subprocess.run(
        [sys.executable, SUMMARIZE, tmp_path / "tests.xml", "--skips", tmp_path / "skips.txt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return result.returncode, result.stdout


def test_all_passed(tmp_path):
    code, text = summarize(tmp_path, [PASSED.format("")] * 2)
    assert code == 0
    assert "skipped: 0\n" in text
    assert text.endswith("tests: 2 passed, 0 failed\n")


def test_failed(tmp_path):
    code, text = summarize(tmp_path, [PASSED.format(""), FAILED])
    assert code == 1
    assert "failed: B\n" in text
    assert text.endswith("tests: 1 passed, 1 failed\n")


def test_skips_need_a_reason(tmp_path):
    code, text = summarize(tmp_path, [SKIPPED])
    assert code == 1
    assert "C: not explained in" in text
    code, text = summarize(tmp_path, [SKIPPED], "# why\n^C$ needs a second machine\n")
    assert code == 0
    assert "  C: needs a second machine\n" in text
    assert text.endswith("tests: 0 passed, 0 failed\n")


def test_skips_inside_a_test(tmp_path):
    for line in (
        "SKIPPED [1] test_a.py:3: no reason",
        "[  SKIPPED ] Suite.case (0 ms)",
        "UNSUPPORTED: oneflow :: a.mlir (1 of 3)",
    ):
        code, text = summarize(tmp_path, [PASSED.format(line + "\n")])
        assert code == 1, line
        assert "skipped: 1\n" in text


def test_counts_cases(tmp_path):
    lit = "Testing Time: 1.00s\n\nTotal Discovered Tests: 4\n  Passed: 4 (100.00%)\n"
    pytest = "....  [100%]\n27 passed in 1.18s\n"
    mixed = "1 skipped, 5 passed in 1.18s\n"
    code, text = summarize(tmp_path, [PASSED.format(output) for output in (lit, pytest, mixed, "")])
    assert "4 tests hold 37 cases that passed\n" in text
    assert code == 0


def test_missing_results(tmp_path):
    (tmp_path / "skips.txt").write_text("")
    result = subprocess.run(
        [sys.executable, SUMMARIZE, "none.xml", "--skips", tmp_path / "skips.txt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stdout.endswith("tests: 0 passed, 1 failed\n")
