//===- FoldArithmetic.cpp - arithmetic on known elements ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are computed with in models: sizes are divided and multiplied.
// What is known is computed here, floats in double and rounded once, which for
// the four operations and the root gives the same bits as computing in f32, f16
// or bf16.
//
//===----------------------------------------------------------------------===//

#include "BroadcastIndex.h"
#include "Operators.h"
#include "TensorData.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

namespace {

enum class Arithmetic { Add, Sub, Mul, Div, Max, Min };

/// Wraps around; the divisor is not 0.
int64_t compute(Arithmetic op, int64_t a, int64_t b) {
  uint64_t x = a, y = b;
  switch (op) {
  case Arithmetic::Add:
    return x + y;
  case Arithmetic::Sub:
    return x - y;
  case Arithmetic::Mul:
    return x * y;
  case Arithmetic::Div:
    // The smallest integer over -1 traps.
    return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  case Arithmetic::Max:
    return std::max(a, b);
  case Arithmetic::Min:
    return std::min(a, b);
  }
  llvm_unreachable("all operations are handled");
}

double compute(Arithmetic op, double a, double b) {
  switch (op) {
  case Arithmetic::Add:
    return a + b;
  case Arithmetic::Sub:
    return a - b;
  case Arithmetic::Mul:
    return a * b;
  case Arithmetic::Div:
    return a / b;
  case Arithmetic::Max:
    return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
  case Arithmetic::Min:
    return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
  }
  llvm_unreachable("all operations are handled");
}

/// The result's shape; nothing where it is too large to compute.
FailureOr<std::optional<SmallVector<int64_t>>>
smallBroadcast(NodeImporter &node, ArrayRef<int64_t> lhs,
               ArrayRef<int64_t> rhs) {
  auto shape = node.broadcastShapes(lhs, rhs);
  if (failed(shape))
    return failure();
  if (*countElements(*shape) > kFoldLimit)
    return std::optional<SmallVector<int64_t>>();
  return std::optional(*shape);
}

FailureOr<bool> foldBinary(NodeImporter &node, Arithmetic op) {
  // One operand is its own maximum; more than two are rare on shapes.
  if (node.inputCount() != 2)
    return false;
  FailureOr<HostTensorRef> lhs = node.knownInput(0), rhs = node.knownInput(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  Type element = (*lhs)->elementType();
  if (element.isInteger(1) || element != (*rhs)->elementType())
    return false; // reported where ops are built
  auto shape = smallBroadcast(node, (*lhs)->shape(), (*rhs)->shape());
  if (failed(shape))
    return failure();
  if (!*shape)
    return false;
  HostTensor result =
      HostTensor::zeros(RankedTensorType::get(**shape, element));
  BroadcastIndex left((*lhs)->shape(), **shape),
      right((*rhs)->shape(), **shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (isa<FloatType>(element)) {
      result.setFloat(
          i, compute(op, (*lhs)->floatAt(left(i)), (*rhs)->floatAt(right(i))));
      continue;
    }
    int64_t divisor = (*rhs)->intAt(right(i));
    if (op == Arithmetic::Div && divisor == 0)
      return node.error() << "integer division by 0";
    result.setInt(i, compute(op, (*lhs)->intAt(left(i)), divisor));
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

/// A function of one operand; only on floats where `intOp` is null.
FailureOr<bool> foldUnary(NodeImporter &node, double (*floatOp)(double),
                          int64_t (*intOp)(int64_t)) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  if (failed(x))
    return failure();
  bool isFloat = isa<FloatType>((*x)->elementType());
  if ((*x)->elementType().isInteger(1) || (!isFloat && !intOp))
    return false;
  HostTensor result = HostTensor::zeros((*x)->type());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (isFloat)
      result.setFloat(i, floatOp((*x)->floatAt(i)));
    else
      result.setInt(i, intOp((*x)->intAt(i)));
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

} // namespace

FailureOr<bool> importer::foldAdd(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Add);
}
FailureOr<bool> importer::foldSub(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Sub);
}
FailureOr<bool> importer::foldMul(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Mul);
}
FailureOr<bool> importer::foldDiv(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Div);
}
FailureOr<bool> importer::foldMax(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Max);
}
FailureOr<bool> importer::foldMin(NodeImporter &node) {
  return foldBinary(node, Arithmetic::Min);
}
FailureOr<bool> importer::foldNeg(NodeImporter &node) {
  return foldUnary(
      node, [](double x) { return -x; },
      [](int64_t x) {
        return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
      });
}
FailureOr<bool> importer::foldSqrt(NodeImporter &node) {
  return foldUnary(node, [](double x) { return std::sqrt(x); }, nullptr);
}

FailureOr<bool> importer::foldCast(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  FailureOr<Type> read = readCastType(node);
  if (failed(x) || failed(read))
    return failure();
  Type element = *read;
  Type from = (*x)->elementType();
  HostTensor result =
      HostTensor::zeros(RankedTensorType::get((*x)->shape(), element));
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (isa<FloatType>(element)) {
      result.setFloat(i, (*x)->floatAt(i));
    } else if (!isa<FloatType>(from)) {
      result.setInt(i, (*x)->intAt(i));
    } else if (element.isInteger(1)) {
      result.setInt(i, (*x)->floatAt(i) != 0);
    } else {
      // As oneflow.cast: truncates, saturates, and takes NaN to 0.
      double value = std::trunc((*x)->floatAt(i));
      unsigned bits = element.getIntOrFloatBitWidth();
      double limit = std::ldexp(1.0, bits - 1);
      int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
      result.setInt(i, std::isnan(value) ? 0
                       : value >= limit  ? largest
                       : value <= -limit ? -largest - 1
                                         : static_cast<int64_t>(value));
    }
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}
