//===- Mpi.cpp - ranks as MPI processes -----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transport plug-in for MPI: each process is one rank of MPI_COMM_WORLD.
//
// The thread of a stream drives its operations: it posts non-blocking calls and
// polls them to their end, first spinning, then yielding the processor, then
// sleeping for short times: a transfer may wait for as long as another stage
// computes. No further progress thread is needed.
//
// Reductions: MPI may combine operands in any order, and knows neither bf16 nor
// our NaN rules. So every rank gathers the operands of its slice (all-to-all),
// one reduceParts combines them in rank order, and an all-gather spreads the
// result: the volume of a ring all-reduce, with the same bits as every other
// transport. Small operands are gathered whole by everyone and combined by
// everyone, which saves the second round.
//
// MPI counts are int; larger messages go in pieces.
//
//===----------------------------------------------------------------------===//

#include "../DataType.h"
#include "../Gate.h"

#include "oneflow/Plan/Split.h"
#include "oneflow/Runtime/Reduce.h"
#include "oneflow/Runtime/Transport.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sched.h>

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

// Polls before yielding the processor, and before sleeping between them.
constexpr int kPolls = 1000;
constexpr int kYields = 4000;
constexpr timespec kNap = {0, 50000};
// Messages are cut into pieces of this many bytes.
constexpr uint64_t kPieceBytes = uint64_t(1) << 30;
// All-reduced tensors up to this many bytes take the way of one round.
constexpr uint64_t kSmallBytes = 4096;
constexpr int kTag = 1;

TransportResult resultOf(int code) {
  if (code == MPI_SUCCESS)
    return TransportResult();
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return TransportResult::failure(std::string("MPI: ") + text);
}

class MpiCommunicator final : public Communicator {
public:
  explicit MpiCommunicator(MPI_Comm communicator) : group(communicator) {
    MPI_Comm_size(group, &members);
    MPI_Comm_rank(group, &member);
    parts.resize(members);
    slices.resize(members);
    ranges.resize(members);
    sources.resize(members);
  }
  ~MpiCommunicator() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized)
      MPI_Comm_free(&group);
  }

  int size() const override { return members; }
  int rank() const override { return member; }

  TransportResult barrier() override {
    MPI_Request request;
    int code = MPI_Ibarrier(group, &request);
    if (code != MPI_SUCCESS)
      return resultOf(code);
    requests.assign(1, request);
    return finish();
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
  void send(int peer, const void *data, uint64_t bytes);
  void receive(int peer, void *data, uint64_t bytes);
  // Waits for everything posted since the last call.
  TransportResult finish();
  // Combines `count` elements of all members; `operands` is the caller's array
  // and `at` where the own slice begins in it. Each member sends slice q, of
  // slices[q].bytes at slices[q].offset, to member q.
  TransportResult reduceSlices(const void *operands, void *target,
                               plan::DType dtype, plan::Reducer reducer);
  uint8_t *scratch(uint64_t bytes) {
    // Grows to the largest operand in the first step and stays.
    if (room.size() < bytes / 8 + 1)
      room.resize(bytes / 8 + 1);
    return reinterpret_cast<uint8_t *>(room.data());
  }

  MPI_Comm group;
  int members = 0, member = 0;
  int firstError = MPI_SUCCESS;
  std::vector<MPI_Request> requests;
  std::vector<ByteRange> parts, slices, ranges;
  std::vector<const void *> sources;
  std::vector<uint64_t> room; // aligned for every type
};

void MpiCommunicator::send(int peer, const void *data, uint64_t bytes) {
  const auto *from = static_cast<const uint8_t *>(data);
  // A message of no bytes is sent all the same.
  do {
    uint64_t piece = std::min(bytes, kPieceBytes);
    requests.emplace_back();
    int code = MPI_Isend(from, static_cast<int>(piece), MPI_BYTE, peer, kTag,
                         group, &requests.back());
    if (code != MPI_SUCCESS) {
      firstError = code;
      requests.pop_back();
    }
    from += piece;
    bytes -= piece;
  } while (bytes > 0);
}

void MpiCommunicator::receive(int peer, void *data, uint64_t bytes) {
  auto *to = static_cast<uint8_t *>(data);
  do {
    uint64_t piece = std::min(bytes, kPieceBytes);
    requests.emplace_back();
    int code = MPI_Irecv(to, static_cast<int>(piece), MPI_BYTE, peer, kTag,
                         group, &requests.back());
    if (code != MPI_SUCCESS) {
      firstError = code;
      requests.pop_back();
    }
    to += piece;
    bytes -= piece;
  } while (bytes > 0);
}

TransportResult MpiCommunicator::finish() {
  int code = firstError, done = 0;
  for (int64_t poll = 0; code == MPI_SUCCESS && !done; ++poll) {
    code = MPI_Testall(static_cast<int>(requests.size()), requests.data(),
                       &done, MPI_STATUSES_IGNORE);
    if (done)
      break;
    if (poll < kPolls)
      pauseBriefly();
    else if (poll < kPolls + kYields)
      sched_yield();
    else
      nanosleep(&kNap, nullptr);
  }
  firstError = MPI_SUCCESS;
  requests.clear();
  return resultOf(code);
}

TransportResult
MpiCommunicator::exchange(const std::vector<SendMessage> &sends,
                          const std::vector<ReceiveMessage> &receives) {
  for (const ReceiveMessage &each : receives)
    receive(each.peer, each.data, each.bytes);
  for (const SendMessage &each : sends)
    send(each.peer, each.data, each.bytes);
  return finish();
}

TransportResult
MpiCommunicator::allToAll(const void *source,
                          const std::vector<ByteRange> &sends, void *target,
                          const std::vector<ByteRange> &receives) {
  const auto *from = static_cast<const uint8_t *>(source);
  auto *to = static_cast<uint8_t *>(target);
  // Both sides know the sizes, so empty parts need no message.
  for (int step = 1; step < members; ++step) {
    int peer = (member - step + members) % members;
    if (receives[peer].bytes > 0)
      receive(peer, to + receives[peer].offset, receives[peer].bytes);
  }
  for (int step = 1; step < members; ++step) {
    int peer = (member + step) % members;
    if (sends[peer].bytes > 0)
      send(peer, from + sends[peer].offset, sends[peer].bytes);
  }
  if (sends[member].bytes > 0)
    std::memmove(to + receives[member].offset, from + sends[member].offset,
                 sends[member].bytes);
  return finish();
}

TransportResult
MpiCommunicator::allGather(const void *source, void *target,
                           const std::vector<ByteRange> &wanted) {
  for (int peer = 0; peer < members; ++peer)
    parts[peer] = {0, wanted[member].bytes};
  return allToAll(source, parts, target, wanted);
}

TransportResult MpiCommunicator::reduceSlices(const void *operands,
                                              void *target, plan::DType dtype,
                                              plan::Reducer reducer) {
  uint64_t bytes = slices[member].bytes;
  // Each operand at an aligned place.
  uint64_t stride = (bytes + 7) / 8 * 8;
  uint8_t *all = scratch(stride * members);
  for (int peer = 0; peer < members; ++peer) {
    ranges[peer] = {peer * stride, bytes};
    sources[peer] = all + peer * stride;
  }
  TransportResult result = allToAll(operands, slices, all, ranges);
  if (result.ok && bytes > 0)
    reduceParts(dtype, reducer, sources.data(), members, target,
                bytes / dtypeBytes(dtype));
  return result;
}

TransportResult
MpiCommunicator::reduceScatter(const void *source, void *target,
                               const std::vector<uint64_t> &counts,
                               plan::DType dtype, plan::Reducer reducer) {
  uint64_t offset = 0;
  for (int peer = 0; peer < members; ++peer) {
    slices[peer] = {offset, counts[peer] * dtypeBytes(dtype)};
    offset += slices[peer].bytes;
  }
  return reduceSlices(source, target, dtype, reducer);
}

TransportResult MpiCommunicator::allReduce(const void *source, void *target,
                                           uint64_t count, plan::DType dtype,
                                           plan::Reducer reducer) {
  uint64_t element = dtypeBytes(dtype), bytes = count * element;
  if (members == 1 || bytes == 0) {
    if (source != target && bytes > 0)
      std::memmove(target, source, bytes);
    return TransportResult();
  }
  if (bytes <= kSmallBytes) {
    for (ByteRange &slice : slices)
      slice = {0, bytes};
    return reduceSlices(source, target, dtype, reducer);
  }
  for (int peer = 0; peer < members; ++peer) {
    plan::Interval slice = plan::balancedSplit(count, members, peer);
    slices[peer] = {slice.offset * element, slice.extent * element};
  }
  // In place: by the time the own slice is written, all of the source is sent.
  auto *own = static_cast<uint8_t *>(target) + slices[member].offset;
  TransportResult result = reduceSlices(source, own, dtype, reducer);
  if (!result.ok)
    return result;
  for (int step = 1; step < members; ++step) {
    int peer = (member - step + members) % members;
    if (slices[peer].bytes > 0)
      receive(peer, static_cast<uint8_t *>(target) + slices[peer].offset,
              slices[peer].bytes);
  }
  for (int step = 1; step < members; ++step)
    if (slices[member].bytes > 0)
      send((member + step) % members, own, slices[member].bytes);
  return finish();
}

class MpiTransport final : public Transport {
public:
  MpiTransport() {
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    // Errors come back as codes and end in a status; they do not end the job.
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_size(world, &ranks);
    MPI_Comm_rank(world, &own);
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized)
      MPI_Comm_free(&world);
  }

  int rankCount() const override { return ranks; }
  std::vector<int> localRanks() const override { return {own}; }

  TransportResult
  createGroups(const std::vector<std::vector<int>> &groups,
               std::vector<std::unique_ptr<Communicator>> &result) override {
    int color = MPI_UNDEFINED, place = 0;
    for (size_t g = 0; g < groups.size(); ++g)
      for (size_t i = 0; i < groups[g].size(); ++i)
        if (groups[g][i] == own) {
          color = static_cast<int>(g);
          place = static_cast<int>(i);
        }
    MPI_Comm group = MPI_COMM_NULL;
    int code = MPI_Comm_split(world, color, place, &group);
    if (code != MPI_SUCCESS)
      return resultOf(code);
    result.clear();
    result.resize(1);
    if (group != MPI_COMM_NULL) {
      MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
      result[0] = std::make_unique<MpiCommunicator>(group);
    }
    return TransportResult();
  }

  // MPI cannot cancel a collective that peers have entered; when a rank is lost
  // the launcher ends the job.
  void abort() override {}

private:
  MPI_Comm world = MPI_COMM_NULL;
  int ranks = 0, own = 0;
};

void finalizeAtExit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized)
    MPI_Finalize();
}

} // namespace

extern "C" __attribute__((visibility("default"))) Transport *
oneflow_transport_create(uint32_t version, int rankCount, const char **error) {
  static std::mutex mutex;
  static thread_local std::string message;
  std::lock_guard<std::mutex> lock(mutex);
  auto refuse = [&](std::string text) -> Transport * {
    message = std::move(text);
    *error = message.c_str();
    return nullptr;
  };
  if (version != kTransportVersion)
    return refuse("the plug-in was built for another version of the runtime");
  int initialized = 0, finalized = 0, threads = MPI_THREAD_SINGLE;
  MPI_Finalized(&finalized);
  if (finalized)
    return refuse("MPI has been finalized already");
  MPI_Initialized(&initialized);
  if (!initialized) {
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads) !=
        MPI_SUCCESS)
      return refuse("MPI cannot be initialized");
    // Who initializes finalizes, behind the last session.
    std::atexit(finalizeAtExit);
  }
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_MULTIPLE)
    return refuse("MPI was initialized without MPI_THREAD_MULTIPLE");
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != rankCount)
    return refuse("the plan has " + std::to_string(rankCount) +
                  " ranks, but MPI runs " + std::to_string(size) +
                  " processes");
  return new MpiTransport();
}
