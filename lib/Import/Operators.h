//===- Operators.h - the table of operators ---------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator that is imported, with the opsets it is imported from. A new
// operator is a row in Operators.cpp and a handler in the file of its family.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_OPERATORS_H
#define ONEFLOW_LIB_IMPORT_OPERATORS_H

#include "NodeImporter.h"

namespace oneflow::importer {

/// Builds ops and sets the results.
using Handler = llvm::LogicalResult (*)(NodeImporter &node);
/// Computes the results of inputs that are known; false where it cannot, for a
/// type that it does not take or a result that is too large.
using Folder = mlir::FailureOr<bool> (*)(NodeImporter &node);

struct Operator {
  const char *name;
  /// Opsets, inclusive.
  int64_t since, until;
  unsigned minInputs, maxInputs, maxOutputs;
  /// Null where the operator is only computed at import.
  Handler build;
  /// Null where nothing is computed at import.
  Folder fold;
};

llvm::ArrayRef<Operator> operatorTable();

// Elementwise.cpp
llvm::LogicalResult importAdd(NodeImporter &node);
llvm::LogicalResult importSub(NodeImporter &node);
llvm::LogicalResult importMul(NodeImporter &node);
llvm::LogicalResult importDiv(NodeImporter &node);
llvm::LogicalResult importMax(NodeImporter &node);
llvm::LogicalResult importMin(NodeImporter &node);
llvm::LogicalResult importSum(NodeImporter &node);
llvm::LogicalResult importNeg(NodeImporter &node);
llvm::LogicalResult importRelu(NodeImporter &node);
llvm::LogicalResult importTanh(NodeImporter &node);
llvm::LogicalResult importSigmoid(NodeImporter &node);
llvm::LogicalResult importErf(NodeImporter &node);
llvm::LogicalResult importExp(NodeImporter &node);
llvm::LogicalResult importLog(NodeImporter &node);
llvm::LogicalResult importSqrt(NodeImporter &node);
llvm::LogicalResult importReciprocal(NodeImporter &node);
llvm::LogicalResult importPow(NodeImporter &node);
llvm::LogicalResult importGelu(NodeImporter &node);
llvm::LogicalResult importCast(NodeImporter &node);
llvm::LogicalResult importDropout(NodeImporter &node);
/// The element type that a Cast asks for.
mlir::FailureOr<mlir::Type> readCastType(NodeImporter &node);

// Linear.cpp
llvm::LogicalResult importGemm(NodeImporter &node);
llvm::LogicalResult importMatMul(NodeImporter &node);

// Windows.cpp
llvm::LogicalResult importConv(NodeImporter &node);
llvm::LogicalResult importMaxPool(NodeImporter &node);
llvm::LogicalResult importAveragePool(NodeImporter &node);

// BatchNorm.cpp
llvm::LogicalResult importBatchNormalization(NodeImporter &node);

// Softmax.cpp
llvm::LogicalResult importSoftmax(NodeImporter &node);
llvm::LogicalResult importLogSoftmax(NodeImporter &node);

// Norms.cpp
llvm::LogicalResult importLayerNormalization(NodeImporter &node);
llvm::LogicalResult importRmsNormalization(NodeImporter &node);

// Reductions.cpp
llvm::LogicalResult importReduceSum(NodeImporter &node);
llvm::LogicalResult importReduceMean(NodeImporter &node);
llvm::LogicalResult importReduceMax(NodeImporter &node);
llvm::LogicalResult importReduceMin(NodeImporter &node);
llvm::LogicalResult importReduceProd(NodeImporter &node);
llvm::LogicalResult importReduceSumSquare(NodeImporter &node);
llvm::LogicalResult importReduceL2(NodeImporter &node);
llvm::LogicalResult importGlobalAveragePool(NodeImporter &node);
llvm::LogicalResult importGlobalMaxPool(NodeImporter &node);

// Shapes.cpp: what moves elements but computes none.
llvm::LogicalResult importIdentity(NodeImporter &node);
llvm::LogicalResult importFlatten(NodeImporter &node);
llvm::LogicalResult importReshape(NodeImporter &node);
llvm::LogicalResult importSqueeze(NodeImporter &node);
llvm::LogicalResult importUnsqueeze(NodeImporter &node);
llvm::LogicalResult importTranspose(NodeImporter &node);
llvm::LogicalResult importExpand(NodeImporter &node);
llvm::LogicalResult importShape(NodeImporter &node);
llvm::LogicalResult importSize(NodeImporter &node);
/// Reshape, Squeeze, Unsqueeze and Flatten on known elements.
mlir::FailureOr<bool> foldReshape(NodeImporter &node);
mlir::FailureOr<bool> foldSqueeze(NodeImporter &node);
mlir::FailureOr<bool> foldUnsqueeze(NodeImporter &node);
mlir::FailureOr<bool> foldFlatten(NodeImporter &node);

/// The shape that an Expand gives.
mlir::FailureOr<llvm::SmallVector<int64_t>> readExpand(NodeImporter &node);

// Indexing.cpp: parts of tensors, and tensors of parts.
llvm::LogicalResult importSlice(NodeImporter &node);
llvm::LogicalResult importSplit(NodeImporter &node);
llvm::LogicalResult importConcat(NodeImporter &node);
llvm::LogicalResult importGather(NodeImporter &node);
llvm::LogicalResult importPad(NodeImporter &node);

// Logic.cpp
llvm::LogicalResult importEqual(NodeImporter &node);
llvm::LogicalResult importLess(NodeImporter &node);
llvm::LogicalResult importLessOrEqual(NodeImporter &node);
llvm::LogicalResult importGreater(NodeImporter &node);
llvm::LogicalResult importGreaterOrEqual(NodeImporter &node);
llvm::LogicalResult importAnd(NodeImporter &node);
llvm::LogicalResult importOr(NodeImporter &node);
llvm::LogicalResult importXor(NodeImporter &node);
llvm::LogicalResult importNot(NodeImporter &node);
llvm::LogicalResult importWhere(NodeImporter &node);
llvm::LogicalResult importTrilu(NodeImporter &node);
/// The shape of a Where; checks the types of its inputs.
mlir::FailureOr<llvm::SmallVector<int64_t>> readWhere(NodeImporter &node);
/// The part of a matrix that a Trilu keeps.
struct Triangle {
  bool upper = true;
  /// Columns that the edge lies to the right of the main diagonal.
  int64_t diagonal = 0;

  bool keeps(int64_t row, int64_t column) const {
    // Neither number is negative: their difference cannot overflow.
    return upper ? column - row >= diagonal : column - row <= diagonal;
  }
};
mlir::FailureOr<Triangle> readTrilu(NodeImporter &node);

// Constants.cpp
llvm::LogicalResult importConstant(NodeImporter &node);
mlir::FailureOr<bool> foldConstantOfShape(NodeImporter &node);
mlir::FailureOr<bool> foldRange(NodeImporter &node);

// FoldArithmetic.cpp
mlir::FailureOr<bool> foldAdd(NodeImporter &node);
mlir::FailureOr<bool> foldSub(NodeImporter &node);
mlir::FailureOr<bool> foldMul(NodeImporter &node);
mlir::FailureOr<bool> foldDiv(NodeImporter &node);
mlir::FailureOr<bool> foldMax(NodeImporter &node);
mlir::FailureOr<bool> foldMin(NodeImporter &node);
mlir::FailureOr<bool> foldNeg(NodeImporter &node);
mlir::FailureOr<bool> foldSqrt(NodeImporter &node);
mlir::FailureOr<bool> foldCast(NodeImporter &node);

// FoldLogic.cpp
mlir::FailureOr<bool> foldEqual(NodeImporter &node);
mlir::FailureOr<bool> foldLess(NodeImporter &node);
mlir::FailureOr<bool> foldLessOrEqual(NodeImporter &node);
mlir::FailureOr<bool> foldGreater(NodeImporter &node);
mlir::FailureOr<bool> foldGreaterOrEqual(NodeImporter &node);
mlir::FailureOr<bool> foldAnd(NodeImporter &node);
mlir::FailureOr<bool> foldOr(NodeImporter &node);
mlir::FailureOr<bool> foldXor(NodeImporter &node);
mlir::FailureOr<bool> foldNot(NodeImporter &node);
mlir::FailureOr<bool> foldWhere(NodeImporter &node);
mlir::FailureOr<bool> foldTrilu(NodeImporter &node);
mlir::FailureOr<bool> foldExpand(NodeImporter &node);

// FoldIndexing.cpp
mlir::FailureOr<bool> foldGather(NodeImporter &node);
mlir::FailureOr<bool> foldConcat(NodeImporter &node);
mlir::FailureOr<bool> foldSlice(NodeImporter &node);
mlir::FailureOr<bool> foldSplit(NodeImporter &node);
mlir::FailureOr<bool> foldReduceProd(NodeImporter &node);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_OPERATORS_H
