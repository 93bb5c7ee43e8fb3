//===- InsertBoxing.cpp - bring operands to the wanted SBP ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a chain of boxing ops, one per planned step, on every edge whose ends
// differ, and shares chains, or their beginnings, between consumers. Equal
// edges are planned once.
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

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
  BoxingInserter(sbp::BoxingPlans &plans, bool explain)
      : plans(plans), explain(explain) {}

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
    for (SpreadOpInterface op : ops) {
      for (OpOperand &operand : op->getOpOperands())
        if (failed(box(operand, op)))
          return failure();
      if (auto boxing = dyn_cast<BoxingOp>(op.getOperation()))
        if (failed(expand(boxing)))
          return failure();
    }
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
    if (failed(requireStaticShapes(*producer)))
      return failure();
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

    FailureOr<Value> boxed = change(value, from, to, operand);
    if (failed(boxed))
      return failure();
    operand.set(*boxed);
    return success();
  }

  /// What the user wrote as one boxing is carried out within the bounds, too.
  LogicalResult expand(BoxingOp boxing) {
    OpOperand &use = boxing.getValueMutable();
    SignatureAttr signature = boxing.getSignatureAttr();
    SpreadState from{*requireOperandPlacement(boxing),
                     signature.getOperands()[0]};
    SpreadState to{*requirePlacement(boxing), signature.getResults()[0]};
    if (!isTimeBoxing(boxing)) {
      const sbp::BoxingPlan *plan = plans.find(boxingRequest(
          use.get(), from.placement, from.sbp, to.placement, to.sbp));
      // An illegal state is left to the phase gate.
      if (!plan || plan->steps.size() < 2)
        return success();
    } else if (spaceStateOf(from.placement, from.sbp) ==
               spaceStateOf(to.placement, to.sbp)) {
      return success();
    }
    FailureOr<Value> boxed = change(use.get(), from, to, use);
    if (failed(boxed))
      return failure();
    boxing.replaceAllUsesWith(*boxed);
    boxing.erase();
    return success();
  }

  /// Steps along time are made by themselves: what is accumulated is
  /// accumulated where it lies, before ranks talk about it; what is there whole
  /// is cut last, where no other axis has cut the same dimension yet.
  FailureOr<Value> change(Value value, SpreadState from, SpreadState to,
                          OpOperand &use) {
    sbp::Sbp before = timeStateOf(from.placement, from.sbp),
             after = timeStateOf(to.placement, to.sbp);
    if (before == after)
      return changeInSpace(value, from, to, use);
    if (sameMicroBatches(before, after, value, from.placement)) {
      SpreadState next{to.placement,
                       withTimeState(to.placement, before,
                                     spaceStateOf(to.placement, to.sbp))};
      return changeInSpace(value, from, next, use);
    }
    if (before.isPartial() && after.isBroadcast()) {
      SpreadState whole{from.placement,
                        withTimeState(from.placement, after,
                                      spaceStateOf(from.placement, from.sbp))};
      Value sum = findOrCreate(value, value, from, whole, use, /*early=*/true);
      return feeds(whole, to, sum) ? FailureOr<Value>(sum)
                                   : changeInSpace(sum, whole, to, use);
    }
    if (before.isBroadcast() && after.isSplit()) {
      sbp::NdSbp states = spaceStateOf(to.placement, to.sbp);
      for (sbp::Sbp &state : states)
        if (state.isSplit() && state.dim == after.dim)
          state = sbp::Sbp::broadcast();
      SpreadState whole{to.placement,
                        withTimeState(to.placement, before, states)};
      SpreadState part{to.placement,
                       withTimeState(to.placement, after, states)};
      FailureOr<Value> boxed = value;
      if (!feeds(from, whole, value))
        boxed = changeInSpace(value, from, whole, use);
      if (failed(boxed))
        return failure();
      Value cut =
          findOrCreate(*boxed, *boxed, whole, part, use, /*early=*/false);
      return feeds(part, to, cut) ? FailureOr<Value>(cut)
                                  : changeInSpace(cut, part, to, use);
    }
    return use.getOwner()->emitOpError("operand ")
           << use.getOperandNumber() << ": along 'time' "
           << sbp::toString(before) << " cannot become " << sbp::toString(after)
           << ": micro-batches come one after the other";
  }

  FailureOr<Value> changeInSpace(Value value, SpreadState from, SpreadState to,
                                 OpOperand &use) {
    std::string error;
    sbp::Sbp time = timeStateOf(from.placement, from.sbp);
    sbp::BoxingRequest request =
        boxingRequest(value, from.placement, from.sbp, to.placement, to.sbp);
    const sbp::BoxingPlan *plan = plans.find(request, &error);
    if (!plan)
      return use.getOwner()->emitOpError("operand ")
             << use.getOperandNumber() << ": " << error;
    if (explain)
      remark(*plan, use);

    Value origin = value;
    size_t early = countEarly(*plan);
    for (auto [index, step] : llvm::enumerate(plan->steps)) {
      // Of two placements of the same ranks the target's goes on.
      bool onSource =
          step.place == sbp::StepPlace::Source && !request.samePlacement();
      PlacementOp place = onSource ? from.placement : to.placement;
      SpreadState next{place, withTimeState(place, time, step.to)};
      value = findOrCreate(origin, value, from, next, use, index < early);
      from = next;
    }
    // Nothing moves, but the value is named another placement's.
    if (from.placement != to.placement)
      value = findOrCreate(origin, value, from, to, use, /*early=*/false);
    return value;
  }

  /// The steps that are to begin right behind the producer: a reduction may go
  /// on while other work does, and a part takes no more room than the whole;
  /// what grows waits until it is needed.
  static size_t countEarly(const sbp::BoxingPlan &plan) {
    size_t early = 0;
    for (auto [index, step] : llvm::enumerate(plan.steps))
      if (step.kind == sbp::StepKind::AllReduce ||
          step.kind == sbp::StepKind::ReduceScatter ||
          (step.kind == sbp::StepKind::Slice && early == index && early > 0))
        early = index + 1;
    return early;
  }

  static void remark(const sbp::BoxingPlan &plan, OpOperand &use) {
    std::string micros;
    llvm::raw_string_ostream(micros)
        << llvm::format("%.2f", plan.cost.seconds * 1e6);
    use.getOwner()->emitRemark("operand ")
        << use.getOperandNumber() << ": "
        << (plan.steps.empty() ? "the same ranks" : pathOf(plan)) << "; "
        << plan.cost.bytesMoved << " bytes in " << micros
        << " us, gathering everything " << plan.gatherBytes << "; peak "
        << plan.peakBytes << " bytes of " << plan.boundBytes;
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

  sbp::BoxingPlans &plans;
  const bool explain;
  llvm::DenseMap<Key, Value> boxedValues;
  llvm::DenseMap<Operation *, Operation *> lastAfter;
};

struct InsertBoxingPass
    : oneflow::impl::InsertBoxingPassBase<InsertBoxingPass> {
  using InsertBoxingPassBase::InsertBoxingPassBase;

  void runOnOperation() override {
    bool ok = true;
    sbp::BoxingPlans plans;
    for (auto function : getOperation().getOps<func::FuncOp>())
      ok &= succeeded(BoxingInserter(plans, explain).run(function));
    if (!ok)
      signalPassFailure();
  }
};

} // namespace
