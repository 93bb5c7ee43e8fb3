//===- Local.cpp - ranks as threads of one process ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Local.h"

#include "../DataType.h"
#include "../Gate.h"

#include "oneflow/Plan/Split.h"
#include "oneflow/Runtime/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

// What all ranks of the process watch, so that a lost rank frees the others.
struct Abortion {
  std::atomic<bool> happened{false};
  // Gates of all groups; to be woken by an abort.
  std::mutex mutex;
  std::vector<Gate *> gates;
};

TransportResult aborted() {
  return TransportResult::failure("the communication was aborted");
}

// One message under way from one member to another. The sender offers its
// buffer; the receiver copies from it and takes the offer back.
struct Channel {
  std::atomic<const void *> offered{nullptr};
  uint64_t bytes = 0;
};

// What the members of one group share.
struct Group {
  Group(std::vector<int> ranks, const Patience &patience,
        std::shared_ptr<Abortion> abortion)
      : ranks(std::move(ranks)), patience(patience),
        abortion(std::move(abortion)), buffers(this->ranks.size()),
        targets(this->ranks.size()), ranges(this->ranks.size()),
        channels(this->ranks.size() * this->ranks.size()),
        memberGates(this->ranks.size()) {
    std::lock_guard<std::mutex> lock(this->abortion->mutex);
    this->abortion->gates.push_back(&barrierGate);
    for (Gate &gate : memberGates)
      this->abortion->gates.push_back(&gate);
  }
  ~Group() {
    std::lock_guard<std::mutex> lock(abortion->mutex);
    auto &gates = abortion->gates;
    gates.erase(std::remove_if(gates.begin(), gates.end(),
                               [&](Gate *gate) {
                                 return gate == &barrierGate ||
                                        (gate >= &memberGates.front() &&
                                         gate <= &memberGates.back());
                               }),
                gates.end());
  }

  size_t size() const { return ranks.size(); }
  Channel &channel(int from, int to) { return channels[from * size() + to]; }

  // Every member's writes before the barrier are visible to all after it.
  bool barrier() {
    uint64_t phase = phases.load();
    if (arrived.fetch_add(1) + 1 == size()) {
      arrived = 0;
      phases = phase + 1;
      barrierGate.notify();
      return !abortion->happened;
    }
    barrierGate.wait(
        [&] { return phases.load() != phase || abortion->happened.load(); },
        patience);
    return !abortion->happened;
  }

  const std::vector<int> ranks;
  const Patience patience;
  std::shared_ptr<Abortion> abortion;

  std::atomic<size_t> arrived{0};
  std::atomic<uint64_t> phases{0};
  Gate barrierGate;

  // What the members show each other during a collective.
  std::vector<const void *> buffers, targets;
  std::vector<const std::vector<ByteRange> *> ranges;

  std::vector<Channel> channels;
  std::vector<Gate> memberGates;
};

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank)
      : group(std::move(group)), member(rank), operands(this->group->size()) {}

  int size() const override { return static_cast<int>(group->size()); }
  int rank() const override { return member; }

  TransportResult barrier() override {
    return group->barrier() ? TransportResult() : aborted();
  }

  TransportResult
  exchange(const std::vector<SendMessage> &sends,
           const std::vector<ReceiveMessage> &receives) override;
  TransportResult allReduce(const void *source, void *target, uint64_t count,
                            plan::DType dtype, plan::Reducer reducer) override;
  TransportResult allGather(const void *source, void *target,
                            const std::vector<ByteRange> &parts) override;
  TransportResult reduceScatter(const void *source, void *target,
                                const std::vector<uint64_t> &counts,
                                plan::DType dtype,
                                plan::Reducer reducer) override;
  TransportResult allToAll(const void *source,
                           const std::vector<ByteRange> &sends, void *target,
                           const std::vector<ByteRange> &receives) override;

private:
  bool show(const void *buffer,
            const std::vector<ByteRange> *ranges = nullptr) {
    group->buffers[member] = buffer;
    group->ranges[member] = ranges;
    return group->barrier();
  }
  const uint8_t *shown(int peer) const {
    return static_cast<const uint8_t *>(group->buffers[peer]);
  }
  void copy(void *target, uint64_t offset, const void *source, uint64_t bytes) {
    if (bytes > 0)
      std::memmove(static_cast<uint8_t *>(target) + offset, source, bytes);
  }
  // Combines `count` elements that begin at `offset` of all shown buffers.
  void combine(uint64_t offset, void *target, uint64_t count, plan::DType dtype,
               plan::Reducer reducer) {
    for (int peer = 0; peer < size(); ++peer)
      operands[peer] = shown(peer) + offset;
    if (count > 0)
      reduceParts(dtype, reducer, operands.data(), size(), target, count);
  }

  std::shared_ptr<Group> group;
  const int member;
  std::vector<const void *> operands;
};

TransportResult
LocalCommunicator::exchange(const std::vector<SendMessage> &sends,
                            const std::vector<ReceiveMessage> &receives) {
  // A message without data is offered all the same, by an address of its own.
  static const char nothing = 0;
  // Everything is offered before anything is waited for, so no order of the
  // ranks' lists can block.
  for (const SendMessage &send : sends) {
    Channel &channel = group->channel(member, send.peer);
    channel.bytes = send.bytes;
    channel.offered = send.bytes > 0 ? send.data : &nothing;
    group->memberGates[send.peer].notify();
  }
  Gate &own = group->memberGates[member];
  auto waitUntil = [&](auto condition) {
    own.wait([&] { return condition() || group->abortion->happened.load(); },
             group->patience);
    return !group->abortion->happened;
  };
  for (const ReceiveMessage &receive : receives) {
    Channel &channel = group->channel(receive.peer, member);
    if (!waitUntil([&] { return channel.offered.load() != nullptr; }))
      return aborted();
    if (channel.bytes != receive.bytes)
      return TransportResult::failure(
          "a message has another size than expected");
    copy(receive.data, 0, channel.offered, receive.bytes);
    channel.offered = nullptr;
    group->memberGates[receive.peer].notify();
  }
  for (const SendMessage &send : sends) {
    Channel &channel = group->channel(member, send.peer);
    if (!waitUntil([&] { return channel.offered.load() == nullptr; }))
      return aborted();
  }
  return TransportResult();
}

TransportResult LocalCommunicator::allReduce(const void *source, void *target,
                                             uint64_t count, plan::DType dtype,
                                             plan::Reducer reducer) {
  uint64_t element = dtypeBytes(dtype);
  if (size() == 1) {
    if (source != target)
      copy(target, 0, source, count * element);
    return TransportResult();
  }
  group->targets[member] = target;
  if (!show(source))
    return aborted();
  // Each member combines its slice of all operands, in place where source is
  // target: nobody else reads that slice of anybody's source.
  plan::Interval own = plan::balancedSplit(count, size(), member);
  combine(own.offset * element,
          static_cast<uint8_t *>(target) + own.offset * element, own.extent,
          dtype, reducer);
  if (!group->barrier())
    return aborted();
  for (int peer = 0; peer < size(); ++peer) {
    plan::Interval slice = plan::balancedSplit(count, size(), peer);
    if (peer != member)
      copy(target, slice.offset * element,
           static_cast<const uint8_t *>(group->targets[peer]) +
               slice.offset * element,
           slice.extent * element);
  }
  return barrier();
}

TransportResult
LocalCommunicator::allGather(const void *source, void *target,
                             const std::vector<ByteRange> &parts) {
  if (!show(source))
    return aborted();
  for (int peer = 0; peer < size(); ++peer)
    copy(target, parts[peer].offset, shown(peer), parts[peer].bytes);
  return barrier();
}

TransportResult
LocalCommunicator::reduceScatter(const void *source, void *target,
                                 const std::vector<uint64_t> &counts,
                                 plan::DType dtype, plan::Reducer reducer) {
  if (!show(source))
    return aborted();
  uint64_t offset = 0;
  for (int peer = 0; peer < member; ++peer)
    offset += counts[peer];
  combine(offset * dtypeBytes(dtype), target, counts[member], dtype, reducer);
  return barrier();
}

TransportResult
LocalCommunicator::allToAll(const void *source,
                            const std::vector<ByteRange> &sends, void *target,
                            const std::vector<ByteRange> &receives) {
  if (!show(source, &sends))
    return aborted();
  for (int peer = 0; peer < size(); ++peer) {
    const ByteRange &from = (*group->ranges[peer])[member];
    copy(target, receives[peer].offset, shown(peer) + from.offset,
         receives[peer].bytes);
  }
  return barrier();
}

class LocalTransport final : public Transport {
public:
  LocalTransport(int ranks, const Patience &patience)
      : ranks(ranks), patience(patience),
        abortion(std::make_shared<Abortion>()) {}

  int rankCount() const override { return ranks; }

  std::vector<int> localRanks() const override {
    std::vector<int> result;
    for (int rank = 0; rank < ranks; ++rank)
      result.push_back(rank);
    return result;
  }

  TransportResult
  createGroups(const std::vector<std::vector<int>> &groups,
               std::vector<std::unique_ptr<Communicator>> &result) override {
    result.clear();
    result.resize(ranks);
    for (const std::vector<int> &members : groups) {
      auto group = std::make_shared<Group>(members, patience, abortion);
      for (size_t i = 0; i < members.size(); ++i)
        result[members[i]] =
            std::make_unique<LocalCommunicator>(group, static_cast<int>(i));
    }
    return TransportResult();
  }

  void abort() override {
    abortion->happened = true;
    std::lock_guard<std::mutex> lock(abortion->mutex);
    for (Gate *gate : abortion->gates)
      gate->notify();
  }

private:
  const int ranks;
  const Patience patience;
  std::shared_ptr<Abortion> abortion;
};

} // namespace

std::unique_ptr<Transport>
oneflow::runtime::createLocalTransport(int rankCount,
                                       const Patience &patience) {
  return std::make_unique<LocalTransport>(rankCount, patience);
}
