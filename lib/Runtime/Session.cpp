//===- Session.cpp - a plan that runs -------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "BoxCopy.h"
#include "DataType.h"
#include "Transport/Local.h"
#include "Transport/Plugin.h"

#include <algorithm>
#include <sched.h>
#include <set>

using namespace oneflow;
using namespace oneflow::runtime;

// More ranks than this in one process are a damaged plan or a mistake.
static constexpr int kMaxLocalRanks = 1024;

// Processors that this process may use.
static int processorCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

// Whether the tensor has the logical dtype and shape, and data. Allocates
// nothing: it is part of every step.
static bool matches(const of_tensor_t &tensor, plan::DType expectedType,
                    const flatbuffers::Vector<int64_t> *shape) {
  if (static_cast<int>(tensor.dtype) != static_cast<int>(expectedType))
    return false;
  int32_t rank = shape ? static_cast<int32_t>(shape->size()) : 0;
  if (tensor.rank != rank || (rank > 0 && !tensor.shape))
    return false;
  bool empty = false;
  for (int32_t d = 0; d < rank; ++d) {
    if (tensor.shape[d] != shape->Get(d))
      return false;
    empty |= tensor.shape[d] == 0;
  }
  return tensor.data || empty;
}

// What is wrong with a tensor that does not match.
static Status mismatch(const of_tensor_t &tensor, plan::DType expectedType,
                       const flatbuffers::Vector<int64_t> *shape,
                       const char *kind, std::string_view name) {
  std::string what = concat(kind, " '", name, "'");
  auto dtype = static_cast<plan::DType>(tensor.dtype);
  if (static_cast<int>(tensor.dtype) != static_cast<int>(expectedType))
    return invalidArgument(what, ": expected ", dtypeName(expectedType),
                           ", got: ", dtypeName(dtype));
  std::string expected, got;
  for (uint32_t d = 0; shape && d < shape->size(); ++d)
    expected += concat(d ? "x" : "", shape->Get(d));
  for (int32_t d = 0; tensor.shape && d < tensor.rank; ++d)
    got += concat(d ? "x" : "", tensor.shape[d]);
  if (expected == got && !tensor.data)
    return invalidArgument(what, ": no data");
  return invalidArgument(what, ": expected shape [", expected, "], got: [", got,
                         "]");
}

Status Session::create(std::shared_ptr<const LoadedPlan> plan,
                       const SessionOptions &options,
                       std::unique_ptr<Session> &result) {
  result.reset(new Session(std::move(plan)));
  return result->bind(options);
}

Session::~Session() {
  // A run on another thread ends first.
  std::lock_guard<std::mutex> lock(mutex);
  ranks.clear();
}

Status Session::createTransport(const SessionOptions &options,
                                const Patience &patience) {
  if (options.transport != "local")
    return createPluginTransport(options.transport.c_str(), options.pluginPath,
                                 plan->rankCount(), transport);
  if (plan->rankCount() > kMaxLocalRanks)
    return unsupported("the plan has ", plan->rankCount(),
                       " ranks, one process runs at most ", kMaxLocalRanks);
  transport = createLocalTransport(plan->rankCount(), patience);
  return Status();
}

Status Session::bind(const SessionOptions &options) {
  int processors = processorCount();
  std::set<uint32_t> streams;
  for (uint32_t i = 0; i < plan->entryCount(); ++i)
    if (plan->entry(i).tasks())
      for (const plan::Task *task : *plan->entry(i).tasks())
        streams.insert(Rank::threadOf(plan->graph(), task->stream()));
  bool local = options.transport == "local";
  int localRanks = local ? plan->rankCount() : 1;
  int threads = options.threadsPerRank > 0
                    ? options.threadsPerRank
                    : std::max(1, processors / std::max(1, localRanks));
  int64_t total = int64_t(localRanks) *
                  (static_cast<int64_t>(streams.size()) + threads - 1);
  // Transfers have threads on the ranks of their two placements only.
  for (uint32_t stream : plan->transferStreams())
    total -=
        localRanks - std::min<int64_t>(localRanks, ranksOfTransfer(stream));
  patience = total <= processors ? kSpinning : kYielding;
  if (Status status = createTransport(options, patience))
    return status;
  control.transport = transport.get();
  control.sleepNs = options.sleepNs;
  if (Status status = createCommunicators())
    return status;
  std::vector<int> own = transport->localRanks();
  control.everyRankDelivers = static_cast<int>(own.size()) < plan->rankCount();
  for (size_t i = 0; i < own.size(); ++i) {
    std::unique_ptr<Rank> rank;
    if (Status status = Rank::create(*plan, own[i], threads, patience,
                                     /*callerServes=*/i == 0, control,
                                     communicators[i], rank))
      return status;
    ranks.push_back(std::move(rank));
  }
  return Status();
}

int64_t Session::ranksOfTransfer(uint32_t stream) const {
  int64_t ranks = 0;
  for (uint32_t i = 0; i < plan->entryCount(); ++i)
    if (plan->entry(i).tasks())
      for (const plan::Task *task : *plan->entry(i).tasks()) {
        const plan::ExchangeBody *body = task->body_as_ExchangeBody();
        if (task->stream() != stream || !body)
          continue;
        auto count = [&](const plan::Layout &layout) {
          return Mesh::of(*plan->graph().placements()->Get(layout.placement()))
              .rankCount();
        };
        ranks = std::max(ranks, count(*body->source_layout()) +
                                    count(*body->target_layout()));
      }
  return ranks;
}

Status Session::createCommunicators() {
  // Every process walks the plan in the same order, so all agree on the order
  // of creation.
  std::vector<std::unique_ptr<Communicator>> created;
  communicators.resize(transport->localRanks().size());
  auto create = [&](const std::vector<std::vector<int>> &groups) {
    return transport->createGroups(groups, created);
  };
  std::vector<std::vector<int>> everyone(1);
  for (int rank = 0; rank < transport->rankCount(); ++rank)
    everyone.front().push_back(rank);
  if (TransportResult result = create(everyone); !result.ok)
    return communicationFailed(result.message);
  controlGroup = std::move(created.front());
  if (TransportResult result = create(everyone); !result.ok)
    return communicationFailed(result.message);
  for (size_t i = 0; i < created.size(); ++i)
    communicators[i].world = std::move(created[i]);
  for (uint32_t stream : plan->transferStreams()) {
    if (TransportResult result = create(everyone); !result.ok)
      return communicationFailed(result.message);
    for (size_t i = 0; i < created.size(); ++i)
      communicators[i].transfers[stream] = std::move(created[i]);
  }
  std::set<std::pair<uint32_t, std::vector<uint32_t>>> known;
  for (uint32_t i = 0; i < plan->entryCount(); ++i) {
    if (!plan->entry(i).tasks())
      continue;
    for (const plan::Task *task : *plan->entry(i).tasks()) {
      const plan::CollectiveBody *body = task->body_as_CollectiveBody();
      if (!body)
        continue;
      std::vector<uint32_t> axes(body->axes()->begin(), body->axes()->end());
      if (!known.insert({body->placement(), axes}).second)
        continue;
      Mesh mesh = Mesh::of(*plan->graph().placements()->Get(body->placement()));
      if (TransportResult result = create(mesh.groups(axes)); !result.ok)
        return communicationFailed(result.message);
      for (size_t r = 0; r < created.size(); ++r)
        communicators[r].groups[{body->placement(), axes}] =
            std::move(created[r]);
    }
  }
  return Status();
}

Status Session::communicationFailed(const std::string &message) {
  unusable = true;
  transport->abort();
  return Status(OF_STATUS_COMMUNICATION_FAILED, message);
}

Status Session::checkPorts(
    const flatbuffers::Vector<flatbuffers::Offset<plan::Port>> *ports,
    const of_tensor_t *tensors, int32_t count, const char *what) const {
  auto expected = ports ? static_cast<int32_t>(ports->size()) : 0;
  if (count != expected)
    return invalidArgument("expected ", expected, " ", what, "s, got: ", count);
  if (count > 0 && !tensors)
    return invalidArgument("no ", what, "s given");
  for (int32_t i = 0; i < count; ++i) {
    const plan::Port &port = *ports->Get(i);
    plan::DType dtype = port.layout()->dtype();
    if (!matches(tensors[i], dtype, port.layout()->shape()))
      return mismatch(tensors[i], dtype, port.layout()->shape(), what,
                      port.name()->string_view());
  }
  return Status();
}

Status Session::run(int32_t entryIndex, const of_tensor_t *inputs,
                    int32_t inputCount, const of_tensor_t *outputs,
                    int32_t outputCount) {
  std::lock_guard<std::mutex> lock(mutex);
  if (unusable)
    return Status(OF_STATUS_UNUSABLE, "the session failed before");
  if (entryIndex < 0 || static_cast<uint32_t>(entryIndex) >= plan->entryCount())
    return invalidArgument("expected an entry below ", plan->entryCount(),
                           ", got: ", entryIndex);
  auto index = static_cast<uint32_t>(entryIndex);
  const plan::Entry &entry = plan->entry(index);
  if (Status status = checkPorts(entry.inputs(), inputs, inputCount, "input"))
    return status;
  if (Status status =
          checkPorts(entry.outputs(), outputs, outputCount, "output"))
    return status;

  control.inputs = inputs;
  control.outputs = outputs;
  control.cancelled = false;
  running = true;
  uint32_t streams = 0;
  for (const auto &rank : ranks)
    streams += rank->actors().activeStreams(index);
  latch.reset(streams);
  for (const auto &rank : ranks)
    rank->actors().start(index, latch);
  ranks.front()->actors().serve(index);
  latch.wait(patience);
  running = false;

  Failure failure;
  for (const auto &rank : ranks) {
    Failure theirs = rank->failure().take();
    if (theirs.precedes(failure))
      failure = std::move(theirs);
  }
  if (severalProcesses())
    if (TransportResult result = agreeOnFailure(*controlGroup, failure);
        !result.ok)
      return communicationFailed(result.message);
  if (failure.happened()) {
    unusable = true;
    return Status(failure.code, failure.message, failure.location);
  }
  if (severalProcesses())
    return shareOutputs(entry, outputs);
  return Status();
}

// Ranks outside of an output's placement get it from the placement's first
// rank.
Status Session::shareOutputs(const plan::Entry &entry,
                             const of_tensor_t *outputs) {
  for (uint32_t i = 0; entry.outputs() && i < entry.outputs()->size(); ++i) {
    TensorLayout layout =
        TensorLayout::of(*entry.outputs()->Get(i)->layout(), plan->graph());
    if (layout.mesh.rankCount() == transport->rankCount())
      continue;
    uint64_t bytes =
        elementCount(wholeBox(layout.shape)) * dtypeBytes(layout.dtype);
    std::vector<ByteRange> parts(transport->rankCount());
    parts[layout.mesh.firstRank].bytes = bytes;
    // The source must not overlap the target.
    std::vector<uint8_t> source;
    if (rank() == layout.mesh.firstRank && bytes > 0) {
      const auto *data = static_cast<const uint8_t *>(outputs[i].data);
      source.assign(data, data + bytes);
    }
    TransportResult result =
        controlGroup->allGather(source.data(), outputs[i].data, parts);
    if (!result.ok)
      return communicationFailed(result.message);
  }
  return Status();
}

void Session::cancel() {
  if (running)
    control.cancelled = true;
}

Status Session::checkVariable(int32_t index, const of_tensor_t &value) const {
  if (unusable)
    return Status(OF_STATUS_UNUSABLE, "the session failed before");
  const std::vector<UserVariable> &variables = plan->userVariables();
  if (index < 0 || static_cast<size_t>(index) >= variables.size())
    return invalidArgument("expected a variable below ", variables.size(),
                           ", got: ", index);
  const UserVariable &variable = variables[index];
  if (!matches(value, variable.dtype, variable.shape))
    return mismatch(value, variable.dtype, variable.shape, "variable",
                    variable.name->string_view());
  return Status();
}

Status Session::gatherVariable(uint32_t index, void *value) {
  const plan::Variable &variable = plan->variable(index);
  TensorLayout layout = TensorLayout::of(*variable.layout(), plan->graph());
  // Where each contributing rank's dense part lies, and the room for parts that
  // are packed or come from other processes.
  std::vector<const uint8_t *> parts(transport->rankCount());
  std::vector<ByteRange> ranges(transport->rankCount());
  uint64_t total = 0;
  for (int rank = 0; rank < transport->rankCount(); ++rank) {
    ranges[rank] = {total, contributedBytes(layout, rank)};
    total += ranges[rank].bytes;
  }
  std::vector<uint8_t> room, own;
  if (severalProcesses() || variable.panel() > 0) {
    room.resize(total);
    for (int rank = 0; rank < transport->rankCount(); ++rank)
      parts[rank] = room.data() + ranges[rank].offset;
  }
  for (const auto &rank : ranks) {
    const ByteRange &range = ranges[rank->index()];
    if (range.bytes == 0)
      continue;
    VariableStorage &storage = rank->variable(index);
    if (severalProcesses()) {
      own.resize(range.bytes);
      storage.getDense(own.data());
    } else if (storage.dense()) {
      parts[rank->index()] = storage.dense();
    } else {
      storage.getDense(room.data() + range.offset);
    }
  }
  if (severalProcesses()) {
    TransportResult result =
        controlGroup->allGather(own.data(), room.data(), ranges);
    if (!result.ok)
      return communicationFailed(result.message);
  }
  gatherParts(layout, parts, value);
  return Status();
}

void Session::scatterVariable(uint32_t index, const void *value) {
  for (const auto &rank : ranks)
    if (rank->variable(index).exists())
      rank->variable(index).setLogical(value);
}

// Where each part of a whole lies in it.
static std::vector<Box> boxesOfParts(const UserVariable &variable,
                                     const LoadedPlan &plan) {
  Box box = wholeBox({variable.shape->begin(), variable.shape->end()});
  std::vector<Box> boxes;
  int64_t end = 0;
  for (uint32_t part : variable.parts) {
    int64_t extent = plan.variable(part).layout()->shape()->Get(variable.dim);
    box[variable.dim] = {end, extent};
    boxes.push_back(box);
    end += extent;
  }
  return boxes;
}

Status Session::getVariable(int32_t index, const of_tensor_t &value) {
  std::lock_guard<std::mutex> lock(mutex);
  if (Status status = checkVariable(index, value))
    return status;
  const UserVariable &variable = plan->userVariables()[index];
  if (variable.parts.size() == 1)
    return gatherVariable(variable.parts.front(), value.data);
  auto element = static_cast<int64_t>(dtypeBytes(variable.dtype));
  Box whole = wholeBox({variable.shape->begin(), variable.shape->end()});
  std::vector<uint8_t> part;
  std::vector<Box> boxes = boxesOfParts(variable, *plan);
  for (size_t i = 0; i < boxes.size(); ++i) {
    BoxCopy copy(element, boxes[i], boxes[i], whole);
    part.resize(copy.bytes());
    if (Status status = gatherVariable(variable.parts[i], part.data()))
      return status;
    copy.run(part.data(), value.data);
  }
  return Status();
}

Status Session::setVariable(int32_t index, const of_tensor_t &value) {
  std::lock_guard<std::mutex> lock(mutex);
  if (Status status = checkVariable(index, value))
    return status;
  const UserVariable &variable = plan->userVariables()[index];
  if (variable.parts.size() == 1) {
    scatterVariable(variable.parts.front(), value.data);
    return Status();
  }
  auto element = static_cast<int64_t>(dtypeBytes(variable.dtype));
  Box whole = wholeBox({variable.shape->begin(), variable.shape->end()});
  std::vector<uint8_t> part;
  std::vector<Box> boxes = boxesOfParts(variable, *plan);
  for (size_t i = 0; i < boxes.size(); ++i) {
    BoxCopy copy(element, boxes[i], whole, boxes[i]);
    part.resize(copy.bytes());
    copy.run(value.data, part.data());
    scatterVariable(variable.parts[i], part.data());
  }
  return Status();
}

Status Session::startTrace(size_t capacity) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &rank : ranks)
    rank->startTrace(capacity);
  return Status();
}

Status Session::writeTrace(const char *path) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<TraceRow> rows;
  for (const auto &rank : ranks) {
    rank->stopTrace();
    rank->appendTraceRows(rows);
  }
  return writeChromeTrace(rows, path);
}

void Session::readCounters(of_counters_t &counters) const {
  for (const auto &rank : ranks) {
    counters.kernels += rank->kernelCount;
    counters.bytes_moved += rank->bytesMoved;
    for (uint32_t i = 0; i < rank->actors().streamCount(); ++i) {
      const StreamCounters &stream = rank->actors().counters(i);
      counters.actions += stream.actions;
      counters.messages += stream.messages;
      counters.wait_input_ns += stream.waitInputNs;
      counters.wait_credit_ns += stream.waitCreditNs;
    }
  }
}
