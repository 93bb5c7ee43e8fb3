//===- PipelineBubble.cpp - what pipeline schedules wait ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the training step of a plan of pipeline stages, with chains that sleep
// instead of computing, and prints JSON: the shortest step of several, and the
// bubble, which is how much longer it is than the passes of one stage. Sleeping
// ranks do not need a processor each.
//
//   PipelineBubble plan.ofp MICRO-BATCHES CHUNKS FORWARD BACKWARD WEIGHTS
//
// Times are those of one stage per micro-batch, in milliseconds, over all its
// chunks.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

/// Tensors of zeros for all ports.
struct Tensors {
  explicit Tensors(
      const flatbuffers::Vector<flatbuffers::Offset<plan::Port>> *ports) {
    if (!ports)
      return;
    for (const plan::Port *port : *ports) {
      const auto *shape = port->layout()->shape();
      size_t elements = 1;
      of_tensor_t tensor = {};
      tensor.dtype = static_cast<of_dtype>(port->layout()->dtype());
      if (shape) {
        for (int64_t extent : *shape)
          elements *= static_cast<size_t>(extent);
        tensor.rank = static_cast<int32_t>(shape->size());
        tensor.shape = shape->data();
      }
      memory.push_back(std::vector<uint64_t>(elements + 1));
      tensor.data = memory.back().data();
      tensors.push_back(tensor);
    }
  }
  std::vector<std::vector<uint64_t>> memory;
  std::vector<of_tensor_t> tensors;
};

int fail(const Status &status) {
  std::fprintf(stderr, "PipelineBubble: %s\n", status.message().c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: PipelineBubble PLAN MICRO-BATCHES CHUNKS "
                         "FORWARD BACKWARD WEIGHTS\n");
    return 2;
  }
  double microBatches = std::atof(argv[2]), chunks = std::atof(argv[3]);
  double forward = std::atof(argv[4]), backward = std::atof(argv[5]),
         weights = std::atof(argv[6]);
  std::shared_ptr<const LoadedPlan> plan;
  if (Status status = LoadedPlan::load(argv[1], /*verifyData=*/false, plan))
    return fail(status);
  int32_t entry = -1;
  for (uint32_t i = 0; i < plan->entryCount(); ++i)
    if (plan->entry(i).name()->string_view() == "train")
      entry = static_cast<int32_t>(i);
  if (entry < 0) {
    std::fprintf(stderr, "PipelineBubble: expected an entry 'train'\n");
    return 1;
  }
  SessionOptions options;
  options.threadsPerRank = 1;
  options.sleepNs = [&](std::string_view phase) {
    auto begins = [&](std::string_view kind) {
      return phase.substr(0, kind.size()) == kind;
    };
    double milliseconds = begins("forward")    ? forward
                          : begins("backward") ? backward
                          : begins("weights")  ? weights
                                               : 0;
    return static_cast<uint64_t>(milliseconds / chunks * 1e6);
  };
  std::unique_ptr<Session> session;
  if (Status status = Session::create(plan, options, session))
    return fail(status);
  Tensors inputs(plan->entry(entry).inputs()),
      outputs(plan->entry(entry).outputs());
  double shortest = 0;
  for (int run = 0; run < 5; ++run) {
    auto begin = std::chrono::steady_clock::now();
    if (Status status = session->run(
            entry, inputs.tensors.data(),
            static_cast<int32_t>(inputs.tensors.size()), outputs.tensors.data(),
            static_cast<int32_t>(outputs.tensors.size())))
      return fail(status);
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    shortest = run == 0 ? took.count() : std::min(shortest, took.count());
  }
  double work = microBatches * (forward + backward + weights);
  std::printf("{\"step_ms\": %.2f, \"work_ms\": %.2f, \"bubble\": %.4f}\n",
              shortest, work, shortest / work - 1);
  return 0;
}
