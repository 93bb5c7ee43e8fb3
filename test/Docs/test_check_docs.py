# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examples that are wrong, and whether the checker says so."""

import check_docs
import pytest

# A stand-in for oneflow-opt that refuses whatever says "bad".
STAND_IN = "#!/bin/sh\n! grep -q bad\n"

# document, the messages expected of it (a part of each, in order).
CASES = {
    "module": ("```mlir\nmodule {}\n```\n", []),
    "wrong module": ("```mlir\nbad\n```\n", ["a.md:1: oneflow-opt refuses"]),
    "command": ("```sh\necho hello > b\n```\n\n```sh\ntest -e b && test -e README.md\n```\n", []),
    "failing command": ("text\n```sh\nfalse; true\n```\n", ["a.md:2: exit status 1"]),
    "failing pipe": ("```sh\nfalse | cat\n```\n", ["exit status"]),
    "not run": ('```sh not-run="needs a cluster"\nfalse\n```\n', []),
    "no reason": ("```sh not-run\nfalse\n```\n", ["expected not-run"]),
    "output": ("```sh\necho loss 0.25\necho b\n```\n```text output\nloss ...\nb\n```\n", []),
    "any lines": ("```sh\nseq 5\n```\n```text output\n1\n...\n5\n```\n", []),
    "other output": ("```sh\necho a\n```\n```text output\nb\n```\n", ["a.md:4: the block above printed"]),
    "more output": ("```sh\nseq 2\n```\n```text output\n1\n```\n", ["the block above printed"]),
    "text": ("```text\nanything\n```\n", []),
    "links": ("[a](README.md) [b](https://example.org/) [c](#part) [d](none.md)\n", ["a.md:1: links to"]),
}


@pytest.fixture
def checker(tmp_path):
    root, tools = tmp_path / "root", tmp_path / "tools"
    root.mkdir()
    tools.mkdir()
    (root / "README.md").write_text("")
    (tools / "oneflow-opt").write_text(STAND_IN)
    (tools / "oneflow-opt").chmod(0o755)
    return check_docs.Checker(str(root), str(tools), "python3")


@pytest.mark.parametrize("case", CASES)
def test_document(checker, case):
    text, expected = CASES[case]
    with open(f"{checker.root}/a.md", "w", encoding="utf-8") as file:
        file.write(text)
    checker.check_markdown("a.md")
    assert len(checker.failures) == len(expected), checker.failures
    for failure, part in zip(checker.failures, expected):
        assert part in failure


def test_reasons_are_reported(checker):
    with open(f"{checker.root}/a.md", "w", encoding="utf-8") as file:
        file.write(CASES["not run"][0])
    checker.check_markdown("a.md")
    assert checker.not_run == ["a.md:1: needs a cluster"]


@pytest.mark.parametrize(
    "text, fragment",
    [
        ("oneflow.placement @mesh cpu [dp = 2]", False),
        ("func.func @f(%x: tensor<f32>) {\n%0 = oneflow.relu %x : tensor<f32>\n}", False),
        ("%0, %1 = a.b\nc.d %0, %1 : i32, i32", False),
        ('oneflow.output "loss" %loss : tensor<f32>', True),
        ("oneflow.variable @m on @mesh : tensor<4xf32>", True),
    ],
)
def test_fragments(text, fragment):
    assert check_docs.Checker.is_fragment(text) == fragment
