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

TEST(Rules, Convolution) {
  std::string attributes =
      " strides [1] low [1] high [1] dilations [1] groups 1 ";
  std::string x = "tensor<8x4x9xf32>", w = "tensor<6x4x3xf32>",
              y = "tensor<8x6x9xf32>";
  // The batch, channels of the result, channels of x; nothing spatial.
  EXPECT_EQ(signaturesOf("%x: " + x + ", %w: " + w,
                         "oneflow.convolution %x, %w" + attributes + ": (" + x +
                             ", " + w + ") -> " + y),
            (Signatures{"S(0) B > S(0)", "B S(0) > S(1)", "S(1) S(1) > P(sum)",
                        "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf("%y: " + y + ", %w: " + w,
                         "oneflow.convolution_grad_input %y, %w" + attributes +
                             "extents [9] : (" + y + ", " + w + ") -> " + x),
            (Signatures{"S(0) B > S(0)", "B S(1) > S(1)", "S(1) S(0) > P(sum)",
                        "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf("%x: " + x + ", %y: " + y,
                         "oneflow.convolution_grad_weight %x, %y" + attributes +
                             "extents [3] : (" + x + ", " + y + ") -> " + w),
            (Signatures{"S(0) S(0) > P(sum)", "S(1) B > S(1)", "B S(1) > S(0)",
                        "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
  // Of channels in groups, none may be split.
  EXPECT_EQ(
      signaturesOf("%x: tensor<8x4x9xf32>, %w: tensor<6x2x3xf32>",
                   "oneflow.convolution %x, %w strides [1] low [1] high [1] "
                   "dilations [1] groups 2 : (tensor<8x4x9xf32>, "
                   "tensor<6x2x3xf32>) -> tensor<8x6x9xf32>"),
      (Signatures{"S(0) B > S(0)", "P(sum) B > P(sum)", "B P(sum) > P(sum)"}));
}

TEST(Rules, Pool) {
  std::string windows = "window [2] strides [2] low [0] high [0] dilations [1]";
  std::string x = "tensor<3x5x8xf32>", y = "tensor<3x5x4xf32>",
              i = "tensor<3x5x4xi32>";
  for (std::string kind : {"max", "sum"})
    EXPECT_EQ(signaturesOf("%x: " + x, "oneflow.pool <" + kind + "> %x " +
                                           windows + " : (" + x + ") -> " + y),
              (Signatures{"S(0) > S(0)", "S(1) > S(1)",
                          "P(" + kind + ") > P(" + kind + ")"}));
  EXPECT_EQ(signaturesOf("%x: " + x + ", %y: " + y,
                         "oneflow.pool_index %x, %y " + windows + " : (" + x +
                             ", " + y + ") -> " + i),
            (Signatures{"S(0) S(0) > S(0)", "S(1) S(1) > S(1)"}));
  EXPECT_EQ(signaturesOf("%y: " + y + ", %i: " + i,
                         "oneflow.pool_grad %y at %i " + windows +
                             " extents [8] : (" + y + ", " + i + ") -> " + x),
            (Signatures{"S(0) S(0) > S(0)", "S(1) S(1) > S(1)",
                        "P(sum) B > P(sum)"}));
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

TEST(Rules, Norms) {
  // Rows split as they are; a split of what is normalized is one to decompose,
  // and the parameters follow it.
  EXPECT_EQ(
      signaturesOf(
          "%x: tensor<8x4x6xf32>, %s: tensor<4x6xf32>",
          "oneflow.layer_norm %x scale %s bias %s dims_from 1 {epsilon = "
          "0.0 : f64} : (tensor<8x4x6xf32>, tensor<4x6xf32>, "
          "tensor<4x6xf32>) -> (tensor<8x4x6xf32>, tensor<8x1x1xf32>, "
          "tensor<8x1x1xf32>)"),
      (Signatures{"S(0) B B > S(0) S(0) S(0)", "!S(1) S(0) S(0) > S(1) B B",
                  "!S(2) S(1) S(1) > S(2) B B"}));
  EXPECT_EQ(
      signaturesOf("%x: tensor<8x4xf32>",
                   "oneflow.rms_norm %x dims_from 1 {epsilon = 0.0 : f64} : "
                   "(tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x1xf32>)"),
      (Signatures{"S(0) > S(0) S(0)", "!S(1) > S(1) B"}));
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

TEST(Rules, Parts) {
  // What is touched is whole, what is taken in full is not.
  EXPECT_EQ(signaturesOf("%a: tensor<8x4x6xf32>",
                         "oneflow.slice %a offsets [0, 1, 0] sizes [8, 3, 6] "
                         "strides [1, 1, 1] : (tensor<8x4x6xf32>) -> "
                         "tensor<8x3x6xf32>"),
            withEveryPartial({"S(0) > S(0)", "S(2) > S(2)"}));
  auto pad = [](const std::string &value) {
    return signaturesOf("%a: tensor<8x4xf32>",
                        "oneflow.pad %a low [0, 1] high [0, 0] interior [0, "
                        "1] value " +
                            value +
                            " : f32 : (tensor<8x4xf32>) -> tensor<8x8xf32>");
  };
  // The value must stay what it is when parts are combined.
  Signatures padding{"S(0) > S(0)", "P(max) > P(max)", "P(min) > P(min)"};
  EXPECT_EQ(pad("2.0"), padding);
  padding.insert("P(prod) > P(prod)");
  EXPECT_EQ(pad("1.0"), padding);
  padding.insert("P(sum) > P(sum)");
  EXPECT_EQ(pad("0.0"), padding);
  EXPECT_EQ(signaturesOf("%a: tensor<8x4xf32>, %b: tensor<8x2xf32>",
                         "oneflow.concat %a, %b dim 1 : (tensor<8x4xf32>, "
                         "tensor<8x2xf32>) -> tensor<8x6xf32>"),
            (Signatures{"S(0) S(0) > S(0)", "P(sum) P(sum) > P(sum)",
                        "P(max) P(max) > P(max)", "P(min) P(min) > P(min)",
                        "P(prod) P(prod) > P(prod)"}));
}

TEST(Rules, Choices) {
  EXPECT_EQ(
      signaturesOf("%c: tensor<4x1xi1>, %a: tensor<8x4x6xf32>, %b: tensor<f32>",
                   "oneflow.select %c, %a, %b : (tensor<4x1xi1>, "
                   "tensor<8x4x6xf32>, tensor<f32>) -> tensor<8x4x6xf32>"),
      (Signatures{"B S(0) B > S(0)", "S(0) S(1) B > S(1)", "B S(2) B > S(2)",
                  "B P(sum) P(sum) > P(sum)", "B P(max) P(max) > P(max)",
                  "B P(min) P(min) > P(min)", "B P(prod) P(prod) > P(prod)"}));
  auto gather = [](const std::string &element) {
    return signaturesOf(
        "%a: tensor<8x9x6x" + element + ">, %i: tensor<3x5xi64>",
        "oneflow.gather %a, %i dim 1 : (tensor<8x9x6x" + element +
            ">, tensor<3x5xi64>) -> tensor<8x3x5x6x" + element + ">");
  };
  // A vocabulary is split by its rows: every rank answers for its own.
  Signatures gathers{
      "S(0) B > S(0)",     "S(2) B > S(3)",       "B S(0) > S(1)",
      "B S(1) > S(2)",     "P(sum) B > P(sum)",   "P(max) B > P(max)",
      "P(min) B > P(min)", "P(prod) B > P(prod)", "S(1) B > P(sum)"};
  EXPECT_EQ(gather("f32"), gathers);
  EXPECT_EQ(gather("i32"), gathers);
  gathers.erase("S(1) B > P(sum)");
  EXPECT_EQ(gather("i1"), gathers);
  EXPECT_EQ(signaturesOf("%d: tensor<8x3x5x6xf32>, %i: tensor<3x5xi64>",
                         "oneflow.gather_grad %d, %i dim 1 extent 9 : "
                         "(tensor<8x3x5x6xf32>, tensor<3x5xi64>) -> "
                         "tensor<8x9x6xf32>"),
            (Signatures{"S(0) B > S(0)", "B B > S(1)", "S(3) B > S(2)",
                        "S(1) S(0) > P(sum)", "S(2) S(1) > P(sum)",
                        "P(sum) B > P(sum)"}));
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
  // The neutral element of a maximum has no square root.
  EXPECT_EQ(
      signaturesOf("%a: tensor<8xf32>", "oneflow.sqrt %a : tensor<8xf32>"),
      (Signatures{"S(0) > S(0)", "P(min) > P(min)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xf32>", "oneflow.neg %a : tensor<8xf32>"),
            (Signatures{"S(0) > S(0)", "P(sum) > P(sum)", "P(max) > P(min)",
                        "P(min) > P(max)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xf32>",
                         "oneflow.cast %a : (tensor<8xf32>) -> "
                         "tensor<8xbf16>"),
            (Signatures{"S(0) > S(0)", "P(max) > P(max)", "P(min) > P(min)",
                        "P(sum) > P(sum)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xi64>",
                         "oneflow.cast %a : (tensor<8xi64>) -> "
                         "tensor<8xf32>"),
            (Signatures{"S(0) > S(0)", "P(max) > P(max)", "P(min) > P(min)"}));
  EXPECT_EQ(signaturesOf("%a: tensor<8xi1>",
                         "oneflow.cast %a : (tensor<8xi1>) -> "
                         "tensor<8xf32>"),
            (Signatures{"S(0) > S(0)"}));
}

} // namespace
