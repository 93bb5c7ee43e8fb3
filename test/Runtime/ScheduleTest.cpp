//===- ScheduleTest.cpp - rules of phases and schedules -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans whose tasks act once per micro-batch: which are refused and why, what a
// rank allocates for them, and what a trace says of them.
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "PipelinePlan.h"
#include "Simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

using namespace oneflow;
using namespace oneflow::test;

// Applies `edit` to a good pipeline and expects an error that mentions `text`.
// Tasks: 0 in.v, 1 w; 2 in.x, 3 h, 4 exchange, 5 g, 6 total; 7 d, 8 exchange, 9
// y, 10 out.y; 11 out.total. Phases: begin, forward, backward, end. Registers:
// 0 v, 1 w, 2 x, 3 h, 4 arrived, 5 g, 6 total, 7 d, 8 back, 9 y.
static void expectRefused(const std::function<void(PlanBuilder &)> &edit,
                          const std::string &text,
                          const PipelineOptions &options = {}) {
  PlanBuilder builder = pipelinePlan(options);
  edit(builder);
  LoadedTestPlan loaded(builder);
  EXPECT_EQ(loaded.code, OF_STATUS_INVALID_PLAN) << text;
  EXPECT_NE(loaded.message.find(text), std::string::npos)
      << "got: " << loaded.message << "\nexpected: " << text;
}

static plan::TaskT &task(PlanBuilder &b, size_t i) {
  return *b.entry().tasks[i];
}

TEST(Schedule, RulesOfPhases) {
  using B = PlanBuilder;
  expectRefused([](B &b) { b.entry().phases[1]->actions = 0; },
                "phase 'forward' acts 0 times, expected 1 to 65536");
  expectRefused([](B &b) { b.entry().phases[1]->actions = 65537; },
                "phase 'forward' acts 65537 times");
  expectRefused([](B &b) { b.entry().phases[1]->name = "end"; },
                "two phases are named 'end'");
  expectRefused([](B &b) { task(b, 3).phase = 4; },
                "task 'chain_check_index3' names phase 4 of 4");
  expectRefused(
      [](B &b) {
        for (int i = 0; i < 65; ++i)
          b.phase("more" + std::to_string(i), 65536);
      },
      "has more than 4194304 steps");
  expectRefused([](B &b) { b.entry().registers[3]->fills = 3; },
                "register 'r3' is filled 3 times, but task "
                "'chain_check_index3' acts 4 times");
  expectRefused([](B &b) { b.entry().registers[6]->fills = 2; },
                "register 'r6' is filled 2 times, but task 'out.total' acts 1");
  // Filled once per action of its producer, by default.
  expectRefused([](B &b) { b.entry().registers[6]->fills = 0; },
                "register 'r6' is filled 4 times, but task 'out.total' acts 1");
  expectRefused([](B &b) { task(b, 2).phase = 0; },
                "port has 4 parts along time, but the task acts 1 times");
  expectRefused(
      [](B &b) {
        b.plan.placements[0]->axes.push_back(
            std::make_unique<plan::MeshAxisT>(*b.plan.placements[0]->axes[0]));
      },
      "is time but not the first axis");
  expectRefused([](B &b) { b.plan.placements[0]->axes[0]->size = 70000; },
                "has 70000 coordinates of time, expected at most 65536");
  expectRefused(
      [](B &b) {
        b.variable("u", PlanBuilder::layout(0, {8}, {split(0), broadcast()}),
                   8);
      },
      "variable 'u' is not Broadcast along time");
  expectRefused(
      [](B &b) {
        b.entry().outputs[0]->layout->sbp = {partial(), broadcast()};
      },
      "output 'y' is not Broadcast along every axis");
  expectRefused(
      [](B &b) {
        task(b, 4).body.AsExchangeBody()->target_layout->sbp = {broadcast(),
                                                                broadcast()};
        b.entry().registers[4]->bytes = 40;
        b.entry().registers[4]->stride = 64;
        *task(b, 4).body.AsExchangeBody()->target = b.inRegister(4);
      },
      "has layouts that differ along time");
  expectRefused(
      [](B &b) {
        for (int i = 0; i < 70; ++i)
          b.scalar(plan::ScalarKind::Constant, 1);
        b.phase("long", 65536);
      },
      "its scalars have more than 4194304 values");
  expectRefused(
      [](B &b) {
        b.phase("long", 65536);
        for (int i = 0; i < 70; ++i)
          b.chain("chain_add_one", 0, {}, {}, {}, 0);
      },
      "its tasks act more often than 4194304 times");
}

TEST(Schedule, RulesOfStreams) {
  using B = PlanBuilder;
  expectRefused([](B &b) { task(b, 3).stream = 3; },
                "task 'chain_check_index3' is on a transfer stream but no "
                "exchange");
  expectRefused([](B &b) { task(b, 3).stream = 2; },
                "is on a communication stream but no communication");
  expectRefused([](B &b) { task(b, 4).stream = 1; },
                "expected all communications but transfers on one "
                "communication stream");
  expectRefused(
      [](B &b) {
        b.stream("comm2", plan::StreamKind::CpuComm);
        task(b, 4).stream = 2;
        task(b, 8).stream = 5;
      },
      "task 'exchange8' is on stream 'comm2'");
  expectRefused([](B &b) { task(b, 8).stream = 3; },
                "task 'exchange8' is on the transfer stream of 'exchange4', "
                "but of another phase");
  expectRefused([](B &b) { b.plan.placements[1]->first_rank = 0; },
                "is a transfer between placements that share a rank");
  // One number twice on one stream; transfers of different streams may.
  expectRefused(
      [](B &b) {
        task(b, 4).stream = task(b, 8).stream = 2;
        task(b, 8).order = task(b, 4).order;
        task(b, 8).phase = task(b, 4).phase;
      },
      "two communications have order 1");
  PlanBuilder good = pipelinePlan({});
  task(good, 8).order = task(good, 4).order;
  EXPECT_EQ(LoadedTestPlan(good).code, OF_STATUS_OK);
}

TEST(Schedule, RulesOfSchedules) {
  using B = PlanBuilder;
  auto steps = [](B &b, size_t i) -> std::vector<plan::Step> & {
    return b.entry().schedules[i]->steps;
  };
  expectRefused([](B &b) { b.entry().schedules[0]->placement = 9; },
                "schedule 0 names placement 9 of 3");
  expectRefused([&](B &b) { steps(b, 0)[0] = plan::Step(7, 0); },
                "schedule of placement 'mesh0' names phase 7 of 4");
  expectRefused([&](B &b) { steps(b, 0)[0] = plan::Step(1, 1); },
                "names action 1 of phase 'forward', expected 0");
  expectRefused([&](B &b) { steps(b, 0).push_back(plan::Step(1, 4)); },
                "names action 4 of phase 'forward', expected no more than 4");
  expectRefused([&](B &b) { steps(b, 0).pop_back(); },
                "the schedule of rank 0 names 3 actions of phase 'backward', "
                "whose task 'chain_add_one9' acts 4 times");
  expectRefused([&](B &b) { steps(b, 1).clear(); },
                "the schedule of rank 1 names 0 actions of phase 'begin'");
  expectRefused(
      [&](B &b) {
        // On both ranks, of which the first has another one.
        b.schedule(2, {0, 1, 1, 1, 1, 2, 2, 2, 2});
      },
      "rank 0 has two schedules that differ");
  // The same under another name does no harm.
  PlanBuilder good = pipelinePlan({});
  uint32_t twin = good.placement({1}, 0);
  good.entry().schedules.push_back(
      std::make_unique<plan::ScheduleT>(*good.entry().schedules[0]));
  good.entry().schedules.back()->placement = twin;
  LoadedTestPlan loaded(good);
  EXPECT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
}

TEST(Schedule, WhatWouldNeverEndIsRefused) {
  // All forward passes before the first backward pass need a slot each.
  PipelineOptions options;
  options.allForwardFirst = true;
  expectRefused([](PlanBuilder &b) { b.entry().registers[5]->slots = 3; },
                "form a cycle; it would never end: action ", options);
  // A backward pass in front of its forward pass, on either rank.
  for (size_t i : {0, 1})
    expectRefused(
        [i](PlanBuilder &b) {
          auto &steps = b.entry().schedules[i]->steps;
          for (auto &step : steps)
            if (step.phase() == 1 || step.phase() == 2)
              step = plan::Step(3 - step.phase(), step.action());
        },
        "cycle");
  // The first rank wants gradients before it sends what they come from, the
  // second would send them later only: neither order alone is wrong.
  expectRefused(
      [](PlanBuilder &b) {
        auto &first = b.entry().schedules[0]->steps;
        // F0 B0 F1 B1 ... on the first, F0 F1 B0 ... on the second.
        first.clear();
        for (uint32_t k = 0; k < 4; ++k) {
          first.emplace_back(1, k);
          first.emplace_back(2, k);
        }
        auto &second = b.entry().schedules[1]->steps;
        second = {plan::Step(0, 0)};
        for (auto [phase, k] :
             {std::pair(1, 0), std::pair(1, 1), std::pair(2, 0),
              std::pair(1, 2), std::pair(2, 1), std::pair(1, 3),
              std::pair(2, 2), std::pair(2, 3)})
          second.emplace_back(phase, k);
      },
      "which waits for");
}

// The check of cycles, held against a simulation of the same graph.
TEST(Schedule, ARandomGraphIsRefusedIfItsSimulationStops) {
  std::mt19937 random(5);
  int good = 0, bad = 0;
  for (int round = 0; round < 600; ++round) {
    PlanBuilder b;
    uint32_t mesh = b.placement({1});
    runtime::ActorGraph graph;
    static constexpr uint32_t rates[] = {1, 2, 4, 4};
    uint32_t phases = 1 + random() % 4;
    std::vector<uint32_t> steps;
    for (uint32_t p = 0; p < phases; ++p) {
      uint32_t actions = rates[random() % 4];
      b.phase("p" + std::to_string(p), actions);
      steps.insert(steps.end(), actions, p);
    }
    // In parts only, so that not all are bad.
    for (size_t swap = 0; steps.size() > 1 && swap < steps.size(); ++swap) {
      size_t at = random() % (steps.size() - 1);
      std::swap(steps[at], steps[at + 1]);
    }
    b.schedule(mesh, steps);
    uint32_t count = 2 + random() % 5;
    std::vector<uint32_t> phaseOf, streamOf;
    for (uint32_t i = 0; i < count; ++i) {
      // Sorted, mostly, so that forward edges go forward in phases.
      phaseOf.push_back(random() % 4 ? i * phases / count : random() % phases);
      streamOf.push_back(random() % 2);
      runtime::ActorSpec actor;
      actor.actions = b.entry().phases[phaseOf[i]]->actions;
      graph.actors.push_back(actor);
    }
    addRandomRegisters(graph, random);
    std::vector<std::vector<uint32_t>> inputs(count), outputs(count);
    for (const runtime::RegisterSpec &reg : graph.registers) {
      uint32_t index = b.reg(0, reg.slots);
      b.entry().registers[index]->fills = static_cast<uint32_t>(reg.fills);
      outputs[reg.producer].push_back(index);
      for (uint32_t consumer : reg.consumers)
        inputs[consumer].push_back(index);
    }
    for (uint32_t i = 0; i < count; ++i) {
      b.inPhase(phaseOf[i]);
      b.chain("chain_nothing", mesh, {}, inputs[i], outputs[i], streamOf[i]);
    }
    graph.orders.emplace_back();
    for (uint32_t phase : steps)
      for (uint32_t i = 0; i < count; ++i)
        if (phaseOf[i] == phase && streamOf[i] == 1)
          graph.orders[0].push_back(i);
    std::vector<uint32_t> trace;
    bool ends = simulate(graph, random, trace);
    LoadedTestPlan plan(b);
    ASSERT_EQ(plan.code, ends ? OF_STATUS_OK : OF_STATUS_INVALID_PLAN)
        << round << ": " << plan.message;
    ++(ends ? good : bad);
    if (ends) {
      TestSession session(plan);
      ASSERT_EQ(session.run({}, {}).code, OF_STATUS_OK);
      of_counters_t counters = {};
      counters.struct_size = sizeof(counters);
      of_session_get_counters(session.session, &counters);
      ASSERT_EQ(counters.actions, trace.size());
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 100);
}

// A time axis of one rank: parts of 10 rows, (3, 3, 2, 2), and of what else is
// split.
TEST(Schedule, UnevenPartsOfATensorThatIsSplitTwice) {
  for (uint32_t ranks : {1u, 2u, 3u}) {
    PlanBuilder b;
    uint32_t mesh = b.timedPlacement(4, {ranks});
    b.scalar(plan::ScalarKind::Extent, 20, mesh, {{0, 2}, {1, 2}});
    b.phase("all", 4);
    auto parts = [&] {
      return PlanBuilder::layout(mesh, {10, 2}, {split(0), split(0)});
    };
    auto whole = [&] {
      return PlanBuilder::layout(mesh, {10, 2}, {split(0), broadcast()});
    };
    uint32_t x = b.input("x", parts(), 24, 2), h = b.reg(24, 2),
             y = b.reg(24, 2);
    b.chain("chain_add_one", mesh, {b.inRegister(x), b.inRegister(h)}, {x},
            {h});
    b.exchange(parts(), whole(), h, y);
    b.output("y", whole(), y);
    LoadedTestPlan plan(b);
    ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
    TestSession session(plan);
    Tensor in({10, 2}), out({10, 2});
    for (size_t i = 0; i < 20; ++i)
      in.values[i] = static_cast<float>(i);
    for (int step = 0; step < 10; ++step) {
      out.values.assign(20, 0);
      Outcome outcome = session.run({&in}, {&out});
      ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
      for (size_t i = 0; i < 20; ++i)
        ASSERT_EQ(out.values[i], static_cast<float>(i + 1)) << i;
    }
  }
}

// Columns instead of rows, a collective whose extent is that of the part at
// hand, and a Partial input along time, of which the first part has the value.
TEST(Schedule, CollectivesAndPartialInputsOverTime) {
  PlanBuilder b;
  uint32_t mesh = b.timedPlacement(3, {2});
  b.scalar(plan::ScalarKind::Constant, 1);
  b.scalar(plan::ScalarKind::Coordinate, 0, mesh, {{0, 1}});
  uint32_t columns = b.scalar(plan::ScalarKind::Extent, 7, mesh, {{0, 1}});
  b.phase("all", 3);
  uint32_t x =
      b.input("x", PlanBuilder::layout(mesh, {4, 7}, {split(1), split(0)}), 24);
  uint32_t z =
      b.input("z", PlanBuilder::layout(mesh, {1}, {partial(), broadcast()}), 4);
  uint32_t y = b.reg(48), total = b.reg(4);
  b.entry().registers[total]->fills = 1;
  plan::CollectiveBodyT body;
  body.kind = plan::CollectiveKind::AllGather;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {1};
  body.shape = {plan::Extent(-1, 4),
                plan::Extent(static_cast<int32_t>(columns), 0)};
  body.source_dim = 0;
  b.collective(std::move(body), x, y);
  b.chain("chain_sum_over_time", mesh, {b.inRegister(z), b.inRegister(total)},
          {z}, {total});
  b.output("y", PlanBuilder::layout(mesh, {4, 7}, {split(1), broadcast()}), y);
  b.phase("end", 1);
  b.output("total", PlanBuilder::layout(mesh, {1}, {broadcast(), broadcast()}),
           total);
  LoadedTestPlan plan(b);
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  TestSession session(plan);
  ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
  Tensor in({4, 7}), out({4, 7}), one({1}, {5}), sum({1});
  for (size_t i = 0; i < 28; ++i)
    in.values[i] = static_cast<float>(i);
  Outcome outcome = session.run({&in, &one}, {&out, &sum});
  ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
  EXPECT_EQ(out.values, in.values);
  EXPECT_EQ(sum.values[0], 5);
  // A collective along time there is not.
  b.entry().tasks[2]->body.AsCollectiveBody()->axes = {0, 1};
  LoadedTestPlan wrong(b);
  EXPECT_NE(wrong.message.find("is a collective along time"), std::string::npos)
      << wrong.message;
}

// Bytes of addresses that the process has mapped.
static uint64_t mappedBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// The target of the transfer lies 2 GiB behind all else; it is memory of the
// second rank only, and never touched but for its first bytes.
TEST(Schedule, ARankAllocatesWhatItsTasksTouch) {
  constexpr uint64_t far = uint64_t(2) << 30;
  PlanBuilder b = pipelinePlan({});
  b.entry().registers[4]->offset = far;
  b.entry().arena_bytes = far + (1 << 20);
  LoadedTestPlan plan(b);
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  uint64_t before = mappedBytes();
  TestSession session(plan);
  ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
  // Besides, threads have stacks.
  EXPECT_GE(mappedBytes() - before, far);
  EXPECT_LT(mappedBytes() - before, 2 * far);
  // Of no task: nobody's memory.
  PlanBuilder unused = pipelinePlan({});
  unused.entry().arena_bytes = uint64_t(1) << 60;
  LoadedTestPlan light(unused);
  ASSERT_EQ(light.code, OF_STATUS_OK) << light.message;
  EXPECT_EQ(TestSession(light).code, OF_STATUS_OK);
}

// Damage that the checksum cannot see, in what only such plans have.
TEST(Schedule, AnyGraphLoadsOrFails) {
  PipelineOptions options;
  options.microBatches = 2;
  options.count = 3;
  PlanBuilder builder = pipelinePlan(options);
  std::vector<uint8_t> graph = builder.graphBytes();
  std::mt19937 random(7);
  int loaded = 0;
  size_t stride = std::getenv("ONEFLOW_TEST_THOROUGH") ? 1 : 17;
  for (size_t i = 0; i < 4 * graph.size(); i += stride) {
    std::vector<uint8_t> damaged = graph;
    damaged[i / 4] = i % 4 == 0   ? 0
                     : i % 4 == 1 ? 0xff
                     : i % 4 == 2 ? static_cast<uint8_t>(graph[i / 4] + 1)
                                  : static_cast<uint8_t>(random());
    LoadedTestPlan plan(
        writeContainer({{plan::SectionKind::Graph, damaged},
                        {plan::SectionKind::CpuCode, PlanBuilder::kernels()},
                        {plan::SectionKind::Data, builder.data}}));
    if (!plan.plan)
      continue;
    ++loaded;
    if (of_plan_get_rank_count(plan.plan) <= 16 &&
        of_plan_get_arena_bytes(plan.plan, 0) < (1u << 20))
      TestSession session(plan);
  }
  EXPECT_GT(loaded, 0);
}

// The slices of a row of the trace, in order: names and micro-batches.
static std::vector<std::string> rowOf(const std::string &trace, int rank,
                                      int stream) {
  std::vector<std::string> row;
  std::string place = "\"pid\":" + std::to_string(rank) +
                      ",\"tid\":" + std::to_string(stream) + ",\"ts\"";
  auto valueOf = [](const std::string &line, const std::string &key) {
    size_t at = line.find("\"" + key + "\":");
    if (at == std::string::npos)
      return std::string();
    at += key.size() + 3;
    size_t end = line.find_first_of(",}", at);
    return line.substr(at, end - at);
  };
  for (size_t at = 0, end; at < trace.size(); at = end + 1) {
    end = std::min(trace.find('\n', at), trace.size());
    std::string line = trace.substr(at, end - at);
    if (line.find(place) == std::string::npos ||
        line.find("\"cat\":\"action\"") == std::string::npos)
      continue;
    row.push_back(valueOf(line, "name") + valueOf(line, "phase") +
                  valueOf(line, "micro_batch"));
  }
  return row;
}

TEST(Schedule, TheTraceSaysWhichMicroBatch) {
  LoadedTestPlan plan(pipelinePlan({}));
  TestSession session(plan);
  Tensor x({10}), v({1}), y({10}), total({1});
  x.values.assign(10, 1);
  of_session_start_trace(session.session, 100);
  ASSERT_EQ(session.run({&v, &x}, {&y, &total}).code, OF_STATUS_OK);
  TemporaryFile file;
  ASSERT_EQ(Outcome(of_session_write_trace(session.session, file.c_str())).code,
            OF_STATUS_OK);
  std::vector<uint8_t> bytes = readFile(file.c_str());
  std::string trace(bytes.begin(), bytes.end());
  // 1F1B, as the schedule says.
  std::vector<std::string> expected;
  auto forward = [&](int k) {
    expected.push_back("\"chain_check_index3\"\"forward\"" + std::to_string(k));
  };
  auto backward = [&](int k) {
    expected.push_back("\"chain_add_one9\"\"backward\"" + std::to_string(k));
  };
  forward(0);
  for (int k = 1; k < 4; ++k) {
    forward(k);
    backward(k - 1);
  }
  backward(3);
  EXPECT_EQ(rowOf(trace, 0, 1), expected);
  expected = {"\"chain_add_one_to_first1\"\"begin\""};
  for (int k = 0; k < 4; ++k) {
    expected.push_back("\"chain_add_first5\"\"forward\"" + std::to_string(k));
    expected.push_back("\"chain_sum_over_time6\"\"forward\"" +
                       std::to_string(k));
    expected.push_back("\"chain_add_one7\"\"backward\"" + std::to_string(k));
  }
  EXPECT_EQ(rowOf(trace, 1, 1), expected);
  // The transfer has a row of its own on both ranks; parts of 3, 3, 2, 2.
  expected.clear();
  for (int k = 0; k < 4; ++k)
    expected.push_back("\"exchange4\"\"forward\"" + std::to_string(k));
  EXPECT_EQ(rowOf(trace, 0, 3), expected);
  EXPECT_EQ(rowOf(trace, 1, 3), expected);
  for (const char *bytesSent : {"\"bytes\":12,", "\"bytes\":8,"})
    EXPECT_NE(trace.find(bytesSent), std::string::npos);
}
