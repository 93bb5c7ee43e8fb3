//===- ValidateEntry.cpp - what every entry must satisfy ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValidatePlan.h"

#include "DataType.h"
#include "Layout.h"
#include "StreamOrder.h"

#include "oneflow/Plan/KernelAbi.h"

#include <algorithm>
#include <string>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::BufferKind;

namespace {

template <typename T> uint32_t sizeOf(const T *vector) {
  return vector ? vector->size() : 0;
}

template <typename T>
bool contains(const flatbuffers::Vector<T> *vector, T value) {
  return vector &&
         std::find(vector->begin(), vector->end(), value) != vector->end();
}

template <typename T> bool hasDuplicates(const flatbuffers::Vector<T> *vector) {
  if (!vector)
    return false;
  std::vector<T> sorted(vector->begin(), vector->end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

// Checks the tasks of one entry against the plan around them.
class EntryValidator {
public:
  EntryValidator(const plan::Plan &plan, const plan::Entry &entry)
      : plan(plan), entry(entry), taskCount(sizeOf(entry.tasks())),
        registerCount(sizeOf(entry.registers())) {}

  Status run();

private:
  Status checkPorts();
  Status checkRegister(uint32_t index);
  Status checkFills(const plan::Register &reg, const std::string &what);
  Status checkTask(uint32_t index);
  Status checkOrder();
  Status checkBody(const plan::Task &task);
  // The parts of a tensor that is split along time are as many as the actions.
  Status checkTime(const plan::Task &task, const plan::Layout &layout,
                   const char *what);
  Status checkPortBody(const plan::Task &task, const plan::Layout &layout,
                       const plan::Buffer *buffer);
  Status checkChain(const plan::Task &task, const plan::ChainBody &body);
  Status checkCollective(const plan::Task &task,
                         const plan::CollectiveBody &body);
  Status checkExchange(const plan::Task &task, const plan::ExchangeBody &body);
  Status checkBuffer(const plan::Task &task, const plan::Buffer *buffer,
                     const std::string &what, uint64_t needed, bool written);

  const plan::Plan &plan;
  const plan::Entry &entry;
  uint32_t taskCount, registerCount;
  std::vector<uint32_t> deliveries;
};

Status EntryValidator::checkPorts() {
  uint64_t logical, local;
  for (uint32_t i = 0; i < sizeOf(entry.inputs()); ++i) {
    const plan::Port &port = *entry.inputs()->Get(i);
    if (Status status = checkLayout(
            plan, *port.layout(),
            concat("input '", port.name()->string_view(), "'"), logical, local))
      return status;
  }
  for (uint32_t i = 0; i < sizeOf(entry.outputs()); ++i) {
    const plan::Port &port = *entry.outputs()->Get(i);
    std::string what = concat("output '", port.name()->string_view(), "'");
    if (Status status = checkLayout(plan, *port.layout(), what, logical, local))
      return status;
    if (port.layout()->sbp())
      for (const plan::Sbp *sbp : *port.layout()->sbp())
        if (sbp->kind() != plan::SbpKind::Broadcast &&
            !(sbp->kind() == plan::SbpKind::Split &&
              sbp == timeSbp(*port.layout(), plan)))
          return invalidPlan(what, " is not Broadcast along every axis");
  }
  deliveries.assign(sizeOf(entry.outputs()), 0);
  return Status();
}

Status EntryValidator::checkRegister(uint32_t index) {
  const plan::Register &reg = *entry.registers()->Get(index);
  std::string what = concat("register '", reg.name()->string_view(), "'");
  if (reg.slots() == 0)
    return invalidPlan(what, " has no slot");
  if (reg.offset() % ONEFLOW_BUFFER_ALIGNMENT != 0 ||
      (reg.slots() > 1 && reg.stride() % ONEFLOW_BUFFER_ALIGNMENT != 0))
    return invalidPlan(what, " is not aligned to ", ONEFLOW_BUFFER_ALIGNMENT,
                       " bytes");
  if (reg.slots() > 1 && reg.stride() < reg.bytes())
    return invalidPlan(what, " has slots that overlap");
  uint64_t end;
  if (__builtin_mul_overflow(uint64_t(reg.slots() - 1), reg.stride(), &end) ||
      __builtin_add_overflow(end, reg.bytes(), &end) ||
      __builtin_add_overflow(end, reg.offset(), &end) ||
      end > entry.arena_bytes())
    return invalidPlan(what, " lies outside the arena of ", entry.arena_bytes(),
                       " bytes");
  if (reg.producer() >= taskCount ||
      !contains(entry.tasks()->Get(reg.producer())->outputs(), index))
    return invalidPlan(what, " names producer ", reg.producer(),
                       ", which does not have it as an output");
  if (hasDuplicates(reg.consumers()))
    return invalidPlan(what, " has a consumer twice");
  if (reg.consumers())
    for (uint32_t consumer : *reg.consumers())
      if (consumer >= taskCount || consumer == reg.producer() ||
          !contains(entry.tasks()->Get(consumer)->inputs(), index))
        return invalidPlan(what, " names consumer ", consumer,
                           ", which does not have it as an input");
  return checkFills(reg, what);
}

Status EntryValidator::checkFills(const plan::Register &reg,
                                  const std::string &what) {
  uint32_t fills = fillsOf(entry, reg);
  auto divides = [&](uint32_t index) {
    return actionsOf(entry, *entry.tasks()->Get(index)) % fills == 0;
  };
  auto refuse = [&](uint32_t index) {
    const plan::Task &task = *entry.tasks()->Get(index);
    return invalidPlan(what, " is filled ", fills, " times, but task '",
                       task.name()->string_view(), "' acts ",
                       actionsOf(entry, task), " times");
  };
  if (!divides(reg.producer()))
    return refuse(reg.producer());
  if (reg.consumers())
    for (uint32_t consumer : *reg.consumers())
      if (!divides(consumer))
        return refuse(consumer);
  return Status();
}

Status EntryValidator::checkTask(uint32_t index) {
  const plan::Task &task = *entry.tasks()->Get(index);
  if (task.placement() >= plan.placements()->size())
    return invalidPlan("names placement ", task.placement(), " of ",
                       plan.placements()->size());
  if (task.stream() >= sizeOf(plan.streams()))
    return invalidPlan("names stream ", task.stream(), " of ",
                       sizeOf(plan.streams()));
  if (hasDuplicates(task.inputs()) || hasDuplicates(task.outputs()))
    return invalidPlan("has a register twice");
  if (task.inputs())
    for (uint32_t input : *task.inputs())
      if (input >= registerCount ||
          !contains(entry.registers()->Get(input)->consumers(), index))
        return invalidPlan("reads register ", input,
                           ", which does not name it as a consumer");
  if (task.outputs())
    for (uint32_t output : *task.outputs())
      if (output >= registerCount ||
          entry.registers()->Get(output)->producer() != index)
        return invalidPlan("writes register ", output,
                           ", which does not name it as its producer");
  if (isCommunication(task) != (task.order() > 0))
    return invalidPlan(isCommunication(task)
                           ? "is a communication without an order"
                           : "has an order but is no communication");
  return checkBody(task);
}

Status EntryValidator::checkBody(const plan::Task &task) {
  switch (task.body_type()) {
  case plan::TaskBody::InputBody: {
    const plan::InputBody &body = *task.body_as_InputBody();
    if (body.port() >= sizeOf(entry.inputs()))
      return invalidPlan("names input ", body.port(), " of ",
                         sizeOf(entry.inputs()));
    return checkPortBody(task, *entry.inputs()->Get(body.port())->layout(),
                         body.buffer());
  }
  case plan::TaskBody::OutputBody: {
    const plan::OutputBody &body = *task.body_as_OutputBody();
    if (body.port() >= sizeOf(entry.outputs()))
      return invalidPlan("names output ", body.port(), " of ",
                         sizeOf(entry.outputs()));
    ++deliveries[body.port()];
    return checkPortBody(task, *entry.outputs()->Get(body.port())->layout(),
                         body.buffer());
  }
  case plan::TaskBody::ChainBody:
    return checkChain(task, *task.body_as_ChainBody());
  case plan::TaskBody::CollectiveBody:
    return checkCollective(task, *task.body_as_CollectiveBody());
  case plan::TaskBody::ExchangeBody:
    return checkExchange(task, *task.body_as_ExchangeBody());
  default:
    return invalidPlan("has an unknown body");
  }
}

Status EntryValidator::checkTime(const plan::Task &task,
                                 const plan::Layout &layout, const char *what) {
  uint32_t actions = actionsOf(entry, task);
  int64_t parts = timeAxisSize(*plan.placements()->Get(layout.placement()));
  if (isSplitAlongTime(layout, plan) && parts != actions)
    return invalidPlan(what, " has ", parts,
                       " parts along time, but the task acts ", actions,
                       " times");
  return Status();
}

Status EntryValidator::checkPortBody(const plan::Task &task,
                                     const plan::Layout &layout,
                                     const plan::Buffer *buffer) {
  if (layout.placement() != task.placement())
    return invalidPlan("runs on another placement than its port");
  uint64_t logical = 0, local = 0;
  if (Status status = checkLayout(plan, layout, "port", logical, local))
    return status;
  if (Status status = checkTime(task, layout, "port"))
    return status;
  return checkBuffer(task, buffer, "buffer", local,
                     task.body_type() == plan::TaskBody::InputBody);
}

Status EntryValidator::checkChain(const plan::Task &task,
                                  const plan::ChainBody &body) {
  for (uint32_t i = 0; i < sizeOf(body.buffers()); ++i)
    if (Status status = checkBuffer(task, body.buffers()->Get(i),
                                    concat("buffer ", i), 0, false))
      return status;
  if (body.kernels())
    for (uint32_t kernel : *body.kernels())
      if (kernel >= sizeOf(plan.kernels()))
        return invalidPlan("names kernel ", kernel, " of ",
                           sizeOf(plan.kernels()));
  return Status();
}

Status EntryValidator::checkCollective(const plan::Task &task,
                                       const plan::CollectiveBody &body) {
  using plan::CollectiveKind;
  if (body.kind() > CollectiveKind::MAX ||
      body.reducer() > plan::Reducer::MAX || dtypeBytes(body.dtype()) == 0)
    return invalidPlan("has an unknown kind, reducer or element type");
  if (body.placement() != task.placement())
    return invalidPlan("runs on another placement than its collective");
  const auto &axes = *plan.placements()->Get(body.placement())->axes();
  if (body.axes()->size() == 0)
    return invalidPlan("names no mesh axis");
  for (uint32_t i = 0; i < body.axes()->size(); ++i)
    if (body.axes()->Get(i) >= axes.size() ||
        (i > 0 && body.axes()->Get(i) <= body.axes()->Get(i - 1)))
      return invalidPlan("expected ascending mesh axes below ", axes.size());
  if (axes.Get(body.axes()->Get(0))->is_time())
    return invalidPlan("is a collective along time");
  uint32_t rank = body.shape()->size();
  if (rank > kMaxTensorRank)
    return invalidPlan("has ", rank, " dimensions, expected at most ",
                       kMaxTensorRank);
  for (const plan::Extent *extent : *body.shape())
    if (extent->scalar() >= 0
            ? static_cast<uint32_t>(extent->scalar()) >= sizeOf(plan.scalars())
            : extent->size() < 0)
      return invalidPlan("has an extent that is negative or no scalar");
  bool hasSource = body.kind() == CollectiveKind::AllGather ||
                   body.kind() == CollectiveKind::AllToAll;
  bool hasTarget = body.kind() == CollectiveKind::ReduceScatter ||
                   body.kind() == CollectiveKind::AllToAll;
  if (hasSource && (body.source_dim() < 0 ||
                    static_cast<uint32_t>(body.source_dim()) >= rank ||
                    body.source_block() <= 0))
    return invalidPlan("splits source dimension ", body.source_dim(), " of ",
                       rank, " by blocks of ", body.source_block());
  if (hasTarget && (body.target_dim() < 0 ||
                    static_cast<uint32_t>(body.target_dim()) >= rank ||
                    body.target_block() <= 0))
    return invalidPlan("splits target dimension ", body.target_dim(), " of ",
                       rank, " by blocks of ", body.target_block());
  // Sizes depend on the rank's scalars: Collective checks them when it is
  // bound.
  if (Status status = checkBuffer(task, body.source(), "source", 0, false))
    return status;
  return checkBuffer(task, body.target(), "target", 0, true);
}

Status EntryValidator::checkExchange(const plan::Task &task,
                                     const plan::ExchangeBody &body) {
  uint64_t logical = 0, source = 0, target = 0;
  if (Status status = checkLayout(plan, *body.source_layout(), "source layout",
                                  logical, source))
    return status;
  if (Status status = checkLayout(plan, *body.target_layout(), "target layout",
                                  logical, target))
    return status;
  const plan::Layout &from = *body.source_layout(), &to = *body.target_layout();
  bool sameShape = sizeOf(from.shape()) == sizeOf(to.shape());
  for (uint32_t d = 0; sameShape && d < sizeOf(from.shape()); ++d)
    sameShape = from.shape()->Get(d) == to.shape()->Get(d);
  if (from.dtype() != to.dtype() || !sameShape)
    return invalidPlan("has layouts of two different tensors");
  // At each action, what lies at one coordinate of time moves.
  const plan::Sbp *fromTime = timeSbp(from, plan), *toTime = timeSbp(to, plan);
  auto kindOf = [](const plan::Sbp *sbp) {
    return sbp ? sbp->kind() : plan::SbpKind::Broadcast;
  };
  if (kindOf(fromTime) != kindOf(toTime) ||
      (kindOf(fromTime) == plan::SbpKind::Split &&
       (fromTime->dim() != toTime->dim() ||
        fromTime->block() != toTime->block())))
    return invalidPlan("has layouts that differ along time");
  if (Status status = checkTime(task, from, "source layout"))
    return status;
  if (Status status = checkTime(task, to, "target layout"))
    return status;
  if (Status status = checkBuffer(task, body.source(), "source", source, false))
    return status;
  return checkBuffer(task, body.target(), "target", target, true);
}

Status EntryValidator::checkBuffer(const plan::Task &task,
                                   const plan::Buffer *buffer,
                                   const std::string &what, uint64_t needed,
                                   bool written) {
  if (!buffer)
    return invalidPlan("has no ", what);
  if (buffer->bytes() < needed)
    return invalidPlan(what, " has ", buffer->bytes(),
                       " bytes, expected at least ", needed);
  if (buffer->offset() % ONEFLOW_BUFFER_ALIGNMENT != 0)
    return invalidPlan(what, " is not aligned to ", ONEFLOW_BUFFER_ALIGNMENT,
                       " bytes");
  uint64_t room = 0;
  switch (buffer->kind()) {
  case BufferKind::Arena:
    room = entry.arena_bytes();
    break;
  case BufferKind::Variable:
    if (buffer->index() >= sizeOf(plan.variables()))
      return invalidPlan(what, " names variable ", buffer->index(), " of ",
                         sizeOf(plan.variables()));
    room = plan.variables()->Get(buffer->index())->local_bytes();
    break;
  case BufferKind::Register:
    // A slot is in use only for the tasks at the register's two ends.
    if (!contains(task.inputs(), buffer->index()) &&
        !contains(task.outputs(), buffer->index()))
      return invalidPlan(what, " lies in register ", buffer->index(),
                         ", which is no input or output of the task");
    room = entry.registers()->Get(buffer->index())->bytes();
    break;
  case BufferKind::Constant:
    if (buffer->index() >= sizeOf(plan.constants()))
      return invalidPlan(what, " names constant ", buffer->index(), " of ",
                         sizeOf(plan.constants()));
    if (written)
      return invalidPlan(what, " is a constant but gets written");
    room = plan.constants()->Get(buffer->index())->bytes();
    break;
  default:
    return invalidPlan(what, " has an unknown kind");
  }
  if (buffer->offset() > room || buffer->bytes() > room - buffer->offset())
    return invalidPlan(what, " [", buffer->offset(), ", +", buffer->bytes(),
                       ") lies outside its ", room, " bytes");
  return Status();
}

Status EntryValidator::checkOrder() {
  if (Status status = checkStreams(plan, entry))
    return status;
  if (taskCount > 0 && topologicalPositions(entry).empty())
    return invalidPlan("its registers form a cycle; it would never end");
  return checkSchedule(plan, entry);
}

Status EntryValidator::run() {
  if (Status status = checkPhases(entry))
    return status;
  if (Status status = checkPorts())
    return status;
  for (uint32_t i = 0; i < registerCount; ++i)
    if (Status status = checkRegister(i))
      return status;
  for (uint32_t i = 0; i < taskCount; ++i)
    if (Status status = checkTask(i)) {
      const plan::Task &task = *entry.tasks()->Get(i);
      return Status(
          status.code(),
          concat("task '", task.name()->string_view(), "': ", status.message()),
          task.location() ? task.location()->str() : std::string());
    }
  for (size_t i = 0; i < deliveries.size(); ++i)
    if (deliveries[i] != 1)
      return invalidPlan("output '",
                         entry.outputs()->Get(i)->name()->string_view(),
                         "' has ", deliveries[i], " output tasks, expected 1");
  return checkOrder();
}

} // namespace

std::vector<uint32_t>
oneflow::runtime::topologicalPositions(const plan::Entry &entry) {
  uint32_t count = sizeOf(entry.tasks());
  std::vector<std::vector<uint32_t>> successors(count);
  std::vector<uint32_t> missing(count, 0);
  auto addEdge = [&](uint32_t from, uint32_t to) {
    successors[from].push_back(to);
    ++missing[to];
  };
  for (uint32_t i = 0; i < sizeOf(entry.registers()); ++i) {
    const plan::Register &reg = *entry.registers()->Get(i);
    if (reg.consumers())
      for (uint32_t consumer : *reg.consumers())
        addEdge(reg.producer(), consumer);
  }
  std::vector<uint32_t> ready, positions(count);
  for (uint32_t i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push_back(i);
  for (size_t next = 0; next < ready.size(); ++next) {
    positions[ready[next]] = static_cast<uint32_t>(next);
    for (uint32_t successor : successors[ready[next]])
      if (--missing[successor] == 0)
        ready.push_back(successor);
  }
  if (ready.size() != count)
    positions.clear();
  return positions;
}

Status oneflow::runtime::validateEntry(const plan::Plan &plan,
                                       const plan::Entry &entry) {
  return EntryValidator(plan, entry).run();
}
