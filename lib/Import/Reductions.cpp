//===- Reductions.cpp - reductions ----------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes are an attribute at first and an input since opset 13 (ReduceSum) or 18.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <numeric>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

struct Reduction {
  std::vector<int64_t> axes;
  bool keepDims = true;
};

/// `inputSince` is the opset since which axes are an input.
FailureOr<Reduction> readReduction(NodeImporter &node, int64_t inputSince) {
  Reduction reduction;
  FailureOr<int64_t> keepDims = node.intAttribute("keepdims", 1);
  if (failed(keepDims))
    return failure();
  reduction.keepDims = *keepDims != 0;
  std::vector<int64_t> axes;
  bool noop = false;
  if (node.opset() < inputSince) {
    auto attribute = node.intsAttribute("axes");
    if (failed(attribute))
      return failure();
    if (*attribute)
      axes = **attribute;
  } else {
    FailureOr<int64_t> attribute = node.intAttribute("noop_with_empty_axes", 0);
    if (failed(attribute))
      return failure();
    noop = *attribute != 0;
    if (node.hasInput(1)) {
      FailureOr<std::vector<int64_t>> input = node.constantInts(1, "axes");
      if (failed(input))
        return failure();
      axes = *input;
    }
  }
  int64_t rank = node.inputType(0).getRank();
  if (axes.empty() && !noop) {
    reduction.axes.resize(rank);
    std::iota(reduction.axes.begin(), reduction.axes.end(), 0);
    return reduction;
  }
  auto normalized = node.normalizeAxes(axes, rank);
  if (failed(normalized))
    return failure();
  reduction.axes = *normalized;
  return reduction;
}

Value reduce(NodeImporter &node, Value x, const Reduction &reduction,
             ReduceKind kind) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!llvm::is_contained(reduction.axes, dim))
      shape.push_back(type.getDimSize(dim));
    else if (reduction.keepDims)
      shape.push_back(1);
  }
  OpBuilder &builder = node.builder();
  return ReduceOp::create(
      builder, node.loc(), RankedTensorType::get(shape, type.getElementType()),
      x, ReduceKindAttr::get(builder.getContext(), kind),
      builder.getDenseI64ArrayAttr(reduction.axes),
      reduction.keepDims ? builder.getUnitAttr() : UnitAttr(),
      FlatSymbolRefAttr(), SignatureAttr());
}

/// The type in which elements are summed: f16's largest value is 65504, which a
/// sum passes where the mean or the root does not.
Type sumType(NodeImporter &node, Type element) {
  bool isHalf =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  return isHalf ? Type(node.builder().getF32Type()) : element;
}

LogicalResult importReduction(NodeImporter &node, int64_t inputSince,
                              ReduceKind kind) {
  FailureOr<Reduction> reduction = readReduction(node, inputSince);
  if (failed(reduction) || failed(node.requireNumber(0)))
    return failure();
  if (reduction->axes.empty())
    return node.forwardInput(0);
  Value x = node.input(0);
  return x ? node.setResult(reduce(node, x, *reduction, kind)) : failure();
}

} // namespace

LogicalResult importer::importReduceSum(NodeImporter &node) {
  return importReduction(node, 13, ReduceKind::Sum);
}
LogicalResult importer::importReduceMax(NodeImporter &node) {
  return importReduction(node, 18, ReduceKind::Max);
}
LogicalResult importer::importReduceMin(NodeImporter &node) {
  return importReduction(node, 18, ReduceKind::Min);
}
LogicalResult importer::importReduceProd(NodeImporter &node) {
  return importReduction(node, 18, ReduceKind::Prod);
}

/// The sum of squares, and its square root for ReduceL2.
static LogicalResult importSquares(NodeImporter &node, bool root) {
  FailureOr<Reduction> reduction = readReduction(node, 18);
  if (failed(reduction) ||
      failed(root ? node.requireFloat(0) : node.requireNumber(0)))
    return failure();
  Value x = node.input(0);
  if (!x)
    return failure();
  Type element = node.inputType(0).getElementType();
  x = node.cast(x, sumType(node, element));
  Value result =
      reduce(node, node.binary<MulOp>(x, x), *reduction, ReduceKind::Sum);
  if (root)
    result = node.unary<SqrtOp>(result);
  return node.setResult(node.cast(result, element));
}

LogicalResult importer::importReduceSumSquare(NodeImporter &node) {
  return importSquares(node, /*root=*/false);
}
LogicalResult importer::importReduceL2(NodeImporter &node) {
  return importSquares(node, /*root=*/true);
}

/// The mean over `reduction`, which is not empty.
static LogicalResult importMean(NodeImporter &node,
                                const Reduction &reduction) {
  RankedTensorType type = node.inputType(0);
  Type element = type.getElementType();
  Type wide = sumType(node, element);
  int64_t count = 1;
  for (int64_t axis : reduction.axes)
    count *= type.getDimSize(axis);
  if (isa<IntegerType>(element) &&
      (count == 0 || element.getIntOrFloatBitWidth() < 32))
    return node.error() << "the mean of " << count << " elements of " << element
                        << " is not supported";
  Value x = node.input(0);
  if (!x)
    return failure();
  Value sum = reduce(node, node.cast(x, wide), reduction, ReduceKind::Sum);
  Value mean = node.binary<DivOp>(sum, node.scalar(count, wide));
  return mean ? node.setResult(node.cast(mean, element)) : failure();
}

LogicalResult importer::importReduceMean(NodeImporter &node) {
  FailureOr<Reduction> reduction = readReduction(node, 18);
  if (failed(reduction) || failed(node.requireNumber(0)))
    return failure();
  return reduction->axes.empty() ? node.forwardInput(0)
                                 : importMean(node, *reduction);
}

/// All dimensions but the batch and the channels.
static FailureOr<Reduction> spatialReduction(NodeImporter &node) {
  int64_t rank = node.inputType(0).getRank();
  if (failed(node.requireFloat(0)))
    return failure();
  if (rank < 3)
    return node.error()
           << "expected a batch, channels and spatial dimensions, got "
           << node.inputType(0);
  Reduction reduction;
  reduction.axes.resize(rank - 2);
  std::iota(reduction.axes.begin(), reduction.axes.end(), 2);
  return reduction;
}

LogicalResult importer::importGlobalAveragePool(NodeImporter &node) {
  FailureOr<Reduction> reduction = spatialReduction(node);
  return failed(reduction) ? failure() : importMean(node, *reduction);
}

LogicalResult importer::importGlobalMaxPool(NodeImporter &node) {
  FailureOr<Reduction> reduction = spatialReduction(node);
  Value x = failed(reduction) ? Value() : node.input(0);
  return x ? node.setResult(reduce(node, x, *reduction, ReduceKind::Max))
           : failure();
}
