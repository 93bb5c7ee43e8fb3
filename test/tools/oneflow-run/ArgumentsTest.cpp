//===- ArgumentsTest.cpp - command lines ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser on a command of its own.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include <gtest/gtest.h>

using namespace oneflow::run;

namespace {

const Command kCommand = {"walk",
                          "Walk",
                          "PLACE",
                          1,
                          "Walks.",
                          {{"speed", "X", "How fast"},
                           {"with", "NAME", "Company", true},
                           {"laps", "[N]", "Laps"},
                           {"quiet", "", "No talking"}}};

std::string messageOf(const std::vector<std::string> &words) {
  return parseArguments(kCommand, words).message();
}

TEST(ArgumentsTest, ReadsEverySpelling) {
  Expected<Arguments> given =
      parseArguments(kCommand, {"--speed", "1.5", "park", "--with=a=b",
                                "--with", "-c", "--quiet", "--laps", "3"});
  ASSERT_TRUE(given.ok()) << given.message();
  EXPECT_EQ(given->positionals, std::vector<std::string>{"park"});
  EXPECT_EQ(**given->number("speed"), 1.5);
  EXPECT_EQ(given->all("with"), (std::vector<std::string>{"a=b", "-c"}));
  EXPECT_TRUE(given->has("quiet"));
  EXPECT_EQ(**given->integer("laps", 1), 3);
}

TEST(ArgumentsTest, NumbersMayBeLeftOutWhereBracketsSaySo) {
  Expected<Arguments> given = parseArguments(kCommand, {"--laps", "park"});
  ASSERT_TRUE(given.ok()) << given.message();
  EXPECT_TRUE(given->has("laps"));
  EXPECT_FALSE(given->integer("laps", 1)->has_value());
  EXPECT_EQ(given->positionals, std::vector<std::string>{"park"});
}

TEST(ArgumentsTest, DashesEndTheOptions) {
  Expected<Arguments> given = parseArguments(kCommand, {"--", "--quiet"});
  ASSERT_TRUE(given.ok()) << given.message();
  EXPECT_EQ(given->positionals, std::vector<std::string>{"--quiet"});
  EXPECT_FALSE(given->has("quiet"));
}

TEST(ArgumentsTest, RefusesWithTheReason) {
  EXPECT_EQ(messageOf({"park", "--sped", "1"}),
            "unknown option '--sped', did you mean '--speed'?");
  EXPECT_EQ(messageOf({"park", "--qui"}),
            "unknown option '--qui', did you mean '--quiet'?");
  EXPECT_EQ(messageOf({"park", "--banana"}), "unknown option '--banana'");
  EXPECT_EQ(messageOf({"park", "--speed"}),
            "option '--speed' needs a value: X");
  EXPECT_EQ(messageOf({"park", "--speed="}),
            "option '--speed' needs a value: X");
  EXPECT_EQ(messageOf({"park", "--quiet=1"}),
            "option '--quiet' takes no value");
  EXPECT_EQ(messageOf({"park", "--speed=1", "--speed=2"}),
            "option '--speed' is given twice");
  EXPECT_EQ(messageOf({}), "expected PLACE");
  EXPECT_EQ(messageOf({"a", "b"}), "unexpected argument 'b'");
}

TEST(ArgumentsTest, NumbersAreChecked) {
  for (const char *text : {"1x", "0", "99999999999999999999", "1.5"}) {
    Expected<Arguments> given =
        parseArguments(kCommand, {"park", std::string("--speed=") + text});
    ASSERT_TRUE(given.ok());
    EXPECT_FALSE(given->integer("speed", 1).ok()) << text;
  }
  for (const char *text : {"nan", "inf", "x"}) {
    Expected<Arguments> given =
        parseArguments(kCommand, {"park", std::string("--speed=") + text});
    ASSERT_TRUE(given.ok());
    EXPECT_FALSE(given->number("speed").ok()) << text;
  }
}

TEST(ArgumentsTest, HelpSuppressesComplaints) {
  Expected<Arguments> given = parseArguments(kCommand, {"--nonsense", "-h"});
  ASSERT_TRUE(given.ok());
  EXPECT_TRUE(given->has("help"));
  for (const Option &option : kCommand.options)
    EXPECT_NE(helpText(kCommand).find("--" + std::string(option.name)),
              std::string::npos);
}

} // namespace
