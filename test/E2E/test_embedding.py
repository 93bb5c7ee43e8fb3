# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A vocabulary split by rows is looked up and trained where it lies."""

import re

import numpy as np
import pytest

from runtime import RuntimeFailure, Session, compile_plan, execute, COMPILE

ROWS, COLUMNS, COUNT = 1001, 6, 40

MODEL = f"""
oneflow.variable @table : tensor<{ROWS}x{COLUMNS}xf64> {{trainable}}
func.func @main() {{
  %ids = oneflow.input "ids" : tensor<4x10xi64>
  %weight = oneflow.input "weight" : tensor<4x10x{COLUMNS}xf64>
  %table = oneflow.read @table : tensor<{ROWS}x{COLUMNS}xf64>
  %0 = oneflow.gather %table, %ids dim 0 : (tensor<{ROWS}x{COLUMNS}xf64>, tensor<4x10xi64>) -> tensor<4x10x{COLUMNS}xf64>
  %1 = oneflow.mul %0, %weight : (tensor<4x10x{COLUMNS}xf64>, tensor<4x10x{COLUMNS}xf64>) -> tensor<4x10x{COLUMNS}xf64>
  oneflow.output "y" %1 : tensor<4x10x{COLUMNS}xf64>
  return
}}
"""
TRAIN = ["--train", "--loss", "mean", "--optimizer", "sgd", "--momentum", "0",
         "--weight-decay", "0", "--learning-rate", "24"]


def options(ranks):
    return ["--mesh", f"tp={ranks}", "--sbp", "table=S(0)@tp"]


@pytest.fixture
def values():
    random = np.random.default_rng(3)
    ids = random.integers(-ROWS, ROWS, (4, 10))
    ids[1] = ids[0]  # gradients of one row meet
    ids[2, :4] = [0, -1, ROWS - 1, -ROWS]
    ids[3, :4] = [500, 501, 333, 334]  # about the cuts into two and three
    return {"ids": ids, "weight": random.standard_normal((4, 10, COLUMNS))}, \
        random.standard_normal((ROWS, COLUMNS))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_values_and_updates(tmp_path, values, ranks):
    inputs, table = values
    ids, weight = inputs["ids"], inputs["weight"]
    plan = compile_plan(MODEL, tmp_path / "p.ofp", *TRAIN, *options(ranks))
    with Session(plan) as session:
        session.set("table", table)
        np.testing.assert_array_equal(session.run("eval", inputs)["y"],
                                      table[ids] * weight)
        session.run("train", inputs)
        found = session.get("table")
    gradient = np.zeros_like(table)
    np.add.at(gradient, ids, weight / weight.size)
    # In the order of the indices, so to the last bit but for the optimizer's roundings.
    np.testing.assert_allclose(found, table - 24 * gradient, rtol=1e-14, atol=1e-15)
    untouched = np.setdiff1d(np.arange(ROWS), ids % ROWS)
    np.testing.assert_array_equal(found[untouched], table[untouched])


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_table_stays_where_it_is(tmp_path, ranks):
    source = tmp_path / "model.mlir"
    source.write_text(MODEL)
    spread = tmp_path / "spread.mlir"
    execute(COMPILE, source, "--emit", "spread", "-o", spread, *TRAIN, *options(ranks))
    text = spread.read_text()
    assert re.search(r"oneflow\.gather %.* sbp \(\[S\(0\)\], \[B\]\) -> \(\[P\(sum\)\]\)", text)
    assert re.search(r"oneflow\.gather_grad %.* sbp \(\[B\], \[B\]\) -> \(\[S\(0\)\]\)", text)
    boxed = re.findall(r"oneflow\.boxing .* : tensor<(.*)>", text)
    assert boxed and not [shape for shape in boxed if shape.startswith(str(ROWS))], boxed


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("index", [ROWS, -ROWS - 1, 2**62, -2**63])
@pytest.mark.parametrize("entry", ["eval", "train"])
def test_an_index_outside_is_an_error(tmp_path, values, ranks, index, entry):
    inputs, table = values
    inputs["ids"][2, 7] = index
    plan = compile_plan(MODEL, tmp_path / "p.ofp", *TRAIN, *options(ranks))
    with Session(plan) as session:
        session.set("table", table)
        with pytest.raises(RuntimeFailure):
            session.run(entry, inputs)
