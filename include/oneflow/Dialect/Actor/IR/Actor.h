//===- oneflow/Dialect/Actor/IR/Actor.h - the schedule dialect --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of the `actor` dialect: when, and where in memory.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_IR_ACTOR_H
#define ONEFLOW_DIALECT_ACTOR_IR_ACTOR_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

#include "mlir/IR/BuiltinOps.h"

#include "oneflow/Dialect/Actor/IR/ActorDialect.h.inc"
#include "oneflow/Dialect/Actor/IR/ActorEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorTypes.h.inc"

#define GET_OP_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorOps.h.inc"

namespace oneflow::actor {

/// A kernel as a user sees it: several launches may share one.
struct KernelUse {
  mlir::FlatSymbolRefAttr symbol;
  mlir::StringAttr name;
  mlir::Location loc;
};

/// What the entries of a plan share and native code refers to by index, in the
/// order of first use in the module.
class PlanTables {
public:
  explicit PlanTables(mlir::ModuleOp module);

  mlir::ArrayRef<comm::ScalarAttr> getScalars() const { return scalars; }
  mlir::ArrayRef<KernelUse> getKernels() const { return kernels; }
  unsigned getIndex(comm::ScalarAttr scalar) const {
    return scalarIndex.lookup(scalar);
  }
  unsigned getIndex(LaunchOp launch) const;

private:
  mlir::SmallVector<comm::ScalarAttr> scalars;
  mlir::SmallVector<KernelUse> kernels;
  llvm::DenseMap<mlir::Attribute, unsigned> scalarIndex;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, unsigned>
      kernelIndex;
};

/// A buffer that an op in a task reads or writes.
struct Access {
  mlir::Value buffer;
  bool writes;
};

/// What `op`, an op in a task's body, reads and writes, in operand order.
mlir::SmallVector<Access> getAccesses(mlir::Operation *op);

/// Size in bytes of a buffer value; of a register's slot.
int64_t getBytes(mlir::Value buffer);

/// "register "x"", for messages.
std::string describeBuffer(mlir::Value buffer);

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_IR_ACTOR_H
