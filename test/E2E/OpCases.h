//===- OpCases.h - test modules from samples of ops -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of op-cases share: see OpCases.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_E2E_OPCASES_H
#define ONEFLOW_TEST_E2E_OPCASES_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

/// The op that a function samples, null where it has not exactly one.
oneflow::SpreadOpInterface findSampled(mlir::func::FuncOp sample);

/// Whether a value's elements carry gradients.
bool isFloat(mlir::Value value);

/// Whether the op is a GradientOpInterface through which a float operand gets a
/// gradient from a float result.
bool isDifferentiable(mlir::Operation *op);

/// Adds the placement @mesh of these axes.
mlir::FlatSymbolRefAttr addPlacement(mlir::OpBuilder &builder,
                                     mlir::Location loc,
                                     llvm::ArrayRef<llvm::StringRef> axes,
                                     llvm::ArrayRef<int64_t> sizes);

/// Adds one function @main to `cases` with all differentiable samples, their
/// float inputs made variables of a mesh of `ranks` ranks.
void makeGradients(mlir::ModuleOp samples, mlir::ModuleOp cases, int64_t ranks);

#endif // ONEFLOW_TEST_E2E_OPCASES_H
