//===- Softmax.cpp - softmax and its logarithm ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before opset 13 the operators flatten their input to a matrix at `axis` and
// normalise its rows; since then they normalise along one dimension.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

template <typename Op>
static LogicalResult importNormalizer(NodeImporter &node) {
  bool flattens = node.opset() < 13;
  FailureOr<int64_t> axis = node.intAttribute("axis", flattens ? 1 : -1);
  if (failed(axis) || failed(node.requireFloat(0)))
    return failure();
  RankedTensorType type = node.inputType(0);
  // Flattening allows the axis behind the last: rows of one element.
  axis = node.normalizeAxis(*axis, type.getRank(), /*end=*/flattens);
  if (failed(axis))
    return failure();
  Value x = node.input(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t dim = *axis;
  if (flattens) {
    int64_t columns = *countElements(shape.drop_front(*axis));
    // Where the rows lie along one dimension, nothing needs to be flattened.
    bool oneDimension = *axis < type.getRank() && columns == shape[*axis];
    if (!oneDimension) {
      x = node.reshape(x, {*countElements(shape.take_front(*axis)), columns});
      dim = 1;
    }
  }
  Value result = Op::create(node.builder(), node.loc(), x.getType(), x,
                            node.builder().getI64IntegerAttr(dim),
                            FlatSymbolRefAttr(), SignatureAttr());
  return node.setResult(node.reshape(result, shape));
}

LogicalResult importer::importSoftmax(NodeImporter &node) {
  return importNormalizer<SoftmaxOp>(node);
}
LogicalResult importer::importLogSoftmax(NodeImporter &node) {
  return importNormalizer<LogSoftmaxOp>(node);
}
