//===- Tasks.cpp - what the tasks of a plan do ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tasks.h"

#include "Collective.h"
#include "Exchange.h"
#include "TaskBody.h"

#include <chrono>
#include <thread>

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

std::string textOf(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

class ChainTask final : public TaskBody {
public:
  ChainTask(Rank &rank, const TaskPlace &place, const plan::ChainBody &body)
      : TaskBody(rank, place),
        function(rank.plan().chain(place.entry, place.task)) {
    if (body.buffers())
      for (const plan::Buffer *buffer : *body.buffers()) {
        SlotAddress slots = address(*buffer);
        if (slots.moves())
          moving.emplace_back(buffers.size(), slots);
        buffers.push_back(slots.at(0));
      }
    call.context = {};
    call.context.abi_version = ONEFLOW_KERNEL_ABI_VERSION;
    call.context.buffers = buffers.data();
    call.context.scalars = rank.scalars(0);
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

  void work(uint64_t action) override {
    if (rank.failure().poisoned())
      return;
    for (const auto &[index, slots] : moving)
      buffers[index] = slots.at(action);
    call.context.scalars = rank.scalars(action);
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
  // Those of `buffers` that are in another slot with every fill.
  std::vector<std::pair<size_t, SlotAddress>> moving;
  Call call;
  uint32_t failedKernel = kNoKernel;
};

/// Takes a chain's place where schedules are looked at: see SessionOptions.
class SleepingTask final : public TaskBody {
public:
  SleepingTask(Rank &rank, const TaskPlace &place) : TaskBody(rank, place) {
    std::string_view phase;
    if (hasPhases(entry))
      phase = entry.phases()->Get(task.phase())->name()->string_view();
    // Of the phase's chains the one with most to do stands for all: others may
    // not need what the phase as a whole waits for.
    const plan::Task *longest = nullptr;
    for (const plan::Task *other : *entry.tasks())
      if (other->body_type() == plan::TaskBody::ChainBody &&
          other->phase() == task.phase() &&
          other->placement() == task.placement() &&
          (!longest || kernelsOf(*other) > kernelsOf(*longest)))
        longest = other;
    if (longest == &task)
      duration = std::chrono::nanoseconds(rank.control().sleepNs(phase));
  }

private:
  static size_t kernelsOf(const plan::Task &chain) {
    const auto *kernels = chain.body_as_ChainBody()->kernels();
    return kernels ? kernels->size() : 0;
  }
  void work(uint64_t) override { std::this_thread::sleep_for(duration); }

  std::chrono::nanoseconds duration{0};
};

/// Communications run even on a poisoned rank: the peers wait for them.
class CommunicationTask : public TaskBody {
public:
  CommunicationTask(Rank &rank, const TaskPlace &place)
      : TaskBody(rank, place), staging(rank.staging(task.stream())) {}

protected:
  void check(const TransportResult &result, const Traffic &amounts) {
    if (!result.ok) {
      // No operation may follow on this transport, so the peers' must end.
      rank.control().transport->abort();
      return fail(OF_STATUS_COMMUNICATION_FAILED,
                  concat("communication '", task.name()->string_view(),
                         "' failed on rank ", rank.index(), ": ",
                         result.message),
                  textOf(task.location()));
    }
    rank.bytesMoved.fetch_add(amounts.bytes, std::memory_order_relaxed);
  }

  StagingMemory &staging;
};

class CollectiveTask final : public CommunicationTask {
public:
  using CommunicationTask::CommunicationTask;

  Status bind(const plan::CollectiveBody &body) {
    std::vector<uint32_t> axes(body.axes()->begin(), body.axes()->end());
    group = rank.communicators().groups.at({body.placement(), axes}).get();
    source = address(*body.source());
    target = address(*body.target());
    // Extents may be scalars that depend on time.
    bool varies = false;
    for (const plan::Extent *extent : *body.shape())
      varies |= extent->scalar() >= 0 && rank.scalarsDependOnTime();
    for (uint64_t k = 0; k < (varies ? actions : 1); ++k) {
      CollectiveSpec spec = CollectiveSpec::of(body, rank.scalars(k));
      if (variants.append(spec.shape))
        continue;
      Variant &variant = variants.add(spec.shape);
      Collective &collective = variant.collective;
      if (Status status =
              collective.bind(spec, group->size(), group->rank(),
                              body.source()->bytes(), body.target()->bytes()))
        return status;
      variant.amounts = {collective.bytesSent(), collective.stagingBytes(),
                         body.source()->bytes() + body.target()->bytes()};
      staging.reserve(variant.amounts.stagingBytes);
    }
    return Status();
  }

private:
  struct Variant {
    Collective collective;
    Traffic amounts;
  };

  const Traffic *traffic(uint64_t action) const override {
    return &variants.at(action).amounts;
  }
  void work(uint64_t action) override {
    Variant &variant = variants.at(action);
    check(variant.collective.run(*group, source.at(action), target.at(action),
                                 staging.data()),
          variant.amounts);
  }

  Communicator *group = nullptr;
  SlotAddress source, target;
  Variants<std::vector<int64_t>, Variant> variants;
};

class ExchangeTask final : public CommunicationTask {
public:
  ExchangeTask(Rank &rank, const TaskPlace &place,
               const plan::ExchangeBody &body)
      : CommunicationTask(rank, place),
        group(rank.communicators().ofExchanges(task.stream())) {
    const plan::Plan &graph = rank.plan().graph();
    auto contains = [&](const plan::Layout &layout) {
      return Mesh::of(*graph.placements()->Get(layout.placement()))
          .contains(rank.index());
    };
    uint64_t bufferBytes = 0;
    if (contains(*body.source_layout())) {
      source = address(*body.source());
      bufferBytes += body.source()->bytes();
    }
    if (contains(*body.target_layout())) {
      target = address(*body.target());
      bufferBytes += body.target()->bytes();
    }
    bool varies = isSplitAlongTime(*body.source_layout(), graph);
    for (uint64_t k = 0; k < (varies ? actions : 1); ++k) {
      TensorLayout from = TensorLayout::at(*body.source_layout(), graph, k);
      TensorLayout to = TensorLayout::at(*body.target_layout(), graph, k);
      if (variants.append(from.shape))
        continue;
      Variant &variant = variants.add(from.shape);
      variant.exchange.bind(from, to, rank.index());
      variant.amounts = {variant.exchange.bytesSent(),
                         variant.exchange.stagingBytes(), bufferBytes};
      staging.reserve(variant.amounts.stagingBytes);
    }
  }

private:
  struct Variant {
    Exchange exchange;
    Traffic amounts;
  };

  const Traffic *traffic(uint64_t action) const override {
    return &variants.at(action).amounts;
  }
  void work(uint64_t action) override {
    Variant &variant = variants.at(action);
    check(variant.exchange.run(group, source.at(action), target.at(action),
                               staging.data()),
          variant.amounts);
  }

  Communicator &group;
  SlotAddress source, target;
  Variants<std::vector<int64_t>, Variant> variants;
};

} // namespace

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
  Status status;
  forEachBuffer(rank.plan().graph(), task, rank.index(),
                [&](const plan::Buffer &buffer) {
                  if (!status)
                    status = checkPresent(rank, buffer);
                });
  return status;
}

Status oneflow::runtime::createTaskBody(Rank &rank, const TaskPlace &place,
                                        std::unique_ptr<ActorBody> &result) {
  const plan::Task &task =
      *rank.plan().entry(place.entry).tasks()->Get(place.task);
  if (Status status = checkPresent(rank, task))
    return status;
  switch (task.body_type()) {
  case plan::TaskBody::InputBody:
  case plan::TaskBody::OutputBody:
    return createPortTask(rank, place, result);
  case plan::TaskBody::ChainBody:
    if (rank.control().sleepNs) {
      result = std::make_unique<SleepingTask>(rank, place);
      return Status();
    }
    result =
        std::make_unique<ChainTask>(rank, place, *task.body_as_ChainBody());
    return Status();
  case plan::TaskBody::CollectiveBody: {
    auto body = std::make_unique<CollectiveTask>(rank, place);
    Status status = body->bind(*task.body_as_CollectiveBody());
    result = std::move(body);
    return status;
  }
  case plan::TaskBody::ExchangeBody:
    result = std::make_unique<ExchangeTask>(rank, place,
                                            *task.body_as_ExchangeBody());
    return Status();
  default:
    return invalidPlan("task '", task.name()->string_view(),
                       "' has an unknown body");
  }
}
