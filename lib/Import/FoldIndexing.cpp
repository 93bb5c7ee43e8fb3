//===- FoldIndexing.cpp - indexing of known elements ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gather, Concat, Slice, Split and ReduceProd, as exporters pick extents out of
// shapes and put them together again.
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"
#include "Operators.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

namespace {

/// A tensor as [outer, extent, inner] around one axis.
struct AxisView {
  AxisView(ArrayRef<int64_t> shape, int64_t axis)
      : outer(*countElements(shape.take_front(axis))), extent(shape[axis]),
        inner(*countElements(shape.drop_front(axis + 1))) {}

  int64_t at(int64_t i, int64_t j, int64_t k) const {
    return (i * extent + j) * inner + k;
  }

  int64_t outer, extent, inner;
};

/// Picks indices along one axis; the result has `view`'s extents but that one.
void select(const HostTensor &x, const AxisView &view,
            ArrayRef<int64_t> indices, HostTensor &result) {
  int64_t next = 0;
  for (int64_t i = 0; i < view.outer; ++i)
    for (int64_t j : indices)
      for (int64_t k = 0; k < view.inner; ++k)
        result.setRaw(next++, x.rawAt(view.at(i, j, k)));
}

} // namespace

FailureOr<bool> importer::foldGather(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0), indices = node.knownInput(1);
  FailureOr<int64_t> axis = readGatherAxis(node);
  if (failed(x) || failed(indices) || failed(axis))
    return failure();
  ArrayRef<int64_t> shape = (*x)->shape();
  SmallVector<int64_t> resultShape(shape.take_front(*axis));
  llvm::append_range(resultShape, (*indices)->shape());
  llvm::append_range(resultShape, shape.drop_front(*axis + 1));
  std::optional<int64_t> count = countElements(resultShape);
  if (!count || *count > kFoldLimit)
    return false;
  auto picked = readGatherPositions(node, **indices, shape[*axis]);
  if (failed(picked))
    return failure();
  HostTensor result = HostTensor::zeros(
      RankedTensorType::get(resultShape, (*x)->elementType()));
  select(**x, AxisView(shape, *axis), *picked, result);
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

FailureOr<bool> importer::foldConcat(NodeImporter &node) {
  FailureOr<ConcatShape> concat = readConcat(node);
  if (failed(concat))
    return failure();
  int64_t axis = concat->axis;
  std::optional<int64_t> count = countElements(concat->shape);
  if (!count || *count > kFoldLimit)
    return false;
  HostTensor result = HostTensor::zeros(
      RankedTensorType::get(concat->shape, node.inputType(0).getElementType()));
  AxisView whole(concat->shape, axis);
  int64_t offset = 0;
  for (unsigned n = 0; n < node.inputCount(); ++n) {
    FailureOr<HostTensorRef> part = node.knownInput(n);
    if (failed(part))
      return failure();
    AxisView view((*part)->shape(), axis);
    for (int64_t i = 0; i < view.outer; ++i)
      for (int64_t j = 0; j < view.extent; ++j)
        for (int64_t k = 0; k < view.inner; ++k)
          result.setRaw(whole.at(i, offset + j, k),
                        (*part)->rawAt(view.at(i, j, k)));
    offset += view.extent;
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

/// The positions of one axis of x.
static HostTensor take(const HostTensor &x, int64_t axis,
                       const AxisRange &range) {
  SmallVector<int64_t> shape(x.shape());
  shape[axis] = range.count;
  HostTensor result =
      HostTensor::zeros(RankedTensorType::get(shape, x.elementType()));
  select(x, AxisView(x.shape(), axis), range.positions(), result);
  return result;
}

FailureOr<bool> importer::foldSlice(NodeImporter &node) {
  FailureOr<HostTensorRef> known = node.knownInput(0);
  FailureOr<SmallVector<AxisRange>> ranges = readSlice(node);
  if (failed(known) || failed(ranges))
    return failure();
  HostTensor x = **known;
  for (auto [axis, range] : llvm::enumerate(*ranges))
    if (range.count != x.shape()[axis] || range.step < 0)
      x = take(x, axis, range);
  if (failed(node.setData(std::move(x))))
    return failure();
  return true;
}

FailureOr<bool> importer::foldSplit(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  FailureOr<SplitParts> split = readSplit(node);
  if (failed(x) || failed(split))
    return failure();
  int64_t offset = 0;
  for (auto [output, extent] : llvm::enumerate(split->extents)) {
    if (failed(
            node.setData(take(**x, split->axis, {offset, extent, 1}), output)))
      return failure();
    offset += extent;
  }
  return true;
}

FailureOr<bool> importer::foldReduceProd(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  if (failed(x))
    return failure();
  // The one form that exporters write: the product of a shape's extents.
  if (!(*x)->elementType().isInteger(64) || (*x)->type().getRank() != 1)
    return false;
  FailureOr<int64_t> keepDims = node.intAttribute("keepdims", 1);
  auto axes = node.opset() < 18 ? node.intsAttribute("axes")
                                : std::optional<std::vector<int64_t>>();
  if (failed(keepDims) || failed(axes))
    return failure();
  if (node.opset() >= 18) {
    FailureOr<int64_t> noop = node.intAttribute("noop_with_empty_axes", 0);
    if (failed(noop))
      return failure();
    if (*noop)
      return false;
  }
  if (node.hasInput(1)) {
    auto input = node.constantInts(1, "axes");
    if (failed(input))
      return failure();
    axes = std::optional(*input);
  }
  if (*axes && failed(node.normalizeAxes(**axes, 1)))
    return failure();
  uint64_t product = 1;
  for (int64_t extent : (*x)->ints())
    product *= static_cast<uint64_t>(extent);
  HostTensor result = HostTensor::vector(node.builder().getContext(),
                                         {static_cast<int64_t>(product)});
  if (!*keepDims)
    result = result.reshaped({});
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}
