//===- CutWindows.cpp - where cuts may lie ----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pins as bounds on cuts, and which pins contradict each other.
//
//===----------------------------------------------------------------------===//

#include "CutWindows.h"

#include <algorithm>

namespace oneflow::schedule {

namespace {

struct PartPin {
  size_t item;
  unsigned part;
};

std::string describe(const PartPin &pin) {
  return "item " + std::to_string(pin.item) + " is pinned to part " +
         std::to_string(pin.part);
}

std::string count(size_t n, const char *noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// Empty, or which pins cannot hold together. `pins` is sorted by item.
std::string checkPins(size_t n, const std::vector<PartPin> &pins,
                      unsigned chunks) {
  for (const PartPin &pin : pins) {
    if (pin.item >= n)
      return describe(pin) + ", but there are " + count(n, "item");
    if (pin.part >= chunks)
      return describe(pin) + ", but there are " + count(chunks, "part");
    if (pin.item < pin.part)
      return describe(pin) + ", but only " + count(pin.item, "item") +
             " before it for " + count(pin.part, "part");
    size_t behind = n - 1 - pin.item, partsBehind = chunks - 1 - pin.part;
    if (behind < partsBehind)
      return describe(pin) + ", but only " + count(behind, "item") +
             " behind it for " + count(partsBehind, "part");
  }
  for (size_t i = 1; i < pins.size(); ++i) {
    const PartPin &before = pins[i - 1], &pin = pins[i];
    std::string both = describe(before) + " and " + describe(pin);
    if (before.part > pin.part)
      return both + ", but parts follow each other";
    if (before.part < pin.part &&
        pin.item - before.item < pin.part - before.part)
      return both + ", but only " + count(pin.item - before.item - 1, "item") +
             " between them for " + count(pin.part - before.part - 1, "part");
  }
  return "";
}

} // namespace

std::optional<CutWindows> makeCutWindows(size_t n, const PartPins &pins,
                                         unsigned chunks, std::string *error) {
  std::string wrong;
  std::vector<PartPin> sorted;
  for (size_t i = 0; i < pins.size(); ++i)
    if (pins[i])
      sorted.push_back({i, *pins[i]});
  if (chunks == 0)
    wrong = "expected at least 1 part, got: 0";
  else if (n < chunks)
    wrong = "expected at least one item for each of " + count(chunks, "part") +
            ", got: " + count(n, "item");
  else
    wrong = checkPins(n, sorted, chunks);
  if (!wrong.empty()) {
    if (error)
      *error = wrong;
    return std::nullopt;
  }
  CutWindows windows;
  for (unsigned k = 0; k <= chunks; ++k) {
    windows.first.push_back(k);
    windows.last.push_back(n - (chunks - k));
  }
  windows.last[0] = 0;
  windows.first[chunks] = n;
  for (const PartPin &pin : sorted) {
    windows.last[pin.part] = std::min(windows.last[pin.part], pin.item);
    windows.first[pin.part + 1] =
        std::max(windows.first[pin.part + 1], pin.item + 1);
  }
  // Each part holds an item, so bounds push their neighbors.
  for (unsigned k = 1; k <= chunks; ++k)
    windows.first[k] = std::max(windows.first[k], windows.first[k - 1] + 1);
  for (unsigned k = chunks; k-- > 0;)
    windows.last[k] = std::min(windows.last[k], windows.last[k + 1] - 1);
  return windows;
}

std::vector<unsigned> partsFromCuts(const std::vector<size_t> &begins) {
  std::vector<unsigned> parts(begins.back());
  for (unsigned k = 0; k + 1 < begins.size(); ++k)
    std::fill(parts.begin() + begins[k], parts.begin() + begins[k + 1], k);
  return parts;
}

} // namespace oneflow::schedule
