//===- KernelBuilder.cpp - building comm.kernel ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See KernelBuilder.h.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace oneflow;
using comm::ScalarAttr;

Value ScalarValues::get(ScalarAttr scalar, Location loc) {
  Value &value = values[scalar];
  if (!value) {
    OpBuilder builder = OpBuilder::atBlockBegin(entry);
    value =
        comm::ScalarOp::create(builder, loc, builder.getIndexType(), scalar);
  }
  return value;
}

bool oneflow::isEmpty(RankedTensorType type) {
  return llvm::is_contained(type.getShape(), 0);
}

RankKernelBuilder::RankKernelBuilder(ScalarValues &scalars, Location loc,
                                     ValueRange outside,
                                     std::vector<LocalShape> operands,
                                     std::vector<LocalShape> results)
    : scalars(scalars), loc(loc), operands(std::move(operands)),
      results(std::move(results)), block(std::make_unique<Block>()),
      body(loc.getContext()) {
  // Not atBlockEnd: it asks the block's region, which there is none yet, for
  // the context.
  body.setInsertionPointToEnd(block.get());
  for (Value tensor : outside) {
    // An input that nothing takes would vanish from what callers hand in.
    bool isNeeded = !isEmpty(cast<RankedTensorType>(tensor.getType())) ||
                    isa_and_nonnull<comm::InputOp>(tensor.getDefiningOp());
    tensors.push_back(isNeeded ? block->addArgument(tensor.getType(), loc)
                               : Value());
    if (isNeeded)
      inputs.push_back(tensor);
  }
}

RankKernelBuilder::~RankKernelBuilder() = default;

Value RankKernelBuilder::getScalar(ScalarAttr scalar) {
  if (!scalar)
    return arith::ConstantIndexOp::create(body, loc, 0);
  Value &argument = arguments[scalar];
  if (!argument) {
    inputs.push_back(scalars.get(scalar, loc));
    argument = block->addArgument(body.getIndexType(), loc);
  }
  return argument;
}

SmallVector<OpFoldResult>
RankKernelBuilder::getExtents(const LocalShape &shape) {
  SmallVector<OpFoldResult> extents;
  for (auto [dim, extent] : llvm::enumerate(shape.getType().getShape())) {
    if (ShapedType::isDynamic(extent))
      extents.push_back(getScalar(shape.getExtent(dim)));
    else
      extents.push_back(body.getIndexAttr(extent));
  }
  return extents;
}

Value RankKernelBuilder::getOperand(unsigned index) {
  if (!tensors[index])
    tensors[index] = makeZeros(operands[index]);
  return tensors[index];
}

Value RankKernelBuilder::makeZeros(const LocalShape &shape) {
  Type element = shape.getType().getElementType();
  Value zero = arith::ConstantOp::create(body, loc, body.getZeroAttr(element));
  Value empty = tensor::EmptyOp::create(body, loc, getExtents(shape), element);
  return linalg::FillOp::create(body, loc, zero, empty).getResult(0);
}

SmallVector<Value> RankKernelBuilder::makeZeros() {
  return llvm::map_to_vector(
      results, [&](const LocalShape &shape) { return makeZeros(shape); });
}

RankedTensorType RankKernelBuilder::getResultType(unsigned index) {
  return results[index].getType();
}

SmallVector<OpFoldResult> RankKernelBuilder::getResultExtents(unsigned index) {
  return getExtents(results[index]);
}

OpFoldResult RankKernelBuilder::getOffset(const LocalShape &shape,
                                          unsigned dim) {
  ScalarAttr offset = shape.getOffset(dim);
  if (!offset)
    return body.getIndexAttr(0);
  return getScalar(offset);
}

OpFoldResult RankKernelBuilder::getOperandOffset(unsigned index, unsigned dim) {
  return getOffset(operands[index], dim);
}

OpFoldResult RankKernelBuilder::getResultOffset(unsigned index, unsigned dim) {
  return getOffset(results[index], dim);
}

comm::KernelOp RankKernelBuilder::finish(OpBuilder &builder, StringRef name,
                                         FlatSymbolRefAttr placement,
                                         ValueRange values) {
  comm::YieldOp::create(body, loc, values);
  SmallVector<Value> extents;
  for (const LocalShape &result : results)
    for (auto [dim, extent] : llvm::enumerate(result.getType().getShape()))
      if (ShapedType::isDynamic(extent))
        extents.push_back(scalars.get(result.getExtent(dim), loc));
  SmallVector<Type> types(TypeRange(values.getTypes()));
  auto kernel =
      comm::KernelOp::create(builder, loc, types, builder.getStringAttr(name),
                             placement, inputs, extents);
  kernel.getBody().push_back(block.release());
  return kernel;
}
