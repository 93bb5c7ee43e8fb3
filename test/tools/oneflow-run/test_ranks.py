# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the processes of a launcher do apart: one prints and writes, all read."""

import pytest

TRAIN = [
    "train", "plan.ofp", "--data", "train.npz", "--validation", "test.npz", "--trace", "t.json",
    "--save", "w.safetensors", "--loss-log", "l.csv",
]  # fmt: skip


def launched(rank, size=2):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)}


def test_other_ranks_are_silent(work):
    out, err = work.run(*TRAIN, env=launched(1))
    assert (out, err) == ("", "")
    assert not work.path("w.safetensors").exists()
    assert not work.path("l.csv").exists()
    # A trace holds one process's events, so every process has its own.
    assert work.path("t.rank1.json").exists() and not work.path("t.json").exists()
    out, err = work.run(
        "infer", "plan.ofp", "--input", "test.npz", "--output", "y.npz", "--json", env=launched(1)
    )
    assert (out, err) == ("", "") and not work.path("y.npz").exists()


def test_the_first_rank_speaks(work):
    out, _ = work.run(*TRAIN, env=launched(0))
    assert "trained 12 steps" in out
    for name in ("w.safetensors", "l.csv", "t.json"):
        assert work.path(name).exists()


@pytest.mark.parametrize("env", [launched(1, size=1), {}])
def test_one_process_is_local(work, env):
    # Not "mpi", so the rank that the launcher told does not count.
    out, _ = work.run(*TRAIN, env=env)
    assert "trained 12 steps" in out
    assert work.path("w.safetensors").exists()
    work.run(*TRAIN, "--transport", "local", env=launched(1))
    assert work.path("t.json").exists() and not work.path("t.rank1.json").exists()


def test_errors_name_their_rank(work):
    words = ["infer", "plan.ofp", "--input", "none.npy"]
    assert "oneflow-run: rank 1: error: cannot open 'none.npy'" in work.run(
        *words, code=1, env=launched(1)
    )[1]
    assert work.run("infer", "--nonsense", code=2, env=launched(1)) == ("", "")
