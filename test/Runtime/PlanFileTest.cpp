//===- PlanFileTest.cpp - damaged and wrong plans -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "Checksum.h"
#include "DataType.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

using namespace oneflow;
using namespace oneflow::test;

static of_status_code codeOf(const std::vector<uint8_t> &bytes) {
  return LoadedTestPlan(bytes).code;
}

TEST(PlanFile, ChecksumIsTheContainersOne) {
  // The check value of CRC-64/XZ for "123456789".
  EXPECT_EQ(plan::checksum("123456789", 9), 0x995DC9BBDF1939FAu);
  std::mt19937 random(1);
  for (size_t size = 0; size < 70; ++size) {
    std::vector<uint8_t> bytes(size + 1);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random());
    // Also from an odd address.
    for (size_t skip : {0, 1})
      EXPECT_EQ(runtime::fastChecksum(bytes.data() + skip, size + 1 - skip),
                plan::checksum(bytes.data() + skip, size + 1 - skip));
  }
}

TEST(PlanFile, EveryTruncationIsAnError) {
  std::vector<uint8_t> whole = addOnePlan(5).bytes();
  ASSERT_EQ(codeOf(whole), OF_STATUS_OK);
  for (size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 509) {
    std::vector<uint8_t> part(whole.begin(), whole.begin() + size);
    ASSERT_EQ(codeOf(part), OF_STATUS_INVALID_PLAN) << size;
  }
  whole.push_back(0);
  EXPECT_EQ(codeOf(whole), OF_STATUS_INVALID_PLAN);
}

TEST(PlanFile, EveryFlippedByteOfHeaderTableAndGraphIsAnError) {
  std::vector<uint8_t> whole = addOnePlan(5).bytes();
  size_t table = sizeof(plan::FileHeader) + 3 * sizeof(plan::SectionEntry);
  size_t graph = addOnePlan(5).graphBytes().size();
  auto flip = [&](size_t at) {
    std::vector<uint8_t> damaged = whole;
    damaged[at] ^= at % 3 == 0 ? 0x01 : at % 3 == 1 ? 0x80 : 0xff;
    ASSERT_EQ(codeOf(damaged), OF_STATUS_INVALID_PLAN) << at;
  };
  for (size_t at = 0; at < table; ++at)
    flip(at);
  for (size_t at = 0; at < graph; at += 5)
    flip(plan::kSectionAlignment + at);
}

TEST(PlanFile, DamagedCodeAndDataAreFound) {
  PlanBuilder builder = addOnePlan(5);
  builder.variable("v", PlanBuilder::layout(0, {3}, {broadcast()}), 12,
                   {1, 2, 3});
  std::vector<uint8_t> whole = builder.bytes();
  std::vector<uint8_t> damaged = whole;
  size_t code = 2 * plan::kSectionAlignment; // the graph takes one page
  ASSERT_EQ(std::memcmp(whole.data() + code, "\177ELF", 4), 0);
  damaged[code + 1000] ^= 1;
  EXPECT_EQ(codeOf(damaged), OF_STATUS_INVALID_PLAN);
  // Data only on request.
  damaged = whole;
  damaged.back() ^= 1;
  TemporaryFile file;
  file.write(damaged);
  of_plan_options_t options = {sizeof(options), 0};
  of_plan_t *plan = nullptr;
  EXPECT_EQ(Outcome(of_plan_load(file.c_str(), &options, &plan)).code,
            OF_STATUS_OK);
  of_plan_free(plan);
  options.verify_data = 1;
  EXPECT_EQ(Outcome(of_plan_load(file.c_str(), &options, &plan)).code,
            OF_STATUS_INVALID_PLAN);
  EXPECT_EQ(plan, nullptr);
}

// Damage that the checksum cannot see: whatever the graph says, loading it and
// making a session end in a status and never in a crash. Most useful under the
// address sanitizer.
TEST(PlanFile, AnyGraphLoadsOrFails) {
  PlanBuilder builder = addOnePlan(5);
  builder.placement({2, 2});
  builder.variable("v", PlanBuilder::layout(1, {4, 6}, {split(0), split(1)}),
                   24, std::vector<float>(24, 1));
  builder.scalar(plan::ScalarKind::Extent, 6, 1, {{0, 1}, {1, 1}});
  uint32_t part = builder.variable(
      "part", PlanBuilder::layout(0, {4, 2}, {broadcast()}), 32);
  builder.whole("whole", {4, 8}, 1, {0, part});
  uint32_t a = builder.reg(24), b = builder.reg(96);
  builder.chain("chain_add_one", 1,
                {builder.inVariable(0), builder.inRegister(a)}, {}, {a});
  builder.exchange(PlanBuilder::layout(1, {4, 6}, {split(0), split(1)}),
                   PlanBuilder::layout(1, {4, 6}, {broadcast(), broadcast()}),
                   a, b);
  std::vector<uint8_t> graph = builder.graphBytes();
  std::mt19937 random(7);
  int loaded = 0;
  // ONEFLOW_TEST_THOROUGH tries every byte with every kind of damage.
  size_t stride = std::getenv("ONEFLOW_TEST_THOROUGH") ? 1 : 13;
  for (size_t i = 0; i < 4 * graph.size(); i += stride) {
    std::vector<uint8_t> damaged = graph;
    uint8_t value = i % 4 == 0   ? 0
                    : i % 4 == 1 ? 0xff
                    : i % 4 == 2 ? static_cast<uint8_t>(graph[i / 4] + 1)
                                 : static_cast<uint8_t>(random());
    damaged[i / 4] = value;
    LoadedTestPlan plan(
        writeContainer({{plan::SectionKind::Graph, damaged},
                        {plan::SectionKind::CpuCode, PlanBuilder::kernels()},
                        {plan::SectionKind::Data, builder.data}}));
    if (!plan.plan)
      continue;
    ++loaded;
    // Few ranks only: a large count is legal and slow.
    if (of_plan_get_rank_count(plan.plan) <= 16 &&
        of_plan_get_arena_bytes(plan.plan, 0) < (1u << 20))
      TestSession session(plan);
  }
  EXPECT_GT(loaded, 0);
}

TEST(PlanFile, AnyCodeLoadsOrFails) {
  std::vector<uint8_t> code = PlanBuilder::kernels();
  std::vector<uint8_t> graph = addOnePlan(5).graphBytes();
  std::mt19937 random(3);
  // All of the headers, and a sample of the rest.
  for (size_t at = 0; at < code.size(); at += at < 600 ? 1 : 61) {
    std::vector<uint8_t> damaged = code;
    damaged[at] = static_cast<uint8_t>(random());
    LoadedTestPlan plan(
        writeContainer({{plan::SectionKind::Graph, graph},
                        {plan::SectionKind::CpuCode, damaged}}));
    EXPECT_TRUE(plan.code == OF_STATUS_OK ||
                plan.code == OF_STATUS_INVALID_PLAN ||
                plan.code == OF_STATUS_OUT_OF_MEMORY)
        << at << ": " << plan.message;
  }
}

// Applies `edit` to a good plan and expects an error that mentions `text`.
static void expectRefused(const std::function<void(PlanBuilder &)> &edit,
                          const std::string &text,
                          of_status_code code = OF_STATUS_INVALID_PLAN) {
  PlanBuilder builder = addOnePlan(5);
  uint32_t pair = builder.placement({2});
  uint32_t a = builder.reg(8), b = builder.reg(8);
  builder.chain("chain_add_one", pair, {builder.inRegister(a)}, {}, {a});
  plan::CollectiveBodyT body;
  body.dtype = plan::DType::F32;
  body.placement = pair;
  body.axes = {0};
  body.shape = {plan::Extent(-1, 2)};
  builder.collective(std::move(body), a, b); // task 4
  builder.variable("v", PlanBuilder::layout(0, {2, 3}, {broadcast()}), 24,
                   std::vector<float>(6, 1));
  edit(builder);
  LoadedTestPlan loaded(builder);
  EXPECT_EQ(loaded.code, code) << text;
  EXPECT_NE(loaded.message.find(text), std::string::npos)
      << "got: " << loaded.message << "\nexpected: " << text;
}

TEST(PlanFile, SemanticRules) {
  auto task = [](PlanBuilder &b, size_t i) -> plan::TaskT & {
    return *b.entry().tasks[i];
  };
  expectRefused([](PlanBuilder &b) { b.plan.kernel_abi_version = 9; },
                "kernel ABI version 1, got: 9");
  expectRefused([](PlanBuilder &b) { b.plan.architecture = "sparc"; }, "sparc",
                OF_STATUS_UNSUPPORTED);
  expectRefused([](PlanBuilder &b) { b.plan.cpu_features = {"sse2", "warp9"}; },
                "warp9", OF_STATUS_UNSUPPORTED);
  expectRefused(
      [](PlanBuilder &b) {
        b.plan.placements[0]->device = plan::DeviceKind::Cuda;
      },
      "CUDA", OF_STATUS_UNSUPPORTED);
  expectRefused([](PlanBuilder &b) { b.plan.placements[0]->axes[0]->size = 0; },
                "size 0");
  expectRefused(
      [](PlanBuilder &b) { b.plan.placements[0]->axes[0]->size = 4000000000u; },
      "ranks");
  expectRefused([](PlanBuilder &b) { b.plan.placements[1]->name = "mesh0"; },
                "two placements are named 'mesh0'");
  expectRefused([](PlanBuilder &b) { b.plan.streams[1]->name = "host"; },
                "two streams are named 'host'");
  expectRefused([](PlanBuilder &b) { b.addEntry("main"); },
                "two entries are named 'main'");
  expectRefused(
      [](PlanBuilder &b) { b.entry().inputs[0]->layout->shape = {-5}; },
      "input 'x' has extent -5");
  expectRefused(
      [](PlanBuilder &b) {
        b.entry().inputs[0]->layout->shape = {int64_t(1) << 40, int64_t(1)
                                                                    << 40};
      },
      "input 'x' is too large");
  expectRefused(
      [](PlanBuilder &b) { b.entry().inputs[0]->layout->sbp = {split(1)}; },
      "input 'x' splits dimension 1 of 1");
  expectRefused(
      [](PlanBuilder &b) { b.entry().inputs[0]->layout->sbp = {split(0, 2)}; },
      "no multiple of its block 2");
  expectRefused([](PlanBuilder &b) { b.entry().inputs[0]->layout->sbp = {}; },
                "has 0 SBPs");
  expectRefused(
      [](PlanBuilder &b) { b.entry().outputs[0]->layout->sbp = {split(0)}; },
      "output 'y' is not Broadcast");
  expectRefused([](PlanBuilder &b) { b.entry().registers[0]->slots = 0; },
                "register 'r0' has no slot");
  expectRefused(
      [](PlanBuilder &b) { b.entry().registers[0]->offset = 1 << 20; },
      "register 'r0' lies outside the arena");
  expectRefused([](PlanBuilder &b) { b.entry().registers[0]->offset = 8; },
                "not aligned");
  expectRefused(
      [](PlanBuilder &b) {
        b.entry().registers[0]->slots = UINT32_MAX;
        b.entry().registers[0]->stride = UINT64_MAX / 64 * 64;
      },
      "lies outside the arena");
  expectRefused([](PlanBuilder &b) { b.entry().registers[0]->producer = 77; },
                "names producer 77");
  expectRefused([](PlanBuilder &b) { b.entry().registers[0]->consumers = {2}; },
                "register 'r0' names consumer 2");
  expectRefused([&](PlanBuilder &b) { task(b, 1).inputs = {}; },
                "names consumer 1");
  expectRefused([&](PlanBuilder &b) { task(b, 1).inputs = {99}; }, "r0");
  expectRefused([&](PlanBuilder &b) { task(b, 1).stream = 9; },
                "names stream 9 of 3");
  expectRefused([&](PlanBuilder &b) { task(b, 1).placement = 9; },
                "names placement 9");
  expectRefused([&](PlanBuilder &b) { task(b, 1).order = 3; },
                "has an order but is no communication");
  expectRefused([&](PlanBuilder &b) { task(b, 4).order = 0; },
                "is a communication without an order");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 1).body.AsChainBody()->buffers[0] =
            plan::Buffer(plan::BufferKind::Arena, 0, 64, 1 << 20);
      },
      "buffer 0 [64, +1048576) lies outside");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 1).body.AsChainBody()->buffers[0] = b.inRegister(2);
      },
      "no input or output of the task");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 1).body.AsChainBody()->buffers[0] =
            plan::Buffer(plan::BufferKind::Variable, 5, 0, 4);
      },
      "names variable 5 of 1");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 1).body.AsChainBody()->buffers[0] =
            plan::Buffer(static_cast<plan::BufferKind>(9), 0, 0, 0);
      },
      "unknown kind");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 1).body.AsChainBody()->kernels = {99}; },
      "names kernel 99");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 1).body.AsChainBody()->function = "none"; },
      "does not define 'none'");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 0).body.AsInputBody()->port = 4; },
      "names input 4 of 1");
  expectRefused(
      [&](PlanBuilder &b) {
        *task(b, 0).body.AsInputBody()->buffer =
            plan::Buffer(plan::BufferKind::Register, 0, 0, 19);
      },
      "has 19 bytes, expected at least 20");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 0).body.AsInputBody()->buffer.reset(); },
      "has no buffer");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 4).body.AsCollectiveBody()->axes = {1}; },
      "mesh axes");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 4).body.AsCollectiveBody()->kind =
            plan::CollectiveKind::AllGather;
      },
      "splits source dimension -1");
  expectRefused(
      [&](PlanBuilder &b) {
        task(b, 4).body.AsCollectiveBody()->shape = {plan::Extent(7, 0)};
      },
      "no scalar");
  expectRefused(
      [&](PlanBuilder &b) {
        // The collective's input from its own output: a cycle.
        b.entry().registers[2]->producer = 4;
        task(b, 4).outputs.push_back(2);
        task(b, 3).outputs = {};
      },
      "");
  expectRefused([](PlanBuilder &b) { b.plan.variables[0]->local_bytes = 20; },
                "variable 'v' has 20 local bytes, expected at least 24");
  expectRefused(
      [](PlanBuilder &b) { b.plan.variables[0]->data_offset = 1 << 20; },
      "outside the data section");
  expectRefused([](PlanBuilder &b) { b.plan.variables[0]->data_bytes = 20; },
                "expected 24");
  expectRefused([](PlanBuilder &b) { b.plan.scalars[0]->placement = 7; },
                "scalar 0 names placement 7");
  expectRefused(
      [](PlanBuilder &b) {
        b.scalar(plan::ScalarKind::Extent, 5, 0, {{3, 1}});
      },
      "scalar 1 names axis 3");
  expectRefused(
      [](PlanBuilder &b) {
        b.scalar(plan::ScalarKind::Extent, 5, 0, {{0, 2}});
      },
      "no multiple of 2");
  expectRefused(
      [&](PlanBuilder &b) { task(b, 2).body.AsOutputBody()->port = 1; },
      "names output 1 of 1");
}

TEST(PlanFile, RulesOfWholes) {
  // "v" is [2, 3]; "u" beside it makes a whole of [2, 5] along dimension 1.
  auto withWhole =
      [](const std::function<void(PlanBuilder &, plan::WholeT &)> &edit) {
        return [edit](PlanBuilder &b) {
          uint32_t u = b.variable(
              "u", PlanBuilder::layout(0, {2, 2}, {broadcast()}), 16);
          edit(b, b.whole("w", {2, 5}, 1, {0, u}));
        };
      };
  {
    PlanBuilder good = addOnePlan(5);
    good.variable("v", PlanBuilder::layout(0, {2, 3}, {broadcast()}), 24);
    withWhole([](PlanBuilder &, plan::WholeT &) {})(good);
    LoadedTestPlan loaded(good);
    EXPECT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  }
  using B = PlanBuilder;
  using W = plan::WholeT;
  expectRefused(withWhole([](B &, W &w) { w.dim = 2; }),
                "whole 'w' is cut along dimension 2 of 2");
  expectRefused(withWhole([](B &, W &w) { w.parts = {}; }),
                "whole 'w' has no parts");
  expectRefused(withWhole([](B &, W &w) { w.parts = {0, 9}; }),
                "whole 'w' names variable 9 of 2");
  expectRefused(withWhole([](B &, W &w) { w.parts = {0, 0}; }),
                "has variable 'v', which is a part already");
  expectRefused(withWhole([](B &b, W &) { b.whole("z", {2, 3}, 1, {0}); }),
                "whole 'z' has variable 'v', which is a part already");
  expectRefused(withWhole([](B &, W &w) { w.dtype = plan::DType::I32; }),
                "whole 'w' has element type i32, its part 'v' f32");
  expectRefused(withWhole([](B &, W &w) { w.shape = {2, 5, 1}; }),
                "whole 'w' has 3 dimensions, its part 'v' 2");
  expectRefused(withWhole([](B &, W &w) { w.shape = {3, 5}; }),
                "has extent 3 in dimension 0, its part 'v' 2");
  expectRefused(withWhole([](B &, W &w) { w.shape = {2, 6}; }),
                "has extent 6 in dimension 1, its parts together 5");
  expectRefused(withWhole([](B &, W &w) { w.shape = {2, -5}; }),
                "has extent -5 in dimension 1, its parts together 5");
  expectRefused(
      withWhole([](B &b, W &) { b.plan.variables[1]->trainable = true; }),
      "whole 'w' is trainable in part only");
  expectRefused(withWhole([](B &, W &w) { w.name = "v"; }),
                "two variables are named 'v'");
  // Each part is small enough; together they are not.
  expectRefused(
      [](B &b) {
        std::vector<uint32_t> parts;
        for (const char *name : {"p", "q", "r"})
          parts.push_back(b.variable(
              name, PlanBuilder::layout(0, {int64_t(3) << 58}, {broadcast()}),
              uint64_t(3) << 60));
        b.whole("w", {int64_t(9) << 58}, 0, parts);
      },
      "too large");
}

TEST(PlanFile, CyclesAreRefused) {
  PlanBuilder builder = addOnePlan(5);
  uint32_t a = builder.reg(64), b = builder.reg(64);
  builder.chain("chain_add_one", 0, {}, {a}, {b});
  builder.chain("chain_add_one", 0, {}, {b}, {a});
  LoadedTestPlan loaded(builder);
  EXPECT_EQ(loaded.code, OF_STATUS_INVALID_PLAN);
  EXPECT_NE(loaded.message.find("cycle"), std::string::npos) << loaded.message;
}

TEST(PlanFile, ArenaLargerThanMemoryIsAnError) {
  PlanBuilder builder = addOnePlan(5);
  builder.entry().arena_bytes = uint64_t(1) << 60;
  builder.entry().registers[0]->offset = uint64_t(1) << 59;
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded);
  EXPECT_EQ(session.code, OF_STATUS_OUT_OF_MEMORY) << session.message;
}

TEST(DataType, SixteenBitFloatsRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = runtime::halfToFloat(half);
    // From the definition of the format.
    int exponent = (half >> 10) & 31, mantissa = half & 1023;
    double expected = exponent == 0
                          ? std::ldexp(mantissa, -24)
                          : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), mantissa != 0);
      EXPECT_EQ(std::isinf(value), mantissa == 0);
    } else {
      EXPECT_EQ(value, half & 0x8000 ? -expected : expected) << bits;
    }
    if (!std::isnan(value))
      EXPECT_EQ(runtime::floatToHalf(value), half);
    float wide = runtime::bfloatToFloat(half);
    if (!std::isnan(wide))
      EXPECT_EQ(runtime::floatToBfloat(wide), half);
  }
}

TEST(DataType, ConversionsRoundToNearestEven) {
  // Halfway and just beside, between neighbours of every size.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    auto low = static_cast<uint16_t>(bits),
         high = static_cast<uint16_t>(bits + 1);
    float a = runtime::halfToFloat(low), b = runtime::halfToFloat(high);
    float middle = a + (b - a) / 2; // exact: f32 has 13 more bits
    EXPECT_EQ(runtime::floatToHalf(middle), bits % 2 ? high : low) << bits;
    EXPECT_EQ(runtime::floatToHalf(std::nextafter(middle, a)), low);
    EXPECT_EQ(runtime::floatToHalf(std::nextafter(middle, b)), high);
  }
  EXPECT_EQ(runtime::floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(runtime::floatToHalf(65520.0f), 0x7c00);
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    auto low = static_cast<uint16_t>(bits),
         high = static_cast<uint16_t>(bits + 1);
    float a = runtime::bfloatToFloat(low), b = runtime::bfloatToFloat(high);
    float middle = a + (b - a) / 2;
    EXPECT_EQ(runtime::floatToBfloat(middle), bits % 2 ? high : low) << bits;
  }
  EXPECT_TRUE(std::isnan(runtime::halfToFloat(runtime::floatToHalf(NAN))));
  EXPECT_TRUE(std::isnan(runtime::bfloatToFloat(runtime::floatToBfloat(NAN))));
}
