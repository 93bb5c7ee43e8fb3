//===- PlanBuilder.h - plans written by hand --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds plan files for tests: the graph through FlatBuffers' object API, which
// tests may also edit freely to make bad plans, and the container around it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_PLANBUILDER_H
#define ONEFLOW_TEST_RUNTIME_PLANBUILDER_H

#include "oneflow/Plan/Container.h"
#include "oneflow/Plan/KernelAbi.h"
#include "oneflow/Plan/Plan_generated.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace oneflow::test {

inline plan::Sbp split(int64_t dim, int64_t block = 1) {
  return plan::Sbp(dim, block, plan::SbpKind::Split, plan::Reducer::Sum);
}
inline plan::Sbp broadcast() {
  return plan::Sbp(0, 1, plan::SbpKind::Broadcast, plan::Reducer::Sum);
}
inline plan::Sbp partial(plan::Reducer reducer = plan::Reducer::Sum) {
  return plan::Sbp(0, 1, plan::SbpKind::Partial, reducer);
}

/// A file that is removed at the end.
class TemporaryFile {
public:
  TemporaryFile() {
    char name[] = "/tmp/oneflow-test-XXXXXX";
    int descriptor = mkstemp(name);
    if (descriptor >= 0)
      close(descriptor);
    path = name;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;
  const char *c_str() const { return path.c_str(); }
  void write(const std::vector<uint8_t> &bytes) const {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

private:
  std::string path;
};

inline std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One more section of a container.
struct ContainerSection {
  plan::SectionKind kind;
  std::vector<uint8_t> bytes;
};

inline std::vector<uint8_t>
writeContainer(const std::vector<ContainerSection> &sections) {
  uint64_t tableEnd =
      sizeof(plan::FileHeader) + sections.size() * sizeof(plan::SectionEntry);
  auto aligned = [](uint64_t at) {
    return (at + plan::kSectionAlignment - 1) / plan::kSectionAlignment *
           plan::kSectionAlignment;
  };
  std::vector<plan::SectionEntry> table;
  uint64_t end = tableEnd;
  for (const ContainerSection &section : sections) {
    uint64_t offset = aligned(end);
    table.push_back(
        {section.kind, 0, offset, section.bytes.size(),
         plan::checksum(section.bytes.data(), section.bytes.size())});
    end = offset + section.bytes.size();
  }
  std::vector<uint8_t> file(end);
  plan::FileHeader header = {};
  std::memcpy(header.magic, plan::kMagic, sizeof(header.magic));
  header.formatVersion = plan::kFormatVersion;
  header.sectionCount = static_cast<uint32_t>(sections.size());
  header.fileBytes = file.size();
  size_t tableBytes = table.size() * sizeof(plan::SectionEntry);
  header.tableChecksum = plan::checksum(table.data(), tableBytes);
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), tableBytes);
  for (size_t i = 0; i < sections.size(); ++i)
    std::copy(sections[i].bytes.begin(), sections[i].bytes.end(),
              file.begin() + static_cast<std::ptrdiff_t>(table[i].offset));
  return file;
}

/// A plan with one entry to begin with. Streams: 0 host, 1 compute, 2 comm.
class PlanBuilder {
public:
  plan::PlanT plan;
  std::vector<uint8_t> data;

  PlanBuilder() {
    plan.kernel_abi_version = ONEFLOW_KERNEL_ABI_VERSION;
    plan.architecture = "x86_64";
    stream("host", plan::StreamKind::Host);
    stream("compute", plan::StreamKind::CpuCompute);
    stream("comm", plan::StreamKind::CpuComm);
    for (const char *name :
         {"add_one", "add_rank", "check_index", "accumulate", "add_table",
          "sum_over_time", "add_first", "produce", "consume"}) {
      auto kernel = std::make_unique<plan::KernelT>();
      kernel->symbol = name;
      kernel->name = std::string("/model/") + name;
      kernel->location = std::string("model.py:") + name;
      plan.kernels.push_back(std::move(kernel));
    }
    addEntry("main");
  }

  plan::EntryT &entry() { return *plan.entries.back(); }

  void addEntry(const std::string &name) {
    plan.entries.push_back(std::make_unique<plan::EntryT>());
    entry().name = name;
  }

  uint32_t stream(const std::string &name, plan::StreamKind kind) {
    auto result = std::make_unique<plan::StreamT>();
    result->name = name;
    result->kind = kind;
    plan.streams.push_back(std::move(result));
    return static_cast<uint32_t>(plan.streams.size() - 1);
  }

  uint32_t placement(const std::vector<uint32_t> &sizes, uint32_t first = 0) {
    auto result = std::make_unique<plan::PlacementT>();
    result->name = "mesh" + std::to_string(plan.placements.size());
    result->first_rank = first;
    for (uint32_t size : sizes) {
      auto axis = std::make_unique<plan::MeshAxisT>();
      axis->name = "axis" + std::to_string(result->axes.size());
      axis->size = size;
      result->axes.push_back(std::move(axis));
    }
    plan.placements.push_back(std::move(result));
    return static_cast<uint32_t>(plan.placements.size() - 1);
  }

  /// With a time axis of `microBatches` in front of the others.
  uint32_t timedPlacement(uint32_t microBatches,
                          const std::vector<uint32_t> &sizes,
                          uint32_t first = 0) {
    uint32_t index = placement(sizes, first);
    auto axis = std::make_unique<plan::MeshAxisT>();
    axis->name = "time";
    axis->size = microBatches;
    axis->is_time = true;
    auto &axes = plan.placements[index]->axes;
    axes.insert(axes.begin(), std::move(axis));
    return index;
  }

  /// A phase, which the tasks that follow are of.
  uint32_t phase(const std::string &name, uint32_t actions) {
    auto result = std::make_unique<plan::PhaseT>();
    result->name = name;
    result->actions = actions;
    entry().phases.push_back(std::move(result));
    currentPhase = static_cast<uint32_t>(entry().phases.size() - 1);
    return currentPhase;
  }
  /// The tasks that follow are of that phase.
  void inPhase(uint32_t index) { currentPhase = index; }

  /// Goes through phases as listed, each time with the next action.
  void schedule(uint32_t placement, const std::vector<uint32_t> &phases) {
    auto result = std::make_unique<plan::ScheduleT>();
    result->placement = placement;
    std::vector<uint32_t> next(entry().phases.size(), 0);
    for (uint32_t each : phases)
      result->steps.emplace_back(each, next[each]++);
    entry().schedules.push_back(std::move(result));
  }

  static std::unique_ptr<plan::LayoutT>
  layout(uint32_t placement, const std::vector<int64_t> &shape,
         const std::vector<plan::Sbp> &sbp,
         plan::DType dtype = plan::DType::F32) {
    auto result = std::make_unique<plan::LayoutT>();
    result->dtype = dtype;
    result->placement = placement;
    result->shape = shape;
    result->sbp = sbp;
    return result;
  }

  uint32_t scalar(plan::ScalarKind kind, int64_t size, uint32_t placement = 0,
                  const std::vector<std::pair<uint32_t, int64_t>> &steps = {}) {
    auto result = std::make_unique<plan::ScalarT>();
    result->kind = kind;
    result->size = size;
    result->placement = placement;
    for (auto [axis, block] : steps)
      result->steps.push_back(plan::SplitStep(axis, block));
    plan.scalars.push_back(std::move(result));
    return static_cast<uint32_t>(plan.scalars.size() - 1);
  }

  /// Appends to the data section, aligned.
  uint64_t addData(const void *bytes, size_t count) {
    data.resize((data.size() + 63) / 64 * 64);
    uint64_t offset = data.size();
    const auto *from = static_cast<const uint8_t *>(bytes);
    data.insert(data.end(), from, from + count);
    return offset;
  }

  uint32_t variable(const std::string &name,
                    std::unique_ptr<plan::LayoutT> layout, uint64_t localBytes,
                    const std::vector<float> &initial = {},
                    uint32_t panel = 0) {
    auto result = std::make_unique<plan::VariableT>();
    result->name = name;
    result->layout = std::move(layout);
    result->local_bytes = localBytes;
    result->panel = panel;
    if (!initial.empty()) {
      result->initial = plan::Initial::Data;
      result->data_bytes = initial.size() * sizeof(float);
      result->data_offset = addData(initial.data(), result->data_bytes);
    }
    plan.variables.push_back(std::move(result));
    return static_cast<uint32_t>(plan.variables.size() - 1);
  }

  /// What the user sees instead of the variables `parts`.
  plan::WholeT &whole(const std::string &name,
                      const std::vector<int64_t> &shape, uint32_t dim,
                      const std::vector<uint32_t> &parts) {
    auto result = std::make_unique<plan::WholeT>();
    result->name = name;
    result->dtype = plan::DType::F32;
    result->shape = shape;
    result->dim = dim;
    result->parts = parts;
    plan.wholes.push_back(std::move(result));
    return *plan.wholes.back();
  }

  /// A register with memory of its own in the entry's arena.
  uint32_t reg(uint64_t bytes, uint32_t slots = 1) {
    auto result = std::make_unique<plan::RegisterT>();
    result->name = "r" + std::to_string(entry().registers.size());
    result->bytes = bytes;
    result->slots = slots;
    result->stride = (bytes + 63) / 64 * 64;
    result->offset = entry().arena_bytes;
    result->producer = UINT32_MAX;
    entry().arena_bytes += result->stride * slots;
    entry().registers.push_back(std::move(result));
    return static_cast<uint32_t>(entry().registers.size() - 1);
  }

  plan::Buffer inRegister(uint32_t index) {
    return plan::Buffer(plan::BufferKind::Register, index, 0,
                        entry().registers[index]->bytes);
  }
  plan::Buffer inVariable(uint32_t index) {
    return plan::Buffer(plan::BufferKind::Variable, index, 0,
                        plan.variables[index]->local_bytes);
  }
  plan::Buffer inConstant(uint32_t index) {
    return plan::Buffer(plan::BufferKind::Constant, index, 0,
                        plan.constants[index]->bytes);
  }

  uint32_t task(const std::string &name, uint32_t placement, uint32_t stream,
                plan::TaskBodyUnion body, const std::vector<uint32_t> &inputs,
                const std::vector<uint32_t> &outputs) {
    auto result = std::make_unique<plan::TaskT>();
    auto index = static_cast<uint32_t>(entry().tasks.size());
    result->name = name;
    result->location = "model.py:" + name;
    result->placement = placement;
    result->stream = stream;
    result->phase = currentPhase;
    if (body.type == plan::TaskBody::CollectiveBody ||
        body.type == plan::TaskBody::ExchangeBody)
      result->order = ++order;
    result->inputs = inputs;
    result->outputs = outputs;
    for (uint32_t input : inputs)
      entry().registers[input]->consumers.push_back(index);
    for (uint32_t output : outputs)
      entry().registers[output]->producer = index;
    result->body = std::move(body);
    entry().tasks.push_back(std::move(result));
    return index;
  }

  /// An input port and its task, into a new register.
  uint32_t input(const std::string &name, std::unique_ptr<plan::LayoutT> layout,
                 uint64_t localBytes, uint32_t slots = 1) {
    uint32_t target = reg(localBytes, slots);
    uint32_t placement = layout->placement;
    plan::InputBodyT body;
    body.port = static_cast<uint32_t>(entry().inputs.size());
    body.buffer = std::make_unique<plan::Buffer>(inRegister(target));
    entry().inputs.push_back(port(name, std::move(layout)));
    plan::TaskBodyUnion any;
    any.Set(std::move(body));
    task("in." + name, placement, 0, std::move(any), {}, {target});
    return target;
  }

  /// An output port and its task, out of a register.
  void output(const std::string &name, std::unique_ptr<plan::LayoutT> layout,
              uint32_t source) {
    uint32_t placement = layout->placement;
    plan::OutputBodyT body;
    body.port = static_cast<uint32_t>(entry().outputs.size());
    body.buffer = std::make_unique<plan::Buffer>(inRegister(source));
    entry().outputs.push_back(port(name, std::move(layout)));
    plan::TaskBodyUnion any;
    any.Set(std::move(body));
    task("out." + name, placement, 0, std::move(any), {source}, {});
  }

  uint32_t chain(const std::string &function, uint32_t placement,
                 const std::vector<plan::Buffer> &buffers,
                 const std::vector<uint32_t> &inputs,
                 const std::vector<uint32_t> &outputs, uint32_t stream = 1) {
    plan::ChainBodyT body;
    body.function = function;
    body.buffers = buffers;
    plan::TaskBodyUnion any;
    any.Set(std::move(body));
    return task(function + std::to_string(entry().tasks.size()), placement,
                stream, std::move(any), inputs, outputs);
  }

  uint32_t collective(plan::CollectiveBodyT body, uint32_t source,
                      uint32_t target) {
    body.source = std::make_unique<plan::Buffer>(inRegister(source));
    body.target = std::make_unique<plan::Buffer>(inRegister(target));
    uint32_t placement = body.placement;
    plan::TaskBodyUnion any;
    any.Set(std::move(body));
    return task("collective" + std::to_string(entry().tasks.size()), placement,
                2, std::move(any), {source}, {target});
  }

  uint32_t exchange(std::unique_ptr<plan::LayoutT> from,
                    std::unique_ptr<plan::LayoutT> to, uint32_t source,
                    uint32_t target, uint32_t stream = 2) {
    plan::ExchangeBodyT body;
    uint32_t placement = from->placement;
    body.source_layout = std::move(from);
    body.target_layout = std::move(to);
    body.source = std::make_unique<plan::Buffer>(inRegister(source));
    body.target = std::make_unique<plan::Buffer>(inRegister(target));
    plan::TaskBodyUnion any;
    any.Set(std::move(body));
    return task("exchange" + std::to_string(entry().tasks.size()), placement,
                stream, std::move(any), {source}, {target});
  }

  std::vector<uint8_t> graphBytes() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(false);
    plan::FinishPlanBuffer(builder, plan::CreatePlan(builder, &plan));
    return {builder.GetBufferPointer(),
            builder.GetBufferPointer() + builder.GetSize()};
  }

  /// The file with the test kernels as its code.
  std::vector<uint8_t> bytes() const {
    return writeContainer({{plan::SectionKind::Graph, graphBytes()},
                           {plan::SectionKind::CpuCode, kernels()},
                           {plan::SectionKind::Data, data}});
  }

  static std::vector<uint8_t> kernels() {
    return readFile(ONEFLOW_TEST_KERNELS);
  }

private:
  static std::unique_ptr<plan::PortT>
  port(const std::string &name, std::unique_ptr<plan::LayoutT> layout) {
    auto result = std::make_unique<plan::PortT>();
    result->name = name;
    result->location = "model.py:" + name;
    result->layout = std::move(layout);
    return result;
  }

  uint32_t order = 0, currentPhase = 0;
};

/// One rank, y = x + 1 over `count` floats.
inline PlanBuilder addOnePlan(int64_t count) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({1});
  builder.scalar(plan::ScalarKind::Constant, count);
  uint32_t x = builder.input(
      "x", PlanBuilder::layout(mesh, {count}, {broadcast()}), 4 * count);
  uint32_t y = builder.reg(4 * count);
  builder.chain("chain_add_one", mesh,
                {builder.inRegister(x), builder.inRegister(y)}, {x}, {y});
  builder.output("y", PlanBuilder::layout(mesh, {count}, {broadcast()}), y);
  return builder;
}

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_PLANBUILDER_H
