//===- oneflow/Target/PlanExport.h - writing .ofp files ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module of actor graphs and the native code of its chains to a plan
// file.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TARGET_PLANEXPORT_H
#define ONEFLOW_TARGET_PLANEXPORT_H

#include "oneflow/Target/Cpu.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace oneflow {

struct PlanExportOptions {
  /// Free keys for tools: "loss_output", "source", ...
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Serialised ModelProto without weights; none when empty.
  std::string sourceModel;
};

/// The file's bytes: graph, code, data and source model sections (see
/// oneflow/Plan/Container.h). Expects what --actor-prove-schedule checks.
/// Reports at the op and fails on what a plan cannot hold.
llvm::FailureOr<std::string> exportPlan(mlir::ModuleOp module,
                                        const CpuObject &code,
                                        const PlanExportOptions &options);

/// The symbols that the plan's code section must export: all chains.
std::vector<std::string> getChainSymbols(mlir::ModuleOp module);

} // namespace oneflow

#endif // ONEFLOW_TARGET_PLANEXPORT_H
