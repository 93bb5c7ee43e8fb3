//===- BatchNorm.cpp - batch normalization --------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The running statistics of a node are variables that no optimizer touches. A
// node means what it says until a loss is attached: see --oneflow-attach-loss.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <cmath>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

/// How often nodes refer to a value.
static int64_t countUses(NodeImporter &node, StringRef name) {
  int64_t uses = 0;
  for (const ::onnx::NodeProto &other :
       node.importer().getModel().graph().node())
    uses += llvm::count(other.input(), name);
  return uses;
}

/// The running statistic that is the input. Where exporters share it with other
/// inputs of equal elements, such as the zeros of untrained means and biases,
/// it stays as it is: attaching a loss will say so.
static Value statistic(NodeImporter &node, unsigned i) {
  Value value = node.input(i);
  auto read = value ? value.getDefiningOp<ReadOp>() : ReadOp();
  if (read && countUses(node, node.proto().input(i)) == 1)
    SymbolTable::lookupNearestSymbolFrom<VariableOp>(read,
                                                     read.getVariableAttr())
        .setTrainable(false);
  return value;
}

/// What remains of a running statistic, and comes from the batch.
static Value move(NodeImporter &node, Value running, Value batch,
                  double momentum) {
  Type element = cast<RankedTensorType>(running.getType()).getElementType();
  Value kept = node.binary<MulOp>(running, node.scalar(momentum, element));
  Value added = node.binary<MulOp>(node.cast(batch, element),
                                   node.scalar(1 - momentum, element));
  return node.binary<AddOp>(kept, added);
}

LogicalResult importer::importBatchNormalization(NodeImporter &node) {
  FailureOr<double> epsilon = node.floatAttribute("epsilon", 1e-5);
  FailureOr<double> momentum = node.floatAttribute("momentum", 0.9);
  FailureOr<int64_t> training = 0, spatial = 1;
  if (node.opset() >= 14)
    training = node.intAttribute("training_mode", 0);
  if (node.opset() < 9)
    spatial = node.intAttribute("spatial", 1);
  if (failed(epsilon) || failed(momentum) || failed(training) ||
      failed(spatial))
    return failure();
  if (!std::isfinite(*epsilon) || *epsilon < 0 || !(*momentum >= 0) ||
      *momentum > 1)
    return node.error() << "expected an 'epsilon' of at least 0 and a "
                           "'momentum' in [0, 1], got "
                        << *epsilon << " and " << *momentum;
  if (*spatial == 0)
    return node.error() << "statistics for each element (spatial = 0) are not "
                           "supported";
  for (unsigned output = 1; output < 5; ++output)
    if (node.isUsed(output) && *training == 0)
      return node.error() << "output " << output
                          << " is one of training, which is "
                          << (node.opset() < 14 ? "supported from opset 14"
                                                : "off in this node");
  RankedTensorType x = node.inputType(0);
  if (x.getRank() < 2)
    return node.error() << "expected a batch and channels, got " << x;
  for (unsigned i = 0; i < 5; ++i)
    if (failed(node.requireFloat(i)))
      return failure();
  for (unsigned i = 1; i < 5; ++i)
    if (node.inputType(i).getShape() != x.getShape().slice(1, 1))
      return node.error() << "expected one element for each of "
                          << x.getDimSize(1) << " channels, got '"
                          << node.proto().input(i) << "' of "
                          << node.inputType(i);
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < 5; ++i) {
    inputs.push_back(i < 3 ? node.input(i) : statistic(node, i));
    if (!inputs.back())
      return failure();
  }
  OpBuilder &b = node.builder();
  auto norm = BatchNormOp::create(
      b, node.loc(), inputs[0], inputs[1], inputs[2], inputs[3], inputs[4],
      b.getF64FloatAttr(*epsilon), b.getF64FloatAttr(*momentum),
      *training ? b.getUnitAttr() : UnitAttr(), UnitAttr());
  if (failed(node.setResult(norm.getResult())))
    return failure();
  if (node.isUsed(1) &&
      failed(node.setResult(
          move(node, inputs[3], norm.getBatchMean(), *momentum), 1)))
    return failure();
  if (node.isUsed(2) &&
      failed(node.setResult(
          move(node, inputs[4], norm.getBatchVariance(), *momentum), 2)))
    return failure();
  return success();
}
