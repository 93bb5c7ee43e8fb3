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
#include "oneflow/Sbp/Quoted.h"
#include "oneflow/Sbp/Rule.h"

#include <gtest/gtest.h>

using namespace oneflow::sbp;

TEST(Hints, Open) {
  std::optional<Hint> hint = parseHint("fc1.weight=S(0)@tp");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "fc1.weight");
  EXPECT_FALSE(hint->isClosed());
  ASSERT_EQ(hint->sbps.size(), 1u);
  EXPECT_EQ(hint->sbps[0], Sbp::split(0));
  EXPECT_EQ(hint->axis, "tp");
  EXPECT_EQ(hint->text, "fc1.weight=S(0)@tp");
  EXPECT_EQ(hint->endpoint, Hint::Endpoint::Self);
  EXPECT_EQ(hint->describe(), "hint 'fc1.weight=S(0)@tp'");
}

TEST(Hints, Closed) {
  std::optional<Hint> hint =
      parseHint("fc1 = [ S(0, block = 64),?, B , P(max) ]");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "fc1");
  EXPECT_TRUE(hint->isClosed());
  std::vector<std::optional<Sbp>> expected = {Sbp::split(0, 64), std::nullopt,
                                              Sbp::broadcast(),
                                              Sbp::partial(Reducer::Max)};
  EXPECT_EQ(hint->sbps, expected);
}

TEST(Hints, BlanksAndBlocks) {
  std::optional<Hint> hint = parseHint("  *.q = S(1, block = 64) @ tp ");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "*.q");
  EXPECT_EQ(hint->sbps[0], Sbp::split(1, 64));
  EXPECT_EQ(hint->axis, "tp");
  EXPECT_EQ(hint->text, "*.q = S(1, block = 64) @ tp");
}

TEST(Hints, Endpoints) {
  std::optional<Hint> hint = parseHint("fc1:in1=B@dp");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "fc1");
  EXPECT_EQ(hint->endpoint, Hint::Endpoint::Operand);
  EXPECT_EQ(hint->index, 1u);
  hint = parseHint("fc1:out12=[B]");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->endpoint, Hint::Endpoint::Result);
  EXPECT_EQ(hint->index, 12u);
  // What is no endpoint belongs to the name.
  for (const char *name : {"x:0", "x:inner", "x:out0:y", "in0", "a:b"})
    EXPECT_EQ(parseHint(std::string(name) + "=B@dp")->pattern, name);
  EXPECT_EQ(parseHint("a:in0:out1=B@dp")->pattern, "a:in0");
  EXPECT_EQ(toString(Hint::Endpoint::Operand, 3), ":in3");
  EXPECT_EQ(toString(Hint::Endpoint::Result, 0), ":out0");
  EXPECT_EQ(toString(Hint::Endpoint::Self, 0), "");
}

TEST(Hints, NamesWithSigns) {
  // Names of ONNX nodes may hold anything.
  std::optional<Hint> hint = parseHint("/a=b@c/MatMul=B@dp");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "/a=b@c/MatMul");
  EXPECT_EQ(hint->sbps[0], Sbp::broadcast());
  EXPECT_EQ(hint->axis, "dp");
  EXPECT_EQ(parseHint("a#b=B@dp")->pattern, "a#b");
  EXPECT_EQ(parseHint("a #b=B@dp")->pattern, "a #b");
  EXPECT_EQ(parseHint("a[0]=[B]")->pattern, "a[0]");
}

TEST(Hints, CommentsAreOrigins) {
  std::optional<Hint> hint = parseHint("a #b=B@dp # hints.txt:3");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->pattern, "a #b");
  EXPECT_EQ(hint->text, "a #b=B@dp");
  EXPECT_EQ(hint->origin, "hints.txt:3");
  EXPECT_EQ(hint->describe(), "hints.txt:3 'a #b=B@dp'");
}

TEST(Hints, Errors) {
  for (auto [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected '=' after the pattern"},
           {"w", "expected '=' after the pattern"},
           {"w@tp", "expected '=' after the pattern"},
           {"w=S(0)", "expected '@' and an axis after the SBP"},
           {"w=S(0)@", "expected the name of an axis after '@', got: ''"},
           {"=S(0)@tp", "expected a pattern before '='"},
           {":in0=S(0)@tp", "expected a pattern before '='"},
           {"w=@tp", "expected S, B or P at column 1 of ''"},
           {"w=Q@tp", "expected S, B or P at column 1 of 'Q'"},
           {"w=S(@tp", "expected the number of a dimension at column 3 of "
                       "'S('"},
           {"w=S(0)x@tp", "expected the end at column 5 of 'S(0)x'"},
           {"w=[S(0), B", "expected ']' after the last SBP"},
           {"w=[S(0),,B]", "expected S, B or P at column 1 of ''"},
           {"w=[]", "expected S, B or P at column 1 of ''"},
           {"w=?@tp", "expected S, B or P at column 1 of '?'"}}) {
    std::string error;
    EXPECT_FALSE(parseHint(text, &error)) << text;
    EXPECT_EQ(error, "expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: '" +
                         text + "': " + reason);
  }
}

TEST(Hints, Pins) {
  std::optional<Hint> pin = parsePin("S(0)@dp");
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->endpoint, Hint::Endpoint::Self);
  EXPECT_EQ(pin->axis, "dp");
  pin = parsePin("in1 = S(1, block = 2)@tp");
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->endpoint, Hint::Endpoint::Operand);
  EXPECT_EQ(pin->sbps[0], Sbp::split(1, 2));
  pin = parsePin("out0=[S(0), ?]");
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->index, 0u);
  EXPECT_EQ(pin->sbps.size(), 2u);
  std::string error;
  EXPECT_FALSE(parsePin("w=S(0)@dp", &error));
  EXPECT_EQ(error, "expected SBP@AXIS or [SBP, ...], perhaps after inN= or "
                   "outN=, got: 'w=S(0)@dp': expected S, B or P at column 1 "
                   "of 'w=S(0)'");
}

TEST(Hints, Join) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(joinHints({"w=S(1)@tp", "node=S(0)@dp"}),
            Texts({"w=S(1)@tp", "node=S(0)@dp"}));
  EXPECT_EQ(joinHints({"h=S(0", " block = 3)@tp", "w=[S(0", "block=2)", " B]",
                       "x=B@dp"}),
            Texts({"h=S(0, block = 3)@tp", "w=[S(0,block=2), B]", "x=B@dp"}));
  // Names need not have matching brackets.
  EXPECT_EQ(joinHints({"a(b=B@dp", "c)=B@dp"}), Texts({"a(b=B@dp", "c)=B@dp"}));
  EXPECT_EQ(joinHints({"w=S(0", "x=B@dp"}), Texts({"w=S(0", "x=B@dp"}));
}

TEST(Hints, File) {
  std::vector<HintFileError> errors;
  std::vector<Hint> hints =
      parseHintFile("# tensor parallel\n"
                    "\n"
                    "  fc1.*=S(0)@tp\t# was fc1.*=B@tp\r\n"
                    "fc2.weight=Q@tp\n"
                    "\t# nothing\n"
                    "fc3=[S(0), ?]",
                    "tp.txt", errors);
  ASSERT_EQ(hints.size(), 2u);
  EXPECT_EQ(hints[0].pattern, "fc1.*");
  EXPECT_EQ(hints[0].describe(), "tp.txt:3 'fc1.*=S(0)@tp'");
  EXPECT_EQ(hints[1].describe(), "tp.txt:6 'fc3=[S(0), ?]'");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 4u);
  EXPECT_NE(errors[0].reason.find("'Q'"), std::string::npos);
}

TEST(Hints, FilesOfOtherEditors) {
  for (const char *text : {"\xef\xbb\xbfw=B@p\nx=B@p", "w=B@p\rx=B@p\r",
                           "w=B@p\r\nx=B@p\r\n", "w=B@p\nx=B@p\n"}) {
    std::vector<HintFileError> errors;
    std::vector<Hint> hints = parseHintFile(text, "f", errors);
    EXPECT_TRUE(errors.empty()) << text;
    ASSERT_EQ(hints.size(), 2u) << text;
    EXPECT_EQ(hints[0].pattern, "w");
    EXPECT_EQ(hints[1].describe(), "f:2 'x=B@p'");
  }
}

TEST(Hints, EndpointsThatAreNone) {
  for (const char *suffix : {":in-1", ":in", ":out", ":in+1", ":in1000000",
                             ":out99999999999999999"}) {
    std::string error;
    EXPECT_FALSE(parseHint(std::string("w") + suffix + "=B@p", &error));
    EXPECT_NE(error.find(std::string("expected :inN or :outN with N from 0 to "
                                     "999999, got: '") +
                         suffix + "'"),
              std::string::npos)
        << error;
  }
  // Names of tensors hold colons.
  for (const char *name : {"w:0", "scope:input", "w:inner", "w:x"})
    EXPECT_EQ(parseHint(std::string(name) + "=B@p")->pattern, name);
}

TEST(Hints, Quoted) {
  EXPECT_EQ(inQuotes("fc1.\xc3\xa9"), "'fc1.\xc3\xa9'");
  EXPECT_EQ(inQuotes(std::string_view("a\0b\x1b[1m\n", 8)),
            "'a\\x00b\\x1b[1m\\x0a'");
  EXPECT_EQ(inQuotes("\xff\xc3(\xc2\x85"), "'\\xff\\xc3(\\xc2\\x85'");
  std::string cut = inQuotes(std::string(1000000, '\x01'));
  EXPECT_LT(cut.size(), 160u);
  EXPECT_NE(cut.find("bytes more"), std::string::npos);
}

TEST(Hints, Axes) {
  std::vector<std::string> axes = {"dp", "tp"};
  EXPECT_FALSE(checkAxes(*parseHint("w=B@tp"), axes));
  EXPECT_FALSE(checkAxes(*parseHint("w=[B, ?]"), axes));
  EXPECT_EQ(checkAxes(*parseHint("w=B@tq"), axes),
            "no axis 'tq', the axes are: dp, tp; nearest: tp");
  EXPECT_EQ(checkAxes(*parseHint("w=[B]"), axes),
            "expected one SBP for each of the axes dp, tp (? leaves one free), "
            "got: 1");
}

TEST(Hints, Meshes) {
  std::optional<NamedMesh> mesh = parseMesh(" dp = 2,tp=4");
  ASSERT_TRUE(mesh);
  EXPECT_EQ(mesh->names, std::vector<std::string>({"dp", "tp"}));
  EXPECT_EQ(mesh->sizes, Mesh({2, 4}));
  for (auto [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"dp", "expected AXIS=SIZE, separated by commas, got: 'dp'"},
           {"", "expected AXIS=SIZE, separated by commas, got: ''"},
           {"dp=2,", "expected AXIS=SIZE, separated by commas, got: ''"},
           {"2=dp", "expected AXIS=SIZE, separated by commas, got: '2=dp'"},
           {"dp=-1", "expected AXIS=SIZE, separated by commas, got: 'dp=-1'"},
           {"dp=0", "expected a positive size, got: 'dp=0'"},
           {"dp=1048577",
            "expected at most 1048576 ranks in all, got more with "
            "'dp=1048577'"},
           {"dp=9999999999999999999", "expected at most 1048576 ranks in all, "
                                      "got more with 'dp=9999999999999999999'"},
           {"a=1024,b=1024,c=2",
            "expected at most 1048576 ranks in all, got more with 'c=2'"},
           {"a=1,a=2", "expected distinct axis names, got 'a' twice"}}) {
    std::string error;
    EXPECT_FALSE(parseMesh(text, &error)) << text;
    EXPECT_EQ(error, reason + " in '" + text + "'");
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
