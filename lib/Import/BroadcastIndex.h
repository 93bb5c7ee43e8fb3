//===- BroadcastIndex.h - elements of a broadcast operand -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which element of an operand each element of a broadcast is.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_BROADCASTINDEX_H
#define ONEFLOW_LIB_IMPORT_BROADCASTINDEX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace oneflow::importer {

/// Row-major index into an operand for each index of a result that it
/// broadcasts to.
class BroadcastIndex {
public:
  BroadcastIndex(llvm::ArrayRef<int64_t> operand,
                 llvm::ArrayRef<int64_t> result)
      : extents(result.begin(), result.end()), strides(result.size(), 0) {
    size_t shift = result.size() - operand.size();
    int64_t stride = 1;
    for (size_t i = operand.size(); i-- > 0;) {
      strides[i + shift] = operand[i] == 1 ? 0 : stride;
      stride *= operand[i];
    }
  }

  int64_t operator()(int64_t index) const {
    int64_t result = 0;
    for (size_t i = extents.size(); i-- > 0;) {
      result += index % extents[i] * strides[i];
      index /= extents[i];
    }
    return result;
  }

private:
  llvm::SmallVector<int64_t> extents, strides;
};

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_BROADCASTINDEX_H
