//===- ConvolutionOps.cpp - convolution and its gradients -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels. Each of the three ops is one contraction
// of weight or dy, read in place, with the other operand read through its
// padding: what a matrix product packs, it packs from windows, so that no
// matrix of windows is ever in memory. The gradient of the input is a
// convolution of the spread dy with the mirrored weight.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Window.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;
using sbp::Factor;

/// Whether two extents may turn out to be equal.
static bool mayBeEqual(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {

/// The shapes of a convolution, any extent perhaps dynamic.
struct Shapes {
  int64_t batch = ShapedType::kDynamic, in = ShapedType::kDynamic,
          out = ShapedType::kDynamic, inPerGroup = ShapedType::kDynamic;
  SmallVector<int64_t> spatial, kernel;
  SmallVector<Window> windows;
  /// Of the result.
  SmallVector<int64_t> counts;
};

/// Checks a convolution of `spatial` elements by windows of `kernel` elements,
/// and fills in the windows.
template <typename Adaptor>
LogicalResult checkConvolution(std::optional<Location> loc, Adaptor &op,
                               Shapes &shapes) {
  size_t dims = shapes.spatial.size();
  for (ArrayRef<int64_t> list :
       {op.getStrides(), op.getLow(), op.getHigh(), op.getDilations()})
    if (list.size() != dims)
      return emitOptionalError(
          loc, "convolution_c1: expected ", dims,
          " strides, low, high and dilations, got: ", list.size());
  shapes.windows = windowsOf(shapes.kernel, op.getStrides(), op.getLow(),
                             op.getHigh(), op.getDilations());
  for (auto [dim, window, extent] :
       llvm::enumerate(shapes.windows, shapes.spatial)) {
    // An empty window is convolution_c4's.
    Window numbers = window;
    numbers.size = 1;
    if (auto reason = checkNumbers(numbers))
      return emitOptionalError(loc, "convolution_c2: ", *reason);
    std::optional<int64_t> count = window.count(extent);
    if (!count)
      return emitOptionalError(loc,
                               "convolution_c4: expected a window of at most ",
                               extent + window.low + window.high,
                               " and at least 1 elements in "
                               "spatial dimension ",
                               dim, ", got: ", window.size,
                               " elements with dilation ", window.dilation);
    shapes.counts.push_back(*count);
  }
  int64_t groups = op.getGroups();
  if (groups < 1 || groups >= int64_t(1) << 31)
    return emitOptionalError(
        loc, "convolution_c2: expected groups in [1, 2^31), got: ", groups);
  auto divides = [&](int64_t channels) {
    return ShapedType::isDynamic(channels) || channels % groups == 0;
  };
  if (!divides(shapes.in) || !divides(shapes.out) ||
      (!ShapedType::isDynamic(shapes.in) &&
       !mayBeEqual(shapes.in / groups, shapes.inPerGroup)))
    return emitOptionalError(
        loc, "convolution_c3: expected channels in ", groups,
        " groups, as many in weight as in a group of x, got: ", shapes.in,
        " of x, ", shapes.inPerGroup, " of weight and ", shapes.out,
        " of the result");
  return success();
}

LogicalResult checkRanks(std::optional<Location> loc, RankedTensorType a,
                         RankedTensorType b) {
  if (a.getRank() == b.getRank() && a.getRank() >= 3)
    return success();
  return emitOptionalError(
      loc, "convolution_c1: expected equal ranks of at least 3, got: ", a,
      " and ", b);
}

LogicalResult checkExtents(std::optional<Location> loc,
                           ArrayRef<int64_t> extents, int64_t rank) {
  if (static_cast<int64_t>(extents.size()) == rank - 2 &&
      llvm::all_of(extents, [](int64_t extent) {
        return extent >= 0 && extent < int64_t(1) << 31;
      }))
    return success();
  return emitOptionalError(loc, "convolution_c5: expected ", rank - 2,
                           " extents in [0, 2^31), got: ", extents);
}

LogicalResult checkDy(std::optional<Location> loc, RankedTensorType dy,
                      const Shapes &shapes) {
  SmallVector<int64_t> expected = {shapes.batch, shapes.out};
  llvm::append_range(expected, shapes.counts);
  if (llvm::all_of(llvm::zip(dy.getShape(), expected), [](auto pair) {
        return mayBeEqual(std::get<0>(pair), std::get<1>(pair));
      }))
    return success();
  return emitOptionalError(loc, "convolution_c6: expected dy of ",
                           dy.clone(expected), ", got: ", dy);
}

} // namespace

LogicalResult ConvolutionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (failed(checkRanks(loc, x, weight)))
    return failure();
  Shapes shapes;
  shapes.batch = x.getDimSize(0);
  shapes.in = x.getDimSize(1);
  shapes.out = weight.getDimSize(0);
  shapes.inPerGroup = weight.getDimSize(1);
  shapes.spatial.assign(x.getShape().begin() + 2, x.getShape().end());
  shapes.kernel.assign(weight.getShape().begin() + 2, weight.getShape().end());
  if (failed(checkConvolution(loc, op, shapes)))
    return failure();
  SmallVector<int64_t> shape = {shapes.batch, shapes.out};
  llvm::append_range(shape, shapes.counts);
  types.push_back(x.clone(shape));
  return success();
}

LogicalResult ConvolutionGradInputOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto dy = cast<RankedTensorType>(op.getDy().getType());
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (failed(checkRanks(loc, dy, weight)) ||
      failed(checkExtents(loc, op.getExtents(), dy.getRank())))
    return failure();
  Shapes shapes;
  shapes.batch = dy.getDimSize(0);
  shapes.out = weight.getDimSize(0);
  shapes.inPerGroup = weight.getDimSize(1);
  shapes.spatial.assign(op.getExtents().begin(), op.getExtents().end());
  shapes.kernel.assign(weight.getShape().begin() + 2, weight.getShape().end());
  if (failed(checkConvolution(loc, op, shapes)) ||
      failed(checkDy(loc, dy, shapes)))
    return failure();
  int64_t in = shapes.inPerGroup;
  if (!ShapedType::isDynamic(in) &&
      __builtin_mul_overflow(in, static_cast<int64_t>(op.getGroups()), &in))
    return emitOptionalError(
        loc, "convolution_c3: more channels than can be counted");
  SmallVector<int64_t> shape = {shapes.batch, in};
  llvm::append_range(shape, shapes.spatial);
  types.push_back(dy.clone(shape));
  return success();
}

LogicalResult ConvolutionGradWeightOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto dy = cast<RankedTensorType>(op.getDy().getType());
  if (failed(checkRanks(loc, x, dy)) ||
      failed(checkExtents(loc, op.getExtents(), x.getRank())))
    return failure();
  Shapes shapes;
  shapes.batch = x.getDimSize(0);
  shapes.in = x.getDimSize(1);
  shapes.out = dy.getDimSize(1);
  shapes.spatial.assign(x.getShape().begin() + 2, x.getShape().end());
  shapes.kernel.assign(op.getExtents().begin(), op.getExtents().end());
  if (failed(checkConvolution(loc, op, shapes)) ||
      failed(checkDy(loc, dy, shapes)))
    return failure();
  int64_t in = ShapedType::isDynamic(shapes.in)
                   ? shapes.in
                   : shapes.in / static_cast<int64_t>(op.getGroups());
  SmallVector<int64_t> shape = {shapes.out, in};
  llvm::append_range(shape, shapes.kernel);
  types.push_back(x.clone(shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {

/// The factors of a convolution's three tensors.
struct ConvolutionFactors {
  sbp::OpRule rule;
  sbp::TensorFactors x, weight, y;
};

/// `reduced` is the one of the factors n, ci and co that the result is without.
/// Channels in groups stay whole: a cut would have to fall between groups on
/// both sides at once.
ConvolutionFactors convolutionFactors(const sbp::Shape &x,
                                      const sbp::Shape &weight,
                                      const sbp::Shape &y, int64_t groups,
                                      StringRef reduced) {
  ConvolutionFactors factors;
  auto add = [&](StringRef name, int64_t size, bool whole) {
    Factor::Role role = whole             ? Factor::Role::Whole
                        : name == reduced ? Factor::Role::Reduced
                                          : Factor::Role::Parallel;
    return factors.rule.addFactor(name.str(), size, role, sbp::Reducer::Sum);
  };
  unsigned n = add("n", x[0], false);
  unsigned ci = add("ci", weight[1], groups > 1);
  unsigned co = add("co", weight[0] / groups, groups > 1);
  unsigned g = add("g", groups, true);
  factors.x = {{n}, {g, ci}};
  factors.weight = {{g, co}, {ci}};
  factors.y = {{n}, {g, co}};
  for (size_t dim = 2; dim < x.size(); ++dim) {
    std::string number = std::to_string(dim - 2);
    factors.x.push_back({add("d" + number, x[dim], true)});
    factors.weight.push_back({add("k" + number, weight[dim], true)});
    factors.y.push_back({add("o" + number, y[dim], true)});
  }
  factors.rule.partials = {linearIn(0), linearIn(1)};
  return factors;
}

} // namespace

sbp::OpRule ConvolutionOp::getSbpRule() {
  ConvolutionFactors f =
      convolutionFactors(shapeOf(getX()), shapeOf(getWeight()),
                         shapeOf(getResult()), getGroups(), "ci");
  f.rule.operands = {f.x, f.weight};
  f.rule.results = {f.y};
  return f.rule;
}

sbp::OpRule ConvolutionGradInputOp::getSbpRule() {
  ConvolutionFactors f =
      convolutionFactors(shapeOf(getResult()), shapeOf(getWeight()),
                         shapeOf(getDy()), getGroups(), "co");
  f.rule.operands = {f.y, f.weight};
  f.rule.results = {f.x};
  return f.rule;
}

sbp::OpRule ConvolutionGradWeightOp::getSbpRule() {
  ConvolutionFactors f =
      convolutionFactors(shapeOf(getX()), shapeOf(getResult()),
                         shapeOf(getDy()), getGroups(), "n");
  f.rule.operands = {f.x, f.y};
  f.rule.results = {f.weight};
  return f.rule;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The spatial extents of a tensor.
static DenseI64ArrayAttr spatialOf(OpBuilder &b, Value x) {
  return b.getDenseI64ArrayAttr(
      cast<RankedTensorType>(x.getType()).getShape().drop_front(2));
}

/// The three ops with the attributes of `like`; `x` and `weight` of the
/// gradients say which extents the result has.
template <typename Op>
static Value convolve(OpBuilder &b, Op like, Value x, Value weight) {
  return ConvolutionOp::create(b, like.getLoc(), x, weight,
                               like.getStridesAttr(), like.getLowAttr(),
                               like.getHighAttr(), like.getDilationsAttr(),
                               like.getGroupsAttr(), nullptr, nullptr);
}
template <typename Op>
static Value inputGradient(OpBuilder &b, Op like, Value dy, Value weight,
                           Value x) {
  return ConvolutionGradInputOp::create(
      b, like.getLoc(), dy, weight, like.getStridesAttr(), like.getLowAttr(),
      like.getHighAttr(), like.getDilationsAttr(), like.getGroupsAttr(),
      spatialOf(b, x), nullptr, nullptr);
}
template <typename Op>
static Value weightGradient(OpBuilder &b, Op like, Value x, Value dy,
                            Value weight) {
  return ConvolutionGradWeightOp::create(
      b, like.getLoc(), x, dy, like.getStridesAttr(), like.getLowAttr(),
      like.getHighAttr(), like.getDilationsAttr(), like.getGroupsAttr(),
      spatialOf(b, weight), nullptr, nullptr);
}

LogicalResult ConvolutionOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                           SmallVectorImpl<Value> &dx) {
  dx.push_back(inputGradient(b, *this, dy[0], getWeight(), getX()));
  dx.push_back(weightGradient(b, *this, getX(), dy[0], getWeight()));
  return success();
}

LogicalResult
ConvolutionGradInputOp::buildGradient(OpBuilder &b, ArrayRef<Value> ddx,
                                      SmallVectorImpl<Value> &gradients) {
  gradients.push_back(convolve(b, *this, ddx[0], getWeight()));
  gradients.push_back(weightGradient(b, *this, ddx[0], getDy(), getWeight()));
  return success();
}

LogicalResult
ConvolutionGradWeightOp::buildGradient(OpBuilder &b, ArrayRef<Value> ddw,
                                       SmallVectorImpl<Value> &gradients) {
  gradients.push_back(inputGradient(b, *this, getDy(), ddw[0], getX()));
  gradients.push_back(convolve(b, *this, getX(), ddw[0]));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// Builds the contraction of one of the ops. Its loops are those of the result
/// and then those that are summed over; loops have names: n, i and o for the
/// channels of a group of x and of the result, g for the group (absent when
/// there is one), and spatial ones by number.
class ConvolutionKernel {
public:
  ConvolutionKernel(OpBuilder &b, Operation *op, int64_t groups)
      : b(b), op(op), loc(op->getLoc()), tensors(b, loc), groups(groups),
        element(getElementTypeOrSelf(op->getResult(0))),
        accumulator(accumulatorType(element)) {}

  /// A local operand in the type for sums.
  Value operand(LocalView &view, unsigned index) {
    Value logical = op->getOperand(index);
    Value local =
        refine(b, loc, view.getOperand(index),
               cast<RankedTensorType>(logical.getType()), firstWhole(logical));
    return tensors.converted(local, accumulator);
  }
  Value zero() { return floatScalar(b, loc, accumulator, 0); }

  unsigned loop(StringRef name) {
    auto [place, added] = loops.try_emplace(name, loops.size());
    return place->second;
  }
  AffineExpr at(StringRef name) { return b.getAffineDimExpr(loop(name)); }
  AffineExpr at(StringRef name, size_t dim) {
    return at((name + Twine(dim)).str());
  }

  /// `x`, whose dimension `dim` holds the channels of all groups, with a
  /// dimension of groups before it.
  Value grouped(Value x, unsigned dim) {
    if (groups == 1)
      return x;
    SmallVector<ReassociationIndices> merged = reassociation(x, dim);
    TensorBuilder::Extents extents = tensors.extentsOf(x);
    // Whole, so static.
    int64_t channels = cast<RankedTensorType>(x.getType()).getDimSize(dim);
    extents[dim] = b.getIndexAttr(groups);
    extents.insert(extents.begin() + dim + 1,
                   b.getIndexAttr(channels / groups));
    return tensors.expand(x, merged, extents);
  }

  /// The place of a tensor whose dimensions are `exprs` but for the group,
  /// which comes before dimension `groupDim`.
  SmallVector<AffineExpr> place(SmallVector<AffineExpr> exprs,
                                unsigned groupDim) {
    if (groups > 1)
      exprs.insert(exprs.begin() + groupDim, at("g"));
    return exprs;
  }

  /// Zeros, where an operand is empty and so every sum is; else null.
  Value sumOfNothing(LocalView &view) {
    bool isEmpty = llvm::any_of(op->getOperands(), [](Value operand) {
      return cast<RankedTensorType>(operand.getType()).getNumElements() == 0;
    });
    if (!isEmpty)
      return {};
    Value zeros = tensors.filled(view.getResultExtents(0), zero());
    return coarsen(b, loc, tensors.converted(zeros, element),
                   view.getResultType(0));
  }

  /// The sum of products, with the groups merged in dimension `groupDim`. All
  /// loops that `result` has come before others.
  Value contract(Value a, ArrayRef<AffineExpr> placeA, Value c,
                 ArrayRef<AffineExpr> placeC, ArrayRef<AffineExpr> result,
                 LocalView &view, unsigned groupDim) {
    Value logical = op->getResult(0);
    Value init = tensors.filled(
        refine(b, view.getResultExtents(0),
               cast<RankedTensorType>(logical.getType()), firstWhole(logical)),
        zero());
    Value start = grouped(init, groupDim);
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(loops.size(), 0, exprs, b.getContext());
    };
    SmallVector<utils::IteratorType> iterators(loops.size(),
                                               utils::IteratorType::reduction);
    for (AffineExpr expr : result)
      iterators[cast<AffineDimExpr>(expr).getPosition()] =
          utils::IteratorType::parallel;
    Value sum =
        linalg::GenericOp::create(
            b, loc, start.getType(), ValueRange{a, c}, start,
            ArrayRef<AffineMap>{map(placeA), map(placeC), map(result)},
            iterators,
            [&](OpBuilder &body, Location at, ValueRange v) {
              Value product = arith::MulFOp::create(body, at, v[0], v[1]);
              Value next = arith::AddFOp::create(body, at, v[2], product);
              linalg::YieldOp::create(body, at, next);
            })
            .getResult(0);
    if (groups > 1)
      sum = tensors.collapse(sum, reassociation(init, groupDim));
    return coarsen(b, loc, tensors.converted(sum, element),
                   view.getResultType(0));
  }

private:
  /// The dimension from which on ranks have all of a tensor: the spatial ones,
  /// and the channels where they are in groups. A weight is all channels.
  int64_t firstWhole(Value tensor) {
    if (groups == 1)
      return 2;
    bool isWeight = isa<ConvolutionGradWeightOp>(op)
                        ? tensor == op->getResult(0)
                        : tensor == op->getOperand(1);
    return isWeight ? 0 : 1;
  }
  /// One group of dimensions per dimension of `merged`, two in `dim`'s.
  SmallVector<ReassociationIndices> reassociation(Value merged, unsigned dim) {
    SmallVector<ReassociationIndices> result;
    int64_t next = 0;
    for (int64_t i = 0; i < cast<RankedTensorType>(merged.getType()).getRank();
         ++i) {
      result.push_back({next++});
      if (i == dim)
        result.back().push_back(next++);
    }
    return result;
  }

  OpBuilder &b;
  Operation *op;
  Location loc;
  TensorBuilder tensors;
  int64_t groups;
  Type element, accumulator;
  llvm::StringMap<unsigned> loops;
};

/// The windows of an op whose weight has these dimensions.
template <typename Op>
SmallVector<Window> windowsOf(Op op, ArrayRef<int64_t> weight) {
  return oneflow::windowsOf(weight.drop_front(2), op.getStrides(), op.getLow(),
                            op.getHigh(), op.getDilations());
}

} // namespace

FailureOr<SmallVector<Value>> ConvolutionOp::buildLocal(OpBuilder &b,
                                                        LocalView &view) {
  SmallVector<Window> windows =
      ::windowsOf(*this, getWeight().getType().getShape());
  ConvolutionKernel k(b, *this, getGroups());
  if (Value zeros = k.sumOfNothing(view))
    return SmallVector<Value>{zeros};
  SmallVector<AffineExpr> y = {k.at("n")};
  y = k.place(y, 1);
  y.push_back(k.at("o"));
  for (size_t dim = 0; dim < windows.size(); ++dim)
    y.push_back(k.at("y", dim));
  SmallVector<AffineExpr> x = {k.at("n"), k.at("i")},
                          weight = {k.at("o"), k.at("i")};
  for (auto [dim, window] : llvm::enumerate(windows)) {
    x.push_back(k.at("y", dim) * window.stride +
                k.at("k", dim) * window.dilation);
    weight.push_back(k.at("k", dim));
  }
  Value padded = extend(b, getLoc(), k.operand(view, 0), windows, k.zero());
  return SmallVector<Value>{k.contract(k.grouped(padded, 1), k.place(x, 1),
                                       k.grouped(k.operand(view, 1), 0),
                                       k.place(weight, 0), y, view, 1)};
}

FailureOr<SmallVector<Value>>
ConvolutionGradInputOp::buildLocal(OpBuilder &b, LocalView &view) {
  SmallVector<Window> windows =
      ::windowsOf(*this, getWeight().getType().getShape());
  ConvolutionKernel k(b, *this, getGroups());
  if (Value zeros = k.sumOfNothing(view))
    return SmallVector<Value>{zeros};
  SmallVector<AffineExpr> x = {k.at("n")};
  x = k.place(x, 1);
  x.push_back(k.at("i"));
  for (size_t dim = 0; dim < windows.size(); ++dim)
    x.push_back(k.at("x", dim));
  SmallVector<AffineExpr> y = {k.at("n"), k.at("o")},
                          weight = {k.at("o"), k.at("i")};
  for (auto [dim, window] : llvm::enumerate(windows)) {
    y.push_back(k.at("x", dim) + (window.reach() - 1) -
                k.at("k", dim) * window.dilation);
    weight.push_back(k.at("k", dim));
  }
  Value spread = spreadWindows(b, getLoc(), k.operand(view, 0), windows,
                               getExtents(), k.zero());
  return SmallVector<Value>{k.contract(k.grouped(spread, 1), k.place(y, 1),
                                       k.grouped(k.operand(view, 1), 0),
                                       k.place(weight, 0), x, view, 1)};
}

FailureOr<SmallVector<Value>>
ConvolutionGradWeightOp::buildLocal(OpBuilder &b, LocalView &view) {
  SmallVector<Window> windows = ::windowsOf(*this, getType().getShape());
  ConvolutionKernel k(b, *this, getGroups());
  if (Value zeros = k.sumOfNothing(view))
    return SmallVector<Value>{zeros};
  SmallVector<AffineExpr> weight = k.place({}, 0);
  weight.append({k.at("o"), k.at("i")});
  for (size_t dim = 0; dim < windows.size(); ++dim)
    weight.push_back(k.at("k", dim));
  SmallVector<AffineExpr> x = {k.at("n"), k.at("i")},
                          y = {k.at("n"), k.at("o")};
  for (auto [dim, window] : llvm::enumerate(windows)) {
    x.push_back(k.at("y", dim) * window.stride +
                k.at("k", dim) * window.dilation);
    y.push_back(k.at("y", dim));
  }
  Value padded = extend(b, getLoc(), k.operand(view, 0), windows, k.zero());
  return SmallVector<Value>{k.contract(k.grouped(padded, 1), k.place(x, 1),
                                       k.grouped(k.operand(view, 1), 1),
                                       k.place(y, 1), weight, view, 0)};
}
