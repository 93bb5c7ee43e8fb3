//===- Outline.cpp - kernels as functions ---------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Outline.h.
//
//===----------------------------------------------------------------------===//

#include "Outline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace oneflow;

static comm::ScalarAttr getScalar(Value value) {
  return value.getDefiningOp<comm::ScalarOp>().getValueAttr();
}

/// A symbol that debuggers and linkers take: letters, digits and underscores.
static std::string toSymbol(StringRef name) {
  std::string symbol;
  for (char c : name)
    symbol += llvm::isAlnum(c) ? c : '_';
  return symbol.empty() ? "kernel" : symbol;
}

OutlinedKernel KernelOutliner::outline(comm::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  OutlinedKernel result;
  SmallVector<Value> tensors;
  for (Value input : kernel.getInputs()) {
    if (input.getType().isIndex())
      result.scalars.push_back(getScalar(input));
    else
      tensors.push_back(input);
  }
  unsigned regionScalars = result.scalars.size();
  auto scalarNumber = [&](Value extent) -> int64_t {
    comm::ScalarAttr scalar = getScalar(extent);
    auto *place = llvm::find(result.scalars, scalar);
    if (place == result.scalars.end()) {
      result.scalars.push_back(scalar);
      return result.scalars.size() - 1;
    }
    return place - result.scalars.begin();
  };
  auto extentsOf = [&](Value tensor) -> Attribute {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.hasStaticShape())
      return {};
    SmallVector<Value> extents = comm::getExtents(tensor);
    SmallVector<int64_t> numbers;
    unsigned next = 0;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      numbers.push_back(type.isDynamicDim(dim) ? scalarNumber(extents[next++])
                                               : -1);
    return DenseI64ArrayAttr::get(context, numbers);
  };
  // The largest part that a rank may hold, for what must be kept in memory.
  auto boundsOf = [&](Value tensor) -> Attribute {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.hasStaticShape())
      return {};
    return DenseI64ArrayAttr::get(context, comm::getBounds(tensor));
  };
  SmallVector<Attribute> argumentExtents, resultExtents;
  for (Value tensor : tensors)
    argumentExtents.push_back(extentsOf(tensor));
  for (Value tensor : kernel.getResults())
    resultExtents.push_back(extentsOf(tensor));

  SmallVector<Type> argumentTypes;
  for (Value tensor : tensors)
    argumentTypes.push_back(tensor.getType());
  argumentTypes.append(result.scalars.size(), IndexType::get(context));
  OpBuilder builder(context);
  auto function = func::FuncOp::create(
      builder, kernel.getLoc(), "kernel",
      builder.getFunctionType(argumentTypes, kernel.getResultTypes()));
  function.setPrivate();
  function->setAttr("oneflow.kernel", builder.getUnitAttr());
  for (auto [index, extents] : llvm::enumerate(argumentExtents))
    if (extents) {
      function.setArgAttr(index, "oneflow.extents", extents);
      function.setArgAttr(index, "oneflow.bounds", boundsOf(tensors[index]));
    }
  for (auto [index, extents] : llvm::enumerate(resultExtents))
    if (extents) {
      function.setResultAttr(index, "oneflow.extents", extents);
      function.setResultAttr(index, "oneflow.bounds",
                             boundsOf(kernel.getResult(index)));
    }

  Block *entry = function.addEntryBlock();
  IRMapping mapping;
  Block &body = kernel.getBody().front();
  for (unsigned index = 0; index < tensors.size() + regionScalars; ++index)
    mapping.map(body.getArgument(index), entry->getArgument(index));
  builder.setInsertionPointToEnd(entry);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  auto yield = cast<comm::YieldOp>(body.getTerminator());
  SmallVector<Value> values;
  for (Value value : yield.getValues())
    values.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, yield.getLoc(), values);

  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().printGenericOpForm());
  auto [place, isNew] = known.try_emplace(text);
  if (!isNew) {
    function->erase();
  } else {
    function.setName(toSymbol(kernel.getName()));
    module.push_back(function);
    symbols.insert(function);
    place->second = FlatSymbolRefAttr::get(function.getNameAttr());
  }
  result.symbol = place->second;
  return result;
}

static Value combine(OpBuilder &builder, Location loc, comm::Reducer reducer,
                     Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (reducer) {
  case comm::Reducer::Sum:
    return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                   : Value(arith::AddIOp::create(builder, loc, a, b));
  case comm::Reducer::Max:
    return isFloat ? Value(arith::MaximumFOp::create(builder, loc, a, b))
                   : Value(arith::MaxSIOp::create(builder, loc, a, b));
  case comm::Reducer::Min:
    return isFloat ? Value(arith::MinimumFOp::create(builder, loc, a, b))
                   : Value(arith::MinSIOp::create(builder, loc, a, b));
  case comm::Reducer::Prod:
    return isFloat ? Value(arith::MulFOp::create(builder, loc, a, b))
                   : Value(arith::MulIOp::create(builder, loc, a, b));
  }
  llvm_unreachable("covered switch");
}

OutlinedKernel KernelOutliner::outline(comm::AccumulateOp op) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  Value microBatch = comm::ScalarOp::create(
      builder, loc, builder.getIndexType(),
      comm::ScalarAttr::get(op.getContext(), comm::ScalarKind::Coordinate, 0,
                            op.getPlacementAttr(), {0}, {1}));
  auto kernel = comm::KernelOp::create(
      builder, loc, TypeRange{type},
      builder.getStringAttr("accumulate_" +
                            stringifyReducer(op.getReducer()).str()),
      op.getPlacementAttr(),
      ValueRange{op.getValue(), op.getValue(), microBatch}, op.getExtents());
  Block *body = builder.createBlock(&kernel.getBody(), {},
                                    {type, type, builder.getIndexType()},
                                    {loc, loc, loc});
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        body->getArgument(2), zero);
  SmallVector<OpFoldResult> extents =
      tensor::getMixedSizes(builder, loc, body->getArgument(1));
  Value empty =
      tensor::EmptyOp::create(builder, loc, extents, type.getElementType());
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), op.getContext());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, body->getArguments().take_front(2), empty,
      {identity, identity, identity}, iterators,
      [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
        Value sum = combine(inner, innerLoc, op.getReducer(), arguments[0],
                            arguments[1]);
        Value next = arith::SelectOp::create(inner, innerLoc, isFirst,
                                             arguments[1], sum);
        linalg::YieldOp::create(inner, innerLoc, next);
      });
  comm::YieldOp::create(builder, loc, generic.getResults());
  OutlinedKernel result = outline(kernel);
  kernel.erase();
  microBatch.getDefiningOp()->erase();
  return result;
}
