//===- OneFlow/IR/OneFlow.h - the logical dialect ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of the `oneflow` dialect: what is computed, for the whole
// cluster.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOW_H
#define ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOW_H

#include "oneflow/Dialect/OneFlow/IR/Assembly.h"
#include "oneflow/Interfaces/LocalView.h"
#include "oneflow/Sbp/Rule.h"
#include "oneflow/Sbp/Sharding.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace oneflow::sbp {
/// For attribute uniquing.
llvm::hash_code hash_value(const Sbp &sbp);
} // namespace oneflow::sbp

#include "oneflow/Dialect/OneFlow/IR/OneFlowDialect.h.inc"
#include "oneflow/Dialect/OneFlow/IR/OneFlowEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/OneFlow/IR/OneFlowAttrs.h.inc"

#include "oneflow/Interfaces/GradientOpInterface.h.inc"
#include "oneflow/Interfaces/LocalOpInterface.h.inc"
#include "oneflow/Interfaces/SpreadOpInterface.h.inc"

#include "oneflow/Dialect/OneFlow/IR/Elementwise.h"

#define GET_OP_CLASSES
#include "oneflow/Dialect/OneFlow/IR/OneFlowOps.h.inc"

namespace oneflow {

/// The IR's reducer as the algebra's.
sbp::Reducer toReducer(ReduceKind kind);

/// Static shape of a value as the algebra takes it. Requires a ranked tensor
/// type with static extents.
sbp::Shape shapeOf(mlir::Value value);

/// The placement an op refers to, null when it has none or the symbol is
/// missing.
PlacementOp lookupPlacement(mlir::Operation *op,
                            mlir::FlatSymbolRefAttr symbol);

/// Discardable attributes by which the user pins how things lie, see the
/// dialect's description.
inline constexpr llvm::StringLiteral kSbpAttrName = "oneflow.sbp";
inline constexpr llvm::StringLiteral kShardingAttrName = "oneflow.sharding";

/// Discardable attribute of a reduction over the batch that may be taken of
/// each micro-batch by itself: of a batch norm that says so.
inline constexpr llvm::StringLiteral kPerMicroBatchAttrName =
    "oneflow.per_micro_batch";

/// True when a pin asks something of the op: then it must not
/// vanish into others before that was heard.
bool isPinned(mlir::Operation *op);

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOW_H
