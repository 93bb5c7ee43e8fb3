//===- TokenGraphTest.cpp - what waits for what ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random graphs of two placements, played token by token: the token graph has a
// cycle where the play gets stuck, and says that a is before b where b never
// acts when a does not.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/Lifetimes.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace oneflow::actor;
using namespace mlir;

namespace {

enum class Kind { Host, Compute, Comm, Transfer };

struct RandomTask {
  Kind kind;
  /// Of a transfer the source; its target is the other one.
  int placement, phase;
  std::vector<int> waits, posts;
};

struct RandomRegister {
  int producer, slots, fills;
  std::vector<int> consumers;
};

/// An actor graph, and the rules of Plan.fbs by which it is played.
class Game {
public:
  Game(std::mt19937 &random, int placements);

  std::string print() const;
  bool isOn(int task, int placement) const {
    return tasks[task].kind == Kind::Transfer ||
           tasks[task].placement == placement;
  }
  int actions(int task) const { return phases[tasks[task].phase]; }
  int node(int task, int action) const { return first[task] + action; }
  int nodeCount() const { return first.back(); }

  /// Which nodes act when `blocked` never does; of one placement's ranks alone,
  /// where `only` names one.
  std::vector<char> play(int only = -1, int blocked = -1) const;

  std::vector<int> phases;
  std::vector<RandomTask> tasks;
  std::vector<RandomRegister> registers;
  std::vector<int> first;

private:
  /// Orders of nodes that act one after the other.
  std::vector<std::vector<int>> orders(int only) const;

  int placements;
  /// By placement: phase and action.
  std::vector<std::vector<std::pair<int, int>>> schedules;
};

Game::Game(std::mt19937 &random, int placements) : placements(placements) {
  auto draw = [&](int low, int high) {
    return low + int(random() % unsigned(high - low + 1));
  };
  const int counts[] = {1, 2, 4};
  for (int phase = draw(1, 3); phase > 0; --phase)
    phases.push_back(counts[draw(0, 2)]);
  int count = draw(2, 7);
  for (int task = 0; task < count; ++task) {
    int kind = draw(0, placements == 1 ? 2 : 4);
    tasks.push_back({kind < 3 ? Kind(kind) : Kind::Transfer,
                     draw(0, placements - 1),
                     draw(0, phases.size() - 1),
                     {},
                     {}});
  }
  for (int tries = draw(1, 12); tries > 0; --tries) {
    int producer = draw(0, count - 1), consumer = draw(0, count - 1);
    // Against the order of the tasks now and then: these may be deadlocks.
    if (producer > consumer && draw(0, 7) != 0)
      std::swap(producer, consumer);
    bool meet = false;
    for (int placement = 0; placement < placements; ++placement)
      meet |= isOn(producer, placement) && isOn(consumer, placement);
    if (producer == consumer || !meet)
      continue;
    int most = std::gcd(actions(producer), actions(consumer));
    int fills = counts[draw(0, 2)];
    if (most % fills != 0)
      fills = most;
    RandomRegister reg{producer, draw(1, 3), fills, {consumer}};
    int other = draw(0, count - 1);
    if (other > producer && other != consumer && isOn(other, 0) &&
        isOn(producer, 0) && actions(other) % fills == 0 && draw(0, 1))
      reg.consumers.push_back(other);
    tasks[producer].posts.push_back(registers.size());
    for (int each : reg.consumers)
      tasks[each].waits.push_back(registers.size());
    registers.push_back(reg);
  }
  for (int placement = 0; placement < placements; ++placement) {
    schedules.emplace_back();
    std::vector<int> next(phases.size(), 0);
    for (int left = std::accumulate(phases.begin(), phases.end(), 0);
         left > 0;) {
      int phase = draw(0, phases.size() - 1);
      if (next[phase] == phases[phase] || (phase > 0 && draw(0, 2) == 0))
        continue;
      schedules.back().push_back({phase, next[phase]++});
      --left;
    }
  }
  first.push_back(0);
  for (int task = 0; task < count; ++task)
    first.push_back(first.back() + actions(task));
}

std::vector<std::vector<int>> Game::orders(int only) const {
  std::vector<std::vector<int>> lists;
  for (int placement = 0; placement < placements; ++placement)
    for (Kind kind : {Kind::Compute, Kind::Comm}) {
      lists.emplace_back();
      for (auto [phase, action] : schedules[placement])
        for (int task = 0; task < int(tasks.size()); ++task)
          if (tasks[task].kind == kind && tasks[task].phase == phase &&
              tasks[task].placement == placement)
            lists.back().push_back(node(task, action));
    }
  for (int source = 0; source < 2; ++source)
    for (int phase = 0; phase < int(phases.size()); ++phase) {
      lists.emplace_back();
      for (int action = 0; action < phases[phase]; ++action)
        for (int task = 0; task < int(tasks.size()); ++task)
          if (tasks[task].kind == Kind::Transfer &&
              tasks[task].phase == phase && tasks[task].placement == source)
            lists.back().push_back(node(task, action));
    }
  for (int task = 0; task < int(tasks.size()); ++task)
    if (tasks[task].kind == Kind::Host) {
      lists.emplace_back();
      for (int action = 0; action < actions(task); ++action)
        lists.back().push_back(node(task, action));
    }
  return lists;
}

std::vector<char> Game::play(int only, int blocked) const {
  std::vector<char> acted(nodeCount(), 0);
  std::vector<std::vector<int>> lists = orders(only);
  std::vector<size_t> front(lists.size(), 0);
  std::vector<int> taskOf(nodeCount());
  for (int task = 0; task < int(tasks.size()); ++task)
    for (int action = 0; action < actions(task); ++action)
      taskOf[node(task, action)] = task;
  auto plays = [&](int task) { return only < 0 || isOn(task, only); };
  std::vector<int> made(registers.size(), 0), done(tasks.size(), 0);
  auto released = [&](const RandomRegister &reg, int producerFill) {
    int least = producerFill;
    for (int consumer : reg.consumers)
      if (plays(consumer))
        least =
            std::min(least, done[consumer] / (actions(consumer) / reg.fills));
    return least;
  };
  auto canAct = [&](int task) {
    for (int index : tasks[task].waits) {
      const RandomRegister &reg = registers[index];
      if (plays(reg.producer) &&
          made[index] <= done[task] / (actions(task) / reg.fills))
        return false;
    }
    for (int index : tasks[task].posts) {
      const RandomRegister &reg = registers[index];
      if (made[index] - released(reg, made[index]) >= reg.slots)
        return false;
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t list = 0; list < lists.size(); ++list) {
      while (front[list] < lists[list].size() &&
             !plays(taskOf[lists[list][front[list]]]))
        ++front[list];
      if (front[list] == lists[list].size())
        continue;
      int next = lists[list][front[list]], task = taskOf[next];
      if (next == blocked || !canAct(task))
        continue;
      acted[next] = 1;
      ++front[list];
      ++done[task];
      for (int index : tasks[task].posts)
        if (done[task] % (actions(task) / registers[index].fills) == 0)
          ++made[index];
      moved = true;
    }
  }
  return acted;
}

std::string Game::print() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "oneflow.placement @p0 cpu [dp = 2]\n"
        "oneflow.placement @p1 cpu [dp = 2] from 2\n"
        "actor.graph @g {\n";
  for (auto [phase, actions] : llvm::enumerate(phases))
    os << "actor.phase \"p" << phase << "\" actions " << actions << "\n";
  for (auto [placement, steps] : llvm::enumerate(schedules)) {
    os << "actor.schedule on @p" << placement << " [";
    llvm::interleaveComma(steps, os, [&](const std::pair<int, int> &step) {
      os << "\"p" << step.first << "\"";
    });
    os << "] actions [";
    llvm::interleaveComma(
        steps, os, [&](const std::pair<int, int> &step) { os << step.second; });
    os << "]\n";
  }
  for (auto [index, reg] : llvm::enumerate(registers))
    os << "%r" << index << " = actor.register \"r" << index << "\" slots "
       << reg.slots << " bytes 64 fills " << reg.fills << "\n";
  for (size_t task = 0; task < tasks.size(); ++task)
    os << "%s" << task << " = actor.scratch \"s\" bytes 64\n";
  auto list = [&](StringRef word, ArrayRef<int> indices) {
    if (indices.empty())
      return;
    os << " " << word << "(";
    llvm::interleaveComma(indices, os, [&](int index) { os << "%r" << index; });
    os << ")";
  };
  const char *streams[] = {"host", "compute", "comm", "transfer"};
  const StringRef layout = "<tensor<16xf32>, @p";
  for (auto [index, task] : llvm::enumerate(tasks)) {
    os << "actor.task \"t" << index << "\" on @p" << task.placement << " "
       << streams[int(task.kind)] << " phase \"p" << task.phase << "\"";
    if (task.kind == Kind::Comm || task.kind == Kind::Transfer)
      os << " order " << index + 1;
    list("waits", task.waits);
    list("posts", task.posts);
    os << " {\n";
    if (task.kind == Kind::Compute) {
      os << "actor.launch @k \"k\" (";
      std::vector<int> all = task.waits;
      all.insert(all.end(), task.posts.begin(), task.posts.end());
      llvm::interleaveComma(all, os, [&](int reg) { os << "%r" << reg; });
      os << ") results from " << task.waits.size() << " scalars []\n";
    } else if (task.kind == Kind::Comm) {
      os << "actor.collective all_reduce sum %s" << index << " to %s" << index
         << " f32 [16] over [0]\n";
    } else if (task.kind == Kind::Transfer) {
      os << "actor.exchange %s" << index << " " << layout << task.placement
         << ", <[B]>> to %s" << index << " " << layout << 1 - task.placement
         << ", <[B]>>\n";
    }
    os << "}\n";
  }
  os << "}\n";
  return text;
}

class TokenGraphTest : public testing::Test {
protected:
  TokenGraphTest() {
    DialectRegistry registry;
    registry.insert<oneflow::OneFlowDialect, oneflow::comm::CommDialect,
                    ActorDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  GraphOp parse(const Game &game) {
    module = parseSourceString<ModuleOp>(game.print(), &context);
    return module ? *module->getOps<GraphOp>().begin() : GraphOp();
  }
  static int64_t node(const TokenGraph &tokens, const Game &game, int index) {
    int task = 0;
    while (game.first[task + 1] <= index)
      ++task;
    return tokens.getNode(task, index - game.first[task]);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// The uses of a register's instances, as nodes.
std::vector<std::vector<int>> instancesOf(const Game &game, int index) {
  const RandomRegister &reg = game.registers[index];
  std::vector<std::vector<int>> instances(reg.slots == 1 ? reg.fills : 1);
  std::vector<int> users = reg.consumers;
  users.push_back(reg.producer);
  for (int user : users)
    if (game.tasks[user].kind == Kind::Compute)
      for (int action = 0; action < game.actions(user); ++action)
        instances[reg.slots == 1 ? action * reg.fills / game.actions(user) : 0]
            .push_back(game.node(user, action));
  return instances;
}

} // namespace

TEST_F(TokenGraphTest, HasACycleWhereThePlayGetsStuck) {
  std::mt19937 random(1);
  int stuck = 0, rounds = 600;
  for (int round = 0; round < rounds; ++round) {
    Game game(random, 1 + round % 2);
    GraphOp graph = parse(game);
    ASSERT_TRUE(graph) << game.print();
    std::vector<char> acted = game.play();
    bool ends = !llvm::is_contained(acted, char(0));
    TokenGraph tokens(graph);
    SmallVector<Wait> cycle = tokens.findCycle();
    EXPECT_EQ(cycle.empty(), ends) << game.print();
    for (size_t i = 0; i < cycle.size(); ++i)
      EXPECT_EQ(cycle[i].after, cycle[(i + 1) % cycle.size()].before);
    stuck += !ends;
  }
  EXPECT_GT(stuck, rounds / 10);
  EXPECT_LT(stuck, rounds * 9 / 10);
}

TEST_F(TokenGraphTest, SaysBeforeWhereNothingElseCanHappen) {
  std::mt19937 random(2);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    int placements = 1 + round % 2;
    Game game(random, placements);
    GraphOp graph = parse(game);
    ASSERT_TRUE(graph) << game.print();
    TokenGraph tokens(graph);
    if (!tokens.findCycle().empty())
      continue;
    for (unsigned group = 0; group < tokens.getTimetable().getGroupCount();
         ++group) {
      std::vector<std::vector<char>> before(game.nodeCount());
      std::vector<int> taskOf;
      for (int task = 0; task < int(game.tasks.size()); ++task)
        taskOf.resize(game.first[task + 1], task);
      for (int a = 0; a < game.nodeCount(); ++a) {
        before[a] = game.play(group, a);
        for (char &acted : before[a])
          acted = !acted;
        for (int b = 0; b < game.nodeCount(); ++b) {
          if (a == b || !game.isOn(taskOf[a], group) ||
              !game.isOn(taskOf[b], group))
            continue;
          ++compared;
          EXPECT_EQ(tokens.isBefore(group, node(tokens, game, a),
                                    node(tokens, game, b)),
                    bool(before[a][b]))
              << a << " " << b << game.print();
        }
      }
      // And so for buffers.
      Lifetimes times(tokens, group);
      SmallVector<RegisterOp> ops(graph.getOps<RegisterOp>());
      auto allBefore = [&](const std::vector<int> &x,
                           const std::vector<int> &y) {
        return llvm::all_of(x, [&](int one) {
          return llvm::all_of(
              y, [&](int other) { return one != other && before[one][other]; });
        });
      };
      for (size_t a = 0; a < ops.size(); ++a)
        for (size_t b = 0; b < a; ++b) {
          Lifetime one = times.getLifetime(ops[a].getResult());
          Lifetime other = times.getLifetime(ops[b].getResult());
          if (one.spans.empty() || other.spans.empty())
            continue;
          bool apart = true;
          for (const std::vector<int> &x : instancesOf(game, a))
            for (const std::vector<int> &y : instancesOf(game, b))
              apart &= allBefore(x, y) || allBefore(y, x);
          EXPECT_EQ(times.areApart(one, other), apart)
              << a << " " << b << game.print();
        }
    }
  }
  EXPECT_GT(compared, 10000);
}
