//===- Rank.cpp - one rank's memory and programs --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rank.h"

#include "StreamOrder.h"
#include "Tasks.h"
#include "ValidatePlan.h"

#include <algorithm>

using namespace oneflow;
using namespace oneflow::runtime;

Status Rank::create(const LoadedPlan &plan, int rank, int threads,
                    const Patience &patience, bool callerServes,
                    RunControl &control, RankCommunicators &communicators,
                    std::unique_ptr<Rank> &result) {
  result.reset(new Rank(plan, rank, control, communicators));
  return result->bind(threads, patience, callerServes);
}

uint32_t Rank::threadOf(const plan::Plan &plan, uint32_t stream) {
  const auto &streams = *plan.streams();
  uint32_t first = 0;
  while (first < streams.size() &&
         streams.Get(first)->kind() != plan::StreamKind::CpuCompute)
    ++first;
  bool shared =
      stream == first || streams.Get(stream)->kind() == plan::StreamKind::Host;
  return shared ? 0 : stream + 1;
}

Rank::~Rank() = default;

Status Rank::bindVariables() {
  variables.resize(loaded.variableCount());
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const plan::Variable &variable = loaded.variable(i);
    if (Status status = variables[i].bind(variable, loaded.graph(), rank))
      return status;
    if (variables[i].exists() && variable.initial() == plan::Initial::Data)
      variables[i].setLogical(loaded.data() + variable.data_offset());
  }
  return Status();
}

Status Rank::bind(int threads, const Patience &patience, bool callerServes) {
  uint64_t actions = 1;
  for (uint32_t i = 0; i < loaded.entryCount(); ++i)
    if (const plan::Entry &entry = loaded.entry(i); hasPhases(entry))
      for (const plan::Phase *phase : *entry.phases())
        actions = std::max<uint64_t>(actions, phase->actions());
  values = ScalarTable(loaded.graph(), rank, actions);
  if (Status status = bindVariables())
    return status;
  // One entry runs at a time and nothing in the arena outlives a run, so all
  // entries share one.
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < loaded.entryCount(); ++i)
    bytes = std::max(bytes, arenaBytes(loaded.entry(i)));
  if (Status status = MappedMemory::allocate(bytes, "the arena", arena))
    return status;
  stagings.resize(loaded.streamCount());
  traces.resize(loaded.streamCount());
  kernelsOfStream.assign(loaded.streamCount(), 0);
  std::vector<ActorGraph> graphs(loaded.entryCount());
  for (uint32_t i = 0; i < loaded.entryCount(); ++i)
    if (Status status = bindEntry(i, graphs[i]))
      return Status(status.code(),
                    concat("entry '", loaded.entry(i).name()->string_view(),
                           "', rank ", rank, ": ", status.message()),
                    status.location());
  for (StagingMemory &staging : stagings)
    if (Status status = staging.allocate())
      return status;
  pool = std::make_unique<WorkerPool>(threads, patience);
  system = std::make_unique<ActorSystem>(std::move(graphs),
                                         loaded.streamCount() + 1, patience,
                                         callerServes ? 0 : ActorSystem::kNone);
  return Status();
}

Status Rank::bindEntry(uint32_t entryIndex, ActorGraph &graph) {
  const plan::Entry &entry = loaded.entry(entryIndex);
  if (!entry.tasks())
    return Status();
  constexpr uint32_t kAbsent = UINT32_MAX;
  std::vector<uint32_t> actorOf(entry.tasks()->size(), kAbsent);
  std::vector<uint32_t> positions = topologicalPositions(entry);
  TaskRanks ranks(loaded.graph(), entry);
  for (uint32_t i = 0; i < entry.tasks()->size(); ++i) {
    const plan::Task &task = *entry.tasks()->Get(i);
    if (!ranks.takesPart(i, rank))
      continue;
    std::unique_ptr<ActorBody> body;
    if (Status status =
            createTaskBody(*this, {entryIndex, i, positions[i]}, body))
      return Status(
          status.code(),
          concat("task '", task.name()->string_view(), "': ", status.message()),
          task.location() ? task.location()->str() : std::string());
    actorOf[i] = static_cast<uint32_t>(graph.actors.size());
    graph.actors.push_back({threadOf(loaded.graph(), task.stream()), body.get(),
                            actionsOf(entry, task)});
    bodies.push_back(std::move(body));
    if (const plan::ChainBody *chain = task.body_as_ChainBody())
      if (chain->kernels())
        kernelsOfStream[task.stream()] = std::max<size_t>(
            kernelsOfStream[task.stream()], chain->kernels()->size());
  }
  // A register between tasks of two placements has both ends only on the ranks
  // that take part in both; elsewhere the one end stands alone.
  if (entry.registers())
    for (const plan::Register *reg : *entry.registers()) {
      if (actorOf[reg->producer()] == kAbsent)
        continue;
      uint32_t fills = fillsOf(entry, *reg);
      // More slots than fills are never used.
      RegisterSpec spec{
          std::min(reg->slots(), fills), actorOf[reg->producer()], {}, fills};
      if (reg->consumers())
        for (uint32_t consumer : *reg->consumers())
          if (actorOf[consumer] != kAbsent)
            spec.consumers.push_back(actorOf[consumer]);
      graph.registers.push_back(std::move(spec));
    }
  for (std::vector<uint32_t> &order :
       streamOrders(loaded.graph(), entry, ranks, rank)) {
    for (uint32_t &task : order)
      task = actorOf[task];
    graph.orders.push_back(std::move(order));
  }
  return Status();
}

uint64_t Rank::arenaBytes(const plan::Entry &entry) const {
  uint64_t end = 0;
  auto touch = [&](uint32_t index) {
    const plan::Register &reg = *entry.registers()->Get(index);
    if (reg.bytes() > 0)
      end = std::max(end, reg.offset() + (reg.slots() - 1) * reg.stride() +
                              reg.bytes());
  };
  if (!entry.tasks())
    return end;
  TaskRanks ranks(loaded.graph(), entry);
  for (uint32_t i = 0; i < entry.tasks()->size(); ++i) {
    const plan::Task &task = *entry.tasks()->Get(i);
    if (!ranks.takesPart(i, rank))
      continue;
    forEachBuffer(loaded.graph(), task, rank, [&](const plan::Buffer &buffer) {
      if (buffer.kind() == plan::BufferKind::Register)
        touch(buffer.index());
      else if (buffer.kind() == plan::BufferKind::Arena)
        end = std::max(end, buffer.offset() + buffer.bytes());
    });
    // One side of an exchange does not touch the register of the other.
    if (task.body_type() == plan::TaskBody::ExchangeBody)
      continue;
    for (const auto *list : {task.inputs(), task.outputs()})
      if (list)
        for (uint32_t index : *list)
          touch(index);
  }
  return end;
}

SlotAddress Rank::address(const plan::Entry &entry, const plan::Task &task,
                          const plan::Buffer &buffer) {
  switch (buffer.kind()) {
  case plan::BufferKind::Arena:
    return SlotAddress(arena.data() + buffer.offset());
  case plan::BufferKind::Register: {
    const plan::Register &reg = *entry.registers()->Get(buffer.index());
    uint32_t fills = fillsOf(entry, reg);
    return SlotAddress(arena.data() + reg.offset() + buffer.offset(),
                       reg.stride(), std::min(reg.slots(), fills),
                       actionsOf(entry, task) / fills);
  }
  case plan::BufferKind::Variable:
    return SlotAddress(variables[buffer.index()].exists()
                           ? variables[buffer.index()].data() + buffer.offset()
                           : nullptr);
  case plan::BufferKind::Constant:
    // The mapping is read-only; kernels only read constants.
    return SlotAddress(
        const_cast<uint8_t *>(loaded.data()) +
        loaded.graph().constants()->Get(buffer.index())->data_offset() +
        buffer.offset());
  }
  return SlotAddress();
}

void Rank::startTrace(size_t capacity) {
  for (size_t i = 0; i < traces.size(); ++i)
    traces[i].start(capacity, kernelsOfStream[i]);
}

void Rank::stopTrace() {
  for (TraceBuffer &trace : traces)
    trace.stop();
}

void Rank::appendTraceRows(std::vector<TraceRow> &rows) const {
  for (uint32_t i = 0; i < traces.size(); ++i)
    if (!traces[i].events().empty())
      rows.push_back({rank, i,
                      loaded.graph().streams()->Get(i)->name()->c_str(),
                      &traces[i]});
}
