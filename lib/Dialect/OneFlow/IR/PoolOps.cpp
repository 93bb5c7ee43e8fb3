//===- PoolOps.cpp - pooling ----------------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels of pooling. The gradient of a maximum
// needs to know which element it came from: the forward op does not say, since
// inference has no use for it; an op of its own finds it again.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Window.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace oneflow;
using sbp::Factor;

/// The number of no element.
constexpr int64_t kNoElement = std::numeric_limits<int32_t>::max();

template <typename Op> static SmallVector<Window> windowsIn(Op &op) {
  return windowsOf(op.getWindow(), op.getStrides(), op.getLow(), op.getHigh(),
                   op.getDilations());
}

static bool mayBeEqual(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto [x, y] = pair;
           return x == y || ShapedType::isDynamic(x) ||
                  ShapedType::isDynamic(y);
         });
}

/// The shape of one element per window of a tensor of this shape.
template <typename Adaptor>
static FailureOr<SmallVector<int64_t>> inferWindows(std::optional<Location> loc,
                                                    Adaptor &op,
                                                    ArrayRef<int64_t> shape) {
  size_t dims = op.getWindow().size();
  for (ArrayRef<int64_t> list :
       {op.getStrides(), op.getLow(), op.getHigh(), op.getDilations()})
    if (list.size() != dims || dims > shape.size() || dims == 0)
      return emitOptionalError(
          loc, "pool_c1: expected at least 1 and at most ", shape.size(),
          " window extents, and as many strides, low, high and dilations, "
          "got: ",
          dims, " and ", list.size());
  SmallVector<Window> windows = windowsIn(op);
  if (auto reason = checkNumbers(windows))
    return emitOptionalError(loc, "pool_c2: ", *reason);
  SmallVector<int64_t> result(shape);
  for (auto [dim, window] : llvm::enumerate(windows)) {
    int64_t &extent = result[shape.size() - dims + dim];
    std::optional<int64_t> count = window.count(extent);
    if (!count)
      return emitOptionalError(loc, "pool_c3: expected a window of at most ",
                               extent + window.low + window.high,
                               " elements, got: ", window.size,
                               " elements with dilation ", window.dilation);
    extent = *count;
  }
  return result;
}

/// The rule of an op whose tensors share all but the last `dims` dimensions.
static sbp::OpRule leadingRule(Operation *op, size_t dims) {
  sbp::OpRule rule;
  sbp::Shape first = shapeOf(op->getOperand(0));
  sbp::TensorFactors leading;
  for (size_t dim = 0; dim + dims < first.size(); ++dim)
    leading.push_back({rule.addFactor("d" + std::to_string(dim), first[dim])});
  auto factorsOf = [&](Value value) {
    sbp::TensorFactors factors = leading;
    for (int64_t extent : ArrayRef(shapeOf(value)).take_back(dims))
      factors.push_back(
          {rule.addFactor("w" + std::to_string(rule.factors.size()), extent,
                          Factor::Role::Whole)});
    return factors;
  };
  for (Value operand : op->getOperands())
    rule.operands.push_back(factorsOf(operand));
  rule.results.push_back(factorsOf(op->getResult(0)));
  return rule;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// Reduces windows in loops over the result and then over the window.
class WindowKernel {
public:
  WindowKernel(OpBuilder &b, Location loc, int64_t rank,
               ArrayRef<Window> windows)
      : b(b), loc(loc), tensors(b, loc), rank(rank), windows(windows),
        lead(rank - windows.size()) {}

  /// Reads the extended input from its windows' side.
  AffineMap inWindows() {
    return map([](AffineExpr at, AffineExpr k, const Window &window) {
      return at * window.stride + k * window.dilation;
    });
  }
  /// Reads what spreadWindows gives from the elements' side.
  AffineMap ofElements() {
    return map([](AffineExpr at, AffineExpr k, const Window &window) {
      return at + (window.reach() - 1) - k * window.dilation;
    });
  }
  AffineMap ofResult() {
    return AffineMap::getMultiDimIdentityMap(total(), b.getContext())
        .getMajorSubMap(rank);
  }

  Value reduce(ReduceKind kind, ArrayRef<OpFoldResult> extents, Type element,
               SmallVector<Value> inputs, SmallVector<AffineMap> maps,
               TensorBuilder::MapBody body) {
    // Nothing else says how far the loops over the window go.
    TensorBuilder::Extents sizes;
    SmallVector<int64_t> dims;
    for (auto [dim, window] : llvm::enumerate(windows)) {
      sizes.push_back(b.getIndexAttr(window.size));
      dims.push_back(rank + dim);
    }
    inputs.push_back(tensors.empty(sizes, element));
    maps.push_back(tensors.dimsMap(total(), dims));
    return tensors.reduce(kind, total(),
                          llvm::to_vector(llvm::seq<int64_t>(0, rank)), extents,
                          element, inputs, maps, body);
  }

  /// Inside a body: the element's place along window dimension `dim`, from the
  /// windows' side.
  Value placeInWindow(OpBuilder &body, Location at, size_t dim) {
    const Window &window = windows[dim];
    auto scaled = [&](unsigned loop, int64_t factor) -> Value {
      Value index = linalg::IndexOp::create(body, at, loop);
      return factor == 1 ? index
                         : arith::MulIOp::create(body, at, index,
                                                 constant(body, at, factor))
                               .getResult();
    };
    Value place =
        arith::AddIOp::create(body, at, scaled(lead + dim, window.stride),
                              scaled(rank + dim, window.dilation));
    if (window.low == 0)
      return place;
    return arith::SubIOp::create(body, at, place,
                                 constant(body, at, window.low));
  }
  /// The same from the elements' side.
  Value placeOfElement(OpBuilder &body, Location at, size_t dim) {
    return linalg::IndexOp::create(body, at, lead + dim);
  }
  /// The number of the element at these places in `extents`, as an i32.
  Value number(OpBuilder &body, Location at, ArrayRef<Value> places,
               ArrayRef<int64_t> extents) {
    Value sum = places.front();
    for (auto [place, extent] :
         llvm::zip(places.drop_front(), extents.drop_front())) {
      sum = arith::MulIOp::create(body, at, sum, constant(body, at, extent));
      sum = arith::AddIOp::create(body, at, sum, place);
    }
    return arith::IndexCastOp::create(body, at, body.getI32Type(), sum);
  }
  Value constant(OpBuilder &body, Location at, int64_t value) {
    return arith::ConstantIndexOp::create(body, at, value);
  }

private:
  int64_t total() const { return rank + windows.size(); }
  AffineMap
  map(llvm::function_ref<AffineExpr(AffineExpr, AffineExpr, const Window &)>
          place) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < lead; ++dim)
      exprs.push_back(b.getAffineDimExpr(dim));
    for (auto [dim, window] : llvm::enumerate(windows))
      exprs.push_back(place(b.getAffineDimExpr(lead + dim),
                            b.getAffineDimExpr(rank + dim), window));
    return AffineMap::get(total(), 0, exprs, b.getContext());
  }

  OpBuilder &b;
  Location loc;
  TensorBuilder tensors;
  int64_t rank;
  ArrayRef<Window> windows;
  int64_t lead;
};

} // namespace

/// A local operand, with the extents along which windows slide.
template <typename Op>
static Value localOperand(OpBuilder &b, Op op, LocalView &view,
                          unsigned index) {
  auto logical = cast<RankedTensorType>(op->getOperand(index).getType());
  return refine(b, op.getLoc(), view.getOperand(index), logical,
                logical.getRank() - op.getWindow().size());
}
template <typename Op>
static TensorBuilder::Extents localExtents(OpBuilder &b, Op op,
                                           LocalView &view) {
  auto logical = cast<RankedTensorType>(op->getResult(0).getType());
  return refine(b, view.getResultExtents(0), logical,
                logical.getRank() - op.getWindow().size());
}

/// The lowest value of a type.
static Value lowest(OpBuilder &b, Location loc, Type type) {
  if (isa<FloatType>(type))
    return floatScalar(b, loc, type, -std::numeric_limits<double>::infinity());
  unsigned width = type.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      b, loc,
      b.getIntegerAttr(type, width == 1 ? APInt::getMinValue(1)
                                        : APInt::getSignedMinValue(width)));
}

static Value zeroOf(OpBuilder &b, Location loc, Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

/// Sums are in the type for it.
static Value widen(OpBuilder &b, Location loc, Value x) {
  return isa<FloatType>(x.getType())
             ? convertScalar(b, loc, x, accumulatorType(x.getType()))
             : x;
}

static Value areEqual(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// PoolOp
//===----------------------------------------------------------------------===//

LogicalResult
PoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                         ValueRange operands, DictionaryAttr attributes,
                         OpaqueProperties properties, RegionRange regions,
                         SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto shape = inferWindows(loc, op, x.getShape());
  if (failed(shape))
    return failure();
  types.push_back(x.clone(*shape));
  return success();
}

LogicalResult PoolOp::verify() {
  if (getKind() != ReduceKind::Sum &&
      (getKind() != ReduceKind::Max || getIndex()))
    return emitOpError("pool_c4: expected ")
           << (getIndex() ? "sum of an index" : "max or sum")
           << ", got: " << stringifyReduceKind(getKind());
  if (getIndex() &&
      !mayBeEqual(getIndex().getType().getShape(), getType().getShape()))
    return emitOpError("pool_c5: expected an index of the shape of ")
           << getType() << ", got: " << getIndex().getType();
  return success();
}

sbp::OpRule PoolOp::getSbpRule() {
  sbp::OpRule rule = leadingRule(*this, getWindow().size());
  rule.partials = {getKind() == ReduceKind::Sum
                       ? linearIn(0)
                       : passes({0}, sbp::Reducer::Max)};
  return rule;
}

LogicalResult PoolOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  dx.resize(getNumOperands());
  if (!isa<FloatType>(getElementTypeOrSelf(getX())))
    return success();
  Value index = getIndex();
  if (getKind() == ReduceKind::Max)
    index = PoolIndexOp::create(
        b, getLoc(), getX(), getResult(), getWindowAttr(), getStridesAttr(),
        getLowAttr(), getHighAttr(), getDilationsAttr(), nullptr, nullptr);
  auto extents = b.getDenseI64ArrayAttr(
      getX().getType().getShape().take_back(getWindow().size()));
  dx[0] = PoolGradOp::create(b, getLoc(), dy[0], index, getWindowAttr(),
                             getStridesAttr(), getLowAttr(), getHighAttr(),
                             getDilationsAttr(), extents, nullptr, nullptr);
  return success();
}

FailureOr<SmallVector<Value>> PoolOp::buildLocal(OpBuilder &b,
                                                 LocalView &view) {
  Location loc = getLoc();
  SmallVector<Window> windows = windowsIn(*this);
  int64_t rank = getType().getRank();
  WindowKernel kernel(b, loc, rank, windows);
  Type element = getElementTypeOrSelf(getType());
  bool sums = getKind() == ReduceKind::Sum;
  Value around = sums ? zeroOf(b, loc, element) : lowest(b, loc, element);
  ArrayRef<int64_t> extents =
      getX().getType().getShape().take_back(windows.size());
  SmallVector<Value> inputs = {
      extend(b, loc, localOperand(b, *this, view, 0), windows, around)};
  SmallVector<AffineMap> maps = {kernel.inWindows()};
  if (getIndex()) {
    inputs.push_back(localOperand(b, *this, view, 1));
    maps.push_back(kernel.ofResult());
  }
  Type wide = isa<FloatType>(element) ? accumulatorType(element) : element;
  Value result = kernel.reduce(
      getKind(), localExtents(b, *this, view), wide, inputs, maps,
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value value = widen(body, at, v[0]);
        if (!getIndex())
          return value;
        // Padding is zero, so that it may be taken for any element.
        SmallVector<Value> places;
        for (size_t dim = 0; dim < windows.size(); ++dim)
          places.push_back(kernel.placeInWindow(body, at, dim));
        Value isIt =
            areEqual(body, at, kernel.number(body, at, places, extents), v[1]);
        return arith::SelectOp::create(body, at, isIt, value,
                                       zeroOf(body, at, value.getType()));
      });
  return SmallVector<Value>{
      coarsen(b, loc, TensorBuilder(b, loc).converted(result, element),
              view.getResultType(0))};
}

//===----------------------------------------------------------------------===//
// PoolIndexOp
//===----------------------------------------------------------------------===//

LogicalResult
PoolIndexOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto best = cast<RankedTensorType>(op.getBest().getType());
  auto shape = inferWindows(loc, op, x.getShape());
  if (failed(shape))
    return failure();
  int64_t elements = 1;
  bool fits = true;
  for (int64_t extent : x.getShape().take_back(op.getWindow().size()))
    if (!ShapedType::isDynamic(extent))
      fits = fits && !__builtin_mul_overflow(elements, extent, &elements) &&
             elements <= kNoElement;
  if (!mayBeEqual(best.getShape(), *shape) || !fits ||
      best.getElementType() != x.getElementType())
    return emitOptionalError(loc,
                             "pool_c6: expected less than 2^31 elements "
                             "in the dimensions of windows of ",
                             x, " and the best of type ", x.clone(*shape),
                             ", got: ", best);
  types.push_back(RankedTensorType::get(*shape, IntegerType::get(context, 32)));
  return success();
}

sbp::OpRule PoolIndexOp::getSbpRule() {
  return leadingRule(*this, getWindow().size());
}

FailureOr<SmallVector<Value>> PoolIndexOp::buildLocal(OpBuilder &b,
                                                      LocalView &view) {
  Location loc = getLoc();
  SmallVector<Window> windows = windowsIn(*this);
  WindowKernel kernel(b, loc, getType().getRank(), windows);
  Type i32 = b.getI32Type();
  ArrayRef<int64_t> extents =
      getX().getType().getShape().take_back(windows.size());
  Value around = lowest(b, loc, getElementTypeOrSelf(getX()));
  Value result = kernel.reduce(
      ReduceKind::Min, localExtents(b, *this, view), i32,
      {extend(b, loc, localOperand(b, *this, view, 0), windows, around),
       localOperand(b, *this, view, 1)},
      {kernel.inWindows(), kernel.ofResult()},
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value holds = areEqual(body, at, v[0], v[1]);
        SmallVector<Value> places;
        for (auto [dim, window] : llvm::enumerate(windows)) {
          Value place = kernel.placeInWindow(body, at, dim);
          // What is around may equal the lowest value, and is no element.
          if (window.low || window.high)
            holds = arith::AndIOp::create(
                body, at, holds,
                arith::CmpIOp::create(body, at, arith::CmpIPredicate::ult,
                                      place,
                                      kernel.constant(body, at, extents[dim])));
          places.push_back(place);
        }
        return arith::SelectOp::create(body, at, holds,
                                       kernel.number(body, at, places, extents),
                                       intScalar(body, at, i32, kNoElement));
      });
  return SmallVector<Value>{coarsen(b, loc, result, view.getResultType(0))};
}

//===----------------------------------------------------------------------===//
// PoolGradOp
//===----------------------------------------------------------------------===//

LogicalResult
PoolGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto dy = cast<RankedTensorType>(op.getDy().getType());
  ArrayRef<int64_t> extents = op.getExtents();
  if (extents.size() != op.getWindow().size() ||
      static_cast<int64_t>(extents.size()) > dy.getRank() ||
      llvm::any_of(extents, [](int64_t extent) {
        return extent < 0 || extent >= int64_t(1) << 31;
      }))
    return emitOptionalError(loc, "pool_c7: expected ", op.getWindow().size(),
                             " extents in [0, 2^31) of dimensions of ", dy,
                             ", got: ", extents);
  SmallVector<int64_t> shape(dy.getShape().drop_back(extents.size()));
  llvm::append_range(shape, extents);
  auto windows = inferWindows(loc, op, shape);
  if (failed(windows))
    return failure();
  if (!mayBeEqual(dy.getShape(), *windows))
    return emitOptionalError(loc, "pool_c7: expected dy of ",
                             dy.clone(*windows), ", got: ", dy);
  types.push_back(dy.clone(shape));
  return success();
}

LogicalResult PoolGradOp::verify() {
  if (getIndex() && !mayBeEqual(getIndex().getType().getShape(),
                                getDy().getType().getShape()))
    return emitOpError("pool_c5: expected an index of the shape of ")
           << getDy().getType() << ", got: " << getIndex().getType();
  return success();
}

sbp::OpRule PoolGradOp::getSbpRule() {
  sbp::OpRule rule = leadingRule(*this, getWindow().size());
  rule.partials = {linearIn(0)};
  return rule;
}

LogicalResult PoolGradOp::buildGradient(OpBuilder &b, ArrayRef<Value> ddx,
                                        SmallVectorImpl<Value> &ddy) {
  ddy.resize(getNumOperands());
  ddy[0] = PoolOp::create(
      b, getLoc(), ReduceKindAttr::get(b.getContext(), ReduceKind::Sum), ddx[0],
      getIndex(), getWindowAttr(), getStridesAttr(), getLowAttr(),
      getHighAttr(), getDilationsAttr(), nullptr, nullptr);
  return success();
}

FailureOr<SmallVector<Value>> PoolGradOp::buildLocal(OpBuilder &b,
                                                     LocalView &view) {
  Location loc = getLoc();
  SmallVector<Window> windows = windowsIn(*this);
  WindowKernel kernel(b, loc, getType().getRank(), windows);
  Type element = getElementTypeOrSelf(getType());
  SmallVector<Value> inputs = {
      spreadWindows(b, loc, localOperand(b, *this, view, 0), windows,
                    getExtents(), zeroOf(b, loc, element))};
  SmallVector<AffineMap> maps = {kernel.ofElements()};
  if (getIndex()) {
    inputs.push_back(spreadWindows(b, loc, localOperand(b, *this, view, 1),
                                   windows, getExtents(),
                                   intScalar(b, loc, b.getI32Type(), -1)));
    maps.push_back(maps.front());
  }
  Value result = kernel.reduce(
      ReduceKind::Sum, localExtents(b, *this, view), accumulatorType(element),
      inputs, maps, [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value value = widen(body, at, v[0]);
        if (!getIndex())
          return value;
        SmallVector<Value> places;
        for (size_t dim = 0; dim < windows.size(); ++dim)
          places.push_back(kernel.placeOfElement(body, at, dim));
        Value isIt = areEqual(
            body, at, kernel.number(body, at, places, getExtents()), v[1]);
        return arith::SelectOp::create(body, at, isIt, value,
                                       zeroOf(body, at, value.getType()));
      });
  return SmallVector<Value>{
      coarsen(b, loc, TensorBuilder(b, loc).converted(result, element),
              view.getResultType(0))};
}
