//===- Indexing.cpp - parts of tensors ------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slice, Split, Concat, Gather and Pad, on tensors that are computed when the
// model runs; FoldIndexing.cpp has them on known elements.
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"
#include "Operators.h"

#include <numeric>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

std::vector<int64_t> AxisRange::positions() const {
  std::vector<int64_t> result(count);
  for (int64_t i = 0; i < count; ++i)
    result[i] = first + i * step;
  return result;
}

/// All of each dimension.
static SmallVector<AxisRange> wholeRanges(ArrayRef<int64_t> shape) {
  SmallVector<AxisRange> ranges;
  for (int64_t extent : shape)
    ranges.push_back({0, extent, 1});
  return ranges;
}

//===----------------------------------------------------------------------===//
// What the nodes say
//===----------------------------------------------------------------------===//

namespace {
struct SliceArguments {
  std::vector<int64_t> starts, ends, axes, steps;
};
} // namespace

static FailureOr<SliceArguments> readSliceArguments(NodeImporter &node) {
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

/// Ends far outside, such as the smallest integer, must not wrap around.
static AxisRange rangeOf(int64_t extent, int64_t start, int64_t end,
                         int64_t step) {
  auto clamp = [&](int64_t position, int64_t low, int64_t high) {
    if (position < 0)
      position += extent;
    return std::clamp(position, low, high);
  };
  AxisRange range;
  if (step > 0) {
    range.first = clamp(start, 0, extent);
    int64_t last = clamp(end, 0, extent);
    if (last > range.first)
      range.count = (last - range.first - 1) / step + 1;
  } else if (extent > 0) {
    range.first = clamp(start, -1, extent - 1);
    int64_t last = clamp(end, -1, extent - 1);
    // The smallest integer has no negative in its own type.
    uint64_t back = 0 - static_cast<uint64_t>(step);
    if (last < range.first)
      range.count = static_cast<uint64_t>(range.first - last - 1) / back + 1;
  }
  range.step = range.count < 2 ? 1 : step;
  if (range.count == 0)
    range.first = 0;
  return range;
}

FailureOr<SmallVector<AxisRange>> importer::readSlice(NodeImporter &node) {
  FailureOr<SliceArguments> slice = readSliceArguments(node);
  if (failed(slice))
    return failure();
  ArrayRef<int64_t> shape = node.inputType(0).getShape();
  if (failed(node.normalizeAxes(slice->axes, shape.size())))
    return failure();
  SmallVector<AxisRange> ranges = wholeRanges(shape);
  for (size_t i = 0; i < slice->axes.size(); ++i) {
    int64_t axis = *node.normalizeAxis(slice->axes[i], shape.size());
    if (slice->steps[i] == 0)
      return node.error() << "its steps must not be 0";
    ranges[axis] =
        rangeOf(shape[axis], slice->starts[i], slice->ends[i], slice->steps[i]);
  }
  return ranges;
}

FailureOr<SplitParts> importer::readSplit(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", 0);
  if (failed(axis))
    return failure();
  ArrayRef<int64_t> shape = node.inputType(0).getShape();
  axis = node.normalizeAxis(*axis, shape.size());
  if (failed(axis))
    return failure();
  int64_t extent = shape[*axis], parts = node.proto().output_size();
  SplitParts split{*axis, {}};
  bool given = false;
  if (node.opset() < 13) {
    auto attribute = node.intsAttribute("split");
    if (failed(attribute))
      return failure();
    if ((given = attribute->has_value()))
      split.extents = **attribute;
  } else if ((given = node.hasInput(1))) {
    auto input = node.constantInts(1, "split");
    if (failed(input))
      return failure();
    split.extents = *input;
  }
  int64_t number = parts;
  if (node.opset() >= 18) {
    FailureOr<int64_t> outputs = node.intAttribute("num_outputs", parts);
    if (failed(outputs))
      return failure();
    number = *outputs;
    if (given && node.hasAttribute("num_outputs"))
      return node.error() << "both its split and 'num_outputs' are given";
  }
  if (number != parts)
    return node.error() << "its 'num_outputs' is " << number << ", but it has "
                        << parts << " outputs";
  if (!given) {
    if (node.opset() < 18 && extent % parts != 0)
      return node.error() << "cannot split extent " << extent << " into "
                          << parts << " equal parts";
    // Since opset 18 the last part may be smaller.
    int64_t size = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      split.extents.push_back(std::clamp<int64_t>(extent - i * size, 0, size));
  }
  int64_t total = 0;
  bool bad = static_cast<int64_t>(split.extents.size()) != parts;
  for (int64_t size : split.extents)
    bad |= size < 0 || __builtin_add_overflow(total, size, &total);
  if (bad || total != extent)
    return node.error() << "expected " << parts << " extents that add up to "
                        << extent << " in its split, got ["
                        << ArrayRef<int64_t>(split.extents) << "]";
  return split;
}

FailureOr<ConcatShape> importer::readConcat(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", 0);
  if (failed(axis))
    return failure();
  if (!node.hasAttribute("axis"))
    return node.error() << "attribute 'axis' is missing";
  RankedTensorType first = node.inputType(0);
  axis = node.normalizeAxis(*axis, first.getRank());
  if (failed(axis))
    return failure();
  ConcatShape result{*axis, SmallVector<int64_t>(first.getShape())};
  result.shape[*axis] = 0;
  for (unsigned i = 0; i < node.inputCount(); ++i) {
    RankedTensorType type = node.inputType(i);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[*axis] = type.getDimSize(*axis);
    if (type != RankedTensorType::get(expected, first.getElementType()))
      return node.error() << "cannot concatenate " << first << " and " << type
                          << " along axis " << *axis;
    if (__builtin_add_overflow(result.shape[*axis], expected[*axis],
                               &result.shape[*axis]))
      return node.error() << "its result has more elements than memory can "
                             "hold";
  }
  return result;
}

FailureOr<int64_t> importer::readGatherAxis(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", 0);
  if (failed(axis))
    return failure();
  axis = node.normalizeAxis(*axis, node.inputType(0).getRank());
  if (failed(axis))
    return failure();
  RankedTensorType indices = node.inputType(1);
  if (!indices.getElementType().isInteger(64) &&
      !indices.getElementType().isInteger(32))
    return node.error() << "its indices must be i32 or i64, got " << indices;
  return axis;
}

FailureOr<std::vector<int64_t>>
importer::readGatherPositions(NodeImporter &node, const HostTensor &indices,
                              int64_t extent) {
  std::vector<int64_t> positions = indices.ints();
  for (int64_t &index : positions) {
    if (index < -extent || index >= extent)
      return node.error() << "index " << index << " is outside of extent "
                          << extent;
    if (index < 0)
      index += extent;
  }
  return positions;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The constant of integers that known positions are gathered at.
static Value positionsConstant(NodeImporter &node,
                               ArrayRef<int64_t> positions) {
  HostTensor data = HostTensor::vector(node.builder().getContext(), positions);
  return ConstantOp::create(node.builder(), node.loc(), data.type(),
                            data.toDenseAttribute(), FlatSymbolRefAttr(),
                            SignatureAttr());
}

static Value gather(NodeImporter &node, Value x, Value indices, int64_t axis) {
  return GatherOp::create(node.builder(), node.loc(), x, indices, axis,
                          FlatSymbolRefAttr(), SignatureAttr());
}

/// The ranges of x; x itself where they are all of it.
static Value slice(NodeImporter &node, Value x, ArrayRef<AxisRange> ranges) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  SmallVector<int64_t> offsets, sizes, strides;
  SmallVector<unsigned> backward;
  for (auto [axis, range] : llvm::enumerate(ranges)) {
    bool isBackward = range.step < 0;
    if (isBackward)
      backward.push_back(axis);
    offsets.push_back(isBackward ? 0 : range.first);
    sizes.push_back(isBackward ? shape[axis] : range.count);
    strides.push_back(isBackward ? 1 : range.step);
  }
  if (shape != ArrayRef<int64_t>(sizes))
    x = SliceOp::create(node.builder(), node.loc(), x, offsets, sizes, strides,
                        FlatSymbolRefAttr(), SignatureAttr());
  // Backward is no stride; positions say it as well.
  for (unsigned axis : backward)
    x = gather(node, x, positionsConstant(node, ranges[axis].positions()),
               axis);
  return x;
}

LogicalResult importer::importSlice(NodeImporter &node) {
  FailureOr<SmallVector<AxisRange>> ranges = readSlice(node);
  if (failed(ranges))
    return failure();
  for (const AxisRange &range : *ranges)
    if (range.step < 0 && range.count > kFoldLimit)
      return node.error() << "a negative step over " << range.count
                          << " elements is not supported, expected "
                          << kFoldLimit << " at most";
  Value x = node.input(0);
  return x ? node.setResult(slice(node, x, *ranges)) : failure();
}

LogicalResult importer::importSplit(NodeImporter &node) {
  FailureOr<SplitParts> split = readSplit(node);
  Value x = succeeded(split) ? node.input(0) : Value();
  if (!x)
    return failure();
  SmallVector<AxisRange> ranges = wholeRanges(node.inputType(0).getShape());
  int64_t offset = 0;
  for (auto [output, extent] : llvm::enumerate(split->extents)) {
    ranges[split->axis] = {offset, extent, 1};
    offset += extent;
    if (failed(node.setResult(slice(node, x, ranges), output)))
      return failure();
  }
  return success();
}

LogicalResult importer::importConcat(NodeImporter &node) {
  FailureOr<ConcatShape> concat = readConcat(node);
  if (failed(concat))
    return failure();
  if (!countElements(concat->shape))
    return node.error() << "its result has more elements than memory can hold";
  SmallVector<Value> parts;
  for (unsigned i = 0; i < node.inputCount(); ++i) {
    // What has no elements, exporters write to say that there is no past.
    bool isEmpty = node.inputType(i).getDimSize(concat->axis) == 0;
    if (isEmpty && (!parts.empty() || i + 1 < node.inputCount()))
      continue;
    parts.push_back(node.input(i));
    if (!parts.back())
      return failure();
  }
  if (parts.size() == 1)
    return node.setResult(parts[0]);
  return node.setResult(ConcatOp::create(node.builder(), node.loc(), parts,
                                         concat->axis, FlatSymbolRefAttr(),
                                         SignatureAttr()));
}

/// The range that the positions are, if they are one.
static std::optional<AxisRange> asRange(ArrayRef<int64_t> positions) {
  if (positions.empty())
    return std::nullopt;
  AxisRange range{positions[0], static_cast<int64_t>(positions.size()), 1};
  if (positions.size() > 1)
    range.step = positions[1] - positions[0];
  if (range.step < 1 || range.positions() != positions.vec())
    return std::nullopt;
  return range;
}

LogicalResult importer::importGather(NodeImporter &node) {
  FailureOr<int64_t> axis = readGatherAxis(node);
  if (failed(axis))
    return failure();
  ArrayRef<int64_t> shape = node.inputType(0).getShape();
  RankedTensorType indexType = node.inputType(1);
  SmallVector<int64_t> resultShape(shape.take_front(*axis));
  llvm::append_range(resultShape, indexType.getShape());
  llvm::append_range(resultShape, shape.drop_front(*axis + 1));
  if (!countElements(resultShape))
    return node.error() << "its result has more elements than memory can hold";
  FailureOr<HostTensorRef> known = node.knownInput(1);
  if (failed(known))
    return failure();
  if (*known && (*known)->size() <= kFoldLimit) {
    auto positions = readGatherPositions(node, **known, shape[*axis]);
    if (failed(positions))
      return failure();
    // One position, or some in steps, need no index when the model runs.
    if (std::optional<AxisRange> range = asRange(*positions)) {
      SmallVector<AxisRange> ranges = wholeRanges(shape);
      ranges[*axis] = *range;
      Value x = node.input(0);
      return x ? node.setResult(
                     node.reshape(slice(node, x, ranges), resultShape))
               : failure();
    }
  }
  Value x = node.input(0), indices = x ? node.input(1) : Value();
  return indices ? node.setResult(gather(node, x, indices, *axis)) : failure();
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// How many elements come before each dimension, then how many behind it.
static FailureOr<std::vector<int64_t>> readPads(NodeImporter &node,
                                                size_t rank) {
  if (node.opset() < 11) {
    auto pads = node.intsAttribute("pads");
    if (failed(pads))
      return failure();
    if (!*pads)
      return node.error() << "attribute 'pads' is missing";
    if ((*pads)->size() != 2 * rank)
      return node.error() << "expected " << 2 * rank << " pads, got "
                          << (*pads)->size();
    return **pads;
  }
  auto pads = node.constantInts(1, "pads");
  if (failed(pads))
    return failure();
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.hasInput(3)) {
    auto given = node.constantInts(3, "axes");
    if (failed(given) || failed(node.normalizeAxes(*given, rank)))
      return failure();
    axes = *given;
  }
  if (pads->size() != 2 * axes.size())
    return node.error() << "expected " << 2 * axes.size() << " pads, got "
                        << pads->size();
  std::vector<int64_t> result(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = *node.normalizeAxis(axes[i], rank);
    result[axis] = (*pads)[i];
    result[rank + axis] = (*pads)[axes.size() + i];
  }
  return result;
}

static FailureOr<TypedAttr> readPadValue(NodeImporter &node, Type element) {
  Builder &b = node.builder();
  if (node.opset() < 11) {
    FailureOr<double> value = node.floatAttribute("value", 0);
    if (failed(value))
      return failure();
    if (auto type = dyn_cast<FloatType>(element))
      return TypedAttr(b.getFloatAttr(type, *value));
    return node.error() << "only floats are supported in opset " << node.opset()
                        << ", got " << node.inputType(0);
  }
  if (!node.hasInput(2))
    return b.getZeroAttr(element);
  RankedTensorType type = node.inputType(2);
  if (type.getElementType() != element || type.getNumElements() != 1)
    return node.error() << "its constant_value must be a scalar of " << element
                        << ", got " << type;
  FailureOr<HostTensorRef> value = node.constantInput(2, "constant_value");
  if (failed(value))
    return failure();
  if (isa<FloatType>(element))
    return TypedAttr(b.getFloatAttr(element, (*value)->floatAt(0)));
  APInt bits(element.getIntOrFloatBitWidth(), (*value)->intAt(0),
             /*isSigned=*/true, /*implicitTrunc=*/true);
  return TypedAttr(IntegerAttr::get(element, bits));
}

LogicalResult importer::importPad(NodeImporter &node) {
  FailureOr<std::string> mode = node.stringAttribute("mode", "constant");
  if (failed(mode))
    return failure();
  if (*mode != "constant")
    return node.error() << "mode '" << *mode
                        << "' is not supported, expected 'constant'";
  RankedTensorType type = node.inputType(0);
  size_t rank = type.getRank();
  FailureOr<std::vector<int64_t>> pads = readPads(node, rank);
  FailureOr<TypedAttr> value = readPadValue(node, type.getElementType());
  if (failed(pads) || failed(value))
    return failure();
  // Negative pads cut off.
  SmallVector<AxisRange> ranges;
  SmallVector<int64_t> low, high, interior(rank, 0), shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t before = (*pads)[dim], behind = (*pads)[rank + dim];
    int64_t extent = type.getDimSize(dim), padded = 0;
    if (__builtin_add_overflow(extent, before, &padded) ||
        __builtin_add_overflow(padded, behind, &padded) || padded < 0)
      return node.error() << "cannot pad extent " << extent << " by " << before
                          << " and " << behind;
    low.push_back(std::max<int64_t>(before, 0));
    high.push_back(std::max<int64_t>(behind, 0));
    int64_t first = before < -extent ? extent : std::max<int64_t>(-before, 0);
    int64_t last = behind < -extent
                       ? first
                       : std::max(first, extent + std::min<int64_t>(behind, 0));
    if (last - first + low.back() + high.back() != padded)
      return node.error() << "pads of " << before << " and " << behind
                          << " cut off more than extent " << extent
                          << " has, which is not supported";
    ranges.push_back({first, last - first, 1});
    shape.push_back(padded);
  }
  if (!countElements(shape))
    return node.error() << "its result has more elements than memory can hold";
  Value x = node.input(0);
  if (!x)
    return failure();
  x = slice(node, x, ranges);
  if (cast<RankedTensorType>(x.getType()).getShape() ==
      ArrayRef<int64_t>(shape))
    return x == node.input(0) ? node.forwardInput(0) : node.setResult(x);
  return node.setResult(PadOp::create(node.builder(), node.loc(), x, low, high,
                                      interior, *value, FlatSymbolRefAttr(),
                                      SignatureAttr()));
}
