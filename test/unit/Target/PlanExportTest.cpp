//===- PlanExportTest.cpp - what schedules become in a plan ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "oneflow/Target/PlanExport.h"
#include "oneflow/Dialect/Actor/IR/Actor.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Plan/Container.h"
#include "oneflow/Plan/Plan_generated.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mlir;
using namespace oneflow;

namespace {

// Two stages, two micro-batches: forward there, backward back, and another
// transfer forward.
constexpr const char *kPipeline = R"(
    oneflow.placement @s0 cpu [time = 2, dp = 1]
    oneflow.placement @s1 cpu [dp = 1] from 1
    actor.graph @main arena 1024 {
      actor.phase "forward" actions 2
      actor.phase "backward" actions 2
      actor.phase "end" actions 1
      actor.schedule on @s0 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
      %x = actor.register "x" slots 2 bytes 64 offset 0
      %y = actor.register "y" slots 1 bytes 64 fills 1 offset 128
      %z = actor.register "z" slots 1 bytes 64 offset 192
      %b = actor.register "b" slots 1 bytes 64 offset 256
      %c = actor.register "c" slots 1 bytes 64 offset 320
      actor.task "in" on @s0 host phase "forward" posts(%x, %y) {
        actor.read_port "x" into %x <tensor<32xf32>, @s0, <[S(0), B]>>
      }
      actor.task "there" on @s0 transfer phase "forward" order 1 waits(%x) posts(%z) {
        actor.exchange %x <tensor<32xf32>, @s0, <[B, B]>> to %z <tensor<32xf32>, @s1, <[B]>>
      }
      actor.task "again" on @s0 transfer phase "forward" order 2 waits(%x) posts(%b) {
        actor.exchange %x <tensor<32xf32>, @s0, <[B, B]>> to %b <tensor<32xf32>, @s1, <[B]>>
      }
      actor.task "back" on @s1 transfer phase "backward" order 1 waits(%z) posts(%c) {
        actor.exchange %z <tensor<32xf32>, @s1, <[B]>> to %c <tensor<32xf32>, @s0, <[B, B]>>
      }
      actor.task "once" on @s0 host phase "end" waits(%y) {
        actor.write_port "y" from %y <tensor<16xf32>, @s0, <[B, B]>>
      }
    })";

// The graph section of what `text` becomes; empty and a message on failure.
struct Exported {
  explicit Exported(const std::string &text) {
    MLIRContext context;
    context.loadDialect<OneFlowDialect, actor::ActorDialect, comm::CommDialect,
                        LLVM::LLVMDialect>();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return;
    auto file = exportPlan(*module, CpuObject(), PlanExportOptions());
    if (failed(file))
      return;
    bytes = *file;
    plan::SectionEntry first;
    std::memcpy(&first, bytes.data() + sizeof(plan::FileHeader), sizeof(first));
    plan.reset(plan::GetPlan(bytes.data() + first.offset)->UnPack());
  }
  std::string message, bytes;
  std::unique_ptr<plan::PlanT> plan;
};

TEST(PlanExport, WritesPhasesSchedulesAndTransfers) {
  Exported exported(kPipeline);
  ASSERT_TRUE(exported.plan) << exported.message;
  plan::PlanT &plan = *exported.plan;
  EXPECT_TRUE(plan.placements[0]->axes[0]->is_time);
  EXPECT_FALSE(plan.placements[0]->axes[1]->is_time);
  EXPECT_FALSE(plan.placements[1]->axes[0]->is_time);

  // Behind host, compute and comm, one stream per way and phase.
  ASSERT_EQ(plan.streams.size(), 5u);
  EXPECT_EQ(plan.streams[3]->name, "transfer s0 -> s1 forward");
  EXPECT_EQ(plan.streams[4]->name, "transfer s1 -> s0 backward");
  for (int i : {3, 4})
    EXPECT_EQ(plan.streams[i]->kind, plan::StreamKind::CpuTransfer);

  plan::EntryT &entry = *plan.entries[0];
  ASSERT_EQ(entry.phases.size(), 3u);
  EXPECT_EQ(entry.phases[0]->name, "forward");
  EXPECT_EQ(entry.phases[0]->actions, 2u);
  EXPECT_EQ(entry.phases[1]->name, "backward");
  EXPECT_EQ(entry.phases[2]->name, "end");
  EXPECT_EQ(entry.phases[2]->actions, 1u);
  std::vector<std::pair<uint32_t, uint32_t>> tasks;
  for (const auto &task : entry.tasks)
    tasks.emplace_back(task->stream, task->phase);
  EXPECT_EQ(tasks, (std::vector<std::pair<uint32_t, uint32_t>>{
                       {0, 0}, {3, 0}, {3, 0}, {4, 1}, {0, 2}}));
  EXPECT_EQ(entry.registers[0]->fills, 0u);
  EXPECT_EQ(entry.registers[1]->fills, 1u);

  ASSERT_EQ(entry.schedules.size(), 1u);
  EXPECT_EQ(entry.schedules[0]->placement, 0u);
  std::vector<std::pair<uint32_t, uint32_t>> steps;
  for (const plan::Step &step : entry.schedules[0]->steps)
    steps.emplace_back(step.phase(), step.action());
  EXPECT_EQ(steps, (std::vector<std::pair<uint32_t, uint32_t>>{
                       {0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

} // namespace
