//===- Window.cpp - windows that slide over a dimension -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Window.h.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

std::optional<int64_t> Window::count(int64_t extent) const {
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(size))
    return ShapedType::kDynamic;
  int64_t room = extent + low + high - reach();
  if (size < 1 || room < 0)
    return std::nullopt;
  return room / stride + 1;
}

SmallVector<Window> oneflow::windowsOf(ArrayRef<int64_t> sizes,
                                       ArrayRef<int64_t> strides,
                                       ArrayRef<int64_t> low,
                                       ArrayRef<int64_t> high,
                                       ArrayRef<int64_t> dilations) {
  SmallVector<Window> windows;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    windows.push_back(
        {sizes[dim], strides[dim], low[dim], high[dim], dilations[dim]});
  return windows;
}

std::optional<std::string> oneflow::checkNumbers(ArrayRef<Window> windows) {
  constexpr int64_t kLimit = int64_t(1) << 31;
  auto check = [&](StringRef what, int64_t number,
                   int64_t least) -> std::optional<std::string> {
    if (number >= least && number < kLimit)
      return std::nullopt;
    return (Twine("expected ") + what + " in [" + Twine(least) +
            ", 2^31), got: " + Twine(number))
        .str();
  };
  for (const Window &window : windows) {
    // A dynamic size is checked once it is known.
    if (!ShapedType::isDynamic(window.size))
      if (auto reason = check("window extents", window.size, 1))
        return reason;
    if (auto reason = check("strides", window.stride, 1))
      return reason;
    if (auto reason = check("dilations", window.dilation, 1))
      return reason;
    for (int64_t padding : {window.low, window.high})
      if (auto reason = check("padding", padding, 0))
        return reason;
  }
  return std::nullopt;
}

/// `numbers` for the last dimensions and zeros for those before.
static SmallVector<OpFoldResult> trailing(OpBuilder &b, int64_t rank,
                                          ArrayRef<int64_t> numbers,
                                          int64_t leading) {
  SmallVector<OpFoldResult> all(rank, b.getIndexAttr(leading));
  for (size_t dim = 0; dim < numbers.size(); ++dim)
    all[rank - numbers.size() + dim] = b.getIndexAttr(numbers[dim]);
  return all;
}

Value oneflow::refine(OpBuilder &b, Location loc, Value x,
                      RankedTensorType logical, int64_t whole) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(x.getType()).getShape().take_front(whole));
  llvm::append_range(shape, logical.getShape().drop_front(whole));
  return coarsen(b, loc, x, logical.clone(shape));
}

TensorBuilder::Extents oneflow::refine(OpBuilder &b,
                                       TensorBuilder::Extents extents,
                                       RankedTensorType logical,
                                       int64_t whole) {
  for (int64_t dim = whole; dim < logical.getRank(); ++dim)
    extents[dim] = b.getIndexAttr(logical.getDimSize(dim));
  return extents;
}

Value oneflow::coarsen(OpBuilder &b, Location loc, Value x,
                       RankedTensorType local) {
  if (x.getType() == local)
    return x;
  return tensor::CastOp::create(b, loc, local, x);
}

Value oneflow::extend(OpBuilder &b, Location loc, Value x,
                      ArrayRef<Window> windows, Value value) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> low, high, shape(type.getShape());
  bool any = false;
  for (auto [dim, window] : llvm::enumerate(windows)) {
    low.push_back(window.low);
    high.push_back(window.high);
    shape[rank - windows.size() + dim] += window.low + window.high;
    any |= window.low || window.high;
  }
  if (!any)
    return x;
  return tensor::PadOp::create(b, loc, type.clone(shape), x,
                               trailing(b, rank, low, 0),
                               trailing(b, rank, high, 0), value);
}

Value oneflow::spreadWindows(OpBuilder &b, Location loc, Value y,
                             ArrayRef<Window> windows,
                             ArrayRef<int64_t> extents, Value value) {
  TensorBuilder tensors(b, loc);
  auto type = cast<RankedTensorType>(y.getType());
  int64_t rank = type.getRank(), lead = rank - windows.size();
  // Window o begins at o · stride - low, and so is at o · stride + offset.
  SmallVector<int64_t> first, counts, starts, strides, sizes;
  bool none = false, plain = true;
  for (auto [dim, window, extent] : llvm::enumerate(windows, extents)) {
    int64_t offset = window.reach() - 1 - window.low, stride = window.stride;
    int64_t size = extent + window.reach() - 1;
    int64_t begin = offset < 0 ? (-offset + stride - 1) / stride : 0;
    int64_t last = size - 1 - offset;
    int64_t end =
        last < 0 ? 0 : std::min(type.getDimSize(lead + dim), last / stride + 1);
    none |= end <= begin;
    plain &= stride == 1;
    first.push_back(begin);
    counts.push_back(std::max<int64_t>(end - begin, 0));
    starts.push_back(begin * stride + offset);
    strides.push_back(stride);
    sizes.push_back(size);
  }
  TensorBuilder::Extents whole = tensors.extentsOf(y), part = whole,
                         spread = whole;
  for (auto [dim, count, size] : llvm::enumerate(counts, sizes)) {
    part[lead + dim] = b.getIndexAttr(count);
    spread[lead + dim] = b.getIndexAttr(size);
  }
  if (none)
    return tensors.filled(spread, value);
  bool cut = llvm::any_of(first, [](int64_t begin) { return begin != 0; }) ||
             llvm::any_of(llvm::enumerate(counts), [&](auto entry) {
               return entry.value() != type.getDimSize(lead + entry.index());
             });
  if (cut)
    y = tensor::ExtractSliceOp::create(b, loc, y, trailing(b, rank, first, 0),
                                       part, trailing(b, rank, {}, 1));
  if (plain) {
    // Which the fusion of kernels sees through.
    SmallVector<Window> around;
    for (auto [start, count, size] : llvm::zip(starts, counts, sizes))
      around.push_back({1, 1, start, size - start - count, 1});
    return extend(b, loc, y, around, value);
  }
  return tensor::InsertSliceOp::create(b, loc, y, tensors.filled(spread, value),
                                       trailing(b, rank, starts, 0), part,
                                       trailing(b, rank, strides, 1));
}
