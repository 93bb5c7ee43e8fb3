//===- RulesTest.cpp - the signatures that ops allow ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signatures of each op along one mesh axis, written out by hand from
// docs/sbp.md. All-broadcast is always among them and left out here; `!` marks
// those that hold once the op is decomposed.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace oneflow;

namespace {

using Signatures = std::set<std::string>;

/// What the only op with a rule allows in `body`, the text of a function whose
/// arguments are `arguments`.
Signatures signaturesOf(const std::string &arguments, const std::string &body) {
  static MLIRContext context;
  context.loadDialect<OneFlowDialect, func::FuncDialect>();
  std::string text =
      "func.func @f(" + arguments + ") {\n" + body + "\nreturn }";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    return {};
  }
  Signatures result;
  module->walk([&](SpreadOpInterface op) {
    for (const sbp::Signature &signature :
         sbp::enumerateSignatures(op.getSbpRule())) {
      auto isBroadcast = [](const sbp::Sbp &state) {
        return state.isBroadcast();
      };
      if (llvm::all_of(signature.operands, isBroadcast) &&
          llvm::all_of(signature.results, isBroadcast))
        continue;
      auto list = [](const std::vector<sbp::Sbp> &states) {
        return llvm::join(llvm::map_range(states,
                                          [](const sbp::Sbp &state) {
                                            return sbp::toString(state);
                                          }),
                          " ");
      };
      result.insert((signature.decomposed ? "!" : "") +
                    list(signature.operands) + " > " + list(signature.results));
    }
  });
  return result;
}

TEST(Rules, Matmul) {
  EXPECT_EQ(signaturesOf(
                "%a: tensor<8x4xf32>, %b: tensor<4x6xf32>",
                "oneflow.matmul %a, %b : (tensor<8x4xf32>, tensor<4x6xf32>) -> "
                "tensor<8x6xf32>"),
            (Signatures{"S(0) B > S(0)", "B S(1) > S(1)", "S(1) S(0) > P(sum)",
                        "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
  EXPECT_EQ(
      signaturesOf("%a: tensor<4x8xf32>, %b: tensor<6x4xf32>",
                   "oneflow.matmul %a, %b {transpose_lhs, transpose_rhs} : "
                   "(tensor<4x8xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>"),
      (Signatures{"S(1) B > S(0)", "B S(0) > S(1)", "S(0) S(1) > P(sum)",
                  "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<2x8x4xf32>, %b: tensor<2x4x6xf32>",
                         "oneflow.matmul %a, %b : (tensor<2x8x4xf32>, "
                         "tensor<2x4x6xf32>) -> tensor<2x8x6xf32>"),
            (Signatures{"S(0) S(0) > S(0)", "S(1) B > S(1)", "B S(2) > S(2)",
                        "S(2) S(1) > P(sum)", "P(sum) B > P(sum)",
                        "B P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf(
                "%a: tensor<2x8x4xf32>, %b: tensor<4x6xf32>",
                "oneflow.matmul %a, %b : (tensor<2x8x4xf32>, tensor<4x6xf32>) "
                "-> tensor<2x8x6xf32>"),
            (Signatures{"S(0) B > S(0)", "S(1) B > S(1)", "B S(1) > S(2)",
                        "S(2) S(0) > P(sum)", "P(sum) B > P(sum)",
                        "B P(sum) > P(sum)"}));
}

TEST(Rules, Reduce) {
  auto reduce = [](const std::string &kind, const std::string &keep,
                   const std::string &result) {
    return signaturesOf("%a: tensor<8x4xf32>",
                        "oneflow.reduce <" + kind + "> %a dims [1] " + keep +
                            " : (tensor<8x4xf32>) -> " + result);
  };
  for (std::string kind : {"sum", "max", "min", "prod"}) {
    std::string partial = "P(" + kind + ")";
    Signatures expected{"S(0) > S(0)", "S(1) > " + partial,
                        partial + " > " + partial};
    EXPECT_EQ(reduce(kind, "", "tensor<8xf32>"), expected);
    EXPECT_EQ(reduce(kind, "{keep_dims}", "tensor<8x1xf32>"), expected);
  }
}

/// Any reducer passes an op that only moves elements.
Signatures withEveryPartial(Signatures signatures) {
  for (std::string reducer : {"P(sum)", "P(max)", "P(min)", "P(prod)"})
    signatures.insert(reducer + " > " + reducer);
  return signatures;
}

TEST(Rules, Shapes) {
  EXPECT_EQ(signaturesOf("%a: tensor<4x1xf32>",
                         "oneflow.broadcast %a : "
                         "(tensor<4x1xf32>) -> tensor<2x4x8xf32>"),
            withEveryPartial({"B > S(0)", "S(0) > S(1)", "B > S(2)"}));
  EXPECT_EQ(
      signaturesOf("%a: tensor<2x3x4xf32>",
                   "oneflow.transpose %a [2, 0, 1] : (tensor<2x3x4xf32>) -> "
                   "tensor<4x2x3xf32>"),
      withEveryPartial({"S(0) > S(1)", "S(1) > S(2)", "S(2) > S(0)"}));
}

TEST(Rules, Reshape) {
  auto reshape = [](const std::string &from, const std::string &to) {
    return signaturesOf("%a: " + from,
                        "oneflow.reshape %a : (" + from + ") -> " + to);
  };
  // Heads of 64: split by whole heads only.
  EXPECT_EQ(reshape("tensor<12x64xf32>", "tensor<768xf32>"),
            withEveryPartial({"S(0) > S(0, block = 64)"}));
  EXPECT_EQ(reshape("tensor<8x768xf32>", "tensor<8x12x64xf32>"),
            withEveryPartial({"S(0) > S(0)", "S(1, block = 64) > S(1)"}));
  EXPECT_EQ(reshape("tensor<4x1x6xf32>", "tensor<4x6x1xf32>"),
            withEveryPartial({"S(0) > S(0)", "S(2) > S(1)"}));
  // 6 = 2·3 rows of 4 and 4 = 2·2 rows of 6: halves coincide.
  EXPECT_EQ(reshape("tensor<6x4xf32>", "tensor<4x6xf32>"),
            withEveryPartial({"S(0, block = 3) > S(0, block = 2)"}));
  // 3 rows of 4 and 4 rows of 3 share no cut, but what follows does.
  EXPECT_EQ(reshape("tensor<3x4x5xf32>", "tensor<4x3x5xf32>"),
            withEveryPartial({"S(2) > S(2)"}));
  EXPECT_EQ(reshape("tensor<1xf32>", "tensor<f32>"), withEveryPartial({}));
}

TEST(Rules, Classes) {
  EXPECT_EQ(signaturesOf("%a: tensor<8x4xf32>", "oneflow.softmax %a dim 1 : "
                                                "tensor<8x4xf32>"),
            (Signatures{"S(0) > S(0)", "!S(1) > S(1)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8x4xf32>",
                         "oneflow.log_softmax %a dim 0 : "
                         "tensor<8x4xf32>"),
            (Signatures{"!S(0) > S(0)", "S(1) > S(1)"}));
  EXPECT_EQ(
      signaturesOf(
          "%a: tensor<8x4xf32>, %l: tensor<8xi64>",
          "oneflow.cross_entropy %a, %l : (tensor<8x4xf32>, tensor<8xi64>)"
          " -> (tensor<8xf32>, tensor<8xf32>)"),
      (Signatures{"S(0) S(0) > S(0) S(0)", "!S(1) B > B B"}));
  EXPECT_EQ(signaturesOf(
                "%d: tensor<8xf32>, %a: tensor<8x4xf32>, %l: tensor<8xi64>",
                "oneflow.cross_entropy_grad %d, %a, %l, %d : (tensor<8xf32>, "
                "tensor<8x4xf32>, tensor<8xi64>, tensor<8xf32>) -> "
                "tensor<8x4xf32>"),
            (Signatures{"S(0) S(0) S(0) S(0) > S(0)", "B S(1) B B > S(1)",
                        "P(sum) B B B > P(sum)"}));
  EXPECT_EQ(
      signaturesOf("%a: tensor<8x4xf32>, %l: tensor<8xi64>",
                   "oneflow.pick %a, %l : (tensor<8x4xf32>, tensor<8xi64>) -> "
                   "tensor<8xf32>"),
      (Signatures{"S(0) S(0) > S(0)", "S(1) B > P(sum)", "P(sum) B > P(sum)"}));
}

TEST(Rules, Optimizers) {
  EXPECT_EQ(
      signaturesOf("%p: tensor<8x4xf32>, %r: tensor<f32>",
                   "oneflow.sgd_update %p, %p, %p, %r {momentum = 0.9 : f64, "
                   "weight_decay = 0.0 : f64} : (tensor<8x4xf32>, "
                   "tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> "
                   "(tensor<8x4xf32>, tensor<8x4xf32>)"),
      (Signatures{"S(0) S(0) S(0) B > S(0) S(0)",
                  "S(1) S(1) S(1) B > S(1) S(1)"}));
  EXPECT_EQ(
      signaturesOf(
          "%p: tensor<8xf32>, %s: tensor<i64>, %r: tensor<f32>",
          "oneflow.adamw_update %p, %p, %p, %p, %s, %r {beta1 = 0.9 : "
          "f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay "
          "= 0.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, "
          "tensor<8xf32>, tensor<i64>, tensor<f32>) -> (tensor<8xf32>, "
          "tensor<8xf32>, tensor<8xf32>)"),
      (Signatures{"S(0) S(0) S(0) S(0) B B > S(0) S(0) S(0)"}));
}

TEST(Rules, Elementwise) {
  EXPECT_EQ(
      signaturesOf("%a: tensor<8xf32>, %s: tensor<i64>",
                   "oneflow.dropout %a at %s : tensor<i64> {ratio = 0.5 : f64, "
                   "seed = 0 : i64, id = 0 : i64} : tensor<8xf32>"),
      (Signatures{"S(0) B > S(0)", "P(sum) B > P(sum)"}));
  EXPECT_EQ(
      signaturesOf("%a: tensor<8x4xf32>, %b: tensor<4xf32>",
                   "oneflow.add %a, %b : (tensor<8x4xf32>, tensor<4xf32>) -> "
                   "tensor<8x4xf32>"),
      (Signatures{"S(0) B > S(0)", "S(1) S(0) > S(1)",
                  "P(sum) P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xf32>", "oneflow.neg %a : tensor<8xf32>"),
            (Signatures{"S(0) > S(0)", "P(sum) > P(sum)", "P(max) > P(min)",
                        "P(min) > P(max)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xi1>",
                         "oneflow.cast %a : (tensor<8xi1>) -> "
                         "tensor<8xf32>"),
            (Signatures{"S(0) > S(0)"}));
}

} // namespace
