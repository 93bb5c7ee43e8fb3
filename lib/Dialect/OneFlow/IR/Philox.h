//===- Philox.h - counter-based random numbers ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10 as arith ops: Salmon et al., Parallel Random Numbers: As Easy
// as 1, 2, 3, SC'11.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_IR_PHILOX_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_IR_PHILOX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <array>

namespace oneflow {

/// Four uniform i32 words for a counter and a key of i32 values.
std::array<mlir::Value, 4> buildPhilox(mlir::OpBuilder &b, mlir::Location loc,
                                       std::array<mlir::Value, 4> counter,
                                       std::array<mlir::Value, 2> key);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_IR_PHILOX_H
