//===- InsertBoxing.cpp - bring operands to the wanted SBP ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a chain of boxing ops, one per planned step, on every edge whose ends
// differ, and shares chains, or their beginnings, between consumers.
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace oneflow {
#define GEN_PASS_DEF_INSERTBOXINGPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

/// Inserts the boxing of one function.
class BoxingInserter {
public:
  LogicalResult run(func::FuncOp function) {
    // The ops as they are before any boxing is added.
    SmallVector<SpreadOpInterface> ops;
    function.walk([&](SpreadOpInterface op) { ops.push_back(op); });
    for (SpreadOpInterface op : ops) {
      if (!op.getSignatureAttr())
        return op->emitOpError("expected a signature, got none; "
                               "oneflow-infer-sbp chooses one");
      if (failed(verifySignatureForm(op)))
        return failure();
    }
    for (SpreadOpInterface op : ops)
      for (OpOperand &operand : op->getOpOperands())
        if (failed(box(operand, op)))
          return failure();
    return success();
  }

private:
  /// A value in another state, for other consumers to find.
  using Key = std::pair<Value, std::pair<Attribute, Attribute>>;

  LogicalResult box(OpOperand &operand, SpreadOpInterface consumer) {
    FailureOr<SpreadOpInterface> producer = requireProducer(operand);
    if (failed(producer))
      return failure();
    Value value = operand.get();
    unsigned result = cast<OpResult>(value).getResultNumber();
    SpreadState from{*requirePlacement(*producer),
                     producer->getSignatureAttr().getResults()[result]};
    SpreadState to{
        *requireOperandPlacement(consumer),
        consumer.getSignatureAttr().getOperands()[operand.getOperandNumber()]};
    for (const SpreadState &state : {from, to})
      if (auto reason = sbp::checkLegal(state.sbp.toNdSbp(), shapeOf(value),
                                        PlacementOp(state.placement).getMesh()))
        return consumer->emitOpError("operand ")
               << operand.getOperandNumber() << ": " << *reason;
    if (feeds(from, to, value))
      return success();

    FailureOr<Value> boxed = from.placement == to.placement
                                 ? change(value, from, to, operand)
                                 : transfer(value, from, to, operand);
    if (failed(boxed))
      return failure();
    operand.set(*boxed);
    return success();
  }

  FailureOr<Value> change(Value value, SpreadState from, SpreadState to,
                          OpOperand &use) {
    std::string error;
    std::optional<std::vector<sbp::BoxingStep>> steps =
        sbp::planBoxing(from.sbp.toNdSbp(), to.sbp.toNdSbp(), shapeOf(value),
                        from.placement.getMesh(), &error);
    if (!steps)
      return use.getOwner()->emitOpError("operand ")
             << use.getOperandNumber() << ": no boxing from "
             << sbp::toString(from.sbp.toNdSbp()) << " to "
             << sbp::toString(to.sbp.toNdSbp()) << ": " << error;
    // A reduction may begin while other work goes on, and a part takes no more
    // room than the whole; what grows waits until it is needed.
    bool early = llvm::any_of(*steps, [](const sbp::BoxingStep &step) {
      return step.kind == sbp::StepKind::AllReduce ||
             step.kind == sbp::StepKind::ReduceScatter;
    });
    Value origin = value;
    for (const sbp::BoxingStep &step : *steps) {
      SpreadState next{to.placement,
                       NdSbpAttr::get(value.getContext(), step.to)};
      value = findOrCreate(origin, value, from, next, use, early);
      from = next;
    }
    return value;
  }

  FailureOr<Value> transfer(Value value, SpreadState from, SpreadState to,
                            OpOperand &use) {
    return findOrCreate(value, value, from, to, use, /*early=*/false);
  }

  /// The boxing of `value`, which is `origin` in state `from`, to `to`.
  Value findOrCreate(Value origin, Value value, SpreadState from,
                     SpreadState to, OpOperand &use, bool early) {
    auto placement = FlatSymbolRefAttr::get(to.placement);
    Value &known = boxedValues[Key{origin, {placement, to.sbp}}];
    if (known)
      return known;
    Operation *consumer = use.getOwner();
    OpBuilder builder(consumer);
    Operation *after = nullptr;
    if (early) {
      after = value.getDefiningOp();
      // Behind what was put there before, so that order follows the consumers.
      if (Operation *last = lastAfter.lookup(after))
        builder.setInsertionPointAfter(last);
      else
        builder.setInsertionPointAfter(after);
    }
    Location loc = builder.getFusedLoc(
        {origin.getDefiningOp()->getLoc(), consumer->getLoc()});
    FlatSymbolRefAttr source;
    if (from.placement != to.placement)
      source = FlatSymbolRefAttr::get(from.placement);
    auto signature =
        SignatureAttr::get(builder.getContext(), {from.sbp}, {to.sbp});
    auto boxing = BoxingOp::create(builder, loc, value.getType(), value, source,
                                   placement, signature);
    if (early)
      lastAfter[after] = boxing;
    known = boxing.getResult();
    return known;
  }

  llvm::DenseMap<Key, Value> boxedValues;
  llvm::DenseMap<Operation *, Operation *> lastAfter;
};

struct InsertBoxingPass
    : oneflow::impl::InsertBoxingPassBase<InsertBoxingPass> {
  using InsertBoxingPassBase::InsertBoxingPassBase;

  void runOnOperation() override {
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      ok &= succeeded(BoxingInserter().run(function));
    if (!ok)
      signalPassFailure();
  }
};

} // namespace
