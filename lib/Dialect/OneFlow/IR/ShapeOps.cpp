//===- ShapeOps.cpp - broadcast, transpose, reshape -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that move elements and compute nothing: every partial value passes them.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace oneflow;

/// Two ops merge only before signatures are chosen, and where none is asked
/// for: else what lies between them may be wanted as it is.
template <typename OpT> static bool mayMerge(OpT first, OpT second) {
  return first && !first.getSignatureAttr() && !second.getSignatureAttr() &&
         !isPinned(first) && !isPinned(second) &&
         first.getPlacementAttr() == second.getPlacementAttr();
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = getX().getType().getShape(),
                    to = getType().getShape();
  bool fits = from.size() <= to.size();
  for (size_t dim = 0; fits && dim < from.size(); ++dim) {
    int64_t extent = from[dim], target = to[to.size() - from.size() + dim];
    fits = extent == 1 || extent == target || ShapedType::isDynamic(extent) ||
           ShapedType::isDynamic(target);
  }
  if (!fits)
    return emitOpError("broadcast_c1: expected extents that are the result's "
                       "or 1, got: ")
           << getX().getType() << " and " << getType();
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  bool same = getX().getType() == getType() && getType().hasStaticShape() &&
              !isPinned(*this);
  return same ? OpFoldResult(getX()) : OpFoldResult();
}

sbp::OpRule BroadcastOp::getSbpRule() {
  return elementwiseRule(*this, passesEvery({0}));
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                         SmallVectorImpl<Value> &dx) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getType()));
  dx.push_back(isFloat ? graph::reduceTo(b, getLoc(), dy[0], getX()) : Value());
  return success();
}

FailureOr<SmallVector<Value>> BroadcastOp::buildLocal(OpBuilder &b,
                                                      LocalView &view) {
  return buildElementwise(
      *this, b, view, [](OpBuilder &, Location, ValueRange x) { return x[0]; });
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult
TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (static_cast<int64_t>(op.getPermutation().size()) != type.getRank() ||
      !isPermutationVector(op.getPermutation()))
    return emitOptionalError(loc, "transpose_c1: expected a permutation of ",
                             type.getRank(),
                             " dimensions, got: ", op.getPermutation());
  types.push_back(
      type.clone(applyPermutation(type.getShape(), op.getPermutation())));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool identity = isIdentityPermutation(getPermutation()) && !isPinned(*this);
  return identity ? OpFoldResult(getX()) : OpFoldResult();
}

namespace {
/// Two transposes in a row are one.
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!mayMerge(inner, op))
      return failure();
    SmallVector<int64_t> merged =
        applyPermutation(inner.getPermutation(), op.getPermutation());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), merged,
                                             op.getPlacementAttr(), nullptr);
    return success();
  }
};

/// Two reshapes in a row are one.
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!mayMerge(inner, op))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX(),
                                           op.getPlacementAttr(), nullptr);
    return success();
  }
};
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MergeTransposes>(context);
}

sbp::OpRule TransposeOp::getSbpRule() {
  sbp::OpRule rule;
  sbp::TensorFactors x;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(getX())))
    x.push_back({rule.addFactor("d" + std::to_string(dim), extent)});
  sbp::TensorFactors result;
  for (int64_t dim : getPermutation())
    result.push_back(x[dim]);
  rule.operands = {std::move(x)};
  rule.results = {std::move(result)};
  rule.partials = passesEvery({0});
  return rule;
}

LogicalResult TransposeOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                         SmallVectorImpl<Value> &dx) {
  SmallVector<int64_t> inverse = invertPermutationVector(getPermutation());
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getType()));
  dx.push_back(isFloat ? TransposeOp::create(b, getLoc(), dy[0], inverse,
                                             nullptr, nullptr)
                             .getResult()
                       : Value());
  return success();
}

FailureOr<SmallVector<Value>> TransposeOp::buildLocal(OpBuilder &b,
                                                      LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  AffineMap map = tensors.dimsMap(getPermutation().size(),
                                  invertPermutationVector(getPermutation()));
  return SmallVector<Value>{
      tensors.map(view.getResultExtents(0), getElementTypeOrSelf(getType()),
                  view.getOperand(0), map,
                  [](OpBuilder &, Location, ValueRange x) { return x[0]; })};
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getX().getType(), to = getType();
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements())
    return emitOpError("reshape_c1: expected ")
           << from.getNumElements()
           << " elements in the result, got: " << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  bool same = getX().getType() == getType() && getType().hasStaticShape() &&
              !isPinned(*this);
  return same ? OpFoldResult(getX()) : OpFoldResult();
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}

namespace {
/// What is left of a shape while factors are taken from it, major to minor.
struct ShapeCursor {
  explicit ShapeCursor(sbp::Shape shape)
      : shape(std::move(shape)), factors(this->shape.size()) {
    settle();
  }

  bool atEnd() const { return dim == shape.size(); }
  /// Gives the current dimension a factor of this size.
  void take(unsigned factor, int64_t size) {
    factors[dim].push_back(factor);
    left /= size;
    if (left == 1) {
      ++dim;
      settle();
    }
  }
  /// To the next dimension with more than one element.
  void settle() {
    while (dim < shape.size() && shape[dim] == 1)
      ++dim;
    left = dim < shape.size() ? shape[dim] : 1;
  }

  sbp::Shape shape;
  sbp::TensorFactors factors;
  size_t dim = 0;
  int64_t left = 1;
};
} // namespace

sbp::OpRule ReshapeOp::getSbpRule() {
  sbp::OpRule rule;
  ShapeCursor x(shapeOf(getX())), result(shapeOf(getResult()));
  unsigned count = 0;
  auto name = [&] { return "f" + std::to_string(count++); };
  auto whole = [&](ShapeCursor &cursor) {
    int64_t size = cursor.left;
    cursor.take(rule.addFactor(name(), size, sbp::Factor::Role::Whole), size);
    return size;
  };
  bool empty =
      llvm::is_contained(x.shape, 0) || llvm::is_contained(result.shape, 0);
  while (!empty && !x.atEnd() && !result.atEnd()) {
    if (int64_t common = std::gcd(x.left, result.left); common > 1) {
      unsigned factor = rule.addFactor(name(), common);
      x.take(factor, common);
      result.take(factor, common);
      continue;
    }
    // Nothing in common: until both have passed the same number of elements, no
    // cut through one is a cut through the other.
    int64_t passedX = whole(x), passedResult = whole(result);
    while (passedX != passedResult) {
      if (passedX < passedResult)
        passedX *= whole(x);
      else
        passedResult *= whole(result);
    }
  }
  rule.operands = {std::move(x.factors)};
  rule.results = {std::move(result.factors)};
  rule.partials = passesEvery({0});
  return rule;
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                       SmallVectorImpl<Value> &dx) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getType()));
  dx.push_back(
      isFloat ? graph::reshape(b, getLoc(), dy[0], getX().getType().getShape())
              : Value());
  return success();
}

FailureOr<SmallVector<Value>> ReshapeOp::buildLocal(OpBuilder &b,
                                                    LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  return SmallVector<Value>{
      tensors.reshape(view.getOperand(0), view.getResultExtents(0))};
}
