//===- Windows.cpp - convolution and pooling ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose windows slide over the spatial dimensions, which are all but
// the first two. Automatic padding and windows that stand out (ceil_mode)
// become plain numbers of padding; a mean becomes a sum over a count.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

/// More elements than this are not made constants of.
constexpr int64_t kConstantLimit = int64_t(1) << 24;
/// Numbers of windows and of elements stay below it, so that sums and products
/// of two of them do not overflow.
constexpr int64_t kLimit = int64_t(1) << 31;

/// The windows over one dimension of `extent` elements.
struct SpatialWindow {
  int64_t extent = 1, size = 1, stride = 1, dilation = 1;
  /// What the node says, or follows from auto_pad.
  int64_t low = 0, high = 0;
  /// `high`, and what windows reach beyond it with ceil_mode.
  int64_t reached = 0;
  int64_t count = 1;

  int64_t reach() const { return (size - 1) * dilation + 1; }
};
using SpatialWindows = SmallVector<SpatialWindow>;

/// What operators have besides strides and pads.
struct WindowForm {
  /// Empty where the attribute kernel_shape says it.
  ArrayRef<int64_t> kernel;
  bool hasDilations = true, hasCeilMode = false;
};

DenseI64ArrayAttr listOf(NodeImporter &node, const SpatialWindows &windows,
                         int64_t SpatialWindow::*number) {
  return node.builder().getDenseI64ArrayAttr(llvm::map_to_vector(
      windows, [&](const SpatialWindow &window) { return window.*number; }));
}

/// One number for each of `count`, from an attribute that may be absent.
FailureOr<std::vector<int64_t>> readList(NodeImporter &node, StringRef name,
                                         size_t count, int64_t otherwise,
                                         int64_t least) {
  auto list = node.intsAttribute(name);
  if (failed(list))
    return failure();
  if (!*list)
    return std::vector<int64_t>(count, otherwise);
  if ((*list)->size() != count)
    return node.error() << "attribute '" << name << "' must have " << count
                        << " numbers, got " << (*list)->size();
  for (int64_t number : **list)
    if (number < least || number >= kLimit)
      return node.error() << "attribute '" << name << "' must be in [" << least
                          << ", 2^31), got " << number;
  return **list;
}

/// Fills in `count` and `reached`, or reports that not one window fits.
LogicalResult countWindows(NodeImporter &node, SpatialWindow &window,
                           bool ceil) {
  int64_t room = window.extent + window.low + window.high - window.reach();
  if (room < 0)
    return node.error() << "a window of " << window.size
                        << " elements with dilation " << window.dilation
                        << " does not fit in "
                        << window.extent + window.low + window.high
                        << " elements, padding included";
  window.count = (ceil ? room + window.stride - 1 : room) / window.stride + 1;
  // A window must begin before the padding at the end.
  if (ceil && (window.count - 1) * window.stride >= window.extent + window.low)
    --window.count;
  int64_t end = (window.count - 1) * window.stride + window.reach();
  window.reached = ceil ? std::max<int64_t>(0, end - window.extent - window.low)
                        : window.high;
  return success();
}

LogicalResult padAutomatically(NodeImporter &node, SpatialWindows &windows,
                               StringRef mode, ArrayRef<int64_t> pads) {
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    return node.error() << "attributes 'pads' and 'auto_pad' (" << mode
                        << ") must not be given together";
  if (mode == "VALID")
    return success();
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER")
    return node.error() << "attribute 'auto_pad' must be NOTSET, SAME_UPPER, "
                           "SAME_LOWER or VALID, got "
                        << mode;
  for (SpatialWindow &window : windows) {
    int64_t count = (window.extent + window.stride - 1) / window.stride;
    int64_t all = std::max<int64_t>(0, (count - 1) * window.stride +
                                           window.reach() - window.extent);
    window.high = mode == "SAME_UPPER" ? (all + 1) / 2 : all / 2;
    window.low = all - window.high;
  }
  return success();
}

/// Reads the windows over input 0.
FailureOr<SpatialWindows> readWindows(NodeImporter &node, WindowForm form) {
  RankedTensorType type = node.inputType(0);
  if (type.getRank() < 3)
    return node.error()
           << "expected a batch, channels and spatial dimensions, got " << type;
  ArrayRef<int64_t> spatial = type.getShape().drop_front(2);
  size_t dims = spatial.size();
  auto kernel = node.intsAttribute("kernel_shape");
  auto strides = readList(node, "strides", dims, 1, 1);
  auto pads = readList(node, "pads", 2 * dims, 0, 0);
  FailureOr<std::vector<int64_t>> dilations = std::vector<int64_t>(dims, 1);
  if (form.hasDilations)
    dilations = readList(node, "dilations", dims, 1, 1);
  FailureOr<int64_t> ceil = 0;
  if (form.hasCeilMode)
    ceil = node.intAttribute("ceil_mode", 0);
  auto mode = node.stringAttribute("auto_pad", "NOTSET");
  if (failed(kernel) || failed(strides) || failed(pads) || failed(dilations) ||
      failed(ceil) || failed(mode))
    return failure();
  if (form.kernel.empty() && !*kernel)
    return node.error() << "attribute 'kernel_shape' is missing";
  std::vector<int64_t> sizes = *kernel ? **kernel : form.kernel.vec();
  if (!form.kernel.empty() && ArrayRef(sizes) != form.kernel)
    return node.error() << "attribute 'kernel_shape' must be [" << form.kernel
                        << "], as the weight is, got [" << ArrayRef(sizes)
                        << "]";
  if (sizes.size() != dims)
    return node.error() << "the window must have " << dims
                        << " dimensions, as the input has, got "
                        << sizes.size();
  SpatialWindows windows(dims);
  for (size_t dim = 0; dim < dims; ++dim) {
    if (sizes[dim] < 1 || sizes[dim] >= kLimit || spatial[dim] >= kLimit)
      return node.error() << "extents must be in [1, 2^31), got a window of ["
                          << ArrayRef(sizes) << "] over " << type;
    windows[dim].extent = spatial[dim];
    windows[dim].size = sizes[dim];
    windows[dim].stride = (*strides)[dim];
    windows[dim].dilation = (*dilations)[dim];
  }
  bool automatic = *mode != "NOTSET";
  if (automatic && failed(padAutomatically(node, windows, *mode, *pads)))
    return failure();
  for (size_t dim = 0; dim < dims; ++dim) {
    if (!automatic) {
      windows[dim].low = (*pads)[dim];
      windows[dim].high = (*pads)[dims + dim];
    }
    // With automatic padding, both ways of counting give the same.
    if (failed(countWindows(node, windows[dim], *ceil != 0 && !automatic)))
      return failure();
  }
  return windows;
}

Value pool(NodeImporter &node, Value x, const SpatialWindows &windows,
           ReduceKind kind) {
  return PoolOp::create(node.builder(), node.loc(),
                        ReduceKindAttr::get(node.builder().getContext(), kind),
                        x, Value(), listOf(node, windows, &SpatialWindow::size),
                        listOf(node, windows, &SpatialWindow::stride),
                        listOf(node, windows, &SpatialWindow::low),
                        listOf(node, windows, &SpatialWindow::reached),
                        listOf(node, windows, &SpatialWindow::dilation),
                        FlatSymbolRefAttr(), SignatureAttr());
}

/// How many elements each window over one dimension has, padding included or
/// not. What ceil_mode adds is never included.
std::vector<int64_t> countElements(const SpatialWindow &window, bool padded) {
  int64_t begin = padded ? -window.low : 0;
  int64_t end = window.extent + (padded ? window.high : 0);
  std::vector<int64_t> counts;
  for (int64_t o = 0; o < window.count; ++o) {
    // Element k is at first + k · dilation.
    int64_t first = o * window.stride - window.low;
    auto below = [&](int64_t limit) {
      int64_t room = limit - first + window.dilation - 1;
      return std::clamp<int64_t>(room / window.dilation, 0, window.size);
    };
    counts.push_back(below(end) - below(begin));
  }
  return counts;
}

/// The number of elements of each window, one number where all have as many.
FailureOr<Value> buildCounts(NodeImporter &node, const SpatialWindows &windows,
                             bool padded, Type element) {
  std::vector<double> counts = {1};
  SmallVector<int64_t> shape;
  int64_t all = 1;
  for (const SpatialWindow &window : windows)
    if (all <= kConstantLimit)
      all *= window.count;
  if (all > kConstantLimit)
    return node.error() << "more than " << kConstantLimit
                        << " windows over an image are not supported";
  for (const SpatialWindow &window : windows) {
    std::vector<double> next;
    std::vector<int64_t> along = countElements(window, padded);
    for (double count : counts)
      for (int64_t factor : along)
        next.push_back(count * static_cast<double>(factor));
    counts = std::move(next);
    shape.push_back(window.count);
  }
  if (llvm::is_contained(counts, 0.0))
    return node.error() << "a window has no element but padding to average";
  if (llvm::all_equal(counts))
    return node.scalar(counts.front(), element);
  HostTensor data = HostTensor::zeros(RankedTensorType::get(shape, element));
  for (auto [index, count] : llvm::enumerate(counts))
    data.setFloat(index, count);
  return ConstantOp::create(node.builder(), node.loc(), data.type(),
                            data.toDenseAttribute(), FlatSymbolRefAttr(),
                            SignatureAttr())
      .getResult();
}

/// A constant of integers.
Value integers(NodeImporter &node, ArrayRef<int64_t> shape,
               llvm::function_ref<int64_t(int64_t)> value) {
  HostTensor data = HostTensor::zeros(
      RankedTensorType::get(shape, node.builder().getI64Type()));
  for (int64_t i = 0; i < data.type().getNumElements(); ++i)
    data.setInt(i, value(i));
  return ConstantOp::create(node.builder(), node.loc(), data.type(),
                            data.toDenseAttribute(), FlatSymbolRefAttr(),
                            SignatureAttr());
}

/// Numbers of elements in a row-major image, as those of the column-major one.
Value toColumnMajor(NodeImporter &node, Value number,
                    const SpatialWindows &windows) {
  auto scalar = [&](int64_t value) {
    return node.scalar(static_cast<double>(value), node.builder().getI64Type());
  };
  // The fastest place last comes off first.
  SmallVector<Value> places(windows.size());
  Value rest = number;
  for (size_t dim = windows.size(); dim-- > 1;) {
    Value extent = scalar(windows[dim].extent);
    Value next = node.binary<DivOp>(rest, extent);
    places[dim] = node.binary<SubOp>(rest, node.binary<MulOp>(next, extent));
    rest = next;
  }
  places[0] = rest;
  Value result = places.back();
  for (size_t dim = windows.size() - 1; dim-- > 0;)
    result = node.binary<AddOp>(
        node.binary<MulOp>(result, scalar(windows[dim].extent)), places[dim]);
  return result;
}

/// The second result of MaxPool: numbers of elements in the whole input.
FailureOr<Value> buildIndices(NodeImporter &node, Value x, Value best,
                              const SpatialWindows &windows, bool columnMajor) {
  int64_t image = 1;
  for (const SpatialWindow &window : windows) {
    image *= window.extent;
    if (image >= kLimit - 1)
      return node.error() << "indices of images of 2^31 elements or more are "
                             "not supported";
  }
  ArrayRef<int64_t> outer =
      cast<RankedTensorType>(x.getType()).getShape().take_front(2);
  if (outer[0] > kConstantLimit || outer[1] > kConstantLimit ||
      outer[0] * outer[1] > kConstantLimit)
    return node.error() << "indices of more than " << kConstantLimit
                        << " images are not supported";
  Value number =
      PoolIndexOp::create(node.builder(), node.loc(), x, best,
                          listOf(node, windows, &SpatialWindow::size),
                          listOf(node, windows, &SpatialWindow::stride),
                          listOf(node, windows, &SpatialWindow::low),
                          listOf(node, windows, &SpatialWindow::reached),
                          listOf(node, windows, &SpatialWindow::dilation),
                          FlatSymbolRefAttr(), SignatureAttr());
  number = node.cast(number, node.builder().getI64Type());
  if (columnMajor)
    number = toColumnMajor(node, number, windows);
  SmallVector<int64_t> shape(outer);
  shape.append(windows.size(), 1);
  return node.binary<AddOp>(
      number, integers(node, shape, [&](int64_t i) { return i * image; }));
}

} // namespace

LogicalResult importer::importConv(NodeImporter &node) {
  RankedTensorType x = node.inputType(0), weight = node.inputType(1);
  if (failed(node.requireFloat(0)))
    return failure();
  if (x.getElementType() != weight.getElementType() ||
      x.getRank() != weight.getRank() || x.getRank() < 3)
    return node.error() << "X and W must have one element type and one rank of "
                           "at least 3, got "
                        << x << " and " << weight;
  FailureOr<int64_t> groups = node.intAttribute("group", 1);
  auto windows = readWindows(node, {weight.getShape().drop_front(2)});
  if (failed(groups) || failed(windows))
    return failure();
  int64_t in = x.getDimSize(1), out = weight.getDimSize(0);
  if (*groups < 1 || *groups >= kLimit || in % *groups != 0 ||
      out % *groups != 0 || in / *groups != weight.getDimSize(1))
    return node.error() << "the channels do not fall into " << *groups
                        << " groups of which the weight has one's: " << x
                        << " and " << weight;
  bool hasBias = node.hasInput(2);
  if (hasBias) {
    RankedTensorType bias = node.inputType(2);
    if (bias != RankedTensorType::get({out}, x.getElementType()))
      return node.error() << "B must have one element for each of " << out
                          << " channels, got " << bias;
  }
  Value input = node.input(0), filter = node.input(1);
  Value bias = hasBias ? node.input(2) : Value();
  if (!input || !filter || (hasBias && !bias))
    return failure();
  Value result =
      ConvolutionOp::create(node.builder(), node.loc(), input, filter,
                            listOf(node, *windows, &SpatialWindow::stride),
                            listOf(node, *windows, &SpatialWindow::low),
                            listOf(node, *windows, &SpatialWindow::high),
                            listOf(node, *windows, &SpatialWindow::dilation),
                            node.builder().getI64IntegerAttr(*groups),
                            FlatSymbolRefAttr(), SignatureAttr());
  if (hasBias) {
    SmallVector<int64_t> shape(windows->size() + 1, 1);
    shape[0] = out;
    result = node.binary<AddOp>(result, node.reshape(bias, shape));
  }
  return node.setResult(result);
}

LogicalResult importer::importMaxPool(NodeImporter &node) {
  if (failed(node.requireNumber(0)))
    return failure();
  bool newer = node.opset() >= 10;
  auto windows = readWindows(node, {{}, newer, newer});
  FailureOr<int64_t> order = 0;
  if (node.opset() >= 8)
    order = node.intAttribute("storage_order", 0);
  if (failed(windows) || failed(order))
    return failure();
  Value x = node.input(0);
  if (!x)
    return failure();
  Value best = pool(node, x, *windows, ReduceKind::Max);
  if (failed(node.setResult(best)))
    return failure();
  if (!node.isUsed(1))
    return success();
  auto indices = buildIndices(node, x, best, *windows, *order != 0);
  return failed(indices) ? failure() : node.setResult(*indices, 1);
}

LogicalResult importer::importAveragePool(NodeImporter &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  auto windows =
      readWindows(node, {{}, node.opset() >= 19, node.opset() >= 10});
  FailureOr<int64_t> padded = node.intAttribute("count_include_pad", 0);
  if (failed(windows) || failed(padded))
    return failure();
  Value x = node.input(0);
  if (!x)
    return failure();
  // f16's largest value is 65504, which a sum passes where the mean does not.
  Type element = node.inputType(0).getElementType();
  Type wide = element.getIntOrFloatBitWidth() == 16
                  ? Type(node.builder().getF32Type())
                  : element;
  auto counts = buildCounts(node, *windows, *padded != 0, wide);
  if (failed(counts))
    return failure();
  Value sum = pool(node, node.cast(x, wide), *windows, ReduceKind::Sum);
  return node.setResult(node.cast(node.binary<DivOp>(sum, *counts), element));
}
