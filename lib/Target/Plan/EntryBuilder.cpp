//===- EntryBuilder.cpp - one entry of a plan -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From one actor graph to an Entry of Plan.fbs.
//
//===----------------------------------------------------------------------===//

#include "GraphSection.h"

#include "oneflow/Conversion/ChainBuffers.h"
#include "oneflow/Interfaces/SourceName.h"
#include "oneflow/Plan/KernelAbi.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace oneflow;

namespace oneflow {

class EntryBuilder {
public:
  EntryBuilder(GraphSection &section, actor::GraphOp graph)
      : section(section), fb(section.fb), graph(graph) {}

  FailureOr<flatbuffers::Offset<plan::Entry>> build();

private:
  template <typename T> using Offset = flatbuffers::Offset<T>;

  // The graph's verifier has seen to it that phases exist where they are named.
  void addPhases();
  LogicalResult addSchedules();
  FailureOr<unsigned> getStream(actor::TaskOp task);
  void addRegisters();
  LogicalResult addTask(actor::TaskOp task);
  FailureOr<Offset<void>> makeBody(actor::TaskOp task, plan::TaskBody &kind);
  FailureOr<Offset<plan::CollectiveBody>>
  makeCollective(actor::TaskOp task, actor::CollectiveOp op);
  FailureOr<Offset<plan::Layout>> makeLayout(Operation *op,
                                             comm::LayoutAttr layout) {
    return section.makeLayout(op, layout.getType(), layout.getPlacement(),
                              layout.getSbp());
  }
  FailureOr<unsigned> addPort(Operation *op, StringRef name,
                              comm::LayoutAttr layout,
                              std::vector<Offset<plan::Port>> &ports);
  plan::Buffer getBuffer(Value value);

  GraphSection &section;
  flatbuffers::FlatBufferBuilder &fb;
  actor::GraphOp graph;
  DenseMap<Value, unsigned> registerIndex;
  DenseMap<StringAttr, unsigned> phaseIndex;
  std::vector<Offset<plan::Phase>> phases;
  std::vector<Offset<plan::Schedule>> schedules;
  std::vector<Offset<plan::Register>> registers;
  std::vector<Offset<plan::Task>> tasks;
  std::vector<Offset<plan::Port>> inputs, outputs;
};

} // namespace oneflow

void EntryBuilder::addPhases() {
  for (auto phase : graph.getOps<actor::PhaseOp>()) {
    phaseIndex[phase.getNameAttr()] = phases.size();
    phases.push_back(plan::CreatePhase(
        fb, fb.CreateString(phase.getName().str()), phase.getActions()));
  }
}

LogicalResult EntryBuilder::addSchedules() {
  for (auto schedule : graph.getOps<actor::ScheduleOp>()) {
    auto placement = section.placementIndex.find(schedule.getPlacementAttr());
    if (placement == section.placementIndex.end())
      return schedule.emitOpError("is on no placement of the module");
    std::vector<plan::Step> steps;
    for (auto [name, action] :
         llvm::zip(schedule.getPhases().getAsRange<StringAttr>(),
                   schedule.getActions()))
      steps.emplace_back(phaseIndex.lookup(name), action);
    auto stepVector = fb.CreateVectorOfStructs(steps);
    schedules.push_back(
        plan::CreateSchedule(fb, placement->second, stepVector));
  }
  return success();
}

FailureOr<unsigned> EntryBuilder::getStream(actor::TaskOp task) {
  if (task.getStream() != actor::Stream::Transfer)
    return static_cast<unsigned>(task.getStream());
  Block &body = task.getBody().front();
  auto exchange = llvm::hasSingleElement(body)
                      ? dyn_cast<actor::ExchangeOp>(body.front())
                      : actor::ExchangeOp();
  if (!exchange)
    return task.emitOpError("expected an exchange on the transfer stream");
  return section.getTransferStream(exchange.getSourceLayout().getPlacement(),
                                   exchange.getTargetLayout().getPlacement(),
                                   task.getPhase().value_or(""));
}

void EntryBuilder::addRegisters() {
  DenseMap<Value, unsigned> producers;
  DenseMap<Value, std::vector<uint32_t>> consumers;
  for (auto [index, task] : llvm::enumerate(graph.getOps<actor::TaskOp>())) {
    for (Value reg : task.getPosts())
      producers[reg] = index;
    for (Value reg : task.getWaits())
      consumers[reg].push_back(index);
  }
  for (auto reg : graph.getOps<actor::RegisterOp>()) {
    Value value = reg.getResult();
    registerIndex[value] = registers.size();
    uint64_t stride = llvm::alignTo(reg.getBytes(), ONEFLOW_BUFFER_ALIGNMENT);
    auto name = fb.CreateSharedString(reg.getName().str());
    auto consumerVector = fb.CreateVector(consumers[value]);
    registers.push_back(plan::CreateRegister(
        fb, name, reg.getSlots(), reg.getBytes(), stride,
        reg.getOffset().value_or(0), producers.lookup(value), consumerVector,
        reg.getFills().value_or(0)));
  }
}

plan::Buffer EntryBuilder::getBuffer(Value value) {
  uint64_t bytes = actor::getBytes(value);
  if (auto variable = value.getDefiningOp<actor::VariableOp>())
    return plan::Buffer(
        plan::BufferKind::Variable,
        section.variableIndex.lookup(variable.getVariableAttr()), 0, bytes);
  if (value.getDefiningOp<actor::RegisterOp>())
    return plan::Buffer(plan::BufferKind::Register, registerIndex.lookup(value),
                        0, bytes);
  auto scratch = value.getDefiningOp<actor::ScratchOp>();
  return plan::Buffer(plan::BufferKind::Arena, 0,
                      scratch.getOffset().value_or(0), bytes);
}

FailureOr<unsigned>
EntryBuilder::addPort(Operation *op, StringRef name, comm::LayoutAttr layout,
                      std::vector<Offset<plan::Port>> &ports) {
  auto planLayout = makeLayout(op, layout);
  if (failed(planLayout))
    return failure();
  ports.push_back(plan::CreatePort(
      fb, fb.CreateString(name.str()),
      fb.CreateSharedString(sourceLocation(op->getLoc())), *planLayout));
  return ports.size() - 1;
}

FailureOr<flatbuffers::Offset<plan::CollectiveBody>>
EntryBuilder::makeCollective(actor::TaskOp task, actor::CollectiveOp op) {
  auto dtype = section.getDType(op, op.getElementType());
  if (failed(dtype))
    return failure();
  std::vector<plan::Extent> shape;
  for (Attribute extent : op.getShape()) {
    if (auto scalar = dyn_cast<comm::ScalarAttr>(extent))
      shape.emplace_back(section.tables.getIndex(scalar), 0);
    else
      shape.emplace_back(-1, cast<IntegerAttr>(extent).getInt());
  }
  std::vector<uint32_t> axes(op.getAxes().begin(), op.getAxes().end());
  plan::Buffer source = getBuffer(op.getSource()),
               target = getBuffer(op.getTarget());
  auto axesVector = fb.CreateVector(axes);
  auto shapeVector = fb.CreateVectorOfStructs(shape);
  return plan::CreateCollectiveBody(
      fb, static_cast<plan::CollectiveKind>(op.getKind()),
      static_cast<plan::Reducer>(op.getReducer()), *dtype,
      section.placementIndex.lookup(task.getPlacementAttr()), axesVector,
      shapeVector, op.getSourceDim(), op.getSourceBlock(), op.getTargetDim(),
      op.getTargetBlock(), &source, &target);
}

FailureOr<flatbuffers::Offset<void>>
EntryBuilder::makeBody(actor::TaskOp task, plan::TaskBody &kind) {
  if (isChain(task)) {
    kind = plan::TaskBody::ChainBody;
    std::vector<plan::Buffer> buffers;
    for (Value buffer : getChainBuffers(task))
      buffers.push_back(getBuffer(buffer));
    std::vector<uint32_t> kernels;
    for (auto launch : task.getBody().front().getOps<actor::LaunchOp>())
      kernels.push_back(section.tables.getIndex(launch));
    auto symbol = fb.CreateString(getChainSymbol(graph, task));
    auto bufferVector = fb.CreateVectorOfStructs(buffers);
    auto kernelVector = fb.CreateVector(kernels);
    return plan::CreateChainBody(fb, symbol, bufferVector, kernelVector)
        .Union();
  }
  Block &body = task.getBody().front();
  if (!llvm::hasSingleElement(body))
    return task.emitOpError("expected a single op in a task that is no chain");
  Operation *op = &body.front();
  if (auto read = dyn_cast<actor::ReadPortOp>(op)) {
    kind = plan::TaskBody::InputBody;
    auto port = addPort(op, read.getPort(), read.getLayout(), inputs);
    if (failed(port))
      return failure();
    plan::Buffer buffer = getBuffer(read.getTarget());
    return plan::CreateInputBody(fb, *port, &buffer).Union();
  }
  if (auto write = dyn_cast<actor::WritePortOp>(op)) {
    kind = plan::TaskBody::OutputBody;
    auto port = addPort(op, write.getPort(), write.getLayout(), outputs);
    if (failed(port))
      return failure();
    plan::Buffer buffer = getBuffer(write.getSource());
    return plan::CreateOutputBody(fb, *port, &buffer).Union();
  }
  if (auto collective = dyn_cast<actor::CollectiveOp>(op)) {
    kind = plan::TaskBody::CollectiveBody;
    auto made = makeCollective(task, collective);
    if (failed(made))
      return failure();
    return made->Union();
  }
  if (auto exchange = dyn_cast<actor::ExchangeOp>(op)) {
    kind = plan::TaskBody::ExchangeBody;
    auto sourceLayout = makeLayout(op, exchange.getSourceLayout());
    auto targetLayout = makeLayout(op, exchange.getTargetLayout());
    if (failed(sourceLayout) || failed(targetLayout))
      return failure();
    plan::Buffer source = getBuffer(exchange.getSource());
    plan::Buffer target = getBuffer(exchange.getTarget());
    return plan::CreateExchangeBody(fb, *sourceLayout, *targetLayout, &source,
                                    &target)
        .Union();
  }
  return op->emitOpError("has no form in a plan");
}

LogicalResult EntryBuilder::addTask(actor::TaskOp task) {
  plan::TaskBody kind;
  auto body = makeBody(task, kind);
  if (failed(body))
    return failure();
  auto stream = getStream(task);
  if (failed(stream))
    return failure();
  unsigned phase = phaseIndex.lookup(task.getPhaseAttr());
  auto indices = [&](OperandRange values) {
    std::vector<uint32_t> numbers;
    for (Value value : values)
      numbers.push_back(registerIndex.lookup(value));
    return fb.CreateVector(numbers);
  };
  auto waits = indices(task.getWaits());
  auto posts = indices(task.getPosts());
  auto name = fb.CreateSharedString(task.getName().str());
  auto location = fb.CreateSharedString(sourceLocation(task.getLoc()));
  tasks.push_back(plan::CreateTask(
      fb, name, location,
      section.placementIndex.lookup(task.getPlacementAttr()), *stream,
      task.getOrder(), waits, posts, kind, *body, phase));
  return success();
}

FailureOr<flatbuffers::Offset<plan::Entry>> EntryBuilder::build() {
  addPhases();
  if (failed(addSchedules()))
    return failure();
  addRegisters();
  for (auto task : graph.getOps<actor::TaskOp>())
    if (failed(addTask(task)))
      return failure();
  if (!graph.getArenaBytes())
    return graph.emitOpError("has no planned memory");
  auto name = fb.CreateString(graph.getSymName().str());
  auto inputVector = fb.CreateVector(inputs),
       outputVector = fb.CreateVector(outputs);
  auto registerVector = fb.CreateVector(registers);
  auto taskVector = fb.CreateVector(tasks);
  auto phaseVector = fb.CreateVector(phases);
  auto scheduleVector = fb.CreateVector(schedules);
  return plan::CreateEntry(fb, name, *graph.getArenaBytes(), inputVector,
                           outputVector, registerVector, taskVector,
                           phaseVector, scheduleVector);
}

LogicalResult GraphSection::addEntry(actor::GraphOp graph) {
  auto entry = EntryBuilder(*this, graph).build();
  if (failed(entry))
    return failure();
  entries.push_back(*entry);
  return success();
}
