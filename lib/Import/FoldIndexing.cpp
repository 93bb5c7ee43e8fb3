//===- FoldIndexing.cpp - indexing of known elements ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gather, Concat, Slice and ReduceProd, as exporters pick extents out of shapes
// and put them together again.
//
//===----------------------------------------------------------------------===//

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
  FailureOr<int64_t> axis = node.intAttribute("axis", 0);
  if (failed(x) || failed(indices) || failed(axis))
    return failure();
  ArrayRef<int64_t> shape = (*x)->shape();
  axis = node.normalizeAxis(*axis, shape.size());
  if (failed(axis))
    return failure();
  if (!(*indices)->elementType().isInteger(64) &&
      !(*indices)->elementType().isInteger(32))
    return node.error() << "its indices must be i32 or i64, got "
                        << (*indices)->type();
  SmallVector<int64_t> resultShape(shape.take_front(*axis));
  llvm::append_range(resultShape, (*indices)->shape());
  llvm::append_range(resultShape, shape.drop_front(*axis + 1));
  std::optional<int64_t> count = countElements(resultShape);
  if (!count || *count > kFoldLimit)
    return false;
  std::vector<int64_t> picked = (*indices)->ints();
  for (int64_t &index : picked) {
    if (index < -shape[*axis] || index >= shape[*axis])
      return node.error() << "index " << index << " is outside of extent "
                          << shape[*axis];
    if (index < 0)
      index += shape[*axis];
  }
  HostTensor result = HostTensor::zeros(
      RankedTensorType::get(resultShape, (*x)->elementType()));
  select(**x, AxisView(shape, *axis), picked, result);
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

FailureOr<bool> importer::foldConcat(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", 0);
  if (failed(axis))
    return failure();
  if (!node.hasAttribute("axis"))
    return node.error() << "attribute 'axis' is missing";
  RankedTensorType first = node.inputType(0);
  axis = node.normalizeAxis(*axis, first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<HostTensorRef> parts;
  SmallVector<int64_t> shape(first.getShape());
  shape[*axis] = 0;
  for (unsigned i = 0; i < node.inputCount(); ++i) {
    FailureOr<HostTensorRef> part = node.knownInput(i);
    if (failed(part))
      return failure();
    SmallVector<int64_t> expected(first.getShape());
    if ((*part)->type().getRank() == first.getRank())
      expected[*axis] = (*part)->shape()[*axis];
    if ((*part)->type() !=
        RankedTensorType::get(expected, first.getElementType()))
      return node.error() << "cannot concatenate " << first << " and "
                          << (*part)->type() << " along axis " << *axis;
    shape[*axis] += expected[*axis];
    parts.push_back(*part);
  }
  std::optional<int64_t> count = countElements(shape);
  if (!count || *count > kFoldLimit)
    return false;
  auto type = RankedTensorType::get(shape, first.getElementType());
  HostTensor result = HostTensor::zeros(type);
  AxisView whole(shape, *axis);
  int64_t offset = 0;
  for (const HostTensorRef &part : parts) {
    AxisView view(part->shape(), *axis);
    for (int64_t i = 0; i < view.outer; ++i)
      for (int64_t j = 0; j < view.extent; ++j)
        for (int64_t k = 0; k < view.inner; ++k)
          result.setRaw(whole.at(i, offset + j, k),
                        part->rawAt(view.at(i, j, k)));
    offset += view.extent;
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

namespace {

struct SliceArguments {
  std::vector<int64_t> starts, ends, axes, steps;
};

FailureOr<SliceArguments> readSlice(NodeImporter &node) {
  SliceArguments slice;
  bool hasAxes = false, hasSteps = false;
  if (node.opset() < 10) {
    auto starts = node.intsAttribute("starts"),
         ends = node.intsAttribute("ends");
    auto axes = node.intsAttribute("axes");
    if (failed(starts) || failed(ends) || failed(axes))
      return failure();
    if (!*starts || !*ends)
      return node.error() << "attribute 'starts' or 'ends' is missing";
    slice.starts = **starts;
    slice.ends = **ends;
    if ((hasAxes = axes->has_value()))
      slice.axes = **axes;
  } else {
    std::vector<int64_t> *fields[] = {&slice.starts, &slice.ends, &slice.axes,
                                      &slice.steps};
    const char *roles[] = {"starts", "ends", "axes", "steps"};
    for (unsigned i = 0; i < 4; ++i) {
      if (!node.hasInput(i + 1))
        continue;
      auto values = node.constantInts(i + 1, roles[i]);
      if (failed(values))
        return failure();
      *fields[i] = *values;
      (i == 2 ? hasAxes : hasSteps) |= i >= 2;
    }
  }
  if (!hasAxes)
    for (size_t i = 0; i < slice.starts.size(); ++i)
      slice.axes.push_back(i);
  if (!hasSteps)
    slice.steps.assign(slice.starts.size(), 1);
  size_t count = slice.starts.size();
  if (slice.ends.size() != count || slice.axes.size() != count ||
      slice.steps.size() != count)
    return node.error() << "its starts, ends, axes and steps must be of one "
                           "number, got "
                        << count << ", " << slice.ends.size() << ", "
                        << slice.axes.size() << " and " << slice.steps.size();
  return slice;
}

/// The indices that a slice picks from an extent.
std::vector<int64_t> sliceIndices(int64_t extent, int64_t start, int64_t end,
                                  int64_t step) {
  // Ends far outside, such as the smallest integer, must not wrap around.
  auto clamp = [&](int64_t position, int64_t low, int64_t high) {
    if (position < 0)
      position += extent;
    return std::clamp(position, low, high);
  };
  std::vector<int64_t> indices;
  if (step > 0) {
    int64_t last = clamp(end, 0, extent);
    for (int64_t i = clamp(start, 0, extent); i < last;) {
      indices.push_back(i);
      if (step >= last - i)
        break;
      i += step;
    }
  } else {
    int64_t last = clamp(end, -1, extent - 1);
    for (int64_t i = clamp(start, -1, extent - 1); i > last;) {
      indices.push_back(i);
      if (step <= last - i)
        break;
      i += step;
    }
  }
  return indices;
}

} // namespace

FailureOr<bool> importer::foldSlice(NodeImporter &node) {
  FailureOr<HostTensorRef> known = node.knownInput(0);
  FailureOr<SliceArguments> slice = readSlice(node);
  if (failed(known) || failed(slice))
    return failure();
  HostTensor x = **known;
  if (failed(node.normalizeAxes(slice->axes, x.type().getRank())))
    return failure();
  for (size_t i = 0; i < slice->axes.size(); ++i) {
    int64_t axis = *node.normalizeAxis(slice->axes[i], x.type().getRank());
    if (slice->steps[i] == 0)
      return node.error() << "its steps must not be 0";
    auto indices = sliceIndices(x.shape()[axis], slice->starts[i],
                                slice->ends[i], slice->steps[i]);
    SmallVector<int64_t> shape(x.shape());
    shape[axis] = indices.size();
    HostTensor result =
        HostTensor::zeros(RankedTensorType::get(shape, x.elementType()));
    select(x, AxisView(x.shape(), axis), indices, result);
    x = std::move(result);
  }
  if (failed(node.setData(std::move(x))))
    return failure();
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
