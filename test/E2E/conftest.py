# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases that are known to fail, so that the others can be held to their word.

known_failures.txt has one line per case: its name, a tab, the reason. A case that fails
and is not listed fails the test; so does one that is listed and passes.
"""

import pathlib

import pytest

LIST = pathlib.Path(__file__).with_name("known_failures.txt")


class KnownFailures:
    def __init__(self):
        self.reasons = {}
        for line in LIST.read_text().splitlines():
            if line and not line.startswith("#"):
                name, reason = line.split("\t")
                self.reasons[name] = reason
        self.seen = set()

    def check(self, prefix, failed):
        """`failed` are names below `prefix`, of a test that ran all of them."""
        failed = {prefix + name for name in failed}
        known = {name for name in self.reasons if name.startswith(prefix)}
        self.seen |= failed & known
        assert not failed - known, (
            f"{len(failed - known)} cases fail: {sorted(failed - known)[:20]}")
        assert not known - failed, f"listed as failing, but pass: {sorted(known - failed)}"


FAILURES = KnownFailures()


@pytest.fixture
def known_failures():
    return FAILURES


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(
        f"known failures: {len(FAILURES.reasons)} listed, {len(FAILURES.seen)} seen here")
    for name in sorted(FAILURES.seen):
        terminalreporter.write_line(f"  {name}: {FAILURES.reasons[name]}")
