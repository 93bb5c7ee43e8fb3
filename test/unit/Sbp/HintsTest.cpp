//===- HintsTest.cpp - hints by example -------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hints read as, which names patterns match, and which name is nearest.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Hints.h"
#include "oneflow/Sbp/CostModel.h"
#include "oneflow/Sbp/Rule.h"

#include <gtest/gtest.h>

using namespace oneflow::sbp;

TEST(Hints, Parse) {
  std::optional<Hint> hint = parseHint("fc1.weight=S(0)@tp");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "fc1.weight");
  EXPECT_EQ(hint->sbp, Sbp::split(0));
  EXPECT_EQ(hint->axis, "tp");
  EXPECT_EQ(hint->text, "fc1.weight=S(0)@tp");
}

TEST(Hints, ParseBlanksAndBlocks) {
  std::optional<Hint> hint = parseHint("  *.q = S(1, block = 64) @ tp ");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "*.q");
  EXPECT_EQ(hint->sbp, Sbp::split(1, 64));
  EXPECT_EQ(hint->axis, "tp");
}

TEST(Hints, ParseNamesWithSigns) {
  // Names of ONNX nodes may hold anything.
  std::optional<Hint> hint = parseHint("/a=b@c/MatMul=B@dp");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "/a=b@c/MatMul");
  EXPECT_EQ(hint->sbp, Sbp::broadcast());
  EXPECT_EQ(hint->axis, "dp");
}

TEST(Hints, ParseErrors) {
  for (const char *text : {"", "w", "w=S(0)", "w=S(0)@", "w@tp", "=S(0)@tp",
                           "w=@tp", "w=Q@tp", "w=S(@tp", "w=S(0)x@tp"}) {
    std::string error;
    EXPECT_FALSE(parseHint(text, &error)) << text;
    EXPECT_NE(error.find("expected PATTERN=SBP@AXIS, got: '" +
                         std::string(text) + "'"),
              std::string::npos)
        << error;
  }
}

TEST(Hints, Patterns) {
  EXPECT_TRUE(matchesPattern("fc1", "fc1"));
  EXPECT_FALSE(matchesPattern("fc1", "fc12"));
  EXPECT_FALSE(matchesPattern("fc12", "fc1"));
  EXPECT_TRUE(matchesPattern("*", ""));
  EXPECT_TRUE(matchesPattern("", ""));
  EXPECT_FALSE(matchesPattern("", "a"));
  EXPECT_FALSE(matchesPattern("?", ""));
  EXPECT_TRUE(matchesPattern("fc?.*", "fc1.weight"));
  EXPECT_FALSE(matchesPattern("fc?.*", "fc10.weight"));
  EXPECT_TRUE(matchesPattern("*.weight", "a.weight.weight"));
  EXPECT_TRUE(matchesPattern("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(matchesPattern("*a*b*", "xxbxxaxx"));
  EXPECT_TRUE(matchesPattern("a**b", "ab"));
  EXPECT_TRUE(matchesPattern("*ab", "aab"));
  EXPECT_FALSE(matchesPattern("a.b", "axb"));
}

TEST(Hints, NearestName) {
  std::vector<std::string> names = {"fc1.weight", "fc1.bias", "fc2.weight"};
  EXPECT_EQ(nearestName("fc2.wieght", names), "fc2.weight");
  EXPECT_EQ(nearestName("fc1.bas", names), "fc1.bias");
  // Wildcards stand for anything.
  EXPECT_EQ(nearestName("*.bais", names), "fc1.bias");
  EXPECT_EQ(nearestName("fc3.weight", names), "fc1.weight");
  EXPECT_EQ(nearestName("x", {}), "");
}

TEST(Layout, BlocksThatMakeNoDifference) {
  // 12 over 2: 6 and 6 in blocks of 1, 2, 3 or 6; blocks of 4 give 8 and 4.
  for (int64_t block : {2, 3, 6})
    EXPECT_TRUE(sameLayout({Sbp::split(0)}, {Sbp::split(0, block)}, {12}, {2}));
  EXPECT_FALSE(sameLayout({Sbp::split(0)}, {Sbp::split(0, 4)}, {12}, {2}));
  EXPECT_FALSE(sameLayout({Sbp::split(0)}, {Sbp::split(1)}, {12, 12}, {2}));
  EXPECT_FALSE(sameLayout({Sbp::split(0)}, {Sbp::broadcast()}, {12}, {2}));
  EXPECT_FALSE(
      sameLayout({Sbp::partial()}, {Sbp::partial(Reducer::Max)}, {12}, {2}));
}

TEST(Layout, CostIsThatOfBoxing) {
  CostModel model;
  model.link = {1, 8};
  // An all-gather of 16 floats over 2 ranks: one round, half of 64 bytes.
  EXPECT_DOUBLE_EQ(
      model.boxingSeconds(Sbp::split(0), Sbp::broadcast(), {16}, 4, 2),
      1 + 32 / 8.0);
  EXPECT_EQ(model.boxingSeconds(Sbp::split(0), Sbp::split(0, 4), {16}, 4, 2),
            0);
  EXPECT_EQ(model.boxingSeconds(Sbp::broadcast(), Sbp::split(0), {16}, 4, 2),
            0);
  EXPECT_DOUBLE_EQ(CostModel{}.computeSeconds(1e11, 5e10), 2);
}

TEST(Blocks, SignaturesInLargerBlocks) {
  OpRule rule;
  unsigned m = rule.addFactor("m", 12), n = rule.addFactor("n", 4);
  rule.operands = {{{m, n}}};
  rule.results = {{{m}, {n}}};
  std::vector<Signature> allowed = enumerateSignatures(rule);
  Signature plain{{Sbp::split(0, 4)}, {Sbp::split(0)}};
  Signature blocked{{Sbp::split(0, 12)}, {Sbp::split(0, 3)}};
  EXPECT_EQ(withBlocks(plain, 3), blocked);
  ASSERT_TRUE(findAllowed(allowed, plain));
  ASSERT_TRUE(findAllowed(allowed, blocked));
  EXPECT_EQ(*findAllowed(allowed, blocked), plain);
  // The splits must be at the same places.
  EXPECT_FALSE(findAllowed(allowed, {{Sbp::split(0, 12)}, {Sbp::split(0, 2)}}));
  EXPECT_FALSE(findAllowed(allowed, {{Sbp::split(0)}, {Sbp::split(0)}}));
  EXPECT_FALSE(checkSignature(rule,
                              {{{Sbp::split(0, 12)}}, {{Sbp::split(0, 3)}}},
                              {{48}}, {{12, 4}}, {2}));
  // Four blocks cannot be shared by five ranks.
  EXPECT_TRUE(checkSignature(rule,
                             {{{Sbp::split(0, 12)}}, {{Sbp::split(0, 3)}}},
                             {{48}}, {{12, 4}}, {5}));
}
