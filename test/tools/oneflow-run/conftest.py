# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tool under test, and a small data set and plan for it to work on."""

import os
import subprocess

import numpy as np
import pytest

TOOL = os.environ["ONEFLOW_RUN"]
BATCH = 8


class Workplace:
    """A folder with train.npz, test.npz and a plan, in which the tool runs."""

    def __init__(self, folder):
        self.folder = folder
        random = np.random.default_rng(3)
        self.teacher = random.standard_normal((64, 10))
        self.train = self.samples(random, 100)
        self.test = self.samples(random, 37)
        np.savez(folder / "train.npz", **self.train)
        np.savez_compressed(folder / "test.npz", **self.test)
        self.plan()

    def samples(self, random, count):
        image = random.random((count, 1, 8, 8), np.float32)
        labels = np.argmax((image.reshape(count, 64) - 0.5) @ self.teacher, axis=1)
        return {"image": image, "labels": labels.astype(np.int64)}

    def plan(self, **keys):
        keys = {"batch": BATCH, "loss_output": "loss", **keys}
        lines = ["fake plan", *(f"{key}={value}" for key, value in keys.items())]
        (self.folder / "plan.ofp").write_text("\n".join(lines) + "\n")

    def path(self, name):
        return self.folder / name

    def start(self, *words, env=()):
        return subprocess.Popen(
            [TOOL, *map(str, words)],
            cwd=self.folder,
            env={**os.environ, **dict(env)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words, code=0, env=()):
        """Runs the tool and returns what it wrote to (stdout, stderr)."""
        process = self.start(*words, env=env)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, (process.returncode, out, err)
        return out, err


@pytest.fixture
def work(tmp_path):
    return Workplace(tmp_path)
