//===- ProveSchedule.cpp - the schedule ends and keeps its memory ---------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ProveSchedulePass in Passes.td; messages name the checks by their numbers
// there.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"
#include "oneflow/Plan/KernelAbi.h"

namespace oneflow::actor {
#define GEN_PASS_DEF_PROVESCHEDULEPASS
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"
} // namespace oneflow::actor

using namespace mlir;
using namespace oneflow::actor;

namespace {

class Prover {
public:
  explicit Prover(GraphOp graph) : graph(graph), tokens(graph) {}

  LogicalResult run() {
    return failure(failed(checkTokens()) || failed(checkEnds()) ||
                   failed(checkOrder()) || failed(checkPlaces()) ||
                   failed(checkSharing()) || failed(checkVariables()));
  }

private:
  LogicalResult checkTokens();
  LogicalResult checkEnds();
  LogicalResult checkOrder();
  LogicalResult checkPlaces();
  LogicalResult checkSharing();
  LogicalResult checkVariables();
  bool isInPlace(Value before, Value after);

  GraphOp graph;
  TokenGraph tokens;
};

std::string nameOf(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (auto variable = dyn_cast<VariableOp>(op))
    return ("variable @" + variable.getVariable()).str();
  StringRef kind = isa<RegisterOp>(op) ? "register" : "scratch";
  return (kind + " \"" + op->getAttrOfType<StringAttr>("name").getValue() +
          "\"")
      .str();
}

} // namespace

LogicalResult Prover::checkTokens() {
  DenseMap<Value, TaskOp> producers;
  for (TaskOp task : tokens.getTasks()) {
    for (Value reg : task.getPosts()) {
      if (!reg.getDefiningOp<RegisterOp>())
        return task.emitOpError("check 1: posts ")
               << nameOf(reg) << ", not a register";
      auto [place, isNew] = producers.try_emplace(reg, task);
      if (!isNew)
        return task.emitOpError("check 1: posts ")
               << nameOf(reg) << ", which \"" << place->second.getName()
               << "\" posts as well";
    }
  }
  for (TaskOp task : tokens.getTasks()) {
    for (Value reg : task.getWaits())
      if (!producers.contains(reg))
        return task.emitOpError("check 1: waits for ")
               << nameOf(reg) << ", which no task posts";
    for (Operation &op : task.getBody().front())
      for (const Access &access : getAccesses(&op)) {
        if (!access.buffer.getDefiningOp<RegisterOp>())
          continue;
        bool posts = llvm::is_contained(task.getPosts(), access.buffer);
        bool waits = llvm::is_contained(task.getWaits(), access.buffer);
        if (access.writes ? !posts : !(posts || waits))
          return op.emitOpError("check 1: task \"")
                 << task.getName() << "\" "
                 << (access.writes ? "writes " : "reads ")
                 << nameOf(access.buffer) << " without "
                 << (access.writes ? "posting" : "waiting for") << " it";
      }
  }
  for (auto reg : graph.getOps<RegisterOp>())
    if (reg.getSlots() < 1)
      return reg.emitOpError(
          "check 2: a register without slots: its producer never "
          "fires");
  return success();
}

LogicalResult Prover::checkEnds() {
  SmallVector<TaskOp> cycle = tokens.findCycle();
  if (cycle.empty())
    return success();
  InFlightDiagnostic error =
      cycle.front().emitOpError("check 2: these tasks wait for each other: ");
  for (TaskOp task : cycle)
    error << "\"" << task.getName() << "\" -> ";
  return error << "\"" << cycle.front().getName() << "\"";
}

LogicalResult Prover::checkOrder() {
  DenseMap<int64_t, TaskOp> orders;
  for (TaskOp task : tokens.getTasks()) {
    bool communicates = llvm::any_of(task.getBody().front(), [](Operation &op) {
      return isa<CollectiveOp, ExchangeOp>(op);
    });
    int64_t order = task.getOrder();
    if (communicates != (order > 0))
      return task.emitOpError("check 3: expected an order of at least 1 on "
                              "communications and 0 elsewhere, got: ")
             << order;
    if (order == 0)
      continue;
    auto [place, isNew] = orders.try_emplace(order, task);
    if (!isNew)
      return task.emitOpError("check 3: has order ")
             << order << ", and so has \"" << place->second.getName() << "\"";
  }
  for (auto &[order, task] : orders)
    if (order > static_cast<int64_t>(orders.size()))
      return task.emitOpError("check 3: expected orders from 1 to ")
             << orders.size() << ", got: " << order;
  return success();
}

LogicalResult Prover::checkPlaces() {
  if (!graph.getArenaBytes())
    return graph.emitOpError(
        "check 5: memory is not planned: run --actor-plan-memory");
  int64_t arena = *graph.getArenaBytes();
  for (Operation &op : graph.getBody().front()) {
    if (!isa<RegisterOp, ScratchOp>(op))
      continue;
    auto offset = op.getAttrOfType<IntegerAttr>("offset");
    if (!offset)
      return op.emitOpError("check 5: has no place in the arena");
    int64_t begin = offset.getInt(), bytes = getBytes(op.getResult(0));
    if (begin < 0 || begin % ONEFLOW_BUFFER_ALIGNMENT != 0 || begin > arena ||
        bytes > arena - begin)
      return op.emitOpError("check 5: expected ")
             << bytes << " bytes at a multiple of " << ONEFLOW_BUFFER_ALIGNMENT
             << " inside an arena of " << arena << ", got offset " << begin;
  }
  return success();
}

/// `after` takes the place of `before` in the one launch that reads the one
/// last and writes the other first.
bool Prover::isInPlace(Value before, Value after) {
  for (const Use &first : tokens.getUses(before))
    for (const Use &second : tokens.getUses(after)) {
      if (tokens.isBefore(first, second))
        continue;
      auto launch = dyn_cast<LaunchOp>(first.op);
      if (first.op != second.op || !launch)
        return false;
      for (auto [operand, read] : llvm::enumerate(launch.getBuffers())) {
        if (read != before)
          continue;
        for (auto [result, written] : llvm::enumerate(launch.getBuffers()))
          if (written == after && !mayShare(launch, operand, result))
            return false;
      }
    }
  return true;
}

LogicalResult Prover::checkSharing() {
  struct Range {
    Value buffer;
    int64_t begin, end;
  };
  SmallVector<Range> ranges;
  for (Operation &op : graph.getBody().front()) {
    if (!isa<RegisterOp, ScratchOp>(op) || getBytes(op.getResult(0)) == 0)
      continue;
    int64_t begin = op.getAttrOfType<IntegerAttr>("offset").getInt();
    ranges.push_back(
        {op.getResult(0), begin, begin + getBytes(op.getResult(0))});
  }
  llvm::sort(ranges,
             [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].begin < ranges[i].end;
         ++j) {
      Value a = ranges[i].buffer, b = ranges[j].buffer;
      if (tokens.areOrdered(a, b))
        continue;
      bool samePlace =
          ranges[i].begin == ranges[j].begin && ranges[i].end == ranges[j].end;
      if (samePlace && (isInPlace(a, b) || isInPlace(b, a)))
        continue;
      InFlightDiagnostic error = a.getDefiningOp()->emitOpError("check 4: ");
      return error << nameOf(a) << " and " << nameOf(b)
                   << " share arena bytes, but nothing orders their uses";
    }
  return success();
}

LogicalResult Prover::checkVariables() {
  for (auto variable : graph.getOps<VariableOp>()) {
    ArrayRef<Use> uses = tokens.getUses(variable.getResult());
    for (const Use &write : uses) {
      if (!write.writes)
        continue;
      for (const Use &other : uses)
        if (write.op != other.op && !tokens.isBefore(write, other) &&
            !tokens.isBefore(other, write))
          return write.op->emitOpError("check 4: writes ")
                 << nameOf(variable.getResult()) << ", which task \""
                 << TaskOp(tokens.getTasks()[other.task]).getName()
                 << "\" uses, and nothing orders the two";
    }
  }
  return success();
}

namespace {
struct ProveSchedulePass
    : oneflow::actor::impl::ProveSchedulePassBase<ProveSchedulePass> {
  void runOnOperation() override {
    for (auto graph : getOperation().getOps<GraphOp>())
      if (failed(Prover(graph).run()))
        signalPassFailure();
  }
};
} // namespace
