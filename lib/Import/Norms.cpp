//===- Norms.cpp - layer norm and RMS norm --------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scale and bias need only broadcast to the input. Those that broadcast to its
// normalized dimensions become the op's parameters; others, which differ from
// row to row, are applied to its result.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <cmath>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

struct Attributes {
  int64_t axis = 0;
  double epsilon = 0;
};

/// The op's result and statistics. `scale` and `bias` have the shape of the
/// normalized dimensions, or are null.
using Builder = llvm::function_ref<ValueRange(Value x, Value scale, Value bias,
                                              const Attributes &attributes)>;

/// The only type of statistics: what they are in unless x is of doubles.
constexpr int64_t kStashType = ::onnx::TensorProto::FLOAT;

FailureOr<Attributes> readAttributes(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", -1);
  FailureOr<double> epsilon = node.floatAttribute("epsilon", 1e-5);
  FailureOr<int64_t> stash = node.intAttribute("stash_type", kStashType);
  if (failed(axis) || failed(epsilon) || failed(stash))
    return failure();
  axis = node.normalizeAxis(*axis, node.inputType(0).getRank());
  if (failed(axis))
    return failure();
  if (!std::isfinite(*epsilon) || *epsilon < 0)
    return node.error() << "attribute 'epsilon' must be finite and at least 0, "
                           "got "
                        << *epsilon;
  if (*stash != kStashType)
    return node.error() << "attribute 'stash_type' must be " << kStashType
                        << " (FLOAT), got " << *stash;
  return Attributes{*axis, *epsilon};
}

/// Whether a parameter of this type becomes one of the op.
bool fits(RankedTensorType parameter, ArrayRef<int64_t> normalized) {
  ArrayRef<int64_t> shape = parameter.getShape();
  return shape.size() <= normalized.size() &&
         llvm::all_of(llvm::zip(shape, normalized.take_back(shape.size())),
                      [](auto pair) {
                        return std::get<0>(pair) == 1 ||
                               std::get<0>(pair) == std::get<1>(pair);
                      });
}

LogicalResult checkParameter(NodeImporter &node, unsigned input) {
  RankedTensorType x = node.inputType(0), type = node.inputType(input);
  if (type.getElementType() != x.getElementType() || !fits(type, x.getShape()))
    return node.error() << "expected a parameter that broadcasts to " << x
                        << ", got '" << node.proto().input(input) << "' of "
                        << type;
  return success();
}

LogicalResult importNorm(NodeImporter &node, Builder build) {
  bool hasBias = node.hasInput(2);
  if (failed(node.requireFloat(0)) || failed(checkParameter(node, 1)) ||
      (hasBias && failed(checkParameter(node, 2))))
    return failure();
  FailureOr<Attributes> attributes = readAttributes(node);
  if (failed(attributes))
    return failure();
  Value x = node.input(0), scale = node.input(1);
  Value bias = hasBias ? node.input(2) : Value();
  if (!x || !scale || (hasBias && !bias))
    return failure();

  ArrayRef<int64_t> normalized =
      node.inputType(0).getShape().drop_front(attributes->axis);
  bool scalesInside = fits(node.inputType(1), normalized);
  bool addsInside =
      hasBias && scalesInside && fits(node.inputType(2), normalized);
  ValueRange values = build(
      x, scalesInside ? node.broadcast(scale, normalized) : Value(),
      addsInside ? node.broadcast(bias, normalized) : Value(), *attributes);
  Value result = values[0];
  if (!scalesInside)
    result = node.binary<MulOp>(result, scale);
  if (hasBias && !addsInside)
    result = node.binary<AddOp>(result, bias);
  if (failed(node.setResult(result)))
    return failure();
  // Of doubles, ours are doubles too.
  for (unsigned output = 1; output < values.size(); ++output)
    if (node.isUsed(output) &&
        failed(node.setResult(
            node.cast(values[output], node.builder().getF32Type()), output)))
      return failure();
  return success();
}

} // namespace

LogicalResult importer::importLayerNormalization(NodeImporter &node) {
  return importNorm(node,
                    [&](Value x, Value scale, Value bias,
                        const Attributes &attributes) -> ValueRange {
                      OpBuilder &b = node.builder();
                      return LayerNormOp::create(
                                 b, node.loc(), x, scale, bias,
                                 b.getI64IntegerAttr(attributes.axis),
                                 b.getF64FloatAttr(attributes.epsilon),
                                 FlatSymbolRefAttr(), SignatureAttr())
                          ->getResults();
                    });
}

LogicalResult importer::importRmsNormalization(NodeImporter &node) {
  return importNorm(node,
                    [&](Value x, Value scale, Value,
                        const Attributes &attributes) -> ValueRange {
                      OpBuilder &b = node.builder();
                      return RmsNormOp::create(
                                 b, node.loc(), x, scale,
                                 b.getI64IntegerAttr(attributes.axis),
                                 b.getF64FloatAttr(attributes.epsilon),
                                 FlatSymbolRefAttr(), SignatureAttr())
                          ->getResults();
                    });
}
