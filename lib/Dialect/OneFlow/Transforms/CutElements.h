//===- CutElements.h - intervals of constant tensors ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the value of a constant or variable along one dimension.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_CUTELEMENTS_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_CUTELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace oneflow {

/// Whether cutElements can cut this value: its elements are at hand and take
/// whole bytes.
bool canCutElements(mlir::ElementsAttr value);

/// The elements [begin, end) along `dim`. Requires canCutElements. What is
/// large becomes a resource named `name`, as the value was.
mlir::ElementsAttr cutElements(mlir::ElementsAttr value, int64_t dim,
                               int64_t begin, int64_t end,
                               llvm::StringRef name);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_CUTELEMENTS_H
