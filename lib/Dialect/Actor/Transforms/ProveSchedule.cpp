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

#include "oneflow/Dialect/Actor/Transforms/Lifetimes.h"
#include "oneflow/Dialect/Actor/Transforms/Passes.h"
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
  Prover(GraphOp graph, SymbolTableCollection &symbols)
      : graph(graph), tokens(graph), symbols(symbols) {}

  LogicalResult run() {
    return failure(failed(checkTokens()) || failed(checkOrder()) ||
                   failed(checkEnds()) || failed(checkPlaces()) ||
                   failed(checkSharing()) || failed(checkVariables()));
  }

private:
  LogicalResult checkTokens();
  LogicalResult checkAccesses(TaskOp task);
  LogicalResult checkReach(unsigned consumer, Value reg);
  LogicalResult checkEnds();
  LogicalResult checkOrder();
  LogicalResult checkPlaces();
  LogicalResult checkSharing();
  bool mayOverlap(Value a, Value b);
  LogicalResult checkVariables();
  LogicalResult checkUpdates(Value variable, unsigned group);

  TaskOp getTask(unsigned index) { return tokens.getTasks()[index]; }

  GraphOp graph;
  TokenGraph tokens;
  SymbolTableCollection &symbols;
};

} // namespace

LogicalResult Prover::checkTokens() {
  DenseMap<Value, TaskOp> producers;
  for (TaskOp task : tokens.getTasks()) {
    for (Value reg : task.getPosts()) {
      if (!reg.getDefiningOp<RegisterOp>())
        return task.emitOpError("check 1: posts ")
               << describeBuffer(reg) << ", not a register";
      auto [place, isNew] = producers.try_emplace(reg, task);
      if (!isNew)
        return task.emitOpError("check 1: posts ")
               << describeBuffer(reg) << ", which \"" << place->second.getName()
               << "\" posts as well";
    }
  }
  for (auto [index, op] : llvm::enumerate(tokens.getTasks())) {
    TaskOp task = op;
    for (Value reg : task.getWaits()) {
      if (!producers.contains(reg))
        return task.emitOpError("check 1: waits for ")
               << describeBuffer(reg) << ", which no task posts: it never acts";
      if (failed(checkReach(index, reg)))
        return failure();
    }
    if (failed(checkAccesses(task)))
      return failure();
  }
  for (auto reg : graph.getOps<RegisterOp>())
    if (int64_t(reg.getSlots()) < 1)
      return reg.emitOpError(
          "check 2: a register without slots: its producer never "
          "fires");
  return success();
}

LogicalResult Prover::checkAccesses(TaskOp task) {
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
               << describeBuffer(access.buffer) << " without "
               << (access.writes ? "posting" : "waiting for") << " it";
    }
  return success();
}

/// A token, and the bytes it stands for, are there on the ranks that need them.
LogicalResult Prover::checkReach(unsigned consumer, Value reg) {
  unsigned producer = tokens.getProducer(reg);
  const Timetable &timetable = tokens.getTimetable();
  if (llvm::none_of(tokens.getGroups(consumer), [&](unsigned group) {
        return tokens.isOn(producer, group);
      }))
    return getTask(consumer).emitOpError("check 1: waits on ")
           << timetable.describe(tokens.getGroups(consumer)[0]) << " for "
           << describeBuffer(reg) << ", which \"" << getTask(producer).getName()
           << "\" posts on "
           << timetable.describe(tokens.getGroups(producer)[0])
           << ": no path leads there, and it never acts";
  ArrayRef<unsigned> written;
  for (const Use &use : tokens.getUses(reg))
    if (use.task == producer && use.writes)
      written = timetable.getGroups(getTask(producer), use.op, use.access);
  if (written.empty())
    return success();
  for (const Use &use : tokens.getUses(reg)) {
    if (use.task != consumer)
      continue;
    for (unsigned group :
         timetable.getGroups(getTask(consumer), use.op, use.access))
      if (!llvm::is_contained(written, group))
        return use.op->emitOpError("check 1: task \"")
               << getTask(consumer).getName() << "\" reads "
               << describeBuffer(reg) << " on " << timetable.describe(group)
               << ", where \"" << getTask(producer).getName()
               << "\" does not write it";
  }
  return success();
}

LogicalResult Prover::checkEnds() {
  SmallVector<Wait> cycle = tokens.findCycle();
  if (cycle.empty())
    return success();
  InFlightDiagnostic error =
      getTask(tokens.getTask(cycle.back().after))
          .emitOpError("check 2: these wait for each other: ");
  error << tokens.describe(cycle);
  for (const Wait &wait : cycle) {
    if (wait.cause != Cause::Credit)
      continue;
    int64_t slots = wait.reg.getDefiningOp<RegisterOp>().getSlots();
    error.attachNote(wait.reg.getLoc())
        << describeBuffer(wait.reg) << " has " << slots
        << (slots == 1 ? " slot" : " slots") << ", but "
        << tokens.describe(wait.before) << " releases fill " << wait.fill
        << " only after " << tokens.describe(wait.after) << " made fill "
        << wait.fill + slots;
  }
  return error;
}

LogicalResult Prover::checkOrder() {
  DenseMap<std::pair<unsigned, int64_t>, TaskOp> orders;
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
    unsigned phase = tokens.getTimetable().findPhase(task).value_or(0);
    auto [place, isNew] = orders.try_emplace({phase, order}, task);
    if (!isNew)
      return task.emitOpError("check 3: has order ")
             << order << ", and so has \"" << place->second.getName() << "\"";
  }
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
    int64_t begin = offset.getInt(), bytes = getPlaceBytes(op.getResult(0));
    if (begin < 0 || begin % ONEFLOW_BUFFER_ALIGNMENT != 0 || begin > arena ||
        bytes < 0 || bytes > arena - begin)
      return op.emitOpError("check 5: expected ")
             << bytes << " bytes at a multiple of " << ONEFLOW_BUFFER_ALIGNMENT
             << " inside an arena of " << arena << ", got offset " << begin;
  }
  return success();
}

/// Whether two buffers may share bytes: on all ranks that use both, each
/// instance of the one ends before any of the other begins, or ends in the
/// launch that writes the other over it.
bool Prover::mayOverlap(Value a, Value b) {
  SmallVector<unsigned> others = tokens.getGroups(b);
  auto offsetOf = [](Value buffer) {
    return buffer.getDefiningOp()
        ->getAttrOfType<IntegerAttr>("offset")
        .getInt();
  };
  bool onePlace =
      offsetOf(a) == offsetOf(b) && getPlaceBytes(a) == getPlaceBytes(b);
  for (unsigned group : tokens.getGroups(a)) {
    if (!llvm::is_contained(others, group))
      continue;
    Lifetimes times(tokens, group);
    Lifetime one = times.getLifetime(a), other = times.getLifetime(b);
    if (times.areApart(one, other))
      continue;
    auto mayMeet = [&](const Span &ending, const Span &beginning) {
      // Of the two buffers, the launch reads the one and writes the other.
      auto launch = dyn_cast<LaunchOp>(*std::next(
          getTask(ending.task).getBody().front().begin(), ending.last));
      if (!launch)
        return false;
      unsigned first = launch.getFirstResult(), pairs = 0;
      for (unsigned operand = 0; operand < first; ++operand)
        for (unsigned result = first; result < launch.getBuffers().size();
             ++result) {
          Value read = launch.getBuffers()[operand];
          Value written = launch.getBuffers()[result];
          if (!(read == a && written == b) && !(read == b && written == a))
            continue;
          ++pairs;
          if (!mayShare(launch, operand, result, symbols))
            return false;
        }
      return pairs > 0;
    };
    if (!onePlace || !times.areApart(one, other, mayMeet))
      return false;
  }
  return true;
}

LogicalResult Prover::checkSharing() {
  struct Range {
    Value buffer;
    int64_t begin, end;
  };
  SmallVector<Range> ranges;
  for (Value buffer : tokens.getBuffers()) {
    if (buffer.getDefiningOp<VariableOp>() || getBytes(buffer) == 0)
      continue;
    int64_t begin =
        buffer.getDefiningOp()->getAttrOfType<IntegerAttr>("offset").getInt();
    ranges.push_back({buffer, begin, begin + getPlaceBytes(buffer)});
  }
  llvm::sort(ranges,
             [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].begin < ranges[i].end;
         ++j) {
      Value a = ranges[i].buffer, b = ranges[j].buffer;
      if (mayOverlap(a, b))
        continue;
      InFlightDiagnostic error = a.getDefiningOp()->emitOpError("check 4: ");
      return error << describeBuffer(a) << " and " << describeBuffer(b)
                   << " share arena bytes, but nothing orders their uses";
    }
  return success();
}

/// Who reads a variable while others write it sees the value of one and the
/// same write, whatever fires first and whatever the schedule: of two tasks,
/// one ends before the other begins, or they take turns, action by action.
LogicalResult Prover::checkUpdates(Value variable, unsigned group) {
  Lifetimes times(tokens, group);
  // One lifetime a task.
  SmallVector<std::pair<Lifetime, Operation *>> users;
  for (const Use &use : tokens.getUses(variable)) {
    if (!llvm::is_contained(tokens.getTimetable().getGroups(getTask(use.task),
                                                            use.op, use.access),
                            group))
      continue;
    if (users.empty() || users.back().first.spans[0].task != use.task) {
      users.emplace_back();
      Lifetime &lifetime = users.back().first;
      lifetime.instances = tokens.getActions(use.task);
      lifetime.spans.push_back({use.task, use.position, use.position, 1});
      lifetime.heads = lifetime.tails = {0};
    }
    if (use.writes && !users.back().second)
      users.back().second = use.op;
  }
  for (auto &[writer, write] : users) {
    if (!write)
      continue;
    for (auto &[other, otherWrite] : users) {
      if (writer.spans[0].task == other.spans[0].task)
        continue;
      if (!times.areApart(writer, other))
        return write->emitOpError("check 4: writes ")
               << describeBuffer(variable) << ", which task \""
               << getTask(other.spans[0].task).getName()
               << "\" uses, and nothing orders the two";
      if (!times.allBefore(writer, other) && !times.allBefore(other, writer) &&
          !times.takeTurns(writer, other) && !times.takeTurns(other, writer))
        return write->emitOpError("check 4: writes ")
               << describeBuffer(variable) << " several times, and task \""
               << getTask(other.spans[0].task).getName()
               << "\" uses it between some of them: the two neither take "
                  "turns nor is one done before the other begins";
    }
  }
  return success();
}

LogicalResult Prover::checkVariables() {
  for (auto variable : graph.getOps<VariableOp>())
    for (unsigned group : tokens.getGroups(variable.getResult()))
      if (failed(checkUpdates(variable.getResult(), group)))
        return failure();
  return success();
}

namespace {
struct ProveSchedulePass
    : oneflow::actor::impl::ProveSchedulePassBase<ProveSchedulePass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    for (auto graph : getOperation().getOps<GraphOp>())
      if (failed(Prover(graph, symbols).run()))
        signalPassFailure();
  }
};
} // namespace
