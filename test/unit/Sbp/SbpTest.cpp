//===- SbpTest.cpp - states of tensors --------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text form, the legality rules and the geometry of SBP states.
//
//===----------------------------------------------------------------------===//

#include "Simulate.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

using namespace oneflow::sbp;
using namespace oneflow::sbp::test;

static const Sbp B = Sbp::broadcast();
static const Sbp P = Sbp::partial();
static Sbp S(int64_t dim, int64_t block = 1) { return Sbp::split(dim, block); }

TEST(SbpText, PrintsEveryKind) {
  EXPECT_EQ(toString(B), "B");
  EXPECT_EQ(toString(S(1)), "S(1)");
  EXPECT_EQ(toString(S(0, 64)), "S(0, block = 64)");
  EXPECT_EQ(toString(Sbp::partial(Reducer::Max)), "P(max)");
  EXPECT_EQ(toString(NdSbp{S(0), B}), "[S(0), B]");
  EXPECT_EQ(toString(NdSbp{}), "[]");
}

TEST(SbpText, ParsesWhatItPrints) {
  std::vector<Sbp> all{B, S(0), S(7), S(2, 64)};
  for (Reducer reducer :
       {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod})
    all.push_back(Sbp::partial(reducer));
  for (const Sbp &sbp : all) {
    std::optional<Sbp> parsed = parseSbp(toString(sbp));
    ASSERT_TRUE(parsed) << toString(sbp);
    EXPECT_EQ(*parsed, sbp);
  }
  EXPECT_EQ(parseSbp(" P "), P);
  EXPECT_EQ(parseSbp("P ( max )"), Sbp::partial(Reducer::Max));
  EXPECT_EQ(parseSbp("S( 1 ,block=4 ) "), S(1, 4));
}

TEST(SbpText, RefusesWithAReason) {
  for (const char *text :
       {"", "X", "S", "S()", "S(-1)", "S(1", "S(1,)", "S(1, block)",
        "S(1, block=0)", "S(1, block=)", "P(", "P()", "P(avg)", "P(sum", "B B",
        "b", "S(99999999999999999999)", "S(1))", "Bx"}) {
    std::string error;
    EXPECT_FALSE(parseSbp(text, &error)) << text;
    EXPECT_NE(error.find("expected"), std::string::npos) << text;
  }
}

TEST(SbpOrder, IsTotal) {
  std::set<Sbp> states{B, S(0), S(1), S(0, 2), P, Sbp::partial(Reducer::Max)};
  EXPECT_EQ(states.size(), 6u);
  EXPECT_TRUE(states.count(S(0, 2)));
  EXPECT_FALSE(states.count(S(1, 2)));
}

TEST(SbpMesh, CountsTheLastAxisFastest) {
  Mesh mesh{2, 3};
  EXPECT_EQ(rankCount(mesh), 6);
  EXPECT_EQ(rankCount({}), 1);
  EXPECT_EQ(coordinates(mesh, 0), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(coordinates(mesh, 4), (std::vector<int64_t>{1, 1}));
}

static void expectIllegal(const char *rule, const NdSbp &sbp,
                          const Shape &shape, const Mesh &mesh) {
  std::optional<std::string> reason = checkLegal(sbp, shape, mesh);
  ASSERT_TRUE(reason) << toString(sbp);
  EXPECT_EQ(reason->substr(0, 6), rule) << *reason;
}

TEST(SbpLegal, NamesTheRule) {
  expectIllegal("sbp_c1", {B}, {4}, {2, 2});
  expectIllegal("sbp_c1", {B}, {4}, {0});
  expectIllegal("sbp_c2", {S(1)}, {4}, {2});
  expectIllegal("sbp_c2", {S(-1)}, {4}, {2});
  expectIllegal("sbp_c2", {S(0)}, {}, {2});
  expectIllegal("sbp_c2", {S(0, 3)}, {8}, {2});
  expectIllegal("sbp_c2", {S(0, 0)}, {8}, {2});
  expectIllegal("sbp_c3", {S(0)}, {2}, {3});
  expectIllegal("sbp_c3", {S(0, 4)}, {8}, {3});
  // 7 over 2 leaves 4 and 3: enough for 3 parts, not for 4.
  EXPECT_FALSE(checkLegal({S(0), S(0)}, {7}, {2, 3}));
  expectIllegal("sbp_c3", {S(0), S(0)}, {7}, {2, 4});
  // 12 over 3 in blocks of 2 leaves 4 each; over 4 it leaves 4, 4, 2, 2.
  EXPECT_FALSE(checkLegal({S(0, 2), S(0, 4)}, {12}, {3, 1}));
  expectIllegal("sbp_c2", {S(0, 2), S(0, 4)}, {12}, {4, 1});
  expectIllegal("sbp_c4", {P, Sbp::partial(Reducer::Max)}, {4}, {2, 2});
  EXPECT_FALSE(checkLegal({P, P}, {4}, {2, 2}));
  EXPECT_FALSE(checkLegal({P, B}, {}, {2, 2}));
}

TEST(SbpLegal, SaysWhatIsWrong) {
  EXPECT_EQ(*checkLegal({S(1)}, {8, 2}, {3}),
            "sbp_c3: expected at least 3 blocks of dimension 1 along mesh axis "
            "0, got: 2 of S(1) in extent 2");
}

TEST(SbpGeometry, SplitsUnevenlyAndInBlocks) {
  auto at = [](const NdSbp &sbp, const Shape &shape, const Mesh &mesh,
               std::vector<int64_t> coords) {
    return localIntervals(sbp, shape, mesh, coords)[0];
  };
  EXPECT_EQ(at({S(0)}, {7}, {3}, {0}), (Interval{0, 3}));
  EXPECT_EQ(at({S(0)}, {7}, {3}, {2}), (Interval{5, 2}));
  // 12 heads of 64 over 5 ranks: 3, 3, 2, 2, 2 heads.
  EXPECT_EQ(at({S(0, 64)}, {768}, {5}, {1}), (Interval{192, 192}));
  EXPECT_EQ(at({S(0, 64)}, {768}, {5}, {4}), (Interval{640, 128}));
  // 7 over 2 is 4 + 3, then each over 2; not 2 + 2 + 2 + 1 of a split over 4.
  EXPECT_EQ(at({S(0), S(0)}, {7}, {2, 2}, {1, 0}), (Interval{4, 2}));
  EXPECT_EQ(ceilingShape({S(0), B}, {7, 5}, {2, 2}), (Shape{4, 5}));
}

/// Every legal state partitions what it splits, and ceilingShape and isEven
/// agree with what the ranks hold.
TEST(SbpGeometry, AgreesWithAllRanks) {
  Random random(1);
  std::vector<Sbp> choices{B, P, S(0), S(1), S(0, 2)};
  size_t legal = 0;
  for (const Mesh &mesh : {Mesh{2, 2}, Mesh{2, 3}, Mesh{4, 1}}) {
    for (const Shape &shape : {Shape{8, 6}, Shape{7, 5}, Shape{10, 9}}) {
      for (const Sbp &first : choices) {
        for (const Sbp &second : choices) {
          NdSbp sbp{first, second};
          if (checkLegal(sbp, shape, mesh))
            continue;
          ++legal;
          Tensor global = randomTensor(shape, random);
          std::vector<Tensor> ranks = scatter(global, sbp, mesh, random);
          std::optional<Tensor> whole = assemble(ranks, sbp, shape, mesh);
          ASSERT_TRUE(whole) << toString(sbp);
          EXPECT_EQ(*whole, global) << toString(sbp);
          Shape ceiling(shape.size(), 0);
          bool even = true;
          for (const Tensor &rank : ranks) {
            even &= rank.shape == ranks.front().shape;
            for (size_t dim = 0; dim < shape.size(); ++dim)
              ceiling[dim] = std::max(ceiling[dim], rank.shape[dim]);
          }
          EXPECT_EQ(ceilingShape(sbp, shape, mesh), ceiling) << toString(sbp);
          EXPECT_EQ(isEven(sbp, shape, mesh), even) << toString(sbp);
        }
      }
    }
  }
  EXPECT_GT(legal, 150u);
}

TEST(SbpReducer, NeutralElements) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(neutralElement(Reducer::Sum), 0);
  EXPECT_EQ(neutralElement(Reducer::Max), -kInfinity);
  EXPECT_EQ(neutralElement(Reducer::Min), kInfinity);
  EXPECT_EQ(neutralElement(Reducer::Prod), 1);
}
