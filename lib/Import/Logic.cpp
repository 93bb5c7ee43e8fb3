//===- Logic.cpp - comparisons and masks ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparisons, logic, Where and Trilu on tensors that are computed when the
// model runs. Logic is written as a choice: a and b is b where a, else a.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

/// A mask of more elements would not fit into a plan.
static constexpr int64_t kMaskLimit = 1 << 26;

namespace {

Value select(NodeImporter &node, Value condition, Value lhs, Value rhs) {
  return SelectOp::create(node.builder(), node.loc(), condition, lhs, rhs,
                          FlatSymbolRefAttr(), SignatureAttr());
}

Value compare(NodeImporter &node, Value lhs, Value rhs, CompareKind kind) {
  return CompareOp::create(node.builder(), node.loc(), lhs, rhs, kind,
                           FlatSymbolRefAttr(), SignatureAttr());
}

Value negate(NodeImporter &node, Value x) {
  Value no = node.scalar(0, node.builder().getI1Type());
  return compare(node, x, no, CompareKind::Eq);
}

/// Both inputs, of one element type and shapes that broadcast.
LogicalResult readPair(NodeImporter &node, Value &lhs, Value &rhs) {
  RankedTensorType lhsType = node.inputType(0), rhsType = node.inputType(1);
  if (lhsType.getElementType() != rhsType.getElementType())
    return node.error() << "its operands must have one element type, got "
                        << lhsType << " and " << rhsType;
  if (failed(node.broadcastShapes(lhsType.getShape(), rhsType.getShape())))
    return failure();
  lhs = node.input(0);
  rhs = lhs ? node.input(1) : Value();
  return success(rhs != nullptr);
}

/// A strict order; with `orEqual`, two comparisons, so that NaN is in no order.
LogicalResult importOrder(NodeImporter &node, CompareKind kind, bool orEqual) {
  Value lhs, rhs;
  if (failed(node.requireNumber(0)) || failed(readPair(node, lhs, rhs)))
    return failure();
  Value result = compare(node, lhs, rhs, kind);
  if (orEqual)
    result =
        select(node, result, result, compare(node, lhs, rhs, CompareKind::Eq));
  return node.setResult(result);
}

LogicalResult readBooleans(NodeImporter &node, Value &lhs, Value &rhs) {
  if (failed(node.requireBoolean(0)) || failed(node.requireBoolean(1)))
    return failure();
  return readPair(node, lhs, rhs);
}

} // namespace

LogicalResult importer::importEqual(NodeImporter &node) {
  Value lhs, rhs;
  if (failed(readPair(node, lhs, rhs)))
    return failure();
  return node.setResult(compare(node, lhs, rhs, CompareKind::Eq));
}
LogicalResult importer::importLess(NodeImporter &node) {
  return importOrder(node, CompareKind::Lt, /*orEqual=*/false);
}
LogicalResult importer::importLessOrEqual(NodeImporter &node) {
  return importOrder(node, CompareKind::Lt, /*orEqual=*/true);
}
LogicalResult importer::importGreater(NodeImporter &node) {
  return importOrder(node, CompareKind::Gt, /*orEqual=*/false);
}
LogicalResult importer::importGreaterOrEqual(NodeImporter &node) {
  return importOrder(node, CompareKind::Gt, /*orEqual=*/true);
}

LogicalResult importer::importAnd(NodeImporter &node) {
  Value lhs, rhs;
  if (failed(readBooleans(node, lhs, rhs)))
    return failure();
  return node.setResult(select(node, lhs, rhs, lhs));
}
LogicalResult importer::importOr(NodeImporter &node) {
  Value lhs, rhs;
  if (failed(readBooleans(node, lhs, rhs)))
    return failure();
  return node.setResult(select(node, lhs, lhs, rhs));
}
LogicalResult importer::importXor(NodeImporter &node) {
  Value lhs, rhs;
  if (failed(readBooleans(node, lhs, rhs)))
    return failure();
  return node.setResult(negate(node, compare(node, lhs, rhs, CompareKind::Eq)));
}
LogicalResult importer::importNot(NodeImporter &node) {
  if (failed(node.requireBoolean(0)))
    return failure();
  Value x = node.input(0);
  return x ? node.setResult(negate(node, x)) : failure();
}

FailureOr<SmallVector<int64_t>> importer::readWhere(NodeImporter &node) {
  RankedTensorType condition = node.inputType(0), lhs = node.inputType(1),
                   rhs = node.inputType(2);
  if (!condition.getElementType().isInteger(1) ||
      lhs.getElementType() != rhs.getElementType())
    return node.error()
           << "expected a condition of booleans and operands of one "
              "element type, got "
           << condition << ", " << lhs << " and " << rhs;
  auto operands = node.broadcastShapes(lhs.getShape(), rhs.getShape());
  if (failed(operands))
    return failure();
  return node.broadcastShapes(condition.getShape(), *operands);
}

LogicalResult importer::importWhere(NodeImporter &node) {
  if (failed(readWhere(node)))
    return failure();
  Value operands[3];
  for (unsigned i = 0; i < 3; ++i)
    if (!(operands[i] = node.input(i)))
      return failure();
  return node.setResult(select(node, operands[0], operands[1], operands[2]));
}

FailureOr<Triangle> importer::readTrilu(NodeImporter &node) {
  FailureOr<int64_t> upper = node.intAttribute("upper", 1);
  if (failed(upper))
    return failure();
  if (node.inputType(0).getRank() < 2)
    return node.error() << "expected a tensor of rank 2 at least, got "
                        << node.inputType(0);
  Triangle triangle{*upper != 0, 0};
  if (!node.hasInput(1))
    return triangle;
  FailureOr<std::vector<int64_t>> diagonal = node.constantInts(1, "k");
  if (failed(diagonal))
    return failure();
  if (diagonal->size() != 1)
    return node.error() << "its k must be a scalar, got " << node.inputType(1);
  triangle.diagonal = diagonal->front();
  return triangle;
}

LogicalResult importer::importTrilu(NodeImporter &node) {
  FailureOr<Triangle> triangle = readTrilu(node);
  if (failed(triangle))
    return failure();
  RankedTensorType type = node.inputType(0);
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  if (*countElements(matrix) > kMaskLimit)
    return node.error() << "a triangle of " << *countElements(matrix)
                        << " elements is not supported, expected " << kMaskLimit
                        << " at most";
  HostTensor mask = HostTensor::zeros(
      RankedTensorType::get(matrix, node.builder().getI1Type()));
  for (int64_t i = 0, e = mask.size(); i < e; ++i)
    mask.setInt(i, triangle->keeps(i / matrix[1], i % matrix[1]));
  Value x = node.input(0);
  if (!x)
    return failure();
  Value kept = ConstantOp::create(node.builder(), node.loc(), mask.type(),
                                  mask.toDenseAttribute(), FlatSymbolRefAttr(),
                                  SignatureAttr());
  return node.setResult(
      select(node, kept, x, node.scalar(0, type.getElementType())));
}
