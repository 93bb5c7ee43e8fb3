//===- MergeKernels.h - two kernels as one ----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The merging itself: one region with the arguments, ops and results of both.
// Whether to merge is decided elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_MERGEKERNELS_H
#define ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_MERGEKERNELS_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

namespace oneflow::comm {

/// A merged kernel that stands before `consumer` and that nothing uses yet.
class MergedKernel {
public:
  /// Clones both bodies into one. With `keepsProducer` the producer stays for
  /// its other users; without, what they use of it is a result of the merged
  /// kernel as well.
  MergedKernel(KernelOp producer, KernelOp consumer, bool keepsProducer);

  KernelOp getKernel() const { return kernel; }

  /// Puts the merged kernel in the place of the others, which are erased, but
  /// for a producer that stays and has other users. Ops in between that use the
  /// producer move behind the merged kernel; none of them may lead to the
  /// consumer.
  void commit();
  /// Erases the merged kernel; all is as before.
  void discard();

private:
  KernelOp producer, consumer, kernel;
  bool keepsProducer;
  /// Results of the old kernels, in the order of the merged kernel's.
  llvm::SmallVector<mlir::Value> replaced;
};

/// The ops after `producer` and before `consumer` in their block that depend on
/// the producer's results, in order.
llvm::SmallVector<mlir::Operation *> getDependentsBetween(KernelOp producer,
                                                          KernelOp consumer);

} // namespace oneflow::comm

#endif // ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_MERGEKERNELS_H
