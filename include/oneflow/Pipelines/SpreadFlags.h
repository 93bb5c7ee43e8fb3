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

#include <optional>
#include <string>
#include <vector>

namespace oneflow {

/// What is wrong with `mesh`, such as "dp=2,tp=2"; nullopt when nothing is.
std::optional<std::string> checkMeshFlag(llvm::StringRef mesh);

/// Whether `mesh`, which is sound, has several ranks.
bool hasSeveralRanks(llvm::StringRef mesh);

/// The hints of --sbp (`texts`) and of the files of --sbp-file, for
/// SpreadPipelineOptions::hints; each is marked with where it comes from.
/// Appends to `mistakes` what cannot be read.
std::vector<std::string> readHintFlags(llvm::ArrayRef<std::string> texts,
                                       llvm::ArrayRef<std::string> files,
                                       std::vector<std::string> &mistakes);

/// What is wrong with hints (as readHintFlags returns them) about the axes of
/// `mesh`, which is sound; nullopt when nothing is. Modules that bring their
/// own placements are left to inference.
std::optional<std::string> checkHintAxes(llvm::ArrayRef<std::string> hints,
                                         llvm::StringRef mesh,
                                         mlir::ModuleOp module);

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_SPREADFLAGS_H
