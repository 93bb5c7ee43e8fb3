//===- PlanMemory.cpp - offsets in the arena ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PlanMemoryPass in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "oneflow/Dialect/Actor/Transforms/OffsetPacking.h"
#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Interfaces/SourceName.h"
#include "oneflow/Plan/KernelAbi.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace oneflow::actor {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"
} // namespace oneflow::actor

using namespace mlir;
using namespace oneflow;
using namespace oneflow::actor;

static void addWorkspaces(GraphOp graph, SymbolTableCollection &symbols) {
  graph.walk([&](LaunchOp launch) {
    Operation *kernel =
        symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr());
    auto bytes = kernel
                     ? kernel->getAttrOfType<IntegerAttr>("oneflow.workspace")
                     : IntegerAttr();
    if (!bytes || bytes.getInt() == 0)
      return;
    // A graph that was planned before has them.
    if (!launch.getBuffers().empty())
      if (auto last = launch.getBuffers().back().getDefiningOp<ScratchOp>();
          last && last.getName() == "workspace" &&
          last.getBytes() == static_cast<uint64_t>(bytes.getInt()))
        return;
    OpBuilder builder(launch->getParentOfType<TaskOp>());
    Value workspace = ScratchOp::create(
        builder, launch.getLoc(), BufferType::get(launch.getContext()),
        "workspace", bytes.getInt(), IntegerAttr());
    launch.getBuffersMutable().append(workspace);
  });
}

namespace {

/// What is known of the ranks of one group.
struct GroupPlan {
  /// Blocks that are used there, ascending.
  std::vector<uint32_t> blocks;
  /// Of those, as many as are alive at once in some firing order: the peak.
  std::vector<uint32_t> peak;
  int64_t peakBytes = 0, arenaBytes = 0;
};

class MemoryPlanner {
public:
  MemoryPlanner(const TokenGraph &tokens, SymbolTableCollection &symbols)
      : tokens(tokens), sharing(tokens, symbols) {}

  /// Sets the offsets of all buffers; returns the size of the arena.
  int64_t run();
  void report(GraphOp graph);

private:
  void makeBlocks();
  /// Adds what conflicts on the ranks of a group to the problem, and finds its
  /// peak.
  void planGroup(unsigned group);
  std::vector<uint32_t> findPeak(const PackingProblem &local,
                                 ArrayRef<Lifetime> lifetimes,
                                 const Lifetimes &times);
  int64_t pack();

  const TokenGraph &tokens;
  InPlaceSharing sharing;
  /// A block is what is planned as one, and known by the first of its buffers.
  SmallVector<Value> blocks;
  PackingProblem problem;
  std::vector<GroupPlan> groups;
  std::vector<int64_t> offsets;
};

} // namespace

void MemoryPlanner::makeBlocks() {
  problem.alignment = ONEFLOW_BUFFER_ALIGNMENT;
  groups.resize(tokens.getTimetable().getGroupCount());
  for (Value buffer : tokens.getBuffers()) {
    if (sharing.find(buffer) != buffer)
      continue;
    uint32_t block = blocks.size();
    blocks.push_back(buffer);
    problem.sizes.push_back(getPlaceBytes(buffer));
    llvm::SmallSetVector<unsigned, 2> on;
    for (Value member : sharing.getMembers(buffer)) {
      SmallVector<unsigned> ranks = tokens.getGroups(member);
      on.insert(ranks.begin(), ranks.end());
    }
    for (unsigned group : on)
      groups[group].blocks.push_back(block);
  }
  problem.conflicts.resize(blocks.size());
  problem.lifetimes.resize(blocks.size(), 0);
  offsets.resize(blocks.size(), 0);
}

void MemoryPlanner::planGroup(unsigned group) {
  GroupPlan &plan = groups[group];
  Lifetimes times(tokens, group);
  std::vector<Lifetime> lifetimes;
  PackingProblem local;
  local.alignment = problem.alignment;
  local.conflicts.resize(plan.blocks.size());
  for (uint32_t block : plan.blocks) {
    lifetimes.push_back(sharing.getLifetime(blocks[block], group));
    local.sizes.push_back(problem.sizes[block]);
    // Half of the order's times is enough of a hint.
    for (int64_t instance = 0; instance < lifetimes.back().instances;
         ++instance) {
      auto [begin, end] = times.getTimes(lifetimes.back(), instance);
      problem.lifetimes[block] += double(end - begin) / double(1ull << 32);
    }
  }
  // Scratch of one task meets what that task does not use in the same way,
  // whichever of its scratch buffers it is.
  llvm::DenseMap<std::pair<unsigned, uint32_t>, bool> meets;
  auto isScratch = [&](uint32_t index) {
    return lifetimes[index].spans.size() == 1 &&
           lifetimes[index].spans[0].perInstance == 1;
  };
  auto areApart = [&](uint32_t a, uint32_t b) {
    if (isScratch(a) == isScratch(b))
      return times.areApart(lifetimes[a], lifetimes[b]);
    auto [scratch, other] = isScratch(a) ? std::pair(a, b) : std::pair(b, a);
    unsigned task = lifetimes[scratch].spans[0].task;
    if (llvm::any_of(lifetimes[other].spans,
                     [&](const Span &span) { return span.task == task; }))
      return times.areApart(lifetimes[a], lifetimes[b]);
    auto [place, isNew] = meets.try_emplace({task, other}, false);
    if (isNew)
      place->second = times.areApart(lifetimes[a], lifetimes[b]);
    return place->second;
  };
  for (uint32_t a = 0; a < plan.blocks.size(); ++a)
    for (uint32_t b = 0; b < a; ++b)
      if (!areApart(a, b)) {
        local.conflicts[a].push_back(b);
        local.conflicts[b].push_back(a);
      }
  for (uint32_t index : findPeak(local, lifetimes, times)) {
    plan.peak.push_back(plan.blocks[index]);
    plan.peakBytes += local.getAlignedSize(index);
  }
  for (auto [index, block] : llvm::enumerate(plan.blocks))
    for (uint32_t other : local.conflicts[index])
      problem.conflicts[block].push_back(plan.blocks[other]);
}

/// Intervals that pairwise conflict are alive at once in the firing order that
/// begins all of them before it ends any: a heaviest clique is the peak. Two
/// ways to a heavy one: from what is alive at the heaviest points of one firing
/// order, and from the conflicts alone.
std::vector<uint32_t> MemoryPlanner::findPeak(const PackingProblem &local,
                                              ArrayRef<Lifetime> lifetimes,
                                              const Lifetimes &times) {
  struct Event {
    uint64_t time;
    bool ends;
    uint32_t index;
  };
  std::vector<Event> events;
  for (auto [index, lifetime] : llvm::enumerate(lifetimes))
    for (int64_t instance = 0; instance < lifetime.instances; ++instance) {
      auto [begin, end] = times.getTimes(lifetime, instance);
      events.push_back({begin, false, static_cast<uint32_t>(index)});
      events.push_back({end, true, static_cast<uint32_t>(index)});
    }
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tie(a.time, a.ends, a.index) <
           std::tie(b.time, b.ends, b.index);
  });
  std::vector<uint32_t> best = findHeavyClique(local);
  int64_t bytes = sumSizes(local, best), live = 0;
  // The heaviest points, the earliest of those that weigh the same.
  std::map<int64_t, size_t> points;
  for (size_t event = 0; event < events.size(); ++event) {
    int64_t size = local.getAlignedSize(events[event].index);
    live += events[event].ends ? -size : size;
    if (!events[event].ends)
      points.try_emplace(live, event);
    if (points.size() > 16)
      points.erase(points.begin());
  }
  for (auto [weight, point] : llvm::reverse(points)) {
    llvm::SmallSetVector<uint32_t, 32> alive;
    for (size_t event = 0; event <= point; ++event)
      if (events[event].ends)
        alive.remove(events[event].index);
      else
        alive.insert(events[event].index);
    std::vector<uint32_t> clique =
        growClique(local, {alive.begin(), alive.end()});
    if (int64_t sum = sumSizes(local, clique); sum > bytes) {
      bytes = sum;
      best = std::move(clique);
    }
  }
  return best;
}

/// Groups that have a buffer in common are packed together: it has one offset
/// on all its ranks. The others each begin at 0.
int64_t MemoryPlanner::pack() {
  llvm::EquivalenceClasses<unsigned> together;
  std::vector<int> firstGroup(blocks.size(), -1);
  for (unsigned group = 0; group < groups.size(); ++group) {
    together.insert(group);
    for (uint32_t block : groups[group].blocks) {
      if (firstGroup[block] < 0)
        firstGroup[block] = group;
      else
        together.unionSets(firstGroup[block], group);
    }
  }
  // A buffer that nothing uses lies at 0 and conflicts with none.
  int64_t arena = 0;
  for (auto [block, group] : llvm::enumerate(firstGroup))
    if (group < 0)
      arena = std::max(arena, problem.getAlignedSize(block));
  std::vector<uint32_t> index(blocks.size());
  for (unsigned leader = 0; leader < groups.size(); ++leader) {
    if (together.getLeaderValue(leader) != leader)
      continue;
    PackingProblem part;
    part.alignment = problem.alignment;
    std::vector<uint32_t> members;
    const GroupPlan *heaviest = &groups[leader];
    for (uint32_t block = 0; block < blocks.size(); ++block)
      if (firstGroup[block] >= 0 &&
          together.isEquivalent(firstGroup[block], leader)) {
        index[block] = members.size();
        members.push_back(block);
      }
    for (unsigned group = 0; group < groups.size(); ++group)
      if (together.isEquivalent(group, leader) &&
          groups[group].peakBytes > heaviest->peakBytes)
        heaviest = &groups[group];
    for (uint32_t block : members) {
      std::vector<uint32_t> conflicts = problem.conflicts[block];
      llvm::sort(conflicts);
      conflicts.erase(llvm::unique(conflicts), conflicts.end());
      for (uint32_t &other : conflicts)
        other = index[other];
      part.conflicts.push_back(std::move(conflicts));
      part.sizes.push_back(problem.sizes[block]);
      part.lifetimes.push_back(problem.lifetimes[block]);
    }
    std::vector<uint32_t> clique;
    for (uint32_t block : heaviest->peak)
      clique.push_back(index[block]);
    Packing packing = packOffsets(part, clique);
    for (auto [member, offset] : llvm::zip(members, packing.offsets))
      offsets[member] = offset;
    arena = std::max(arena, packing.bytes);
  }
  for (GroupPlan &plan : groups)
    for (uint32_t block : plan.blocks)
      plan.arenaBytes = std::max(
          plan.arenaBytes, offsets[block] + problem.getAlignedSize(block));
  return arena;
}

int64_t MemoryPlanner::run() {
  makeBlocks();
  for (unsigned group = 0; group < groups.size(); ++group)
    planGroup(group);
  int64_t arena = pack();
  OpBuilder builder(blocks.empty() ? nullptr : blocks.front().getContext());
  for (auto [block, offset] : llvm::zip(blocks, offsets))
    for (Value member : sharing.getMembers(block))
      member.getDefiningOp()->setAttr("offset",
                                      builder.getI64IntegerAttr(offset));
  return arena;
}

void MemoryPlanner::report(GraphOp graph) {
  constexpr size_t kShown = 10;
  for (auto [group, plan] : llvm::enumerate(groups)) {
    // Not of the op, which would print the graph as well.
    InFlightDiagnostic remark = emitRemark(graph.getLoc());
    remark << "@" << graph.getSymName() << " on "
           << tokens.getTimetable().describe(group) << ": arena of "
           << plan.arenaBytes << " bytes, at most " << plan.peakBytes
           << " live at once, in " << plan.peak.size() << " of "
           << plan.blocks.size() << " places";
    std::vector<uint32_t> peak = plan.peak;
    llvm::sort(peak, [&](uint32_t a, uint32_t b) {
      return std::pair(problem.sizes[b], a) < std::pair(problem.sizes[a], b);
    });
    for (uint32_t block : ArrayRef(peak).take_front(kShown)) {
      Operation *op = blocks[block].getDefiningOp();
      auto reg = dyn_cast<RegisterOp>(op);
      Diagnostic &note = remark.attachNote(op->getLoc());
      note << problem.getAlignedSize(block)
           << " bytes: " << describeBuffer(blocks[block]);
      if (reg && reg.getSlots() > 1)
        note << ", " << int64_t(reg.getSlots()) << " slots";
      for (Value member : sharing.getMembers(blocks[block]).drop_front())
        note << ", then " << describeBuffer(member);
      if (std::string source = sourceLocation(op->getLoc()); !source.empty())
        note << ", of " << source;
    }
    if (peak.size() > kShown) {
      std::vector<uint32_t> rest(peak.begin() + kShown, peak.end());
      remark.attachNote(graph.getLoc())
          << sumSizes(problem, rest) << " bytes: " << rest.size() << " others";
    }
  }
}

namespace {
struct PlanMemoryPass
    : oneflow::actor::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;
  void runOnOperation() override {
    SymbolTableCollection symbols;
    for (auto graph : getOperation().getOps<GraphOp>()) {
      addWorkspaces(graph, symbols);
      TokenGraph tokens(graph);
      if (SmallVector<Wait> cycle = tokens.findCycle(); !cycle.empty()) {
        TaskOp task = tokens.getTasks()[tokens.getTask(cycle.back().after)];
        task.emitOpError("memory cannot be planned, since these wait for each "
                         "other: ")
            << tokens.describe(cycle);
        return signalPassFailure();
      }
      MemoryPlanner planner(tokens, symbols);
      graph.setArenaBytes(planner.run());
      graph.walk([&](RegisterOp reg) {
        if (!reg.getOffset())
          reg.setOffset(0);
      });
      if (report)
        planner.report(graph);
    }
  }
};
} // namespace
