//===- Outline.h - kernels as functions -------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns kernel regions into functions, one for all that are equal.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_COMMTOACTOR_OUTLINE_H
#define ONEFLOW_LIB_CONVERSION_COMMTOACTOR_OUTLINE_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace oneflow {

/// A kernel's function and the scalars that each of its launches passes: those
/// of the region first, then the extents of dynamic dimensions that were not
/// among them.
struct OutlinedKernel {
  mlir::FlatSymbolRefAttr symbol;
  mlir::SmallVector<mlir::Attribute> scalars;
};

class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// The function of `kernel`, marked `oneflow.kernel`; its tensor arguments
  /// and results with dynamic dimensions carry `oneflow.extents`: per dimension
  /// the number of the scalar argument that holds its extent, or -1.
  OutlinedKernel outline(comm::KernelOp kernel);
  /// The function that combines an accumulation so far (first argument) with
  /// the value of a micro-batch (second); the first micro-batch replaces it.
  /// Its result may take the place of its first argument.
  OutlinedKernel outline(comm::AccumulateOp op);

  /// Erases `program`, whose name `graph` has: kernels made later must not take
  /// it.
  void replace(mlir::Operation *program, mlir::Operation *graph) {
    symbols.erase(program);
    symbols.insert(graph);
  }

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  /// From a function's text to the function.
  llvm::StringMap<mlir::FlatSymbolRefAttr> known;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_CONVERSION_COMMTOACTOR_OUTLINE_H
