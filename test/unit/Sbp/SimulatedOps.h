//===- SimulatedOps.h - ops to try signatures on ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule and a reference implementation for each of a few ops. The
// implementation sees local tensors only and knows nothing of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_SBP_SIMULATEDOPS_H
#define ONEFLOW_TEST_UNIT_SBP_SIMULATEDOPS_H

#include "Simulate.h"
#include "oneflow/Sbp/Rule.h"

#include <string>

namespace oneflow::sbp::test {

struct SimulatedOp {
  std::string name;
  OpRule rule;
  std::vector<Shape> operands;
  std::vector<Shape> results;
  /// Operands and result shapes to results; nullopt when the shapes do not fit.
  std::function<std::optional<std::vector<Tensor>>(const std::vector<Tensor> &,
                                                   const std::vector<Shape> &)>
      evaluate;
};

using Scalar = std::function<double(const std::vector<double> &)>;

/// A pointwise op with NumPy's broadcasting; its factors are the dimensions of
/// the result.
inline SimulatedOp pointwise(std::string name, std::vector<Shape> operands,
                             Scalar scalar, std::vector<PartialRule> partials) {
  SimulatedOp op;
  op.name = std::move(name);
  op.operands = std::move(operands);
  Shape result;
  for (const Shape &operand : op.operands)
    result.resize(std::max(result.size(), operand.size()), 1);
  for (const Shape &operand : op.operands)
    for (size_t i = 0; i < operand.size(); ++i) {
      int64_t &extent = result[result.size() - operand.size() + i];
      extent = std::max(extent, operand[i]);
    }
  op.results = {result};
  TensorFactors factors;
  for (size_t dim = 0; dim < result.size(); ++dim)
    factors.push_back(
        {op.rule.addFactor("d" + std::to_string(dim), result[dim])});
  op.rule.results = {factors};
  for (const Shape &operand : op.operands) {
    TensorFactors own;
    for (size_t i = 0; i < operand.size(); ++i) {
      size_t dim = result.size() - operand.size() + i;
      own.push_back(operand[i] == result[dim] ? factors[dim] : DimFactors());
    }
    op.rule.operands.push_back(own);
  }
  op.rule.partials = std::move(partials);

  op.evaluate = [scalar](const std::vector<Tensor> &inputs,
                         const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    Tensor output(shapes[0]);
    for (const Tensor &input : inputs)
      for (size_t i = 0; i < input.shape.size(); ++i) {
        size_t dim = output.shape.size() - input.shape.size() + i;
        if (input.shape[i] != 1 && input.shape[i] != output.shape[dim])
          return std::nullopt;
      }
    forEachIndex(wholeBox(output.shape), [&](const Index &index) {
      std::vector<double> values;
      for (const Tensor &input : inputs) {
        Index own(index.end() - static_cast<long>(input.shape.size()),
                  index.end());
        for (size_t i = 0; i < own.size(); ++i)
          own[i] = input.shape[i] == 1 ? 0 : own[i];
        values.push_back(input.values[flatten(own, wholeBox(input.shape))]);
      }
      output.values[flatten(index, wholeBox(output.shape))] = scalar(values);
    });
    return std::vector<Tensor>{output};
  };
  return op;
}

inline SimulatedOp add(Shape a, Shape b, std::string name = "add") {
  return pointwise(std::move(name), {a, b},
                   [](const std::vector<double> &v) { return v[0] + v[1]; },
                   {{{0, 1}, Reducer::Sum, Reducer::Sum}});
}

inline SimulatedOp mul(Shape a, Shape b) {
  return pointwise("mul", {a, b},
                   [](const std::vector<double> &v) { return v[0] * v[1]; },
                   {{{0}, Reducer::Sum, Reducer::Sum},
                    {{1}, Reducer::Sum, Reducer::Sum},
                    {{0, 1}, Reducer::Prod, Reducer::Prod}});
}

/// (b m k), (b k n) -> (b m n), or without b.
inline SimulatedOp batchedMatmul(int64_t b, int64_t m, int64_t k, int64_t n,
                                 bool batched = true) {
  SimulatedOp op;
  op.name = batched ? "batched matmul" : "matmul";
  OpRule &rule = op.rule;
  TensorFactors batch;
  Shape batchShape;
  if (batched) {
    batch.push_back({rule.addFactor("b", b)});
    batchShape.push_back(b);
  }
  unsigned fm = rule.addFactor("m", m), fn = rule.addFactor("n", n);
  unsigned fk = rule.addFactor("k", k, Factor::Role::Reduced, Reducer::Sum);
  auto with = [](auto prefix, auto rows, auto columns) {
    prefix.push_back(rows);
    prefix.push_back(columns);
    return prefix;
  };
  rule.operands = {with(batch, DimFactors{fm}, DimFactors{fk}),
                   with(batch, DimFactors{fk}, DimFactors{fn})};
  rule.results = {with(batch, DimFactors{fm}, DimFactors{fn})};
  rule.partials = {{{0}, Reducer::Sum, Reducer::Sum},
                   {{1}, Reducer::Sum, Reducer::Sum}};
  op.operands = {with(batchShape, m, k), with(batchShape, k, n)};
  op.results = {with(batchShape, m, n)};
  op.evaluate = [](const std::vector<Tensor> &inputs,
                   const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    const Shape &a = inputs[0].shape, &b = inputs[1].shape;
    size_t rank = a.size();
    Shape expected = a;
    expected[rank - 1] = b[rank - 1];
    if (a[rank - 1] != b[rank - 2] || a[0] * (rank - 2) != b[0] * (rank - 2) ||
        shapes[0] != expected)
      return std::nullopt;
    Tensor output(shapes[0]);
    forEachIndex(wholeBox(output.shape), [&](const Index &index) {
      double sum = 0;
      Index left = index, right = index;
      for (int64_t k = 0; k < a[rank - 1]; ++k) {
        left[rank - 1] = right[rank - 2] = k;
        sum += inputs[0].values[flatten(left, wholeBox(a))] *
               inputs[1].values[flatten(right, wholeBox(b))];
      }
      output.values[flatten(index, wholeBox(output.shape))] = sum;
    });
    return std::vector<Tensor>{output};
  };
  return op;
}

inline SimulatedOp matmul(int64_t m, int64_t k, int64_t n) {
  return batchedMatmul(1, m, k, n, false);
}

/// Reduces the columns of a matrix; with `squares`, those too are a result.
inline SimulatedOp reduceOp(std::string name, Reducer reducer, int64_t rows,
                            int64_t columns, bool squares = false) {
  SimulatedOp op;
  op.name = std::move(name);
  unsigned m = op.rule.addFactor("m", rows);
  unsigned k = op.rule.addFactor("k", columns, Factor::Role::Reduced, reducer);
  op.rule.operands = {{{m}, {k}}};
  op.rule.results = {{{m}}};
  op.operands = {{rows, columns}};
  op.results = {{rows}};
  if (squares) {
    op.rule.results.push_back({{m}, {k}});
    op.results.push_back({rows, columns});
  } else {
    op.rule.partials = {{{0}, reducer, reducer}};
  }
  op.evaluate = [reducer, squares](const std::vector<Tensor> &inputs,
                                   const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    const Shape &shape = inputs[0].shape;
    if (shapes[0] != Shape{shape[0]} || (squares && shapes[1] != shape))
      return std::nullopt;
    Tensor output(shapes[0]), square(shape);
    for (size_t i = 0; i < inputs[0].values.size(); ++i) {
      double value = inputs[0].values[i];
      square.values[i] = value * value;
      size_t row = i / static_cast<size_t>(shape[1]);
      output.values[row] = i % static_cast<size_t>(shape[1]) == 0
                               ? value
                               : reduce(reducer, output.values[row], value);
    }
    std::vector<Tensor> outputs{output};
    if (squares)
      outputs.push_back(square);
    return outputs;
  };
  return op;
}

inline SimulatedOp transpose(int64_t rows, int64_t columns) {
  SimulatedOp op;
  op.name = "transpose";
  unsigned m = op.rule.addFactor("m", rows),
           n = op.rule.addFactor("n", columns);
  op.rule.operands = {{{m}, {n}}};
  op.rule.results = {{{n}, {m}}};
  op.rule.partials = {{{0}, Reducer::Sum, Reducer::Sum}};
  op.operands = {{rows, columns}};
  op.results = {{columns, rows}};
  op.evaluate = [](const std::vector<Tensor> &inputs,
                   const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    const Shape &shape = inputs[0].shape;
    if (shapes[0] != Shape{shape[1], shape[0]})
      return std::nullopt;
    Tensor output(shapes[0]);
    forEachIndex(wholeBox(shape), [&](const Index &index) {
      output.values[flatten({index[1], index[0]}, wholeBox(output.shape))] =
          inputs[0].values[flatten(index, wholeBox(shape))];
    });
    return std::vector<Tensor>{output};
  };
  return op;
}

/// (h)(d) -> (h d), or back.
inline SimulatedOp flatten(std::string name, int64_t rows, int64_t columns,
                           bool back = false) {
  SimulatedOp op;
  op.name = std::move(name);
  unsigned h = op.rule.addFactor("h", rows),
           d = op.rule.addFactor("d", columns);
  op.rule.operands = {{{h}, {d}}};
  op.rule.results = {{{h, d}}};
  op.operands = {{rows, columns}};
  op.results = {{rows * columns}};
  if (back) {
    std::swap(op.rule.operands, op.rule.results);
    std::swap(op.operands, op.results);
  }
  op.rule.partials = {{{0}, Reducer::Sum, Reducer::Sum}};
  op.evaluate = [](const std::vector<Tensor> &inputs,
                   const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    Tensor output(shapes[0]);
    if (output.values.size() != inputs[0].values.size())
      return std::nullopt;
    output.values = inputs[0].values;
    return std::vector<Tensor>{output};
  };
  return op;
}

/// Two matrices side by side.
inline SimulatedOp concat(int64_t rows, int64_t left, int64_t right) {
  SimulatedOp op;
  op.name = "concat";
  unsigned m = op.rule.addFactor("m", rows);
  unsigned a = op.rule.addFactor("a", left, Factor::Role::Whole);
  unsigned b = op.rule.addFactor("b", right, Factor::Role::Whole);
  unsigned c = op.rule.addFactor("c", left + right, Factor::Role::Whole);
  op.rule.operands = {{{m}, {a}}, {{m}, {b}}};
  op.rule.results = {{{m}, {c}}};
  op.rule.partials = {{{0, 1}, Reducer::Sum, Reducer::Sum},
                      {{0, 1}, Reducer::Max, Reducer::Max}};
  op.operands = {{rows, left}, {rows, right}};
  op.results = {{rows, left + right}};
  op.evaluate = [](const std::vector<Tensor> &inputs,
                   const std::vector<Shape> &shapes)
      -> std::optional<std::vector<Tensor>> {
    const Shape &a = inputs[0].shape, &b = inputs[1].shape;
    if (a[0] != b[0] || shapes[0] != Shape{a[0], a[1] + b[1]})
      return std::nullopt;
    Tensor output(shapes[0]);
    forEachIndex(wholeBox(output.shape), [&](const Index &index) {
      bool first = index[1] < a[1];
      Index own{index[0], first ? index[1] : index[1] - a[1]};
      output.values[flatten(index, wholeBox(output.shape))] =
          inputs[first ? 0 : 1].values[flatten(own, wholeBox(first ? a : b))];
    });
    return std::vector<Tensor>{output};
  };
  return op;
}

inline std::vector<SimulatedOp> simulatedOps() {
  constexpr Reducer kSum = Reducer::Sum, kMax = Reducer::Max,
                    kMin = Reducer::Min;
  using Values = std::vector<double>;
  std::vector<SimulatedOp> ops{
      matmul(5, 4, 7),
      batchedMatmul(4, 3, 5, 3),
      add({4, 7}, {4, 7}),
      add({4, 7}, {4, 1}, "add column"),
      add({4, 7}, {7}, "bias add"),
      mul({4, 7}, {4, 7}),
      reduceOp("sum", kSum, 4, 7),
      reduceOp("reduce max", kMax, 4, 7),
      reduceOp("reduce min", kMin, 4, 7),
      reduceOp("reduce prod", Reducer::Prod, 4, 7),
      reduceOp("sum and square", kSum, 4, 7, true),
      transpose(4, 7),
      flatten("flatten", 5, 4),
      flatten("unflatten", 5, 4, true),
      concat(5, 3, 4),
  };
  ops.push_back(pointwise("sub", {{4, 7}, {4, 7}},
                          [](const Values &v) { return v[0] - v[1]; },
                          {{{0, 1}, kSum, kSum}}));
  ops.push_back(pointwise("relu", {{4, 7}},
                          [](const Values &v) { return std::max(v[0], 0.0); },
                          {{{0}, kMax, kMax}, {{0}, kMin, kMin}}));
  ops.push_back(
      pointwise("neg", {{4, 7}}, [](const Values &v) { return -v[0]; },
                {{{0}, kSum, kSum}, {{0}, kMax, kMin}, {{0}, kMin, kMax}}));
  ops.push_back(
      pointwise("max", {{4, 7}, {4, 7}},
                [](const Values &v) { return std::max(v[0], v[1]); },
                {{{0}, kMax, kMax}, {{1}, kMax, kMax}, {{0, 1}, kMax, kMax}}));
  ops.push_back(
      pointwise("where", {{4, 7}, {4, 7}, {4, 7}},
                [](const Values &v) { return v[0] > 0 ? v[1] : v[2]; },
                {{{1, 2}, kSum, kSum}, {{1, 2}, kMin, kMin}}));
  // Expanding a column: the result alone has the factor of the rows' extent.
  ops.push_back(pointwise("expand", {{4, 1}, {1, 7}},
                          [](const Values &v) { return v[0] + v[1]; },
                          {{{0, 1}, kSum, kSum}}));
  return ops;
}

} // namespace oneflow::sbp::test

#endif // ONEFLOW_TEST_UNIT_SBP_SIMULATEDOPS_H
