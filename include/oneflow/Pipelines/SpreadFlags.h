//===- oneflow/Pipelines/SpreadFlags.h - meshes and hints as typed -*- C++ -*-//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what the flags --mesh, --sbp and --sbp-file of a tool say before a
// model is read, so that mistakes are told in terms of the flags.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PIPELINES_SPREADFLAGS_H
#define ONEFLOW_PIPELINES_SPREADFLAGS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace oneflow {

/// What is wrong with `mesh`, such as "dp=2,tp=2"; nullopt when nothing is.
std::optional<std::string> checkMeshFlag(llvm::StringRef mesh);

/// Whether `mesh`, which is sound, has several ranks.
bool hasSeveralRanks(llvm::StringRef mesh);

/// Whether `mesh`, which is sound, has an axis of that name.
bool hasAxis(llvm::StringRef mesh, llvm::StringRef name);

/// The hints of --sbp (`texts`) and of the files of --sbp-file, for
/// SpreadPipelineOptions::hints; each is marked with where it comes from.
/// Appends to `mistakes` what cannot be read.
std::vector<std::string> readHintFlags(llvm::ArrayRef<std::string> texts,
                                       llvm::ArrayRef<std::string> files,
                                       std::vector<std::string> &mistakes);

/// What is wrong with hints (as readHintFlags returns them) about the axes of
/// `mesh`, which is sound, and which nobody asked for where it `isDefault`;
/// nullopt when nothing is. Modules that bring their own placements are left to
/// inference.
std::optional<std::string> checkHintAxes(llvm::ArrayRef<std::string> hints,
                                         llvm::StringRef mesh,
                                         mlir::ModuleOp module,
                                         bool isDefault = false);

/// Fails, with an error, where `module` has a placement on what no code can be
/// generated for.
llvm::LogicalResult checkDevices(mlir::ModuleOp module);

/// A node of the source model: its name, what kind it is, and the names of the
/// tensors that it takes and gives.
struct SourceNode {
  std::string name, kind;
  std::vector<std::string> inputs, outputs;
};

/// What is wrong with hints that match no name of the logical `module`, but
/// that of a node or tensor of the model: the node computes nothing any more,
/// or the tensor goes by the node that gives it; says what to name instead.
/// nullopt when nothing is; other names are left to inference. `listNodes` is
/// called if it comes to that.
std::optional<std::string>
checkHintNames(llvm::ArrayRef<std::string> hints, mlir::ModuleOp module,
               llvm::function_ref<std::vector<SourceNode>()> listNodes);

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_SPREADFLAGS_H
