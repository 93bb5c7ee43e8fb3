#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the examples of the documentation, so that they stay true.

In a Markdown file,

  ```mlir               is parsed and verified by oneflow-opt: a whole module
  ```sh                 is run, block after block, in a scratch folder that holds the
                        checkout's top-level entries, with the tools on PATH
  ```sh not-run="why"   is not; the reason is printed
  ```text output        is what the block before it printed, where ... stands for
                        anything, on one line or, alone on a line, for lines

and other blocks are text. Of the .td files, the ```mlir blocks that are whole modules
are parsed; those that use values or symbols from outside are counted.

Links to files of the checkout are followed, too. Exits with 1 if anything is wrong.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<path>[^)#\s]+)(?:#[^)]*)?\)")
TIMEOUT_S = 240


class Block:
    def __init__(self, file, line, info, text):
        self.file, self.line, self.text = file, line, text
        self.language, _, self.options = info.partition(" ")

    def where(self):
        return f"{self.file}:{self.line}"


def read_blocks(path, name):
    """The fenced blocks of a file, in order; `name` is what messages call it."""
    blocks, opened = [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = FENCE.match(line.rstrip("\n"))
            if fence and opened is None:
                opened = (number, fence["info"].strip(), len(fence["indent"]), [])
            elif fence and not fence["info"].strip():
                begin, info, _, lines = opened
                blocks.append(Block(name, begin, info, "".join(lines)))
                opened = None
            elif opened:
                opened[3].append(line[opened[2] :] if line.strip() else "\n")
    if opened:
        raise SystemExit(f"error: {name}:{opened[0]}: the block is not closed")
    return blocks


def output_pattern(text):
    """A regular expression for an output in which ... stands for anything."""
    lines = []
    for line in text.strip("\n").split("\n"):
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(r".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n")
    return re.compile("".join(lines) + r"\Z")


class Checker:
    def __init__(self, root, tools, python):
        self.root, self.tools = root, tools
        self.failures, self.counts = [], {"mlir": 0, "sh": 0, "output": 0, "links": 0, "fragments": 0}
        self.not_run = []
        self.environment = dict(
            os.environ,
            PATH=os.pathsep.join([tools, os.path.dirname(python), os.environ["PATH"]]),
            # mpirun's checks for root and for idle processors are for clusters.
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
        )

    def fail(self, where, message):
        self.failures.append(f"{where}: {message}")

    def parse(self, block):
        """Hands a block to oneflow-opt, which verifies what it parses."""
        self.counts["mlir"] += 1
        result = subprocess.run(
            [os.path.join(self.tools, "oneflow-opt"), "-", "-o", os.devnull],
            input=block.text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if result.returncode:
            self.fail(block.where(), "oneflow-opt refuses the example:\n" + result.stderr)

    def run(self, block, folder):
        """Runs a shell block; returns what it printed, None if it failed."""
        self.counts["sh"] += 1
        try:
            result = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.text],
                cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self.fail(block.where(), f"expected an end within {TIMEOUT_S} s")
            return None
        if result.returncode:
            self.fail(block.where(), f"exit status {result.returncode}:\n{result.stdout}")
            return None
        return result.stdout

    def check_markdown(self, name):
        path = os.path.join(self.root, name)
        with tempfile.TemporaryDirectory(prefix="oneflow-docs-") as folder:
            for entry in os.listdir(self.root):
                if not entry.startswith((".", "build")):
                    os.symlink(os.path.join(self.root, entry), os.path.join(folder, entry))
            printed = None
            for block in read_blocks(path, name):
                if block.language == "mlir":
                    self.parse(block)
                elif block.language == "sh":
                    reason = re.fullmatch(r'not-run="([^"]+)"', block.options)
                    printed = None
                    if reason:
                        self.not_run.append(f"{block.where()}: {reason[1]}")
                    elif block.options:
                        self.fail(block.where(), f"expected not-run=\"why\", got: {block.options}")
                    else:
                        printed = self.run(block, folder)
                elif block.language == "text" and block.options == "output" and printed is not None:
                    self.counts["output"] += 1
                    if not output_pattern(block.text).match(printed):
                        self.fail(block.where(), "the block above printed:\n" + printed)
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for link in LINK.finditer(line):
                    self.counts["links"] += 1
                    target = os.path.join(os.path.dirname(path), link["path"])
                    if not os.path.exists(target):
                        self.fail(f"{name}:{number}", f"links to a file that is not there: {link['path']}")

    def check_tablegen(self, name):
        for block in read_blocks(os.path.join(self.root, name), name):
            if block.language != "mlir":
                continue
            if self.is_fragment(block.text):
                self.counts["fragments"] += 1
            else:
                self.parse(block)

    @staticmethod
    def is_fragment(text):
        """Whether values or symbols are used that the text does not define."""
        code = re.sub(r"//[^\n]*", "", text)
        values = set(re.findall(r"%[\w.$-]+", code))
        defined = set()
        for line in code.split("\n"):
            results = re.match(r"\s*((?:%[\w.$-]+(?::\d+)?(?:\s*,\s*)?)+)\s*=", line)
            if results:
                defined |= set(re.findall(r"%[\w.$-]+", results[1]))
        defined |= set(re.findall(r"[(,]\s*(%[\w.$-]+): ", code))  # block arguments
        symbols = set(re.findall(r"@[\w.$-]+", code))
        declared = set(re.findall(r"(?:placement|variable|func|entry|chain|kernel|plan|register|program)\s+(?:private\s+)?(@[\w.$-]+)", code))
        return bool(values - defined or symbols - declared)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("files", nargs="*", help="relative to the root (default: README.md, docs/*.md and all .td files)")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--tools", required=True, help="folder of oneflow-opt and the others")
    options = parser.parse_args(argv)

    checker = Checker(options.root, os.path.abspath(options.tools), sys.executable)
    files = options.files
    if not files:
        docs = sorted(os.listdir(os.path.join(options.root, "docs")))
        files = ["README.md", *(f"docs/{name}" for name in docs if name.endswith(".md"))]
        for folder, _, names in os.walk(os.path.join(options.root, "include")):
            files += sorted(
                os.path.relpath(os.path.join(folder, name), options.root)
                for name in names if name.endswith(".td")
            )  # fmt: skip
    for name in files:
        check = checker.check_tablegen if name.endswith(".td") else checker.check_markdown
        check(name)
    counts = checker.counts
    print(
        f"{len(files)} files: {counts['mlir']} modules parsed, {counts['sh']} shell blocks run,"
        f" {counts['output']} outputs compared, {counts['links']} links followed,"
        f" {counts['fragments']} fragments in .td files not parsed"
    )
    for reason in checker.not_run:
        print(f"not run: {reason}")
    for failure in checker.failures:
        print(f"error: {failure}")
    return int(bool(checker.failures))


if __name__ == "__main__":
    sys.exit(main())
