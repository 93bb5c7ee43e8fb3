# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts in tools/: their command lines, and the steps that they share."""

import os
import pty
import signal
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, "tools")
SCRIPTS = sorted(name for name in os.listdir(TOOLS) if name.endswith(".sh") and name != "steps.sh")


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script):
    result = run(os.path.join(TOOLS, script), "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: tools/{script}")


@pytest.mark.parametrize("script", SCRIPTS)
def test_unknown_option(script):
    result = run(os.path.join(TOOLS, script), "--no-such-option")
    assert result.returncode == 2
    assert "usage:" in result.stderr


@pytest.mark.parametrize("name", [f"tools/{script}" for script in SCRIPTS] + [".ci/run"])
def test_runs_from_a_checkout(name):
    assert os.access(os.path.join(ROOT, name), os.X_OK)


def test_setup_reports_what_is_missing(tmp_path):
    """In a checkout without an environment, --check says so and changes nothing."""
    for folder, name in (("tools", "setup.sh"), ("python", "requirements.txt")):
        (tmp_path / folder).mkdir()
        os.symlink(os.path.join(ROOT, folder, name), tmp_path / folder / name)
    result = run(
        "bash", str(tmp_path / "tools/setup.sh"), "--check",
        env=dict(os.environ, ONEFLOW_SKIP_PACKAGES="1"),
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stdout == "setup: missing: .venv\n"
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def steps(tmp_path):
    """Writes a script of steps, runs it and returns the result."""

    def write(text):
        path = tmp_path / "script.sh"
        path.write_text(
            f"set -euo pipefail\nsource {TOOLS}/steps.sh\nsteps_begin 2 {tmp_path}/logs\n{text}"
        )
        return ["bash", str(path)]

    return write


def test_steps_hide_output(steps, tmp_path):
    result = run(*steps('step "say it" echo loud\nstep "again" true\n'))
    assert result.returncode == 0
    assert "[1/2] say it: done in 0:0" in result.stdout
    assert "[2/2] again: done in" in result.stdout
    assert "loud" not in result.stdout
    assert (tmp_path / "logs/01-say-it.log").read_text() == "loud\n"


def test_steps_on_a_terminal(steps):
    """One line that is written over, also while the log is still empty."""
    script = steps('step "wait" sleep 0.5\nstep "say it" sh -c "echo loud; sleep 0.5"\n')
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("CI", None)
    with subprocess.Popen(script, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        output = b""
        try:
            while chunk := os.read(controller, 4096):
                output += chunk
        except OSError:  # how a terminal ends
            pass
    os.close(controller)
    assert process.returncode == 0
    assert b"\r\x1b[K[2/2] say it  0:0" in output
    assert b"  loud" in output
    assert output.count(b"\n") == 2


def test_failing_step_shows_its_log(steps, tmp_path):
    result = run(*steps('f() { echo clue; false; echo not reached; }\nstep "one" f\nstep "two" true\n'))
    assert result.returncode == 1
    assert "clue\n" in result.stderr
    assert f"all of its output is in {tmp_path}/logs/01-one.log" in result.stderr
    assert "not reached" not in result.stderr
    assert "[2/2]" not in result.stdout


def test_interrupting_ends_what_a_step_started(steps, tmp_path):
    pid_file = tmp_path / "pid"
    script = steps(f'step "sleep" bash -c "sleep 60 & echo \\$! > {pid_file}; wait"\n')
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = time.monotonic() + 20
        while not (pid_file.exists() and pid_file.read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted during: sleep" in output
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(pid_file.read_text()), 0)
            time.sleep(0.05)
