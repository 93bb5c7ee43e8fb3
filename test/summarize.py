#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sum up ctest runs: counts, the slowest tests, and skips with their reasons.

Reads the JUnit files that `ctest --output-junit` writes. A skip may be a whole test or
a case inside one (pytest, GoogleTest, lit). Exits with 1 when a test failed or a skip
is not explained in the file of skips; closes with "tests: N passed, N failed".
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree

# How the runners inside a test report the cases they ran and those they skipped.
INNER_SKIPS = (
    re.compile(r"^SKIPPED \[\d+\] (?P<name>.+)$", re.M),  # pytest -rs
    re.compile(r"^\[  SKIPPED \] (?P<name>\S+\.\S+) \(", re.M),  # GoogleTest
    re.compile(r"^UNSUPPORTED: (?P<name>.+) \(\d+ of \d+\)$", re.M),  # lit
)
INNER_COUNTS = (
    re.compile(r"^=* ?(?:\d+ \w+, )*(\d+) passed", re.M),  # pytest
    re.compile(r"^ +Passed *: (\d+)", re.M),  # lit
)


class Summary:
    def __init__(self):
        self.passed, self.failed, self.skips, self.times, self.cases = 0, [], [], [], 0

    def read(self, path):
        """Adds the tests of one JUnit file."""
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name, status = case.get("name"), case.get("status")
            output = case.findtext("system-out") or ""
            self.times.append((float(case.get("time") or 0), name))
            if case.find("failure") is not None or status == "fail":
                self.failed.append(name)
                continue
            if case.find("skipped") is not None or status in ("notrun", "disabled"):
                self.skips.append(name)
                continue
            self.passed += 1
            for pattern in INNER_SKIPS:
                self.skips += [f"{name}: {match['name']}" for match in pattern.finditer(output)]
            counts = [int(n) for pattern in INNER_COUNTS for n in pattern.findall(output)]
            self.cases += sum(counts) or 1


def read_skips(path):
    """Returns pairs of a compiled pattern and a reason."""
    explained = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = line.split(None, 1)
            if len(words) != 2:
                sys.exit(f"error: {path}:{number}: expected a pattern and a reason, got: {line}")
            explained.append((re.compile(words[0]), words[1]))
    return explained


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", help="files written by ctest --output-junit")
    parser.add_argument("--skips", required=True, help="file of explained skips")
    options = parser.parse_args(argv)

    summary, unexplained = Summary(), 0
    explained = read_skips(options.skips)
    for path in options.results:
        try:
            summary.read(path)
        except (OSError, ElementTree.ParseError) as error:
            summary.failed.append(f"{path}: {error}")
    print("slowest: " + ", ".join(f"{name} {time:.1f} s" for time, name in sorted(summary.times, reverse=True)[:5]))
    print(f"{len(summary.times)} tests hold {summary.cases} cases that passed")
    print(f"skipped: {len(summary.skips)}")
    for skip in summary.skips:
        reason = next((reason for pattern, reason in explained if pattern.search(skip)), None)
        unexplained += reason is None
        print(f"  {skip}: {reason or 'not explained in ' + options.skips}")
    for name in summary.failed:
        print(f"failed: {name}")
    print(f"tests: {summary.passed} passed, {len(summary.failed) + unexplained} failed")
    return int(bool(summary.failed or unexplained))


if __name__ == "__main__":
    sys.exit(main())
