//===- TokenGraph.cpp - what waits for what -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See TokenGraph.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"

#include "oneflow/Plan/KernelAbi.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace oneflow::actor;

TokenGraph::TokenGraph(GraphOp graph) : timetable(graph), firstNode{0} {
  for (Operation &op : graph.getBody().front()) {
    if (isa<RegisterOp, ScratchOp, VariableOp>(op))
      buffers.push_back(op.getResult(0));
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    unsigned index = tasks.size();
    tasks.push_back(task);
    groupsOf.push_back(SmallVector<unsigned, 1>(timetable.getGroups(task)));
    firstNode.push_back(firstNode.back() + timetable.getActions(task));
    taskOf.resize(firstNode.back(), index);
    for (Value reg : task.getPosts())
      producers.try_emplace(reg, index);
    for (auto [position, inner] : llvm::enumerate(task.getBody().front()))
      for (auto [access, touched] : llvm::enumerate(getAccesses(&inner)))
        uses[touched.buffer].push_back(
            {&inner, index, static_cast<unsigned>(position),
             static_cast<unsigned>(access), touched.writes});
  }

  auto byPhase = std::vector<SmallVector<unsigned>>(timetable.getPhaseCount());
  computes.assign(timetable.getGroupCount(), byPhase);
  communications = computes;
  for (auto [index, task] : llvm::enumerate(tasks)) {
    unsigned phase = timetable.findPhase(task).value_or(0);
    if (task.getStream() == Stream::Compute ||
        task.getStream() == Stream::Comm) {
      auto &lists =
          task.getStream() == Stream::Compute ? computes : communications;
      for (unsigned group : groupsOf[index])
        lists[group][phase].push_back(index);
    } else if (task.getStream() == Stream::Transfer) {
      if (ExchangeOp exchange = getExchange(task))
        channels[{exchange.getSourceLayout().getPlacement(),
                  exchange.getTargetLayout().getPlacement(), phase}]
            .push_back(index);
    }
  }
  auto sortByOrder = [&](SmallVector<unsigned> &list) {
    llvm::sort(list, [&](unsigned a, unsigned b) {
      return std::pair(tasks[a].getOrder(), a) <
             std::pair(tasks[b].getOrder(), b);
    });
  };
  for (auto &phases : communications)
    llvm::for_each(phases, sortByOrder);
  for (auto &[key, list] : channels)
    sortByOrder(list);

  std::vector<std::pair<uint32_t, uint32_t>> edges;
  forEachWait(
      [&](const Wait &wait) { edges.push_back({wait.before, wait.after}); });
  waits = Digraph::fromEdges(firstNode.back(), edges);
  locals.resize(timetable.getGroupCount());
}

void TokenGraph::forEachWait(
    llvm::function_ref<void(const Wait &)> visit) const {
  forEachRegisterWait(visit);
  forEachStreamWait(visit);
}

void TokenGraph::forEachRegisterWait(
    llvm::function_ref<void(const Wait &)> visit) const {
  for (unsigned consumer = 0; consumer < tasks.size(); ++consumer)
    for (Value value : TaskOp(tasks[consumer]).getWaits()) {
      auto found = producers.find(value);
      auto reg = value.getDefiningOp<RegisterOp>();
      if (!reg || found == producers.end())
        continue;
      unsigned producer = found->second;
      int64_t fills = getFills(value), slots = reg.getSlots();
      int64_t perFill = getActions(producer) / fills;
      int64_t perUse = getActions(consumer) / fills;
      for (int64_t fill = 0; fill < fills; ++fill)
        visit({getNode(producer, (fill + 1) * perFill - 1),
               getNode(consumer, fill * perUse), Cause::Fill, value, fill});
      for (int64_t fill = 0; fill + slots < fills; ++fill)
        visit({getNode(consumer, (fill + 1) * perUse - 1),
               getNode(producer, (fill + slots) * perFill), Cause::Credit,
               value, fill});
    }
}

void TokenGraph::forEachStreamWait(
    llvm::function_ref<void(const Wait &)> visit) const {
  for (unsigned group = 0; group < timetable.getGroupCount(); ++group)
    for (auto [lists, cause] :
         {std::pair(&computes, Cause::Compute),
          std::pair(&communications, Cause::Communication)}) {
      std::optional<uint32_t> last;
      for (const Step &step : timetable.getSteps(group))
        for (unsigned task : (*lists)[group][step.phase]) {
          uint32_t node = getNode(task, step.action);
          if (last)
            visit({*last, node, cause, Value(), 0, group});
          last = node;
        }
    }
  for (auto &[key, list] : channels)
    for (int64_t node = 1, count = list.size() * getActions(list.front());
         node < count; ++node) {
      int64_t size = list.size();
      visit({getNode(list[(node - 1) % size], (node - 1) / size),
             getNode(list[node % size], node / size), Cause::Channel, Value()});
    }
  for (unsigned task = 0; task < tasks.size(); ++task)
    if (TaskOp(tasks[task]).getStream() == Stream::Host)
      for (int64_t action = 1; action < getActions(task); ++action)
        visit({getNode(task, action - 1), getNode(task, action), Cause::Self,
               Value()});
}

SmallVector<Wait> TokenGraph::findCycle() const {
  std::vector<uint32_t> order = waits.sortTopologically();
  if (order.size() == waits.size())
    return {};
  // What is left has a predecessor that is left: walking back ends in a cycle.
  std::vector<char> left(waits.size(), 1);
  for (uint32_t node : order)
    left[node] = 0;
  std::vector<uint32_t> before(waits.size(), UINT32_MAX);
  uint32_t start = 0;
  for (uint32_t node = 0; node < waits.size(); ++node) {
    if (!left[node])
      continue;
    start = node;
    for (const uint32_t *to = waits.begin(node); to != waits.end(node); ++to)
      before[*to] = node;
  }
  std::vector<char> seen(waits.size(), 0);
  for (; !seen[start]; start = before[start])
    seen[start] = 1;
  SmallVector<uint32_t> candidates;
  uint32_t at = start;
  do
    candidates.push_back(at);
  while ((at = before[at]) != start && candidates.size() < 64);

  // The shortest one through any of its nodes is the easiest to read.
  SmallVector<uint32_t> shortest;
  for (uint32_t candidate : candidates) {
    std::vector<uint32_t> from(waits.size(), UINT32_MAX);
    std::deque<uint32_t> queue{candidate};
    while (!queue.empty() && from[candidate] == UINT32_MAX) {
      uint32_t node = queue.front();
      queue.pop_front();
      for (const uint32_t *to = waits.begin(node); to != waits.end(node); ++to)
        if (left[*to] && from[*to] == UINT32_MAX) {
          from[*to] = node;
          queue.push_back(*to);
        }
    }
    SmallVector<uint32_t> path{candidate};
    for (uint32_t node = from[candidate]; node != candidate; node = from[node])
      path.push_back(node);
    if (shortest.empty() || path.size() < shortest.size())
      shortest.assign(path.rbegin(), path.rend());
  }
  SmallVector<Wait> cycle(shortest.size());
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, size_t> index;
  for (size_t i = 0; i < shortest.size(); ++i)
    index[{shortest[i], shortest[(i + 1) % shortest.size()]}] = i;
  llvm::BitVector known(shortest.size());
  forEachWait([&](const Wait &wait) {
    auto found = index.find({wait.before, wait.after});
    // Registers say more than the order of a stream; they come first.
    if (found == index.end() || known.test(found->second))
      return;
    known.set(found->second);
    cycle[found->second] = wait;
  });
  return cycle;
}

unsigned TokenGraph::getTask(uint32_t node) const { return taskOf[node]; }

std::string TokenGraph::describe(uint32_t node) const {
  unsigned task = taskOf[node];
  std::string text = ("\"" + TaskOp(tasks[task]).getName() + "\"").str();
  if (getActions(task) > 1)
    text += " action " + std::to_string(node - firstNode[task]);
  return text;
}

std::string TokenGraph::describe(ArrayRef<Wait> cycle) const {
  constexpr size_t kShown = 12;
  std::string text;
  for (const Wait &wait : llvm::reverse(cycle.take_back(kShown))) {
    std::string before = describe(wait.before), after = describe(wait.after);
    text += (text.empty() ? "" : "; ") + after;
    auto reg = wait.reg ? wait.reg.getDefiningOp<RegisterOp>() : RegisterOp();
    std::string fill = getFills(wait.reg) > 1
                           ? "fill " + std::to_string(wait.fill) + " of "
                           : std::string();
    switch (wait.cause) {
    case Cause::Fill:
      text +=
          " waits for " + fill + describeBuffer(wait.reg) + " from " + before;
      break;
    case Cause::Credit:
      text += " waits until " + before + " releases " + fill +
              describeBuffer(wait.reg) + " of " +
              std::to_string(reg.getSlots()) +
              (reg.getSlots() == 1 ? " slot" : " slots");
      break;
    case Cause::Compute:
    case Cause::Communication:
      text +=
          " comes behind " + before + " in the order of " +
          (wait.cause == Cause::Compute ? "computation" : "communications") +
          " of " + timetable.describe(wait.group);
      break;
    case Cause::Channel:
      text += " comes behind " + before + " in the order of transfers";
      break;
    case Cause::Self:
      text += " comes behind " + before;
      break;
    }
  }
  if (cycle.size() > kShown)
    text += "; and " + std::to_string(cycle.size() - kShown) + " more";
  return text;
}

const TokenGraph::Local &TokenGraph::getLocal(unsigned group) const {
  if (locals[group])
    return *locals[group];
  auto local = std::make_unique<Local>();
  local->firstNode.resize(tasks.size(), 0);
  // One chain each for the streams of the ranks, every channel and every host
  // task.
  std::vector<uint32_t> chains;
  std::map<std::tuple<const void *, const void *, unsigned>, uint32_t> number;
  SmallVector<unsigned> here;
  for (auto [index, op] : llvm::enumerate(tasks)) {
    if (!isOn(index, group))
      continue;
    TaskOp task = op;
    here.push_back(index);
    std::tuple<const void *, const void *, unsigned> key{
        nullptr, nullptr, static_cast<unsigned>(task.getStream())};
    if (task.getStream() == Stream::Host)
      key = {task.getOperation(), nullptr, 0};
    else if (ExchangeOp exchange = getExchange(task);
             exchange && task.getStream() == Stream::Transfer)
      key = {exchange.getSourceLayout().getPlacement().getAsOpaquePointer(),
             exchange.getTargetLayout().getPlacement().getAsOpaquePointer(),
             timetable.findPhase(task).value_or(0)};
    uint32_t chain = number.try_emplace(key, number.size()).first->second;
    local->firstNode[index] = chains.size();
    chains.resize(chains.size() + getActions(index), chain);
  }
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (unsigned task : here)
    for (int64_t action = 0; action < getActions(task); ++action) {
      uint32_t node = getNode(task, action);
      for (const uint32_t *to = waits.begin(node); to != waits.end(node); ++to)
        if (isOn(taskOf[*to], group))
          edges.push_back({toLocal(*local, node), toLocal(*local, *to)});
    }
  uint32_t nodeCount = chains.size();
  local->clocks = ChainClocks(Digraph::fromEdges(nodeCount, edges),
                              std::move(chains), number.size());
  locals[group] = std::move(local);
  return *locals[group];
}

ArrayRef<Use> TokenGraph::getUses(Value buffer) const {
  auto found = uses.find(buffer);
  return found == uses.end() ? ArrayRef<Use>() : ArrayRef<Use>(found->second);
}

int TokenGraph::getProducer(Value reg) const {
  auto found = producers.find(reg);
  return found == producers.end() ? -1 : static_cast<int>(found->second);
}

int64_t TokenGraph::getFills(Value value) const {
  if (!value)
    return 1;
  auto reg = value.getDefiningOp<RegisterOp>();
  int producer = getProducer(value);
  if (reg && reg.getFills())
    return *reg.getFills();
  return producer < 0 ? 1 : getActions(producer);
}

SmallVector<unsigned> TokenGraph::getGroups(Value buffer) const {
  SmallVector<unsigned> groups;
  for (const Use &use : getUses(buffer))
    llvm::append_range(
        groups, timetable.getGroups(tasks[use.task], use.op, use.access));
  llvm::sort(groups);
  groups.erase(llvm::unique(groups), groups.end());
  return groups;
}

int64_t oneflow::actor::getPlaceBytes(Value buffer) {
  auto reg = buffer.getDefiningOp<RegisterOp>();
  int64_t bytes = getBytes(buffer);
  if (!reg || bytes == 0)
    return bytes;
  return (int64_t(reg.getSlots()) - 1) * static_cast<int64_t>(llvm::alignTo(
                                             bytes, ONEFLOW_BUFFER_ALIGNMENT)) +
         bytes;
}

bool oneflow::actor::mayShare(LaunchOp launch, unsigned operand,
                              unsigned result, SymbolTableCollection &symbols) {
  Operation *kernel =
      symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr());
  auto pairs =
      kernel ? kernel->getAttrOfType<ArrayAttr>("oneflow.may_share") : nullptr;
  if (!pairs)
    return false;
  int64_t resultNumber = result - static_cast<int64_t>(launch.getFirstResult());
  return llvm::any_of(
      pairs.getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr pair) {
        return pair.size() == 2 && pair[0] == static_cast<int64_t>(operand) &&
               pair[1] == resultNumber;
      });
}
