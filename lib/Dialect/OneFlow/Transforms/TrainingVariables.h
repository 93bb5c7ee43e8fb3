//===- TrainingVariables.h - variables that training adds -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declaration of variables that a model does not have but its training needs.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_TRAININGVARIABLES_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_TRAININGVARIABLES_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace oneflow {

/// What the gradient of a scaled loss begins with, an f32 scalar; and the steps
/// since it last changed, an i64 scalar.
inline constexpr llvm::StringLiteral kLossScaleName = "optimizer.loss_scale";
inline constexpr llvm::StringLiteral kGoodStepsName = "optimizer.good_steps";

/// The number of the step that is running, from 1: what `function` updates
/// `@optimizer.step` to. Where it does not yet, the variable is declared and
/// the counting put at the function's start. Null, with an error, where the
/// name is taken by something else.
mlir::Value getOrCreateStep(mlir::func::FuncOp function);

/// The variable of that name and type, declared at the start of the module
/// unless it is there; null, with an error, where the name is taken. Without an
/// initial value it begins as zeros.
VariableOp getOrCreateVariable(mlir::ModuleOp module, mlir::Location loc,
                               llvm::StringRef name,
                               mlir::RankedTensorType type,
                               mlir::ElementsAttr initial);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_TRAININGVARIABLES_H
