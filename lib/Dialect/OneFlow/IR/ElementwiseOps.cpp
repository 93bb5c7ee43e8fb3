//===- ElementwiseOps.cpp - elementwise ops -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar computations and gradients of the ops in ElementwiseOps.td.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace oneflow;

static Value constantOf(OpBuilder &builder, Location loc, Type type,
                        double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

//===----------------------------------------------------------------------===//
// Unary ops: value
//===----------------------------------------------------------------------===//

Value ReluOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return arith::MaximumFOp::create(b, loc, x[0],
                                   constantOf(b, loc, x[0].getType(), 0));
}
Value TanhOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return math::TanhOp::create(b, loc, x[0]);
}
Value SigmoidOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value one = constantOf(b, loc, x[0].getType(), 1);
  Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x[0]));
  return arith::DivFOp::create(b, loc, one,
                               arith::AddFOp::create(b, loc, one, e));
}
Value ErfOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return math::ErfOp::create(b, loc, x[0]);
}
Value ExpOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return math::ExpOp::create(b, loc, x[0]);
}
Value LogOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return math::LogOp::create(b, loc, x[0]);
}
Value SqrtOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return math::SqrtOp::create(b, loc, x[0]);
}
Value NegOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return arith::NegFOp::create(b, loc, x[0]);
}

//===----------------------------------------------------------------------===//
// Unary ops: gradient
//===----------------------------------------------------------------------===//

LogicalResult ReluOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  dx.push_back(
      ReluGradOp::create(b, getLoc(), dy[0], getResult(), nullptr, nullptr));
  return success();
}
LogicalResult TanhOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  Value square = graph::mul(b, getLoc(), getResult(), getResult());
  Value one = graph::scalar(b, getLoc(), square, 1);
  dx.push_back(
      graph::mul(b, getLoc(), dy[0], graph::sub(b, getLoc(), one, square)));
  return success();
}
LogicalResult SigmoidOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                       SmallVectorImpl<Value> &dx) {
  Value one = graph::scalar(b, getLoc(), getResult(), 1);
  Value slope = graph::mul(b, getLoc(), getResult(),
                           graph::sub(b, getLoc(), one, getResult()));
  dx.push_back(graph::mul(b, getLoc(), dy[0], slope));
  return success();
}
LogicalResult ErfOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  Value square = graph::mul(b, getLoc(), getX(), getX());
  Value bell = ExpOp::create(b, getLoc(), graph::neg(b, getLoc(), square),
                             nullptr, nullptr);
  Value scale = graph::scalar(b, getLoc(), bell, 2 / std::sqrt(M_PI));
  dx.push_back(
      graph::mul(b, getLoc(), dy[0], graph::mul(b, getLoc(), bell, scale)));
  return success();
}
LogicalResult ExpOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::mul(b, getLoc(), dy[0], getResult()));
  return success();
}
LogicalResult LogOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::div(b, getLoc(), dy[0], getX()));
  return success();
}
LogicalResult SqrtOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  Value half = graph::scalar(b, getLoc(), dy[0], 0.5);
  dx.push_back(graph::div(b, getLoc(), graph::mul(b, getLoc(), dy[0], half),
                          getResult()));
  return success();
}
LogicalResult NegOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::neg(b, getLoc(), dy[0]));
  return success();
}

//===----------------------------------------------------------------------===//
// GELU and the gradient ops
//===----------------------------------------------------------------------===//

namespace {
/// The pieces of GELU at x that its value and its derivative share.
struct GeluParts {
  /// The factor of x: the distribution function, exact or approximated.
  Value gate;
  /// The gate's derivative.
  Value slope;
};
} // namespace

static GeluParts buildGelu(OpBuilder &b, Location loc, Value x, GeluKind kind,
                           bool wantSlope) {
  Type type = x.getType();
  auto c = [&](double value) { return constantOf(b, loc, type, value); };
  auto times = [&](Value l, Value r) -> Value {
    return arith::MulFOp::create(b, loc, l, r);
  };
  auto plus = [&](Value l, Value r) -> Value {
    return arith::AddFOp::create(b, loc, l, r);
  };
  GeluParts parts;
  if (kind == GeluKind::Erf) {
    Value erf = math::ErfOp::create(b, loc, times(x, c(M_SQRT1_2)));
    parts.gate = times(c(0.5), plus(c(1), erf));
    if (wantSlope) {
      Value exponent = times(c(-0.5), times(x, x));
      parts.slope = times(c(1 / std::sqrt(2 * M_PI)),
                          math::ExpOp::create(b, loc, exponent));
    }
    return parts;
  }
  const double scale = std::sqrt(2 / M_PI), cubic = 0.044715;
  Value square = times(x, x);
  Value inner = times(c(scale), times(x, plus(c(1), times(c(cubic), square))));
  Value tanh = math::TanhOp::create(b, loc, inner);
  parts.gate = times(c(0.5), plus(c(1), tanh));
  if (wantSlope) {
    Value sech2 = arith::SubFOp::create(b, loc, c(1), times(tanh, tanh));
    Value dInner = times(c(scale), plus(c(1), times(c(3 * cubic), square)));
    parts.slope = times(c(0.5), times(sech2, dInner));
  }
  return parts;
}

Value GeluOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return arith::MulFOp::create(b, loc, x[0],
                               buildGelu(b, loc, x[0], getKind(), false).gate);
}

LogicalResult GeluOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  dx.push_back(GeluGradOp::create(b, getLoc(), dy[0], getX(), getKindAttr(),
                                  nullptr, nullptr));
  return success();
}

Value GeluGradOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  Value dy = operands[0], x = operands[1];
  GeluParts parts = buildGelu(b, loc, x, getKind(), true);
  Value slope = arith::AddFOp::create(
      b, loc, parts.gate, arith::MulFOp::create(b, loc, x, parts.slope));
  return arith::MulFOp::create(b, loc, dy, slope);
}

Value ReluGradOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  Value zero = constantOf(b, loc, operands[0].getType(), 0);
  Value positive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                         operands[1], zero);
  return arith::SelectOp::create(b, loc, positive, operands[0], zero);
}

//===----------------------------------------------------------------------===//
// Binary ops: value
//===----------------------------------------------------------------------===//

/// Booleans are unsigned, and their sum is "or" as in reductions.
template <typename FloatOp, typename IntOp, typename BoolOp = IntOp>
static Value floatOrInt(OpBuilder &b, Location loc, ValueRange operands) {
  if (isa<FloatType>(operands[0].getType()))
    return FloatOp::create(b, loc, operands[0], operands[1]);
  if (operands[0].getType().isInteger(1))
    return BoolOp::create(b, loc, operands[0], operands[1]);
  return IntOp::create(b, loc, operands[0], operands[1]);
}

Value AddOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return floatOrInt<arith::AddFOp, arith::AddIOp, arith::OrIOp>(b, loc,
                                                                operands);
}
Value SubOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return floatOrInt<arith::SubFOp, arith::SubIOp>(b, loc, operands);
}
Value MulOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return floatOrInt<arith::MulFOp, arith::MulIOp>(b, loc, operands);
}
Value MaxOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return floatOrInt<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(
      b, loc, operands);
}
Value MinOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return floatOrInt<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(
      b, loc, operands);
}

Value DivOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  Type type = operands[0].getType();
  if (isa<FloatType>(type))
    return arith::DivFOp::create(b, loc, operands[0], operands[1]);
  // Division by zero and the overflow of MIN / -1 trap on x86: keep the divisor
  // away from both. A zero divisor gives the dividend, MIN / -1 wraps to MIN.
  auto c = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  Value lhs = operands[0], rhs = operands[1];
  auto is = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rhs,
                                 c(value));
  };
  Value safe = arith::SelectOp::create(
      b, loc, arith::OrIOp::create(b, loc, is(0), is(-1)), c(1), rhs);
  Value quotient = arith::DivSIOp::create(b, loc, lhs, safe);
  Value negated = arith::SubIOp::create(b, loc, c(0), lhs);
  return arith::SelectOp::create(b, loc, is(-1), negated, quotient);
}

Value CompareOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  static constexpr arith::CmpFPredicate floats[] = {arith::CmpFPredicate::OEQ,
                                                    arith::CmpFPredicate::OLT,
                                                    arith::CmpFPredicate::OGT};
  static constexpr arith::CmpIPredicate ints[] = {arith::CmpIPredicate::eq,
                                                  arith::CmpIPredicate::slt,
                                                  arith::CmpIPredicate::sgt};
  static constexpr arith::CmpIPredicate booleans[] = {
      arith::CmpIPredicate::eq, arith::CmpIPredicate::ult,
      arith::CmpIPredicate::ugt};
  auto kind = static_cast<unsigned>(getKind());
  if (isa<FloatType>(operands[0].getType()))
    return arith::CmpFOp::create(b, loc, floats[kind], operands[0],
                                 operands[1]);
  bool isBoolean = operands[0].getType().isInteger(1);
  return arith::CmpIOp::create(b, loc, isBoolean ? booleans[kind] : ints[kind],
                               operands[0], operands[1]);
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  if (failed(inferBroadcastType(loc, operands, types)))
    return failure();
  types[0] =
      cast<RankedTensorType>(types[0]).clone(IntegerType::get(context, 1));
  return success();
}

//===----------------------------------------------------------------------===//
// Binary ops: gradient
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::reduceTo(b, getLoc(), dy[0], getLhs()));
  dx.push_back(graph::reduceTo(b, getLoc(), dy[0], getRhs()));
  return success();
}
LogicalResult SubOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::reduceTo(b, getLoc(), dy[0], getLhs()));
  dx.push_back(
      graph::neg(b, getLoc(), graph::reduceTo(b, getLoc(), dy[0], getRhs())));
  return success();
}
LogicalResult MulOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  dx.push_back(graph::reduceTo(
      b, getLoc(), graph::mul(b, getLoc(), dy[0], getRhs()), getLhs()));
  dx.push_back(graph::reduceTo(
      b, getLoc(), graph::mul(b, getLoc(), dy[0], getLhs()), getRhs()));
  return success();
}
LogicalResult DivOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  Value dLhs = graph::div(b, getLoc(), dy[0], getRhs());
  dx.push_back(graph::reduceTo(b, getLoc(), dLhs, getLhs()));
  Value dRhs =
      graph::neg(b, getLoc(), graph::mul(b, getLoc(), dLhs, getResult()));
  dx.push_back(graph::reduceTo(b, getLoc(), dRhs, getRhs()));
  return success();
}

/// Gradient of max and min: to whichever operand is strictly ahead, half to
/// each where they are equal.
static void buildChoiceGradient(OpBuilder &b, Location loc, Value lhs,
                                Value rhs, CompareKind ahead, Value dy,
                                SmallVectorImpl<Value> &dx) {
  auto mask = [&](CompareKind kind, Value l, Value r) {
    return graph::mask(b, loc, kind, l, r, dy);
  };
  Value half = graph::scalar(b, loc, dy, 0.5);
  Value tie = graph::mul(b, loc, mask(CompareKind::Eq, lhs, rhs), half);
  Value toLhs = graph::add(b, loc, mask(ahead, lhs, rhs), tie);
  Value toRhs = graph::add(b, loc, mask(ahead, rhs, lhs), tie);
  dx.push_back(graph::reduceTo(b, loc, graph::mul(b, loc, dy, toLhs), lhs));
  dx.push_back(graph::reduceTo(b, loc, graph::mul(b, loc, dy, toRhs), rhs));
}

LogicalResult MaxOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  buildChoiceGradient(b, getLoc(), getLhs(), getRhs(), CompareKind::Gt, dy[0],
                      dx);
  return success();
}
LogicalResult MinOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  buildChoiceGradient(b, getLoc(), getLhs(), getRhs(), CompareKind::Lt, dy[0],
                      dx);
  return success();
}

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

/// Whether every value of `narrow` is one of `wide`.
static bool holdsAll(Type wide, Type narrow) {
  if (wide == narrow)
    return true;
  bool isShort = narrow.isF16() || narrow.isBF16();
  return (wide.isF32() && isShort) ||
         (wide.isF64() && (isShort || narrow.isF32()));
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (isPinned(*this))
    return {};
  if (getX().getType() == getType())
    return getX();
  // By way of a type that lost nothing. A cast by way of a narrower one rounds,
  // and stays.
  auto inner = getX().getDefiningOp<CastOp>();
  if (!inner || isPinned(inner) || inner.getSignatureAttr() ||
      getSignatureAttr() || inner.getPlacementAttr() != getPlacementAttr() ||
      !holdsAll(getElementTypeOrSelf(inner.getType()),
                getElementTypeOrSelf(inner.getX().getType())))
    return {};
  if (inner.getX().getType() == getType())
    return inner.getX();
  getXMutable().assign(inner.getX());
  return getResult();
}

/// Float to integer: truncated, NaN to 0, saturated at the type's ends. The
/// upper end is compared as a float: 2^(width-1) is exact where MAX is not.
static Value floatToInt(OpBuilder &b, Location loc, Value x, IntegerType to) {
  Type from = x.getType();
  unsigned width = to.getWidth();
  auto c = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(to, value));
  };
  auto test = [&](arith::CmpFPredicate predicate, double bound) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x,
                                 constantOf(b, loc, from, bound));
  };
  double end = std::ldexp(1.0, width - 1);
  Value tooLarge = test(arith::CmpFPredicate::OGE, end);
  Value tooSmall = test(arith::CmpFPredicate::OLT, -end);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value outside = arith::OrIOp::create(
      b, loc, isNan, arith::OrIOp::create(b, loc, tooLarge, tooSmall));
  Value safe =
      arith::SelectOp::create(b, loc, outside, constantOf(b, loc, from, 0), x);
  Value value = arith::FPToSIOp::create(b, loc, to, safe);
  value = arith::SelectOp::create(b, loc, tooLarge,
                                  c(APInt::getSignedMaxValue(width)), value);
  return arith::SelectOp::create(b, loc, tooSmall,
                                 c(APInt::getSignedMinValue(width)), value);
}

Value CastOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  Value x = operands[0];
  Type from = x.getType(), to = getElementTypeOrSelf(getType());
  if (from == to)
    return x;
  auto toFloat = dyn_cast<FloatType>(to);
  if (auto fromFloat = dyn_cast<FloatType>(from)) {
    if (toFloat) {
      if (fromFloat.getWidth() == toFloat.getWidth()) {
        // f16 and bf16: neither holds the other.
        Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), x);
        return arith::TruncFOp::create(b, loc, to, wide);
      }
      if (fromFloat.getWidth() < toFloat.getWidth())
        return arith::ExtFOp::create(b, loc, to, x);
      return arith::TruncFOp::create(b, loc, to, x);
    }
    if (to.isInteger(1))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x,
                                   constantOf(b, loc, from, 0));
    return floatToInt(b, loc, x, cast<IntegerType>(to));
  }
  if (toFloat) {
    if (from.isInteger(1))
      return arith::UIToFPOp::create(b, loc, to, x);
    return arith::SIToFPOp::create(b, loc, to, x);
  }
  if (to.isInteger(1))
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne, x,
        arith::ConstantOp::create(b, loc, b.getIntegerAttr(from, 0)));
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, loc, to, x);
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, to, x);
  return arith::ExtSIOp::create(b, loc, to, x);
}

LogicalResult CastOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  bool floats = isa<FloatType>(getElementTypeOrSelf(getX().getType())) &&
                isa<FloatType>(getElementTypeOrSelf(getType()));
  dx.push_back(floats ? CastOp::create(b, getLoc(), getX().getType(), dy[0],
                                       nullptr, nullptr)
                            .getResult()
                      : Value());
  return success();
}
