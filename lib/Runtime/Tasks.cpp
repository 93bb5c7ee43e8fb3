//===- Tasks.cpp - what the tasks of a plan do ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tasks.h"

#include "Collective.h"
#include "DataType.h"
#include "Exchange.h"

#include "oneflow/Runtime/Reduce.h"

#include <cstring>

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

std::string textOf(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

/// Times each action for the trace; subclasses do the work.
class TaskBody : public ActorBody {
public:
  TaskBody(Rank &rank, const TaskPlace &place)
      : rank(rank), entry(rank.plan().entry(place.entry)),
        task(*entry.tasks()->Get(place.task)), place(place),
        trace(rank.trace(task.stream())) {}

  void act(uint64_t) final {
    if (!trace.active())
      return work();
    uint64_t begin = nowNs();
    work();
    trace.action(task.name()->c_str(), begin, nowNs(), traffic());
  }

protected:
  virtual void work() = 0;
  /// Of a communication.
  virtual const Traffic *traffic() const { return nullptr; }

  void fail(of_status_code code, std::string message, std::string location) {
    rank.failure().record(
        {code, place.position, std::move(message), std::move(location)});
  }

  Rank &rank;
  const plan::Entry &entry;
  const plan::Task &task;
  const TaskPlace place;
  TraceBuffer &trace;
};

class InputTask final : public TaskBody {
public:
  InputTask(Rank &rank, const TaskPlace &place, const plan::InputBody &body)
      : TaskBody(rank, place), port(body.port()),
        target(rank.address(entry, *body.buffer())),
        layout(TensorLayout::of(*entry.inputs()->Get(port)->layout(),
                                rank.plan().graph())) {
    Holding holding = layout.holding(rank.index());
    bool hasNeutral = layout.reducer() == plan::Reducer::Sum ||
                      layout.reducer() == plan::Reducer::Prod;
    neutral = holding.laterPart && hasNeutral;
    elements = elementCount(holding.box);
    copy = BoxCopy(dtypeBytes(layout.dtype), holding.box,
                   wholeBox(layout.shape), holding.box);
  }

private:
  void work() override {
    if (neutral)
      fillNeutral(layout.dtype, layout.reducer(), target, elements);
    else
      copy.run(rank.control().inputs[port].data, target);
  }

  const uint32_t port;
  uint8_t *const target;
  const TensorLayout layout;
  bool neutral;
  uint64_t elements;
  BoxCopy copy;
};

class OutputTask final : public TaskBody {
public:
  OutputTask(Rank &rank, const TaskPlace &place, const plan::OutputBody &body)
      : TaskBody(rank, place), port(body.port()),
        source(rank.address(entry, *body.buffer())) {
    TensorLayout layout = TensorLayout::of(
        *entry.outputs()->Get(port)->layout(), rank.plan().graph());
    bytes = elementCount(wholeBox(layout.shape)) * dtypeBytes(layout.dtype);
    delivers = rank.control().everyRankDelivers ||
               rank.index() == layout.mesh.firstRank;
  }

private:
  void work() override {
    if (delivers && bytes > 0 && !rank.failure().poisoned())
      std::memcpy(rank.control().outputs[port].data, source, bytes);
  }

  const uint32_t port;
  const uint8_t *const source;
  uint64_t bytes;
  bool delivers;
};

class ChainTask final : public TaskBody {
public:
  ChainTask(Rank &rank, const TaskPlace &place, const plan::ChainBody &body)
      : TaskBody(rank, place),
        function(rank.plan().chain(place.entry, place.task)) {
    if (body.buffers())
      for (const plan::Buffer *buffer : *body.buffers())
        buffers.push_back(rank.address(entry, *buffer));
    call.context = {};
    call.context.abi_version = ONEFLOW_KERNEL_ABI_VERSION;
    call.context.buffers = buffers.data();
    call.context.scalars = rank.scalars().data();
    call.context.launch = launch;
    call.self = this;
  }

private:
  // The context as compiled code sees it, and behind it what launch needs.
  struct Call {
    OfChainContext context;
    ChainTask *self;
  };

  static int32_t launch(OfChainContext *context, uint32_t kernelId,
                        OfKernelFn kernel, void *const *buffers,
                        const int64_t *scalars, int64_t items) {
    ChainTask &self = *reinterpret_cast<Call *>(context)->self;
    Rank &rank = self.rank;
    if (rank.control().cancelled.load(std::memory_order_relaxed))
      return ONEFLOW_KERNEL_CANCELLED;
    rank.kernelCount.fetch_add(1, std::memory_order_relaxed);
    if (items <= 0)
      return ONEFLOW_KERNEL_OK;
    uint64_t begin = self.trace.active() ? nowNs() : 0;
    int32_t status = rank.workers().run(kernel, buffers, scalars, items);
    if (self.trace.active())
      self.trace.kernel(self.kernelName(kernelId), begin, nowNs());
    if (status != ONEFLOW_KERNEL_OK)
      self.failedKernel = kernelId;
    return status;
  }

  const plan::Kernel *kernel(uint32_t id) const {
    const auto *kernels = rank.plan().graph().kernels();
    return kernels && id < kernels->size() ? kernels->Get(id) : nullptr;
  }
  const char *kernelName(uint32_t id) const {
    const plan::Kernel *found = kernel(id);
    return found ? found->name()->c_str() : task.name()->c_str();
  }

  void work() override {
    if (rank.failure().poisoned())
      return;
    failedKernel = kNoKernel;
    int32_t status = function(&call.context);
    if (status != ONEFLOW_KERNEL_OK)
      report(status);
  }

  void report(int32_t status) {
    const plan::Kernel *failed = kernel(failedKernel);
    std::string location = textOf(
        failed && failed->location() ? failed->location() : task.location());
    if (status == ONEFLOW_KERNEL_CANCELLED)
      return fail(OF_STATUS_CANCELLED, "the run was cancelled", "");
    std::string what = status == ONEFLOW_KERNEL_INDEX_OUT_OF_RANGE
                           ? "an index lies outside of its table"
                           : concat("status ", status);
    fail(OF_STATUS_KERNEL_FAILED,
         concat(failed ? "kernel '" : "task '",
                failed ? failed->name()->string_view()
                       : task.name()->string_view(),
                "' failed on rank ", rank.index(), ": ", what),
         location);
  }

  static constexpr uint32_t kNoKernel = UINT32_MAX;
  const OfChainFn function;
  std::vector<void *> buffers;
  Call call;
  uint32_t failedKernel = kNoKernel;
};

/// Communications run even on a poisoned rank: the peers wait for them.
class CommunicationTask : public TaskBody {
public:
  using TaskBody::TaskBody;

protected:
  const Traffic *traffic() const final { return &amounts; }

  void check(const TransportResult &result) {
    if (!result.ok)
      return fail(OF_STATUS_COMMUNICATION_FAILED,
                  concat("communication '", task.name()->string_view(),
                         "' failed on rank ", rank.index(), ": ",
                         result.message),
                  textOf(task.location()));
    rank.bytesMoved.fetch_add(amounts.bytes, std::memory_order_relaxed);
  }

  Traffic amounts;
};

class CollectiveTask final : public CommunicationTask {
public:
  CollectiveTask(Rank &rank, const TaskPlace &place)
      : CommunicationTask(rank, place) {}

  Status bind(const plan::CollectiveBody &body) {
    std::vector<uint32_t> axes(body.axes()->begin(), body.axes()->end());
    group = rank.communicators().groups.at({body.placement(), axes}).get();
    source = rank.address(entry, *body.source());
    target = rank.address(entry, *body.target());
    Status status = collective.bind(
        CollectiveSpec::of(body, rank.scalars()), group->size(), group->rank(),
        body.source()->bytes(), body.target()->bytes());
    amounts = {collective.bytesSent(), collective.stagingBytes(),
               body.source()->bytes() + body.target()->bytes()};
    rank.reserveStaging(amounts.stagingBytes);
    return status;
  }

private:
  void work() override {
    check(collective.run(*group, source, target, rank.staging()));
  }

  Communicator *group = nullptr;
  uint8_t *source = nullptr, *target = nullptr;
  Collective collective;
};

class ExchangeTask final : public CommunicationTask {
public:
  ExchangeTask(Rank &rank, const TaskPlace &place)
      : CommunicationTask(rank, place) {}

  void bind(const plan::ExchangeBody &body) {
    source = rank.address(entry, *body.source());
    target = rank.address(entry, *body.target());
    const plan::Plan &graph = rank.plan().graph();
    TensorLayout from = TensorLayout::of(*body.source_layout(), graph);
    TensorLayout to = TensorLayout::of(*body.target_layout(), graph);
    exchange.bind(from, to, rank.index());
    amounts = {exchange.bytesSent(), exchange.stagingBytes(), 0};
    if (from.mesh.contains(rank.index()))
      amounts.bufferBytes += body.source()->bytes();
    if (to.mesh.contains(rank.index()))
      amounts.bufferBytes += body.target()->bytes();
    rank.reserveStaging(amounts.stagingBytes);
  }

private:
  void work() override {
    check(exchange.run(*rank.communicators().world, source, target,
                       rank.staging()));
  }

  uint8_t *source = nullptr, *target = nullptr;
  Exchange exchange;
};

} // namespace

bool oneflow::runtime::takesPart(const plan::Plan &plan, const plan::Task &task,
                                 int rank) {
  auto contains = [&](uint32_t placement) {
    return Mesh::of(*plan.placements()->Get(placement)).contains(rank);
  };
  if (const plan::ExchangeBody *body = task.body_as_ExchangeBody())
    return contains(body->source_layout()->placement()) ||
           contains(body->target_layout()->placement());
  return contains(task.placement());
}

// Whether the rank holds the memory behind `buffer`: it may lie outside of the
// placement of the variable that the buffer names.
static Status checkPresent(Rank &rank, const plan::Buffer &buffer) {
  if (buffer.kind() != plan::BufferKind::Variable ||
      rank.variable(buffer.index()).exists())
    return Status();
  return invalidPlan("uses variable '",
                     rank.plan().variable(buffer.index()).name()->string_view(),
                     "' on a rank outside of the variable's placement");
}

static Status checkPresent(Rank &rank, const plan::Task &task) {
  if (const plan::InputBody *body = task.body_as_InputBody())
    return checkPresent(rank, *body->buffer());
  if (const plan::OutputBody *body = task.body_as_OutputBody())
    return checkPresent(rank, *body->buffer());
  if (const plan::CollectiveBody *body = task.body_as_CollectiveBody()) {
    Status status = checkPresent(rank, *body->source());
    return status ? std::move(status) : checkPresent(rank, *body->target());
  }
  const plan::ChainBody *chain = task.body_as_ChainBody();
  if (chain && chain->buffers())
    for (const plan::Buffer *buffer : *chain->buffers())
      if (Status status = checkPresent(rank, *buffer))
        return status;
  if (const plan::ExchangeBody *body = task.body_as_ExchangeBody()) {
    const plan::Plan &graph = rank.plan().graph();
    auto contains = [&](const plan::Layout &layout) {
      return Mesh::of(*graph.placements()->Get(layout.placement()))
          .contains(rank.index());
    };
    if (contains(*body->source_layout()))
      if (Status status = checkPresent(rank, *body->source()))
        return status;
    if (contains(*body->target_layout()))
      return checkPresent(rank, *body->target());
  }
  return Status();
}

Status oneflow::runtime::createTaskBody(Rank &rank, const TaskPlace &place,
                                        std::unique_ptr<ActorBody> &result) {
  const plan::Task &task =
      *rank.plan().entry(place.entry).tasks()->Get(place.task);
  if (Status status = checkPresent(rank, task))
    return status;
  switch (task.body_type()) {
  case plan::TaskBody::InputBody:
    result =
        std::make_unique<InputTask>(rank, place, *task.body_as_InputBody());
    return Status();
  case plan::TaskBody::OutputBody:
    result =
        std::make_unique<OutputTask>(rank, place, *task.body_as_OutputBody());
    return Status();
  case plan::TaskBody::ChainBody:
    result =
        std::make_unique<ChainTask>(rank, place, *task.body_as_ChainBody());
    return Status();
  case plan::TaskBody::CollectiveBody: {
    auto body = std::make_unique<CollectiveTask>(rank, place);
    Status status = body->bind(*task.body_as_CollectiveBody());
    result = std::move(body);
    return status;
  }
  case plan::TaskBody::ExchangeBody: {
    auto body = std::make_unique<ExchangeTask>(rank, place);
    body->bind(*task.body_as_ExchangeBody());
    result = std::move(body);
    return Status();
  }
  default:
    return invalidPlan("task '", task.name()->string_view(),
                       "' has an unknown body");
  }
}
