//===- Elementwise.cpp - elementwise operators ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic with NumPy's broadcasting, functions of one operand, casts and
// dropout.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "TensorData.h"

#include <cmath>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

/// Binary operators and, from the left, variadic ones.
template <typename Op> LogicalResult importArithmetic(NodeImporter &node) {
  for (unsigned i = 0; i < node.inputCount(); ++i)
    if (failed(node.requireNumber(i)))
      return failure();
  if (node.inputCount() == 1)
    return node.forwardInput(0);
  Value result = node.input(0);
  for (unsigned i = 1; result && i < node.inputCount(); ++i)
    result = node.binary<Op>(result, node.input(i));
  return node.setResult(result);
}

template <typename Op> LogicalResult importFunction(NodeImporter &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value x = node.input(0);
  return x ? node.setResult(node.unary<Op>(x)) : failure();
}

} // namespace

LogicalResult importer::importAdd(NodeImporter &node) {
  return importArithmetic<AddOp>(node);
}
LogicalResult importer::importSub(NodeImporter &node) {
  return importArithmetic<SubOp>(node);
}
LogicalResult importer::importMul(NodeImporter &node) {
  return importArithmetic<MulOp>(node);
}
LogicalResult importer::importDiv(NodeImporter &node) {
  return importArithmetic<DivOp>(node);
}
LogicalResult importer::importMax(NodeImporter &node) {
  return importArithmetic<MaxOp>(node);
}
LogicalResult importer::importMin(NodeImporter &node) {
  return importArithmetic<MinOp>(node);
}
LogicalResult importer::importSum(NodeImporter &node) {
  return importArithmetic<AddOp>(node);
}
LogicalResult importer::importTanh(NodeImporter &node) {
  return importFunction<TanhOp>(node);
}
LogicalResult importer::importSigmoid(NodeImporter &node) {
  return importFunction<SigmoidOp>(node);
}
LogicalResult importer::importErf(NodeImporter &node) {
  return importFunction<ErfOp>(node);
}
LogicalResult importer::importExp(NodeImporter &node) {
  return importFunction<ExpOp>(node);
}
LogicalResult importer::importLog(NodeImporter &node) {
  return importFunction<LogOp>(node);
}
LogicalResult importer::importSqrt(NodeImporter &node) {
  return importFunction<SqrtOp>(node);
}

LogicalResult importer::importNeg(NodeImporter &node) {
  Type element = node.inputType(0).getElementType();
  if (isa<FloatType>(element))
    return importFunction<NegOp>(node);
  if (failed(node.requireNumber(0)))
    return failure();
  return node.setResult(
      node.binary<SubOp>(node.scalar(0, element), node.input(0)));
}

LogicalResult importer::importRelu(NodeImporter &node) {
  Type element = node.inputType(0).getElementType();
  if (isa<FloatType>(element))
    return importFunction<ReluOp>(node);
  if (failed(node.requireNumber(0)))
    return failure();
  return node.setResult(
      node.binary<MaxOp>(node.input(0), node.scalar(0, element)));
}

LogicalResult importer::importReciprocal(NodeImporter &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value one = node.scalar(1, node.inputType(0).getElementType());
  return node.setResult(node.binary<DivOp>(one, node.input(0)));
}

LogicalResult importer::importPow(NodeImporter &node) {
  if (failed(node.requireNumber(0)) || failed(node.requireNumber(1)))
    return failure();
  RankedTensorType type = node.inputType(0);
  RankedTensorType exponentType = node.inputType(1);
  FailureOr<HostTensorRef> data = failure();
  if (exponentType.getNumElements() == 1)
    data = node.constantInput(1, "exponent");
  else
    node.error() << "only a scalar exponent is supported, got " << exponentType;
  if (failed(data))
    return failure();
  double exponent = (*data)->floatAt(0);
  auto shape = node.broadcastShapes(type.getShape(), exponentType.getShape());
  if (failed(shape))
    return failure();
  Value x = node.input(0);
  if (!x)
    return failure();
  x = node.reshape(x, *shape);
  bool isFloat = isa<FloatType>(type.getElementType());
  if (exponent == 0.5 && isFloat)
    return node.setResult(node.unary<SqrtOp>(x));
  double count = std::fabs(exponent);
  if (count != std::floor(count) || count < 1 || count > 16 ||
      (exponent < 0 && !isFloat))
    return node.error()
           << "exponent " << exponent
           << " is not supported, expected 0.5 or an integer from 1 "
              "to 16 or, of floats, from -16 to -1";
  // Binary powers: few multiplications, and x * x for the commonest.
  Value result, power = x;
  for (unsigned rest = static_cast<unsigned>(count);;) {
    if (rest & 1)
      result = result ? node.binary<MulOp>(result, power) : power;
    if (!(rest >>= 1))
      break;
    power = node.binary<MulOp>(power, power);
  }
  if (exponent < 0)
    result = node.binary<DivOp>(node.scalar(1, type.getElementType()), result);
  return node.setResult(result);
}

LogicalResult importer::importGelu(NodeImporter &node) {
  FailureOr<std::string> form = node.stringAttribute("approximate", "none");
  if (failed(form) || failed(node.requireFloat(0)))
    return failure();
  if (*form != "none" && *form != "tanh")
    return node.error()
           << "attribute 'approximate' must be 'none' or 'tanh', got '" << *form
           << "'";
  GeluKind kind = *form == "none" ? GeluKind::Erf : GeluKind::Tanh;
  Value x = node.input(0);
  if (!x)
    return failure();
  return node.setResult(
      GeluOp::create(node.builder(), node.loc(), x.getType(), x,
                     GeluKindAttr::get(node.builder().getContext(), kind),
                     FlatSymbolRefAttr(), SignatureAttr()));
}

FailureOr<Type> importer::readCastType(NodeImporter &node) {
  FailureOr<int64_t> to = node.intAttribute("to", 0);
  // These say what happens to floats of eight bits, which are not supported.
  FailureOr<int64_t> saturate =
      node.opset() >= 19 ? node.intAttribute("saturate", 1) : int64_t(1);
  FailureOr<std::string> rounding =
      node.opset() >= 24 ? node.stringAttribute("round_mode", "up")
                         : std::string();
  if (failed(to) || failed(saturate) || failed(rounding))
    return failure();
  if (!node.hasAttribute("to"))
    return node.error() << "attribute 'to' is missing";
  Type element = convertElementType(node.builder().getContext(), *to);
  if (!element)
    return node.error() << "element type " << elementTypeName(*to)
                        << " is not supported, expected one of "
                        << supportedElementTypes();
  return element;
}

LogicalResult importer::importCast(NodeImporter &node) {
  FailureOr<Type> read = readCastType(node);
  if (failed(read))
    return failure();
  Type element = *read;
  RankedTensorType type = node.inputType(0);
  if (type.getElementType() == element)
    return node.forwardInput(0);
  Value x = node.input(0);
  if (!x)
    return failure();
  return node.setResult(
      CastOp::create(node.builder(), node.loc(),
                     RankedTensorType::get(type.getShape(), element), x,
                     FlatSymbolRefAttr(), SignatureAttr()));
}

LogicalResult importer::importDropout(NodeImporter &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.isUsed(1))
    return node.error() << "its mask, '" << node.proto().output(1)
                        << "', is used, which is not supported";
  double ratio = 0.5;
  int64_t seed = node.index();
  if (node.opset() < 12) {
    FailureOr<double> attribute = node.floatAttribute("ratio", ratio);
    if (failed(attribute))
      return failure();
    ratio = *attribute;
  } else {
    FailureOr<int64_t> attribute = node.intAttribute("seed", seed);
    if (failed(attribute))
      return failure();
    seed = *attribute;
    for (unsigned i : {1u, 2u}) {
      if (!node.hasInput(i))
        continue;
      FailureOr<HostTensorRef> data =
          node.constantInput(i, i == 1 ? "ratio" : "training_mode");
      if (failed(data))
        return failure();
      if ((*data)->size() != 1)
        return node.error() << "its " << (i == 1 ? "ratio" : "training_mode")
                            << " must be a scalar, got " << (*data)->type();
      // Whether the model trains is said when it is compiled, not in the model.
      if (i == 1)
        ratio = (*data)->floatAt(0);
    }
  }
  // Not written as two refusals: NaN must not pass.
  if (!(ratio >= 0 && ratio < 1))
    return node.error() << "its ratio must be at least 0 and below 1, got "
                        << ratio;
  Value x = node.input(0);
  if (!x)
    return failure();
  OpBuilder &builder = node.builder();
  return node.setResult(DropoutOp::create(
      builder, node.loc(), x.getType(), x, /*step=*/Value(),
      /*offset=*/Value(), builder.getF64FloatAttr(ratio),
      builder.getI64IntegerAttr(seed), builder.getI64IntegerAttr(node.index()),
      FlatSymbolRefAttr(), SignatureAttr()));
}
