//===- Linear.cpp - matrix products ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gemm and MatMul. The dialect's product takes matrices with equal batch
// extents, or one matrix on the right for the whole batch; the rest is reshape
// and broadcast.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

/// Requires operands as the op takes them.
Value matmul(NodeImporter &node, Value lhs, Value rhs,
             bool transposeLhs = false, bool transposeRhs = false) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  int64_t rank = lhsType.getRank();
  SmallVector<int64_t> shape(lhsType.getShape());
  shape[rank - 2] = lhsType.getDimSize(rank - (transposeLhs ? 1 : 2));
  shape[rank - 1] =
      rhsType.getDimSize(rhsType.getRank() - (transposeRhs ? 2 : 1));
  OpBuilder &builder = node.builder();
  auto flag = [&](bool set) {
    return set ? builder.getUnitAttr() : UnitAttr();
  };
  return MatmulOp::create(
      builder, node.loc(),
      RankedTensorType::get(shape, lhsType.getElementType()), lhs, rhs,
      flag(transposeLhs), flag(transposeRhs), FlatSymbolRefAttr(),
      SignatureAttr());
}

LogicalResult checkOperands(NodeImporter &node) {
  if (failed(node.requireFloat(0)) || failed(node.requireFloat(1)))
    return failure();
  if (node.inputType(0).getElementType() != node.inputType(1).getElementType())
    return node.error() << "its operands must have one element type, got "
                        << node.inputType(0) << " and " << node.inputType(1);
  return success();
}

Value scale(NodeImporter &node, Value x, double factor) {
  if (factor == 1 || !x)
    return x;
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  return node.binary<MulOp>(x, node.scalar(factor, element));
}

} // namespace

LogicalResult importer::importGemm(NodeImporter &node) {
  FailureOr<double> alpha = node.floatAttribute("alpha", 1);
  FailureOr<double> beta = node.floatAttribute("beta", 1);
  FailureOr<int64_t> transA = node.intAttribute("transA", 0);
  FailureOr<int64_t> transB = node.intAttribute("transB", 0);
  if (failed(alpha) || failed(beta) || failed(transA) || failed(transB) ||
      failed(checkOperands(node)))
    return failure();
  RankedTensorType a = node.inputType(0), b = node.inputType(1);
  if (a.getRank() != 2 || b.getRank() != 2)
    return node.error() << "its operands must have rank 2, got " << a << " and "
                        << b;
  if (a.getDimSize(*transA ? 0 : 1) != b.getDimSize(*transB ? 1 : 0))
    return node.error() << "the contracted extents differ: " << a
                        << " (transA = " << *transA << ") and " << b
                        << " (transB = " << *transB << ")";
  SmallVector<int64_t> shape = {a.getDimSize(*transA ? 1 : 0),
                                b.getDimSize(*transB ? 0 : 1)};
  bool hasC = node.hasInput(2) && *beta != 0;
  if (node.hasInput(2)) {
    RankedTensorType c = node.inputType(2);
    auto sum = node.broadcastShapes(c.getShape(), shape);
    if (failed(sum))
      return failure();
    if (*sum != shape)
      return node.error() << "C of " << c << " does not broadcast to [" << shape
                          << "]";
  }
  Value lhs = node.input(0), rhs = node.input(1);
  Value addend = hasC ? node.input(2) : Value();
  if (!lhs || !rhs || (hasC && !addend))
    return failure();
  Value result = matmul(node, lhs, rhs, *transA, *transB);
  result = scale(node, result, *alpha);
  if (hasC)
    result = node.binary<AddOp>(result, scale(node, addend, *beta));
  return node.setResult(result);
}

LogicalResult importer::importMatMul(NodeImporter &node) {
  if (failed(checkOperands(node)))
    return failure();
  SmallVector<int64_t> lhsShape(node.inputType(0).getShape());
  SmallVector<int64_t> rhsShape(node.inputType(1).getShape());
  if (lhsShape.empty() || rhsShape.empty())
    return node.error() << "its operands must have rank 1 or more, got "
                        << node.inputType(0) << " and " << node.inputType(1);
  // A vector is a row on the left and a column on the right.
  bool lhsVector = lhsShape.size() == 1, rhsVector = rhsShape.size() == 1;
  if (lhsVector)
    lhsShape.insert(lhsShape.begin(), 1);
  if (rhsVector)
    rhsShape.push_back(1);
  if (lhsShape.back() != rhsShape[rhsShape.size() - 2])
    return node.error() << "the contracted extents differ: "
                        << node.inputType(0) << " and " << node.inputType(1);
  ArrayRef<int64_t> lhsBatch = ArrayRef<int64_t>(lhsShape).drop_back(2);
  ArrayRef<int64_t> rhsBatch = ArrayRef<int64_t>(rhsShape).drop_back(2);
  auto batch = node.broadcastShapes(lhsBatch, rhsBatch);
  if (failed(batch))
    return failure();

  Value lhs = node.input(0), rhs = node.input(1);
  if (!lhs || !rhs)
    return failure();
  lhs = node.reshape(lhs, lhsShape);
  rhs = node.reshape(rhs, rhsShape);
  auto withBatch = [&](ArrayRef<int64_t> matrix) {
    SmallVector<int64_t> shape(*batch);
    llvm::append_range(shape, matrix.take_back(2));
    return shape;
  };
  // One matrix for the whole batch stays one.
  bool shared =
      llvm::all_of(rhsBatch, [](int64_t extent) { return extent == 1; });
  lhs = node.broadcast(lhs, withBatch(lhsShape));
  if (shared)
    rhs = node.reshape(rhs, ArrayRef<int64_t>(rhsShape).take_back(2));
  else
    rhs = node.broadcast(rhs, withBatch(rhsShape));
  Value result = matmul(node, lhs, rhs);
  SmallVector<int64_t> shape(*batch);
  if (!lhsVector)
    shape.push_back(lhsShape[lhsShape.size() - 2]);
  if (!rhsVector)
    shape.push_back(rhsShape.back());
  return node.setResult(node.reshape(result, shape));
}
