//===- ChunkSchedule.h - the order of phases on each stage ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which phases the ranks of each pipeline stage go through in which order, and
// how many values that makes be under way at once. No IR is changed here.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_COMMTOACTOR_CHUNKSCHEDULE_H
#define ONEFLOW_LIB_CONVERSION_COMMTOACTOR_CHUNKSCHEDULE_H

#include "oneflow/Dialect/Comm/Transforms/Phases.h"

namespace oneflow {

/// The schedules of a function that is cut into chunks. Empty for others.
class ChunkSchedule {
public:
  /// Action `action` of phase `phase` of Phases.
  struct Step {
    unsigned phase;
    int64_t action;
  };
  struct Stage {
    /// Of the first chunk.
    mlir::FlatSymbolRefAttr placement;
    std::vector<Step> steps;
  };

  /// Reads `oneflow.stage` of placements and `oneflow.schedule` of the module.
  /// Fails, with an error, where that schedule cannot be had.
  static mlir::FailureOr<ChunkSchedule> make(mlir::func::FuncOp function,
                                             const comm::Phases &phases);

  llvm::ArrayRef<Stage> getStages() const { return stages; }

  /// The most values under way at once that are made in each action of phase
  /// `made` and needed until the same action of each of `used` has ended.
  int64_t countUnderWay(unsigned made, llvm::ArrayRef<unsigned> used) const;

private:
  std::vector<Stage> stages;
  /// Of each phase, the stage that goes through it.
  llvm::DenseMap<unsigned, unsigned> stageOf;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_CONVERSION_COMMTOACTOR_CHUNKSCHEDULE_H
