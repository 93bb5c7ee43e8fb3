//===- DataSection.h - initial values ---------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data section: initial values of variables, each on a page so that it can
// be mapped on its own.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_TARGET_PLAN_DATASECTION_H
#define ONEFLOW_LIB_TARGET_PLAN_DATASECTION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/LogicalResult.h"

#include <string>

namespace oneflow {

class DataSection {
public:
  /// Appends a tensor dense and row-major, booleans as bytes, and returns its
  /// offset. Fails for attributes whose elements are not at hand.
  llvm::FailureOr<uint64_t> add(mlir::ElementsAttr value);
  /// Size of what `add` last appended.
  uint64_t getLastBytes() const { return lastBytes; }
  const std::string &getBytes() const { return bytes; }

private:
  std::string bytes;
  uint64_t lastBytes = 0;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_TARGET_PLAN_DATASECTION_H
