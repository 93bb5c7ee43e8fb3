//===- RuleTest.cpp - signatures by simulation ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs small ops under every signature that their rules allow, on simulated
// ranks, and compares with one rank; and states literally which signatures must
// come out, and which must not.
//
//===----------------------------------------------------------------------===//

#include "SimulatedOps.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace oneflow::sbp;
using namespace oneflow::sbp::test;

static const Sbp B = Sbp::broadcast();
static const Sbp P = Sbp::partial();
static Sbp S(int64_t dim, int64_t block = 1) { return Sbp::split(dim, block); }

/// Whether the op on every rank, by itself, gives what one rank gives.
static bool agrees(const SimulatedOp &op, const NdSignature &signature,
                   const Mesh &mesh, Random &random) {
  std::vector<Tensor> globals;
  std::vector<std::vector<Tensor>> locals;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    globals.push_back(randomTensor(op.operands[i], random));
    locals.push_back(scatter(globals[i], signature.operands[i], mesh, random));
  }
  auto expected = op.evaluate(globals, op.results);
  if (!expected)
    return false;
  std::vector<std::vector<Tensor>> results(op.results.size());
  for (int64_t rank = 0; rank < rankCount(mesh); ++rank) {
    std::vector<Tensor> inputs;
    for (const std::vector<Tensor> &operand : locals)
      inputs.push_back(operand[static_cast<size_t>(rank)]);
    std::vector<Shape> shapes;
    for (size_t i = 0; i < op.results.size(); ++i)
      shapes.push_back(extentsOf(localIntervals(
          signature.results[i], op.results[i], mesh, coordinates(mesh, rank))));
    auto outputs = op.evaluate(inputs, shapes);
    if (!outputs)
      return false;
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back((*outputs)[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    auto whole =
        assemble(results[i], signature.results[i], op.results[i], mesh);
    if (!whole || !(*whole == (*expected)[i]))
      return false;
  }
  return true;
}

static std::vector<std::string> texts(const OpRule &rule) {
  std::vector<std::string> result;
  for (const Signature &signature : enumerateSignatures(rule))
    result.push_back(toString(signature));
  return result;
}

TEST(Rule, EverySignatureOnOneAxisIsRight) {
  Random random(1);
  for (const SimulatedOp &op : simulatedOps()) {
    for (const Mesh &mesh : {Mesh{2}, Mesh{3}}) {
      std::vector<NdSignature> signatures =
          enumerateNdSignatures(op.rule, op.operands, op.results, mesh);
      EXPECT_GE(signatures.size(), 2u) << op.name;
      for (const NdSignature &signature : signatures) {
        for (int trial = 0; trial < 3; ++trial)
          EXPECT_TRUE(agrees(op, signature, mesh, random))
              << op.name << " " << toString(signature) << " over " << mesh[0];
        EXPECT_FALSE(
            checkSignature(op.rule, signature, op.operands, op.results, mesh));
      }
    }
  }
}

TEST(Rule, EverySignatureOnTwoAxesIsRight) {
  Random random(2);
  size_t count = 0;
  for (const SimulatedOp &op : simulatedOps()) {
    for (const Mesh &mesh : {Mesh{2, 2}, Mesh{3, 2}}) {
      for (const NdSignature &signature :
           enumerateNdSignatures(op.rule, op.operands, op.results, mesh)) {
        EXPECT_TRUE(agrees(op, signature, mesh, random))
            << op.name << " " << toString(signature);
        ++count;
      }
    }
  }
  EXPECT_GT(count, 500u);
}

TEST(Rule, WrongSignaturesAreNotAllowed) {
  struct Wrong {
    const char *op;
    Signature signature;
  };
  const Sbp max = Sbp::partial(Reducer::Max), min = Sbp::partial(Reducer::Min),
            prod = Sbp::partial(Reducer::Prod);
  const std::vector<Wrong> corpus{
      {"add", {{P, B}, {P}}},
      {"add", {{B, P}, {P}}},
      {"add", {{max, max}, {max}}},
      {"add", {{S(0), P}, {S(0)}}},
      {"add", {{S(0), S(1)}, {S(0)}}},
      {"add", {{S(0), B}, {S(0)}}},
      {"sub", {{max, min}, {max}}},
      {"mul", {{P, P}, {P}}},
      {"mul", {{max, B}, {max}}},
      {"mul", {{prod, B}, {prod}}},
      {"matmul", {{S(0), S(0)}, {S(0)}}},
      {"matmul", {{S(0), S(1)}, {S(0)}}},
      {"matmul", {{S(1), S(0)}, {B}}},
      {"matmul", {{S(1), S(0)}, {max}}},
      {"matmul", {{S(1), B}, {S(1)}}},
      {"matmul", {{P, P}, {P}}},
      {"matmul", {{P, S(1)}, {S(1)}}},
      {"bias add", {{S(1), B}, {S(1)}}},
      {"bias add", {{P, B}, {P}}},
      {"bias add", {{S(0), S(0)}, {S(0)}}},
      {"relu", {{P}, {P}}},
      {"relu", {{prod}, {prod}}},
      {"relu", {{S(0)}, {S(1)}}},
      {"neg", {{max}, {max}}},
      {"neg", {{min}, {min}}},
      {"neg", {{prod}, {prod}}},
      {"max", {{P, P}, {P}}},
      {"max", {{min, min}, {min}}},
      {"sum", {{S(1)}, {B}}},
      {"sum", {{S(1)}, {max}}},
      {"sum", {{max}, {max}}},
      {"reduce max", {{S(1)}, {P}}},
      {"reduce max", {{P}, {P}}},
      {"reduce max", {{min}, {min}}},
      {"reduce min", {{S(1)}, {max}}},
      {"reduce prod", {{S(1)}, {P}}},
      {"reduce prod", {{P}, {P}}},
      {"transpose", {{S(0)}, {S(0)}}},
      {"flatten", {{S(0)}, {S(0)}}}, // 5 rows of 4 over 2: 12, not 10
      {"flatten", {{S(1)}, {S(0)}}},
      {"flatten", {{S(1)}, {S(0, 4)}}},
      {"unflatten", {{S(0)}, {S(0)}}},
      {"unflatten", {{S(0)}, {S(1)}}},
      {"where", {{P, B, B}, {P}}},
      {"where", {{B, P, B}, {P}}},
      {"where", {{S(0), P, P}, {P}}},
      {"concat", {{S(1), S(1)}, {S(1)}}},
      {"concat", {{P, B}, {P}}},
      {"sum and square", {{S(1)}, {S(0), S(1)}}},
      {"sum and square", {{P}, {P, P}}},
  };
  Random random(3);
  std::vector<SimulatedOp> ops = simulatedOps();
  Mesh mesh{2};
  for (const Wrong &wrong : corpus) {
    std::string what = std::string(wrong.op) + " " + toString(wrong.signature);
    auto op = std::find_if(ops.begin(), ops.end(), [&](const SimulatedOp &op) {
      return op.name == wrong.op;
    });
    ASSERT_NE(op, ops.end()) << what;
    std::vector<Signature> allowed = enumerateSignatures(op->rule);
    EXPECT_EQ(std::count(allowed.begin(), allowed.end(), wrong.signature), 0)
        << what;
    // The corpus itself is checked: each of them fails when it is carried out.
    NdSignature signature;
    for (const Sbp &sbp : wrong.signature.operands)
      signature.operands.push_back({sbp});
    for (const Sbp &sbp : wrong.signature.results)
      signature.results.push_back({sbp});
    bool right = true;
    for (int trial = 0; trial < 4; ++trial)
      right &= agrees(*op, signature, mesh, random);
    EXPECT_FALSE(right) << what << " is right after all";
    EXPECT_TRUE(
        checkSignature(op->rule, signature, op->operands, op->results, mesh))
        << what;
  }
}

using Texts = std::vector<std::string>;

TEST(Rule, Matmul) {
  EXPECT_EQ(texts(matmul(5, 4, 6).rule),
            (Texts{"(B, B) -> (B)", "(S(0), B) -> (S(0))",
                   "(B, S(1)) -> (S(1))", "(S(1), S(0)) -> (P(sum))",
                   "(P(sum), B) -> (P(sum))", "(B, P(sum)) -> (P(sum))"}));
  EXPECT_EQ(texts(batchedMatmul(4, 3, 4, 5).rule)[1], "(S(0), S(0)) -> (S(0))");
}

TEST(Rule, Elementwise) {
  EXPECT_EQ(texts(add({4, 6}, {4, 6}).rule),
            (Texts{"(B, B) -> (B)", "(S(0), S(0)) -> (S(0))",
                   "(S(1), S(1)) -> (S(1))", "(P(sum), P(sum)) -> (P(sum))"}));
  EXPECT_EQ(texts(add({4, 6}, {4, 1}).rule),
            (Texts{"(B, B) -> (B)", "(S(0), S(0)) -> (S(0))",
                   "(S(1), B) -> (S(1))", "(P(sum), P(sum)) -> (P(sum))"}));
  EXPECT_EQ(
      texts(mul({4, 6}, {4, 6}).rule),
      (Texts{"(B, B) -> (B)", "(S(0), S(0)) -> (S(0))",
             "(S(1), S(1)) -> (S(1))", "(P(sum), B) -> (P(sum))",
             "(B, P(sum)) -> (P(sum))", "(P(prod), P(prod)) -> (P(prod))"}));
  // Bias over the last dimension.
  EXPECT_EQ(texts(add({4, 6}, {6}).rule),
            (Texts{"(B, B) -> (B)", "(S(0), B) -> (S(0))",
                   "(S(1), S(0)) -> (S(1))", "(P(sum), P(sum)) -> (P(sum))"}));
}

TEST(Rule, Reductions) {
  for (auto [reducer, name] :
       {std::pair(Reducer::Sum, "P(sum)"), std::pair(Reducer::Max, "P(max)"),
        std::pair(Reducer::Min, "P(min)"), std::pair(Reducer::Prod, "P(prod)")})
    EXPECT_EQ(texts(reduceOp("reduce", reducer, 4, 6).rule),
              (Texts{"(B) -> (B)", "(S(0)) -> (S(0))",
                     "(S(1)) -> (" + std::string(name) + ")",
                     "(" + std::string(name) + ") -> (" + name + ")"}));
}

TEST(Rule, TransposeAndReshape) {
  EXPECT_EQ(texts(transpose(4, 6).rule),
            (Texts{"(B) -> (B)", "(S(0)) -> (S(1))", "(S(1)) -> (S(0))",
                   "(P(sum)) -> (P(sum))"}));
  EXPECT_EQ(texts(flatten("flatten", 12, 64).rule),
            (Texts{"(B) -> (B)", "(S(0)) -> (S(0, block = 64))",
                   "(P(sum)) -> (P(sum))"}));
  // A leading dimension of size 1 is no obstacle.
  EXPECT_EQ(texts(flatten("flatten", 1, 64).rule)[1], "(S(1)) -> (S(0))");
}

TEST(Rule, RolesOfFactors) {
  // Softmax over c: rows split as they are, columns once it is decomposed.
  OpRule softmax;
  unsigned n = softmax.addFactor("n", 4);
  unsigned c = softmax.addFactor("c", 6, Factor::Role::Decomposed);
  softmax.operands = {{{n}, {c}}};
  softmax.results = {{{n}, {c}}};
  std::vector<Signature> signatures = enumerateSignatures(softmax);
  ASSERT_EQ(texts(softmax),
            (Texts{"(B) -> (B)", "(S(0)) -> (S(0))", "(S(1)) -> (S(1))"}));
  EXPECT_FALSE(signatures[1].decomposed);
  EXPECT_TRUE(signatures[2].decomposed);

  // Cross-entropy: (n c), (n) -> (n).
  OpRule entropy = softmax;
  entropy.operands = {{{n}, {c}}, {{n}}};
  entropy.results = {{{n}}};
  EXPECT_EQ(texts(entropy), (Texts{"(B, B) -> (B)", "(S(0), S(0)) -> (S(0))",
                                   "(S(1), B) -> (B)"}));

  // Sorting along c needs all of it.
  OpRule sort = softmax;
  sort.factors[c].role = Factor::Role::Whole;
  EXPECT_EQ(texts(sort), (Texts{"(B) -> (B)", "(S(0)) -> (S(0))"}));

  // A parallel factor that one of the results lacks cannot be split.
  OpRule lossy = softmax;
  lossy.factors[c].role = Factor::Role::Parallel;
  lossy.results.push_back({{n}});
  EXPECT_EQ(texts(lossy), (Texts{"(B) -> (B, B)", "(S(0)) -> (S(0), S(0))"}));

  // A diagonal has its factor twice in one operand.
  OpRule diagonal;
  n = diagonal.addFactor("n", 4);
  diagonal.operands = {{{n}, {n}}};
  diagonal.results = {{{n}}};
  EXPECT_EQ(texts(diagonal), (Texts{"(B) -> (B)"}));

  // A sum over a factor that no operand has would count copies.
  OpRule count;
  count.addFactor("k", 4, Factor::Role::Reduced);
  count.operands = {{}};
  count.results = {{}};
  EXPECT_EQ(texts(count), (Texts{"(B) -> (B)"}));
}

TEST(Rule, ExtrasFollowWithoutRepetition) {
  OpRule rule = transpose(4, 6).rule;
  rule.extra = {{{S(0)}, {S(1)}, false},
                {{Sbp::partial(Reducer::Max)}, {Sbp::partial(Reducer::Max)}},
                {{}, {B}}}; // too few operands: ignored
  Texts expected = texts(transpose(4, 6).rule);
  expected.push_back("(P(max)) -> (P(max))");
  EXPECT_EQ(texts(rule), expected);
  rule.allowsBroadcast = false;
  expected.erase(expected.begin());
  EXPECT_EQ(texts(rule), expected);
  // Factors and operands that do not exist do no harm.
  rule.partials.push_back({{7}, Reducer::Sum, Reducer::Sum});
  rule.operands[0].push_back({42});
  EXPECT_EQ(texts(rule), expected);
}

TEST(Rule, ChecksSayWhatIsAllowedAndNearest) {
  SimulatedOp op = matmul(8, 6, 2);
  auto check = [&](const std::vector<NdSbp> &operands, const NdSbp &result,
                   const Mesh &mesh) {
    return checkSignature(op.rule, {operands, {result}}, op.operands,
                          op.results, mesh)
        .value_or("");
  };
  EXPECT_EQ(check({{S(0)}, {B}}, {S(0)}, {3}), "");
  // n = 2 cannot be split over 3 ranks, so S(1) is not among the choices.
  EXPECT_EQ(check({{S(0)}, {S(0)}}, {S(0)}, {3}),
            "mesh axis 0 asks for (S(0), S(0)) -> (S(0)), which this op does "
            "not allow; this op allows for these shapes: (B, B) -> (B), (S(0), "
            "B) -> (S(0)), (S(1), S(0)) -> (P(sum)), (P(sum), B) -> (P(sum)), "
            "(B, P(sum)) -> (P(sum)); nearest: (S(0), B) -> (S(0))");
  std::string message = check({{B}, {S(1)}}, {S(1)}, {3});
  EXPECT_NE(message.find("operand 1: sbp_c3"), std::string::npos) << message;
  EXPECT_EQ(message.find("(B, S(1))", 40), std::string::npos) << message;
  // The second axis is judged by what the first leaves: 6 over 4 is 2 or 1.
  message = check({{S(1), S(1)}, {S(0), S(0)}}, {P, P}, {4, 2});
  EXPECT_NE(message.find("mesh axis 1"), std::string::npos) << message;
  EXPECT_NE(message.find("sbp_c3"), std::string::npos) << message;
  message = check({{B, B}, {B}}, {B, B}, {2, 2});
  EXPECT_NE(message.find("operand 1: sbp_c1"), std::string::npos) << message;
  message = check({{B}}, {B}, {2});
  EXPECT_NE(message.find("expected 2 operands"), std::string::npos) << message;
}

TEST(Rule, NdSignaturesAreAllLegalOnes) {
  SimulatedOp op = matmul(8, 6, 2);
  Mesh mesh{2, 2};
  std::vector<NdSignature> found =
      enumerateNdSignatures(op.rule, op.operands, op.results, mesh);
  // 6 x 6, less n (2) split by both axes.
  EXPECT_EQ(found.size(), 35u);
  EXPECT_EQ(toString(found[1]), "([B, S(0)], [B, B]) -> ([B, S(0)])");
  EXPECT_EQ(
      enumerateNdSignatures(op.rule, op.operands, op.results, mesh, 10).size(),
      10u);
  EXPECT_TRUE(enumerateNdSignatures(op.rule, {}, op.results, mesh).empty());
}
