//===- Rule.cpp - signatures from factors -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives every SBP signature of an op from its factors, and says what is wrong
// with one that does not follow from them.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Rule.h"

#include <algorithm>

namespace oneflow::sbp {

unsigned OpRule::addFactor(std::string name, int64_t size, Factor::Role role,
                           Reducer reducer) {
  factors.push_back({std::move(name), size, role, reducer});
  return static_cast<unsigned>(factors.size() - 1);
}

namespace {

/// Where a factor lies in one tensor.
struct Occurrence {
  enum class Kind { Absent, Major, Unsplittable } kind = Kind::Absent;
  Sbp split;
};

Occurrence locate(const OpRule &rule, unsigned factor,
                  const TensorFactors &tensor) {
  Occurrence occurrence;
  for (size_t dim = 0; dim < tensor.size(); ++dim) {
    // Factors of size 1 take no room: the major factor is the first larger one.
    bool major = true;
    bool found = false;
    int64_t minor = 1;
    for (unsigned index : tensor[dim]) {
      if (index >= rule.factors.size() || rule.factors[index].size == 1)
        continue;
      if (found) {
        minor *= rule.factors[index].size;
      } else if (index == factor) {
        // A diagonal would have to be split along two dimensions at once.
        if (!major || occurrence.kind != Occurrence::Kind::Absent)
          return {Occurrence::Kind::Unsplittable, {}};
        found = true;
      }
      major = false;
    }
    if (found)
      occurrence = {Occurrence::Kind::Major,
                    Sbp::split(static_cast<int64_t>(dim), minor)};
  }
  return occurrence;
}

/// The signature that splits `factor`, if there is one.
std::optional<Signature> splitFactor(const OpRule &rule, unsigned factor) {
  const Factor &description = rule.factors[factor];
  if (description.size <= 1 || description.role == Factor::Role::Whole)
    return std::nullopt;

  Signature signature;
  bool inOperand = false;
  for (const TensorFactors &operand : rule.operands) {
    Occurrence occurrence = locate(rule, factor, operand);
    if (occurrence.kind == Occurrence::Kind::Unsplittable)
      return std::nullopt;
    bool has = occurrence.kind == Occurrence::Kind::Major;
    inOperand |= has;
    signature.operands.push_back(has ? occurrence.split : Sbp::broadcast());
  }
  bool inResult = false;
  for (const TensorFactors &result : rule.results) {
    Occurrence occurrence = locate(rule, factor, result);
    if (occurrence.kind == Occurrence::Kind::Unsplittable)
      return std::nullopt;
    if (occurrence.kind == Occurrence::Kind::Major) {
      inResult = true;
      signature.results.push_back(occurrence.split);
      continue;
    }
    switch (description.role) {
    case Factor::Role::Reduced:
      signature.results.push_back(Sbp::partial(description.reducer));
      break;
    case Factor::Role::Decomposed:
      signature.results.push_back(Sbp::broadcast());
      break;
    default:
      // The result may depend on all of the factor: no state describes it.
      return std::nullopt;
    }
  }
  // Splitting a factor divides work only if some tensor has it; a reduction
  // over whole copies would count them once per rank.
  if (!inOperand && (!inResult || description.role == Factor::Role::Reduced))
    return std::nullopt;
  signature.decomposed = description.role == Factor::Role::Decomposed;
  return signature;
}

std::optional<Signature> applyPartial(const OpRule &rule,
                                      const PartialRule &partial) {
  if (partial.operands.empty())
    return std::nullopt;
  Signature signature;
  signature.operands.assign(rule.operands.size(), Sbp::broadcast());
  signature.results.assign(rule.results.size(), Sbp::partial(partial.to));
  for (unsigned operand : partial.operands) {
    if (operand >= rule.operands.size())
      return std::nullopt;
    signature.operands[operand] = Sbp::partial(partial.from);
  }
  return signature;
}

void addUnique(std::vector<Signature> &signatures, Signature signature) {
  auto known = std::find(signatures.begin(), signatures.end(), signature);
  if (known == signatures.end())
    signatures.push_back(std::move(signature));
  else // What holds as it stands needs no decomposition.
    known->decomposed &= signature.decomposed;
}

} // namespace

std::vector<Signature> enumerateSignatures(const OpRule &rule) {
  std::vector<Signature> signatures;
  if (rule.allowsBroadcast)
    signatures.push_back(
        {std::vector<Sbp>(rule.operands.size(), Sbp::broadcast()),
         std::vector<Sbp>(rule.results.size(), Sbp::broadcast()), false});
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    if (std::optional<Signature> signature = splitFactor(rule, factor))
      addUnique(signatures, std::move(*signature));
  for (const PartialRule &partial : rule.partials)
    if (std::optional<Signature> signature = applyPartial(rule, partial))
      addUnique(signatures, std::move(*signature));
  for (const Signature &signature : rule.extra)
    if (signature.operands.size() == rule.operands.size() &&
        signature.results.size() == rule.results.size())
      addUnique(signatures, signature);
  return signatures;
}

Signature withBlocks(const Signature &signature, int64_t times) {
  Signature result = signature;
  for (std::vector<Sbp> *states : {&result.operands, &result.results})
    for (Sbp &state : *states)
      if (state.isSplit())
        state.block *= times;
  return result;
}

/// How many times larger the blocks of `asked` are than those of `allowed`, 0
/// where they differ in more than that.
static int64_t blockRatio(const Signature &allowed, const Signature &asked) {
  int64_t ratio = 0;
  auto compare = [&](const std::vector<Sbp> &a, const std::vector<Sbp> &b) {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i].isSplit() || !b[i].isSplit()) {
        if (a[i] != b[i])
          return false;
        continue;
      }
      if (a[i].dim != b[i].dim || b[i].block % a[i].block != 0)
        return false;
      int64_t times = b[i].block / a[i].block;
      if (ratio != 0 && times != ratio)
        return false;
      ratio = times;
    }
    return true;
  };
  if (!compare(allowed.operands, asked.operands) ||
      !compare(allowed.results, asked.results))
    return 0;
  return ratio == 0 ? 1 : ratio;
}

const Signature *findAllowed(const std::vector<Signature> &allowed,
                             const Signature &asked) {
  const Signature *found = nullptr;
  for (const Signature &candidate : allowed) {
    int64_t ratio = blockRatio(candidate, asked);
    if (ratio == 1)
      return &candidate;
    if (ratio > 1 && !found)
      found = &candidate;
  }
  return found;
}

namespace {

/// Extends an nd-signature axis by axis, and knows what each axis may be once
/// those before it are set.
class AxisByAxis {
public:
  AxisByAxis(const std::vector<Shape> &operands,
             const std::vector<Shape> &results, const Mesh &mesh)
      : operandShapes(operands), resultShapes(results), mesh(mesh) {
    prefix.operands.resize(operands.size());
    prefix.results.resize(results.size());
  }

  size_t axis() const { return meshPrefix.size(); }
  const NdSignature &signature() const { return prefix; }

  void push(const Signature &signature) {
    for (size_t i = 0; i < prefix.operands.size(); ++i)
      prefix.operands[i].push_back(signature.operands[i]);
    for (size_t i = 0; i < prefix.results.size(); ++i)
      prefix.results[i].push_back(signature.results[i]);
    meshPrefix.push_back(mesh[meshPrefix.size()]);
  }

  void pop() {
    for (NdSbp &sbp : prefix.operands)
      sbp.pop_back();
    for (NdSbp &sbp : prefix.results)
      sbp.pop_back();
    meshPrefix.pop_back();
  }

  /// Why the axes pushed so far are no legal state of some tensor, or nullopt.
  std::optional<std::string> check() const {
    for (size_t i = 0; i < prefix.operands.size(); ++i)
      if (auto reason =
              checkLegal(prefix.operands[i], operandShapes[i], meshPrefix))
        return "operand " + std::to_string(i) + ": " + *reason;
    for (size_t i = 0; i < prefix.results.size(); ++i)
      if (auto reason =
              checkLegal(prefix.results[i], resultShapes[i], meshPrefix))
        return "result " + std::to_string(i) + ": " + *reason;
    return std::nullopt;
  }

  /// Those of `signatures` that the next axis can be.
  std::vector<Signature> legalNext(const std::vector<Signature> &signatures) {
    std::vector<Signature> legal;
    for (const Signature &signature : signatures) {
      push(signature);
      if (!check())
        legal.push_back(signature);
      pop();
    }
    return legal;
  }

private:
  const std::vector<Shape> &operandShapes;
  const std::vector<Shape> &resultShapes;
  const Mesh &mesh;
  Mesh meshPrefix;
  NdSignature prefix;
};

/// How far apart two signatures are: another kind counts more than another
/// dimension, block or reducer.
int distance(const Signature &a, const Signature &b) {
  auto between = [](const std::vector<Sbp> &x, const std::vector<Sbp> &y) {
    int sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += x[i] == y[i] ? 0 : (x[i].kind == y[i].kind ? 2 : 3);
    return sum;
  };
  return between(a.operands, b.operands) + between(a.results, b.results);
}

/// "; this op allows for these shapes: ...; nearest: ...".
std::string describeChoices(const std::vector<Signature> &legal,
                            const Signature &asked) {
  if (legal.empty())
    return "; this op allows nothing for these shapes";
  constexpr size_t kShown = 12;
  std::string text = "; this op allows for these shapes: ";
  for (size_t i = 0; i < legal.size() && i < kShown; ++i)
    text += (i ? ", " : "") + toString(legal[i]);
  if (legal.size() > kShown)
    text += " and " + std::to_string(legal.size() - kShown) + " more";
  const Signature &nearest = *std::min_element(
      legal.begin(), legal.end(), [&](const Signature &a, const Signature &b) {
        return distance(a, asked) < distance(b, asked);
      });
  return text + "; nearest: " + toString(nearest);
}

/// A count that is not as expected, or a state that has not one Sbp per axis.
std::optional<std::string> checkForm(const OpRule &rule,
                                     const NdSignature &signature,
                                     const std::vector<Shape> &operands,
                                     const std::vector<Shape> &results,
                                     const Mesh &mesh) {
  auto checkSide = [&](const char *noun, size_t expected,
                       const std::vector<NdSbp> &states,
                       size_t shapes) -> std::optional<std::string> {
    if (states.size() != expected || shapes != expected)
      return "expected " + std::to_string(expected) + " " + noun +
             "s, got: states of " + std::to_string(states.size()) +
             " and shapes of " + std::to_string(shapes);
    for (size_t i = 0; i < states.size(); ++i)
      if (states[i].size() != mesh.size())
        return std::string(noun) + " " + std::to_string(i) +
               ": sbp_c1: expected one Sbp per mesh axis (" +
               std::to_string(mesh.size()) + "), got: " + toString(states[i]);
    return std::nullopt;
  };
  if (auto reason = checkSide("operand", rule.operands.size(),
                              signature.operands, operands.size()))
    return reason;
  return checkSide("result", rule.results.size(), signature.results,
                   results.size());
}

} // namespace

std::optional<std::string> checkSignature(const OpRule &rule,
                                          const NdSignature &signature,
                                          const std::vector<Shape> &operands,
                                          const std::vector<Shape> &results,
                                          const Mesh &mesh) {
  if (auto reason = checkForm(rule, signature, operands, results, mesh))
    return reason;
  const std::vector<Signature> allowed = enumerateSignatures(rule);
  AxisByAxis walk(operands, results, mesh);
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    Signature asked;
    for (const NdSbp &sbp : signature.operands)
      asked.operands.push_back(sbp[axis]);
    for (const NdSbp &sbp : signature.results)
      asked.results.push_back(sbp[axis]);

    std::string where =
        "mesh axis " + std::to_string(axis) + " asks for " + toString(asked);
    if (!findAllowed(allowed, asked))
      return where + ", which this op does not allow" +
             describeChoices(walk.legalNext(allowed), asked);
    walk.push(asked);
    if (auto reason = walk.check()) {
      walk.pop();
      return where + ": " + *reason +
             describeChoices(walk.legalNext(allowed), asked);
    }
  }
  return std::nullopt;
}

namespace {

void extend(AxisByAxis &walk, const std::vector<Signature> &signatures,
            const Mesh &mesh, size_t limit, std::vector<NdSignature> &found) {
  if (found.size() >= limit)
    return;
  if (walk.axis() == mesh.size()) {
    found.push_back(walk.signature());
    return;
  }
  for (const Signature &signature : signatures) {
    walk.push(signature);
    if (!walk.check())
      extend(walk, signatures, mesh, limit, found);
    walk.pop();
  }
}

} // namespace

std::vector<NdSignature>
enumerateNdSignatures(const OpRule &rule, const std::vector<Shape> &operands,
                      const std::vector<Shape> &results, const Mesh &mesh,
                      size_t limit) {
  std::vector<NdSignature> found;
  if (operands.size() != rule.operands.size() ||
      results.size() != rule.results.size())
    return found;
  AxisByAxis walk(operands, results, mesh);
  extend(walk, enumerateSignatures(rule), mesh, limit, found);
  return found;
}

template <typename State>
static std::string joinStates(const std::vector<State> &states) {
  std::string text = "(";
  for (size_t i = 0; i < states.size(); ++i)
    text += (i ? ", " : "") + toString(states[i]);
  return text + ")";
}

std::string toString(const NdSignature &signature) {
  return joinStates(signature.operands) + " -> " +
         joinStates(signature.results);
}

std::string toString(const Signature &signature) {
  return joinStates(signature.operands) + " -> " +
         joinStates(signature.results);
}

} // namespace oneflow::sbp
