//===- oneflow/Sbp/Rule.h - signatures from factors -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SBP signatures are derived, not listed. An op states once which iteration
// factors its operand and result dimensions are made of, and for which
// partial values it passes; every signature follows. A matrix product, for one,
// is (m k), (k n) -> (m n) with k reduced by sum, and linear in each operand.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_RULE_H
#define ONEFLOW_SBP_RULE_H

#include "oneflow/Sbp/Sbp.h"

namespace oneflow::sbp {

/// An iteration factor of an op.
struct Factor {
  enum class Role : uint8_t {
    /// Appears in every result that depends on it: splitting it splits those.
    Parallel,
    /// Vanishes from the results, which become partial by `reducer`.
    Reduced,
    /// Never split: the op needs all of it on one rank.
    Whole,
    /// As Parallel, but the op as it stands needs all of it: a signature that
    /// splits it holds once the op was decomposed into ops that do not (a
    /// softmax
    /// over a split axis, say).
    Decomposed,
  };

  std::string name;
  int64_t size = 1;
  Role role = Role::Parallel;
  Reducer reducer = Reducer::Sum;
};

/// The factors one dimension is made of, major to minor, as indices into
/// OpRule::factors. Empty for a size-1 dimension that is broadcast. Only the
/// major factor can be split, in blocks of the product of the others.
using DimFactors = std::vector<unsigned>;
/// One entry per dimension of a tensor.
using TensorFactors = std::vector<DimFactors>;

/// "If exactly these operands are P(from) and the others B, all results are
/// P(to)": linearity ({i}, sum, sum), joint linearity, monotone functions,
/// products of partial products.
struct PartialRule {
  std::vector<unsigned> operands;
  Reducer from = Reducer::Sum;
  Reducer to = Reducer::Sum;
};

/// One Sbp per operand and per result, for one mesh axis.
struct Signature {
  std::vector<Sbp> operands;
  std::vector<Sbp> results;
  /// Holds only once the op is decomposed (Factor::Role::Decomposed).
  bool decomposed = false;

  friend bool operator==(const Signature &a, const Signature &b) {
    return a.operands == b.operands && a.results == b.results;
  }
};

/// One NdSbp per operand and per result.
struct NdSignature {
  std::vector<NdSbp> operands;
  std::vector<NdSbp> results;

  friend bool operator==(const NdSignature &a, const NdSignature &b) {
    return a.operands == b.operands && a.results == b.results;
  }
};

/// What an op declares.
struct OpRule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  std::vector<PartialRule> partials;
  /// Signatures of irregular ops, beyond what follows from the above.
  std::vector<Signature> extra;
  /// False for an op which must not run on whole copies (none so far).
  bool allowsBroadcast = true;

  /// Adds a factor and returns its index.
  unsigned addFactor(std::string name, int64_t size,
                     Factor::Role role = Factor::Role::Parallel,
                     Reducer reducer = Reducer::Sum);
};

/// Every signature that `rule` allows along one mesh axis, whatever the mesh:
/// all-broadcast first, then by factor in declaration order, then partials,
/// then extras; without repetitions.
std::vector<Signature> enumerateSignatures(const OpRule &rule);

/// `signature` with the blocks of all its splits `times` as large. What holds
/// for splits of a factor holds wherever the splits fall, so long as all
/// tensors are split at the same places.
Signature withBlocks(const Signature &signature, int64_t times);

/// The one of `allowed` that `asked` is, or is with larger blocks; null when it
/// is none. Lives as long as `allowed`.
const Signature *findAllowed(const std::vector<Signature> &allowed,
                             const Signature &asked);

/// Why `signature` is not allowed by `rule` for tensors of these shapes on this
/// mesh, or nullopt: each axis must be one of enumerateSignatures, perhaps with
/// larger blocks (see withBlocks), and every tensor's state must pass
/// checkLegal. The message names the offending axis or operand and the nearest
/// legal choice.
std::optional<std::string> checkSignature(const OpRule &rule,
                                          const NdSignature &signature,
                                          const std::vector<Shape> &operands,
                                          const std::vector<Shape> &results,
                                          const Mesh &mesh);

/// Every legal nd-signature on `mesh` for these shapes: the product over axes
/// of enumerateSignatures, filtered by checkLegal. At most `limit`.
std::vector<NdSignature>
enumerateNdSignatures(const OpRule &rule, const std::vector<Shape> &operands,
                      const std::vector<Shape> &results, const Mesh &mesh,
                      size_t limit = 4096);

/// "([S(0)], [B]) -> ([S(0)])".
std::string toString(const NdSignature &signature);
std::string toString(const Signature &signature);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_RULE_H
