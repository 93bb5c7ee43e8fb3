//===- MixedPrecision.cpp - ops in a low type and in f32 ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides, op by op in their order, in which float type each computes, and
// casts operands. Every value has one type that it is computed in; a cast
// starts from there, never from another cast, so no value is rounded twice.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"
#include "oneflow/Dialect/OneFlow/Transforms/PrecisionList.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace oneflow {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// Whether mixed precision may change this type: f64 is there because somebody
/// wants its digits.
static bool isAdjustable(Type element) {
  return element.isF32() || element.isF16() || element.isBF16();
}

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// Ops whose types others fix: variables, the caller, or the op itself.
static bool hasFixedTypes(Operation *op) {
  return isa<InputOp, OutputOp, ReadOp, UpdateOp, GradientOp, ConstantOp>(op);
}

/// The same constant in another float type, rounded once; null where its
/// elements cannot be seen.
static DenseElementsAttr convertConstant(ElementsAttr value,
                                         FloatType element) {
  auto dense = dyn_cast<DenseFPElementsAttr>(value);
  if (!dense)
    return {};
  return dense.mapValues(element, [&](const APFloat &number) {
    APFloat converted = number;
    bool losesInfo;
    converted.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &losesInfo);
    return converted.bitcastToAPInt();
  });
}

namespace {
/// Changes the types within one function.
class TypeAdjuster {
public:
  TypeAdjuster(const PrecisionList &list, FloatType low)
      : list(list), low(low) {}

  LogicalResult run(Block &block);

private:
  LogicalResult adjust(Operation *op);
  FailureOr<FloatType> choose(Operation *op);
  void computeIn(Operation *op, FloatType element);
  Value as(Value value, FloatType element);
  Value cast(Value value, FloatType element);

  const PrecisionList &list;
  FloatType low;
  /// The types that values had at first.
  DenseMap<Value, FloatType> declared;
  /// Values that depend on variables and constants only, and have no say in
  /// what others compute in: they are cast in any case.
  DenseSet<Value> undecided;
  /// What was cast already: by the value, or, for reads, by the variable.
  DenseMap<std::pair<const void *, Type>, Value> casts;
};
} // namespace

LogicalResult TypeAdjuster::run(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block) {
    ops.push_back(&op);
    for (Value result : op.getResults())
      if (auto element = dyn_cast<FloatType>(elementOf(result)))
        declared[result] = element;
  }
  for (Operation *op : ops)
    if (failed(adjust(op)))
      return failure();
  return success();
}

LogicalResult TypeAdjuster::adjust(Operation *op) {
  if (isa<ReadOp, ConstantOp>(op) ||
      (op->getNumOperands() > 0 && list.of(op) == OpPrecision::Follow &&
       llvm::all_of(op->getOperands(),
                    [&](Value x) { return undecided.contains(x); })))
    undecided.insert(op->result_begin(), op->result_end());
  // A cast says what it gives; from which type is no matter of its own.
  if (isa<CastOp>(op))
    return success();
  if (hasFixedTypes(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (FloatType element = declared.lookup(operand.get()))
        operand.set(as(operand.get(), element));
    return success();
  }
  FailureOr<FloatType> element = choose(op);
  if (failed(element))
    return failure();
  if (*element)
    computeIn(op, *element);
  return success();
}

/// What the op is to compute in; null where that is not for us to say.
FailureOr<FloatType> TypeAdjuster::choose(Operation *op) {
  OpPrecision precision = list.of(op);
  SmallVector<Type> types;
  bool hasFloats = false;
  for (Value operand : op->getOperands()) {
    Type element = elementOf(operand);
    if (!isa<FloatType>(element))
      continue;
    if (!isAdjustable(element)) {
      if (precision != OpPrecision::Low)
        return FloatType();
      return op->emitOpError("expected operands of f32, f16 or bf16 for mixed "
                             "precision, got: ")
             << operand.getType();
    }
    hasFloats = true;
    if (!undecided.contains(operand) && !llvm::is_contained(types, element))
      types.push_back(element);
  }
  if (!hasFloats)
    return FloatType();
  FloatType high = Float32Type::get(op->getContext());
  switch (precision) {
  case OpPrecision::Low:
    return low;
  case OpPrecision::High:
    return high;
  case OpPrecision::Follow:
    if (types.size() == 1)
      return llvm::cast<FloatType>(types.front());
    if (types.empty())
      // Of variables and constants: as they are stored.
      for (Value operand : op->getOperands())
        if (auto element = dyn_cast<FloatType>(elementOf(operand)))
          return element;
    return high;
  }
  llvm_unreachable("covered switch");
}

void TypeAdjuster::computeIn(Operation *op, FloatType element) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<FloatType>(elementOf(operand.get())))
      operand.set(as(operand.get(), element));
  // Results that differ from the operands, such as statistics in f32, follow
  // from the op's own rule.
  SmallVector<Type> types;
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  if (!inference || failed(inference.inferReturnTypes(
                        op->getContext(), std::nullopt, op->getOperands(),
                        op->getDiscardableAttrDictionary(),
                        op->getPropertiesStorage(), op->getRegions(), types))) {
    types.clear();
    for (Value result : op->getResults()) {
      auto type = llvm::cast<RankedTensorType>(result.getType());
      types.push_back(
          isa<FloatType>(type.getElementType()) ? type.clone(element) : type);
    }
  }
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(type);
}

/// The value in that type, cast once for all its users.
Value TypeAdjuster::as(Value value, FloatType element) {
  if (elementOf(value) == element)
    return value;
  const void *key = value.getAsOpaquePointer();
  if (auto read = value.getDefiningOp<ReadOp>())
    key = read.getVariableAttr().getAsOpaquePointer();
  Value &known = casts[{key, element}];
  if (!known)
    known = cast(value, element);
  return known;
}

Value TypeAdjuster::cast(Value value, FloatType element) {
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  auto type = llvm::cast<RankedTensorType>(value.getType()).clone(element);
  FlatSymbolRefAttr placement;
  if (auto producer = value.getDefiningOp<SpreadOpInterface>())
    placement = producer.getPlacementAttr();
  if (auto constant = value.getDefiningOp<oneflow::ConstantOp>())
    if (DenseElementsAttr converted =
            convertConstant(constant.getValue(), element))
      return oneflow::ConstantOp::create(b, value.getLoc(), converted,
                                         placement, nullptr);
  // Not the producer's own location: hints about that node do not mean this.
  Location loc =
      FusedLoc::get(b.getContext(), value.getLoc(), b.getStringAttr("cast"));
  return CastOp::create(b, loc, type, value, placement, nullptr);
}

namespace {
struct MixedPrecisionPass
    : oneflow::impl::MixedPrecisionPassBase<MixedPrecisionPass> {
  using MixedPrecisionPassBase::MixedPrecisionPassBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    FloatType low;
    if (type == "bf16")
      low = BFloat16Type::get(context);
    else if (type == "f16")
      low = Float16Type::get(context);
    else if (type == "f32")
      low = Float32Type::get(context);
    else {
      getOperation().emitError("option type: expected f32, bf16 or f16, got: ")
          << type;
      return signalPassFailure();
    }
    std::string mistake;
    std::optional<PrecisionList> list =
        PrecisionList::parse(context, ops, mistake);
    if (!list) {
      getOperation().emitError("option ops: ") << mistake;
      return signalPassFailure();
    }
    if (auto function = getOperation().lookupSymbol<func::FuncOp>(train);
        function && failed(checkMasters(function)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(TypeAdjuster(*list, low).run(function.getBody().front())))
        return signalPassFailure();
  }

private:
  /// Small updates vanish in parameters of a low type.
  LogicalResult checkMasters(func::FuncOp function) {
    for (auto read : function.getOps<ReadOp>()) {
      auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
          read, read.getVariableAttr());
      if (!variable || !variable.getTrainable())
        continue;
      Type element = variable.getTensorType().getElementType();
      if (element.isF16() || element.isBF16())
        return variable.emitOpError(
                   "expected parameters of f32 to train in mixed precision, "
                   "got: ")
               << variable.getType();
    }
    return success();
  }
};
} // namespace
