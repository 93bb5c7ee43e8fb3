//===- Spread.h - how values lie between ops --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions that the passes from placing to boxing ask of ops with a signature:
// where an operand is wanted, where a value lies, what a node is called.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SPREAD_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SPREAD_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Sbp/CostModel.h"

namespace oneflow {

/// Where a value lies, or where and how an operand is wanted.
struct SpreadState {
  /// Never null.
  PlacementOp placement;
  /// Null while the signature is not chosen.
  NdSbpAttr sbp;
};

/// The name of the node that an op stems from, as its location has it; empty
/// when it has none.
llvm::StringRef nodeNameOf(mlir::Location loc);

/// The placement of an op, with an error on the op when it has none or the
/// symbol is not one.
mlir::FailureOr<PlacementOp> requirePlacement(SpreadOpInterface op);

/// The placement on which an op takes its operands: its own, but for a boxing
/// from elsewhere. Errors as requirePlacement does.
mlir::FailureOr<PlacementOp> requireOperandPlacement(SpreadOpInterface op);

/// The op that produces an operand, with an error on its owner when that is not
/// an op of the logical graph.
mlir::FailureOr<SpreadOpInterface> requireProducer(mlir::OpOperand &operand);

/// Fails, with an error on the op, where an operand or result has no static
/// shape.
mlir::LogicalResult requireStaticShapes(mlir::Operation *op);

/// Fails, with an error on the op, unless its signature has one state per
/// operand and result and one Sbp per axis of their placements. The signature
/// must exist.
mlir::LogicalResult verifySignatureForm(SpreadOpInterface op);

/// Fails, with an error on the op, where its signature, which must exist, is
/// not one that the op allows for its shapes. Boxing may take any legal state
/// to any other.
mlir::LogicalResult verifySignature(SpreadOpInterface op);

/// Shapes of an op's operands and of its results.
std::vector<sbp::Shape> shapesOf(mlir::ValueRange values);

/// Bytes of one element of a tensor as it is stored: booleans take one.
int64_t elementBytesOf(mlir::Value value);

/// Constants of the placement's devices and of the links between them.
sbp::CostModel costModelOf(PlacementOp placement);

/// Name of a placement's axis.
llvm::StringRef axisName(PlacementOp placement, size_t axis);

/// True when a value with state `from` can feed an operand that wants `to` as
/// it is.
bool feeds(const SpreadState &from, const SpreadState &to, mlir::Value value);

/// The axes of `signature` along which it holds only once the op is decomposed.
llvm::SmallVector<size_t> decomposedAxes(const sbp::OpRule &rule,
                                         const sbp::NdSignature &signature);

/// One axis of an nd-signature.
sbp::Signature axisOf(const sbp::NdSignature &signature, size_t axis);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SPREAD_H
