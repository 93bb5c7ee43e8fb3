//===- OneFlowToComm.cpp - from logical to per rank -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks each function in order and builds the per-rank op of every logical one.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "oneflow/Conversion/Passes.h"
#include "oneflow/Interfaces/SourceName.h"
#include "oneflow/Sbp/Boxing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace oneflow {
#define GEN_PASS_DEF_CONVERTONEFLOWTOCOMMPASS
#include "oneflow/Conversion/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

class FunctionConverter {
public:
  explicit FunctionConverter(func::FuncOp function)
      : function(function), scalars(&function.getBody().front()),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult convert(SpreadOpInterface op);
  LogicalResult convertBoxing(BoxingOp op);
  LogicalResult convertEmptyBoxing(BoxingOp op, bool sameRanks);
  LogicalResult convertOneAxis(BoxingOp op, unsigned axis,
                               const sbp::NdSbp &from, const sbp::NdSbp &to);
  LogicalResult convertToKernel(SpreadOpInterface op);

  LocalShape getShape(Operation *op, Value value, NdSbpAttr sbp) {
    return LocalShape(cast<RankedTensorType>(value.getType()), sbp.toNdSbp(),
                      placement);
  }
  SmallVector<Value> getExtentValues(const LocalShape &shape, Location loc) {
    SmallVector<Value> values;
    for (auto [dim, extent] : llvm::enumerate(shape.getType().getShape()))
      if (ShapedType::isDynamic(extent))
        values.push_back(scalars.get(shape.getExtent(dim), loc));
    return values;
  }
  comm::LayoutAttr getLayout(Value value, NdSbpAttr sbp, FlatSymbolRefAttr on) {
    return comm::LayoutAttr::get(
        value.getContext(), cast<RankedTensorType>(value.getType()), on, sbp);
  }
  std::string nameOf(Operation *op) {
    std::string name = sourceName(op->getLoc());
    return name.empty() ? op->getName().stripDialect().str() : name;
  }

  func::FuncOp function;
  ScalarValues scalars;
  OpBuilder builder;
  /// Of the op being converted.
  PlacementOp placement;
  DenseMap<Value, Value> local;
};

} // namespace

LogicalResult FunctionConverter::run() {
  SmallVector<Operation *> originals;
  for (Operation &op : function.getBody().front().without_terminator())
    originals.push_back(&op);
  for (Operation *op : originals) {
    auto spread = dyn_cast<SpreadOpInterface>(op);
    if (!spread)
      return op->emitOpError(
          "expected only ops of the oneflow dialect in a logical "
          "function");
    placement = lookupPlacement(op, spread.getPlacementAttr());
    if (!placement || !spread.getSignatureAttr())
      return op->emitOpError("expected a placement and a signature: run "
                             "--oneflow-place and --oneflow-infer-sbp first");
    for (Type type : op->getResultTypes())
      if (!cast<RankedTensorType>(type).hasStaticShape())
        return op->emitOpError("expected static logical shapes, got: ")
               << type << "; oneflow-infer-shapes fills them in";
    builder.setInsertionPoint(op);
    if (failed(convert(spread)))
      return failure();
  }
  for (Operation *op : llvm::reverse(originals))
    op->erase();
  return success();
}

LogicalResult FunctionConverter::convert(SpreadOpInterface op) {
  SignatureAttr signature = op.getSignatureAttr();
  FlatSymbolRefAttr on = op.getPlacementAttr();
  Location loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](InputOp input) {
        NdSbpAttr sbp = signature.getResults()[0];
        LocalShape shape = getShape(op, input.getResult(), sbp);
        local[input.getResult()] = comm::InputOp::create(
            builder, loc, shape.getType(), input.getNameAttr(),
            getLayout(input.getResult(), sbp, on), getExtentValues(shape, loc));
        return success();
      })
      .Case([&](ReadOp read) {
        LocalShape shape =
            getShape(op, read.getResult(), signature.getResults()[0]);
        local[read.getResult()] = comm::ReadOp::create(
            builder, loc, shape.getType(), read.getVariableAttr(),
            getExtentValues(shape, loc));
        return success();
      })
      .Case([&](UpdateOp update) {
        comm::UpdateOp::create(builder, loc, update.getVariableAttr(),
                               local.lookup(update.getValue()));
        return success();
      })
      .Case([&](OutputOp output) {
        NdSbpAttr sbp = signature.getOperands()[0];
        auto made =
            comm::OutputOp::create(builder, loc, output.getNameAttr(),
                                   getLayout(output.getValue(), sbp, on),
                                   local.lookup(output.getValue()));
        if (output->hasAttr("oneflow.gradient"))
          made->setAttr("oneflow.gradient", builder.getUnitAttr());
        return success();
      })
      .Case([&](GradientOp gradient) -> LogicalResult {
        return gradient.emitOpError(
            "expected --oneflow-apply-optimizer to have "
            "consumed the gradient");
      })
      .Case([&](BoxingOp boxing) { return convertBoxing(boxing); })
      .Default([&](Operation *) { return convertToKernel(op); });
}

LogicalResult FunctionConverter::convertToKernel(SpreadOpInterface op) {
  auto localOp = dyn_cast<LocalOpInterface>(op.getOperation());
  if (!localOp)
    return op->emitOpError("has no kernel");
  SignatureAttr signature = op.getSignatureAttr();
  if (signature.getOperands().size() != op->getNumOperands() ||
      signature.getResults().size() != op->getNumResults())
    return op->emitOpError("expected a signature of ")
           << op->getNumOperands() << " operands and " << op->getNumResults()
           << " results, got: " << sbp::toString(signature.toNdSignature());
  std::vector<LocalShape> operands, results;
  SmallVector<Value> tensors;
  for (auto [operand, sbp] :
       llvm::zip(op->getOperands(), signature.getOperands())) {
    operands.push_back(getShape(op, operand, sbp));
    tensors.push_back(local.lookup(operand));
  }
  for (auto [result, sbp] : llvm::zip(op->getResults(), signature.getResults()))
    results.push_back(getShape(op, result, sbp));
  RankKernelBuilder kernel(scalars, op->getLoc(), tensors, std::move(operands),
                           std::move(results));
  // Nothing to compute, whatever the op.
  bool isNothing = llvm::all_of(op->getResultTypes(), [](Type type) {
    return isEmpty(cast<RankedTensorType>(type));
  });
  FailureOr<SmallVector<Value>> values =
      isNothing ? kernel.makeZeros()
                : localOp.buildLocal(kernel.getBody(), kernel);
  if (failed(values))
    return failure();
  comm::KernelOp made =
      kernel.finish(builder, nameOf(op), op.getPlacementAttr(), *values);
  for (auto [result, value] : llvm::zip(op->getResults(), made.getResults()))
    local[result] = value;
  return success();
}

//===----------------------------------------------------------------------===//
// Boxing
//===----------------------------------------------------------------------===//

/// Two placements may name the same mesh of the same ranks.
static bool isSameRanks(PlacementOp a, PlacementOp b) {
  return a && a.getMesh() == b.getMesh() &&
         a.getFirstRank() == b.getFirstRank() && a.getDevice() == b.getDevice();
}

LogicalResult FunctionConverter::convertBoxing(BoxingOp op) {
  Location loc = op.getLoc();
  SignatureAttr signature = op.getSignatureAttr();
  NdSbpAttr fromAttr = signature.getOperands()[0],
            toAttr = signature.getResults()[0];
  sbp::NdSbp from = fromAttr.toNdSbp(), to = toAttr.toNdSbp();
  FlatSymbolRefAttr on = op.getPlacementAttr();
  FlatSymbolRefAttr source = op.getSourceAttr() ? op.getSourceAttr() : on;

  bool sameRanks = isSameRanks(lookupPlacement(op, source), placement);
  if (sameRanks && from == to) {
    local[op.getResult()] = local.lookup(op.getValue());
    return success();
  }
  Value value = local.lookup(op.getValue());
  // Between other ranks an input still has to be taken by its own.
  if (isEmpty(op.getType()) &&
      (sameRanks || !value.getDefiningOp<comm::InputOp>()))
    return convertEmptyBoxing(op, sameRanks);
  if (sameRanks)
    if (std::optional<int64_t> axis = sbp::collectiveAxis(from, to))
      return convertOneAxis(op, static_cast<unsigned>(*axis), from, to);
  LocalShape shape = getShape(op, op.getResult(), toAttr);
  local[op.getResult()] = comm::ExchangeOp::create(
      builder, loc, shape.getType(), value,
      getLayout(op.getValue(), fromAttr, source),
      getLayout(op.getResult(), toAttr, on), getExtentValues(shape, loc));
  return success();
}

/// A tensor without elements: every rank makes its part itself.
LogicalResult FunctionConverter::convertEmptyBoxing(BoxingOp op,
                                                    bool sameRanks) {
  SignatureAttr signature = op.getSignatureAttr();
  LocalShape target = getShape(op, op.getResult(), signature.getResults()[0]);
  SmallVector<Value> operands;
  std::vector<LocalShape> shapes;
  if (sameRanks) {
    operands.push_back(local.lookup(op.getValue()));
    shapes.push_back(getShape(op, op.getValue(), signature.getOperands()[0]));
  }
  RankKernelBuilder kernel(scalars, op.getLoc(), operands, std::move(shapes),
                           {target});
  comm::KernelOp made = kernel.finish(
      builder, nameOf(op), op.getPlacementAttr(), kernel.makeZeros());
  local[op.getResult()] = made.getResult(0);
  return success();
}

/// The element that a reduction ignores, as an attribute of `type`. Booleans
/// are unsigned: as a signed number true would be less than false.
static TypedAttr neutralElement(OpBuilder &builder, Type type,
                                sbp::Reducer reducer) {
  if (auto floating = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(floating, sbp::neutralElement(reducer));
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return builder.getBoolAttr(reducer == sbp::Reducer::Prod ||
                               reducer == sbp::Reducer::Min);
  switch (reducer) {
  case sbp::Reducer::Sum:
    return builder.getIntegerAttr(type, 0);
  case sbp::Reducer::Prod:
    return builder.getIntegerAttr(type, 1);
  case sbp::Reducer::Max:
    return builder.getIntegerAttr(type, APInt::getSignedMinValue(width));
  case sbp::Reducer::Min:
    return builder.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("covered switch");
}

LogicalResult FunctionConverter::convertOneAxis(BoxingOp op, unsigned axis,
                                                const sbp::NdSbp &fromStates,
                                                const sbp::NdSbp &toStates) {
  Location loc = op.getLoc();
  sbp::Sbp from = fromStates[axis], to = toStates[axis];
  Value value = local.lookup(op.getValue());
  auto type = cast<RankedTensorType>(op.getType());
  LocalShape source(type, fromStates, placement),
      target(type, toStates, placement);
  SmallVector<Value> extents = getExtentValues(target, loc);
  FlatSymbolRefAttr on = op.getPlacementAttr();
  auto axes = builder.getDenseI64ArrayAttr({static_cast<int64_t>(axis)});
  auto i64 = [&](int64_t number) { return builder.getI64IntegerAttr(number); };
  auto reducer = [&](sbp::Reducer kind) {
    return comm::ReducerAttr::get(builder.getContext(),
                                  static_cast<comm::Reducer>(kind));
  };
  Value &result = local[op.getResult()];

  if (axis == 0 && placement.hasTimeAxis() && from.isPartial() &&
      to.isBroadcast()) {
    result =
        comm::AccumulateOp::create(builder, loc, target.getType(),
                                   reducer(from.reducer), value, on, extents);
    return success();
  }
  if (from.isPartial() && to.isBroadcast()) {
    result =
        comm::AllReduceOp::create(builder, loc, target.getType(), value, on,
                                  axes, reducer(from.reducer), extents);
    return success();
  }
  if (from.isPartial() && to.isSplit()) {
    result = comm::ReduceScatterOp::create(
        builder, loc, target.getType(), value, on, axes, reducer(from.reducer),
        i64(to.dim), i64(to.block), extents);
    return success();
  }
  if (from.isSplit() && to.isBroadcast()) {
    result = comm::AllGatherOp::create(builder, loc, target.getType(), value,
                                       on, axes, i64(from.dim), i64(from.block),
                                       extents);
    return success();
  }
  if (from.isSplit() && to.isSplit()) {
    result = comm::AllToAllOp::create(builder, loc, target.getType(), value, on,
                                      axes, i64(from.dim), i64(from.block),
                                      i64(to.dim), i64(to.block), extents);
    return success();
  }

  // What is left moves nothing: B -> S, S -> P and B -> P are kernels, and
  // along an axis of one rank not even that: the part is the whole.
  if (PlacementOp(placement).getMesh()[axis] == 1) {
    result = value;
    return success();
  }
  RankKernelBuilder kernel(scalars, loc, value, {source}, {target});
  OpBuilder &body = kernel.getBody();
  Type element = type.getElementType();
  auto positionIn = [&](const LocalShape &part, int64_t dim) {
    SmallVector<OpFoldResult> offsets(type.getRank(), body.getIndexAttr(0));
    comm::ScalarAttr whole = part.getOffset(dim),
                     before = part.getOffsetBeforeLast(dim);
    if (whole && before)
      offsets[dim] = arith::SubIOp::create(body, loc, kernel.getScalar(whole),
                                           kernel.getScalar(before))
                         .getResult();
    else if (whole)
      offsets[dim] = kernel.getScalar(whole);
    return offsets;
  };
  SmallVector<OpFoldResult> strides(type.getRank(), body.getIndexAttr(1));
  Value computed;
  if (from.isBroadcast() && to.isSplit()) {
    computed = tensor::ExtractSliceOp::create(
        body, loc, target.getType(), kernel.getOperand(0),
        positionIn(target, to.dim), kernel.getExtents(target), strides);
  } else {
    Value empty =
        tensor::EmptyOp::create(body, loc, kernel.getExtents(target), element);
    Value neutral = arith::ConstantOp::create(
        body, loc, neutralElement(body, element, to.reducer));
    if (from.isSplit()) {
      Value filled =
          linalg::FillOp::create(body, loc, neutral, empty).getResult(0);
      computed = tensor::InsertSliceOp::create(
          body, loc, kernel.getOperand(0), filled, positionIn(source, from.dim),
          kernel.getExtents(source), strides);
    } else if (to.reducer == sbp::Reducer::Max ||
               to.reducer == sbp::Reducer::Min) {
      result = value;
      return success();
    } else {
      // Coordinate 0 keeps the value.
      Value coordinate = kernel.getScalar(
          comm::ScalarAttr::get(op.getContext(), comm::ScalarKind::Coordinate,
                                0, on, {static_cast<int64_t>(axis)}, {1}));
      Value zero = arith::ConstantIndexOp::create(body, loc, 0);
      Value keeps = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::eq,
                                          coordinate, zero);
      AffineMap identity =
          AffineMap::getMultiDimIdentityMap(type.getRank(), op.getContext());
      SmallVector<utils::IteratorType> iterators(type.getRank(),
                                                 utils::IteratorType::parallel);
      computed =
          linalg::GenericOp::create(
              body, loc, target.getType(), kernel.getOperand(0), empty,
              {identity, identity}, iterators,
              [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
                Value kept = arith::SelectOp::create(inner, innerLoc, keeps,
                                                     arguments[0], neutral);
                linalg::YieldOp::create(inner, innerLoc, kept);
              })
              .getResult(0);
    }
  }
  result = kernel.finish(builder, nameOf(op), on, computed).getResult(0);
  return success();
}

/// An entry of the plan is one block whose tensors come and go by oneflow.input
/// and oneflow.output; arguments and results would have no port.
static LogicalResult verifyEntry(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(
               "expected a logical function of one block, got: ")
           << function.getBody().getBlocks().size() << " blocks";
  FunctionType type = function.getFunctionType();
  if (type.getNumInputs() != 0 || type.getNumResults() != 0)
    return function.emitOpError(
               "expected tensors to come by oneflow.input and go by "
               "oneflow.output, got a function of type ")
           << type;
  return success();
}

namespace {
struct ConvertOneFlowToCommPass
    : oneflow::impl::ConvertOneFlowToCommPassBase<ConvertOneFlowToCommPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyEntry(function)) ||
          failed(FunctionConverter(function).run()))
        return signalPassFailure();
  }
};
} // namespace
