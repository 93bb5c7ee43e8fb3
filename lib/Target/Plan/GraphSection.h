//===- GraphSection.h - the graph of a plan ---------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the FlatBuffers graph of Plan.fbs from a module of actor graphs.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_TARGET_PLAN_GRAPHSECTION_H
#define ONEFLOW_LIB_TARGET_PLAN_GRAPHSECTION_H

#include "DataSection.h"

#include "oneflow/Dialect/Actor/IR/Actor.h"
#include "oneflow/Plan/Plan_generated.h"
#include "oneflow/Target/PlanExport.h"

namespace oneflow {

class GraphSection {
public:
  GraphSection(mlir::ModuleOp module, DataSection &data)
      : module(module), data(data), tables(module) {}

  /// Fills getBytes.
  llvm::LogicalResult build(const CpuObject &code,
                            const PlanExportOptions &options);
  llvm::StringRef getBytes() const {
    return {reinterpret_cast<const char *>(fb.GetBufferPointer()),
            fb.GetSize()};
  }

private:
  template <typename T> using Offset = flatbuffers::Offset<T>;

  llvm::LogicalResult addPlacements();
  llvm::LogicalResult addVariables();
  llvm::LogicalResult addWholes();
  llvm::LogicalResult addEntry(actor::GraphOp graph);
  /// The stream of the transfers from one placement to another in the phase of
  /// that name, behind those of actor::Stream.
  unsigned getTransferStream(mlir::FlatSymbolRefAttr source,
                             mlir::FlatSymbolRefAttr target,
                             llvm::StringRef phase);
  void addScalars();
  void addKernels();
  llvm::FailureOr<Offset<plan::Layout>>
  makeLayout(mlir::Operation *op, mlir::RankedTensorType type,
             mlir::FlatSymbolRefAttr placement, NdSbpAttr sbp);
  llvm::FailureOr<plan::DType> getDType(mlir::Operation *op, mlir::Type type);

  mlir::ModuleOp module;
  DataSection &data;
  actor::PlanTables tables;
  flatbuffers::FlatBufferBuilder fb;
  llvm::DenseMap<mlir::Attribute, unsigned> placementIndex, variableIndex;
  std::vector<Offset<plan::Placement>> placements;
  std::vector<Offset<plan::Scalar>> scalars;
  std::vector<Offset<plan::Variable>> variables;
  std::vector<Offset<plan::Whole>> wholes;
  std::vector<Offset<plan::Kernel>> kernels;
  std::vector<Offset<plan::Entry>> entries;
  // By name.
  std::vector<std::string> transferStreams;

  friend class EntryBuilder;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_TARGET_PLAN_GRAPHSECTION_H
