//===- ConcatOp.cpp - concatenation ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Type, rule, gradient and kernel of tensors one behind the other.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace oneflow;

LogicalResult
ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(loc, "concat_c1: expected an operand");
  auto type = cast<RankedTensorType>(operands[0].getType());
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= type.getRank())
    return emitOptionalError(loc, "concat_c1: expected a dimension of ", type,
                             ", got: ", dim);
  SmallVector<int64_t> shape(type.getShape());
  for (Value operand : operands.drop_front()) {
    auto other = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> expected(shape);
    if (other.getRank() == type.getRank())
      expected[dim] = other.getDimSize(dim);
    if (failed(verifyCompatibleShape(expected, other.getShape())))
      return emitOptionalError(
          loc, "concat_c2: expected shapes that are equal but for dimension ",
          dim, ", got: ", type, " and ", other);
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t extent = other.getDimSize(i);
      if (i != dim) {
        if (ShapedType::isDynamic(shape[i]))
          shape[i] = extent;
        continue;
      }
      if (ShapedType::isDynamic(shape[i]) || ShapedType::isDynamic(extent))
        shape[i] = ShapedType::kDynamic;
      else if (__builtin_add_overflow(shape[i], extent, &shape[i]))
        return emitOptionalError(loc, "concat_c2: dimension ", dim,
                                 " gets more elements than an extent can "
                                 "count");
    }
  }
  types.push_back(type.clone(shape));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  bool same = getXs().size() == 1 && getXs()[0].getType() == getType() &&
              !isPinned(*this);
  return same ? OpFoldResult(getXs()[0]) : OpFoldResult();
}

sbp::OpRule ConcatOp::getSbpRule() {
  sbp::OpRule rule;
  auto dim = static_cast<size_t>(getDim());
  sbp::TensorFactors result;
  for (auto [i, extent] : llvm::enumerate(shapeOf(getResult())))
    result.push_back({rule.addFactor("d" + std::to_string(i), extent,
                                     i == dim ? sbp::Factor::Role::Whole
                                              : sbp::Factor::Role::Parallel)});
  for (auto [number, x] : llvm::enumerate(getXs())) {
    sbp::TensorFactors factors = result;
    factors[dim] = {rule.addFactor("part" + std::to_string(number),
                                   shapeOf(x)[dim], sbp::Factor::Role::Whole)};
    rule.operands.push_back(std::move(factors));
  }
  rule.results = {std::move(result)};
  std::vector<unsigned> all(getXs().size());
  std::iota(all.begin(), all.end(), 0);
  rule.partials = passesEvery(all);
  return rule;
}

LogicalResult ConcatOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                      SmallVectorImpl<Value> &dx) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getType()));
  SmallVector<int64_t> offsets(getType().getRank(), 0),
      strides(getType().getRank(), 1);
  for (Value x : getXs()) {
    ArrayRef<int64_t> sizes = cast<RankedTensorType>(x.getType()).getShape();
    dx.push_back(isFloat ? SliceOp::create(b, getLoc(), dy[0], offsets, sizes,
                                           strides, nullptr, nullptr)
                               .getResult()
                         : Value());
    offsets[getDim()] += sizes[getDim()];
  }
  return success();
}

FailureOr<SmallVector<Value>> ConcatOp::buildLocal(OpBuilder &b,
                                                   LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  Value result =
      tensors.empty(view.getResultExtents(0), getElementTypeOrSelf(getType()));
  int64_t rank = getType().getRank();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      strides(rank, b.getIndexAttr(1));
  int64_t offset = 0;
  for (auto [number, x] : llvm::enumerate(getXs())) {
    offsets[getDim()] = b.getIndexAttr(offset);
    Value part = view.getOperand(number);
    result = tensor::InsertSliceOp::create(b, getLoc(), part, result, offsets,
                                           tensors.extentsOf(part), strides);
    // No rank has less than all of this dimension.
    offset += cast<RankedTensorType>(x.getType()).getDimSize(getDim());
  }
  return SmallVector<Value>{result};
}
