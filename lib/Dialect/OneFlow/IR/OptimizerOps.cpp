//===- OptimizerOps.cpp - optimizer updates -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, rules and kernels of the ops that compute a parameter's next
// value.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace oneflow;

static LogicalResult verifyScalar(Operation *op, StringRef constraint,
                                  StringRef name, Value value) {
  if (cast<RankedTensorType>(value.getType()).getRank() != 0)
    return op->emitOpError() << constraint << ": expected a scalar " << name
                             << ", got: " << value.getType();
  return success();
}

namespace {
/// Float arithmetic on scalars in one type.
struct ScalarMath {
  OpBuilder &b;
  Location loc;
  Type type;

  Value wide(Value x) { return convertScalar(b, loc, x, type); }
  Value c(double value) { return floatScalar(b, loc, type, value); }
  Value add(Value l, Value r) { return arith::AddFOp::create(b, loc, l, r); }
  Value sub(Value l, Value r) { return arith::SubFOp::create(b, loc, l, r); }
  Value mul(Value l, Value r) { return arith::MulFOp::create(b, loc, l, r); }
  Value div(Value l, Value r) { return arith::DivFOp::create(b, loc, l, r); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
};
} // namespace

//===----------------------------------------------------------------------===//
// SgdUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult SgdUpdateOp::verify() {
  return verifyScalar(*this, "sgd_update_c1", "learning_rate",
                      getLearningRate());
}

sbp::OpRule SgdUpdateOp::getSbpRule() { return elementwiseRule(*this, {}); }

FailureOr<SmallVector<Value>> SgdUpdateOp::buildLocal(OpBuilder &b,
                                                      LocalView &view) {
  Type element = getElementTypeOrSelf(getParameter().getType());
  double momentum = getMomentum().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  return buildElementwiseResults(
      *this, b, view, [&](OpBuilder &body, Location loc, ValueRange v) {
        ScalarMath m{body, loc, accumulatorType(element)};
        Value p = m.wide(v[0]), gradient = m.wide(v[1]),
              velocity = m.wide(v[2]);
        if (decay != 0)
          gradient = m.add(gradient, m.mul(m.c(decay), p));
        if (momentum != 0)
          gradient = m.add(m.mul(m.c(momentum), velocity), gradient);
        Value next = m.sub(p, m.mul(m.wide(v[3]), gradient));
        return SmallVector<Value>{convertScalar(body, loc, next, element),
                                  convertScalar(body, loc, gradient, element)};
      });
}

//===----------------------------------------------------------------------===//
// AdamWUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult AdamWUpdateOp::verify() {
  if (failed(verifyScalar(*this, "adamw_update_c1", "step", getStep())))
    return failure();
  return verifyScalar(*this, "adamw_update_c1", "learning_rate",
                      getLearningRate());
}

sbp::OpRule AdamWUpdateOp::getSbpRule() { return elementwiseRule(*this, {}); }

/// 1 / (1 - beta^step) in f64, for an i64 step. The power is a product of
/// beta^(2^i) over the bits of the step: exact to a few ulps, where 1 -
/// exp(step·log(beta)) loses most of its digits in the first steps, and free of
/// library calls.
static Value inverseBiasCorrection(OpBuilder &b, Location loc, double beta,
                                   Value step) {
  ScalarMath m{b, loc, b.getF64Type()};
  Type i64 = b.getI64Type();
  auto isSet = [&](Value bits) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bits,
                                 intScalar(b, loc, i64, 0));
  };
  Value power = m.c(1);
  double square = beta;
  int bit = 0;
  // Below 2^-54 the power no longer changes 1 - power.
  for (; bit < 62 && square > std::ldexp(1.0, -54); ++bit, square *= square) {
    Value masked = arith::AndIOp::create(
        b, loc, step, intScalar(b, loc, i64, int64_t(1) << bit));
    Value factor =
        arith::SelectOp::create(b, loc, isSet(masked), m.c(square), m.c(1));
    power = m.mul(power, factor);
  }
  Value beyond =
      arith::ShRUIOp::create(b, loc, step, intScalar(b, loc, i64, bit));
  power = arith::SelectOp::create(b, loc, isSet(beyond), m.c(0), power);
  return m.div(m.c(1), m.sub(m.c(1), power));
}

FailureOr<SmallVector<Value>> AdamWUpdateOp::buildLocal(OpBuilder &b,
                                                        LocalView &view) {
  Location at = getLoc();
  Type element = getElementTypeOrSelf(getParameter().getType());
  Type compute = accumulatorType(element);
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble();
  double decay = getWeightDecay().convertToDouble();

  // Once per kernel, not per element.
  Value step =
      tensor::ExtractOp::create(b, at, view.getOperand(4), ValueRange{});
  Value first =
      convertScalar(b, at, inverseBiasCorrection(b, at, beta1, step), compute);
  Value second =
      convertScalar(b, at, inverseBiasCorrection(b, at, beta2, step), compute);
  return buildElementwiseResults(
      *this, b, view, [&](OpBuilder &body, Location loc, ValueRange v) {
        ScalarMath m{body, loc, compute};
        Value p = m.wide(v[0]), gradient = m.wide(v[1]);
        Value rate = m.wide(v[5]);
        Value moment1 = m.add(m.mul(m.c(beta1), m.wide(v[2])),
                              m.mul(m.c(1 - beta1), gradient));
        Value moment2 = m.add(m.mul(m.c(beta2), m.wide(v[3])),
                              m.mul(m.c(1 - beta2), m.mul(gradient, gradient)));
        Value root = m.sqrt(m.mul(moment2, second));
        Value move = m.div(m.mul(moment1, first), m.add(root, m.c(epsilon)));
        if (decay != 0)
          move = m.add(move, m.mul(m.c(decay), p));
        Value next = m.sub(p, m.mul(rate, move));
        return SmallVector<Value>{convertScalar(body, loc, next, element),
                                  convertScalar(body, loc, moment1, element),
                                  convertScalar(body, loc, moment2, element)};
      });
}
