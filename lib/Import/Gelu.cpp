//===- Gelu.cpp - GELU written out ----------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write GELU as x/2 · (1 + erf(x/√2)), or with the tanh of a cubic in
// x, with factors in any order and divisions in place of products. Instead of
// listing the forms, everything between x and the result is read as a
// polynomial in x and t = erf(...) or tanh(...), and compared with 0.5·x +
// 0.5·x·t.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

/// Coefficients by the powers of x and t.
using Polynomial = std::map<std::pair<int, int>, double>;

constexpr int kMaxDegree = 3;
/// Ops between x and the result along one path: the longest known form has 7.
constexpr unsigned kMaxDepth = 8;

/// The value of a one-element constant or variable.
std::optional<double> scalarOf(Value value) {
  ElementsAttr elements;
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    elements = constant.getValue();
  } else if (auto read = value.getDefiningOp<ReadOp>()) {
    // Literals of one element are written as initializers, too.
    auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
        read, read.getVariableAttr());
    if (variable && variable.getInitial())
      elements = *variable.getInitial();
  }
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(elements);
  if (!dense || dense.getNumElements() != 1)
    return std::nullopt;
  llvm::APFloat number = *dense.value_begin<llvm::APFloat>();
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

Polynomial add(const Polynomial &a, const Polynomial &b, double sign) {
  Polynomial sum = a;
  for (const auto &[powers, coefficient] : b)
    sum[powers] += sign * coefficient;
  return sum;
}

std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (const auto &[p, x] : a)
    for (const auto &[q, y] : b) {
      int inX = p.first + q.first, inT = p.second + q.second;
      if (inX > kMaxDegree || inT > 1)
        return std::nullopt;
      product[{inX, inT}] += x * y;
    }
  return product;
}

/// Reads `value` as a polynomial in x and t; nothing where it is none.
std::optional<Polynomial> read(Value value, Value x, Value t, unsigned depth) {
  if (value == x)
    return Polynomial{{{1, 0}, 1.0}};
  if (value == t)
    return Polynomial{{{0, 1}, 1.0}};
  if (std::optional<double> number = scalarOf(value))
    return Polynomial{{{0, 0}, *number}};
  Operation *op = value.getDefiningOp();
  if (!depth || !isa_and_nonnull<AddOp, SubOp, MulOp, DivOp>(op))
    return std::nullopt;
  std::optional<Polynomial> lhs = read(op->getOperand(0), x, t, depth - 1);
  if (!lhs)
    return std::nullopt;
  std::optional<Polynomial> rhs = read(op->getOperand(1), x, t, depth - 1);
  if (!rhs)
    return std::nullopt;
  if (isa<AddOp, SubOp>(op))
    return add(*lhs, *rhs, isa<SubOp>(op) ? -1 : 1);
  if (isa<MulOp>(op))
    return multiply(*lhs, *rhs);
  // Only by a number.
  std::optional<double> divisor = scalarOf(op->getOperand(1));
  if (!divisor || *divisor == 0)
    return std::nullopt;
  return multiply(*lhs, {{{0, 0}, 1 / *divisor}});
}

/// Equal up to the rounding of constants to the element type.
bool matches(const std::optional<Polynomial> &polynomial,
             const Polynomial &expected, Type element) {
  if (!polynomial)
    return false;
  double tolerance = element.isBF16() ? 1e-2 : element.isF16() ? 2e-3 : 1e-5;
  Polynomial difference = add(*polynomial, expected, -1);
  for (const auto &[powers, coefficient] : difference) {
    auto found = expected.find(powers);
    double scale = found == expected.end() ? 0 : std::fabs(found->second);
    if (!(std::fabs(coefficient) <= tolerance * scale))
      return false;
  }
  return true;
}

/// Values that `value` is computed from by arithmetic, nearest first.
llvm::SetVector<Value> sourcesOf(Value value) {
  llvm::SetVector<Value> sources;
  sources.insert(value);
  size_t begin = 0;
  for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
    size_t end = sources.size();
    for (; begin < end; ++begin) {
      Operation *op = sources[begin].getDefiningOp();
      if (isa_and_nonnull<AddOp, SubOp, MulOp, DivOp>(op))
        sources.insert(op->operand_begin(), op->operand_end());
    }
    // What is not GELU may be a large sum; its x is near.
    if (sources.size() > 32)
      break;
  }
  return sources;
}

/// The x whose polynomial the function's argument is; null where there is none.
Value findX(Value argument, const Polynomial &expected) {
  for (Value x : sourcesOf(argument))
    if (x.getType() == argument.getType() && !scalarOf(x) &&
        matches(read(argument, x, {}, kMaxDepth), expected,
                getElementTypeOrSelf(argument)))
      return x;
  return {};
}

/// The value after `t` that is 0.5·x + 0.5·x·t; null where there is none.
Value findResult(Value t, Value x) {
  const Polynomial gelu = {{{1, 0}, 0.5}, {{1, 1}, 0.5}};
  llvm::SetVector<Value> reached;
  reached.insert(t);
  for (size_t i = 0; i < reached.size() && i < 32; ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (!isa<AddOp, SubOp, MulOp, DivOp>(user) ||
          user->getResult(0).getType() != x.getType())
        continue;
      Value candidate = user->getResult(0);
      if (matches(read(candidate, x, t, kMaxDepth), gelu,
                  getElementTypeOrSelf(x)))
        return candidate;
      reached.insert(candidate);
    }
  return {};
}

/// Gives `gelu` what was asked of the value that it replaces and of `x` where
/// the ops that it replaces use it.
void moveShardings(Operation *root, Value x, Value t, GeluOp gelu) {
  SmallVector<Attribute> shardings;
  auto take = [&](Operation *op, bool isOperand, unsigned index) {
    auto list = op->getAttrOfType<ArrayAttr>(kShardingAttrName);
    if (!list)
      return;
    for (auto sharding : list.getAsRange<ShardingAttr>())
      if (sharding.getIsOperand() == isOperand && sharding.getIndex() == index)
        shardings.push_back(ShardingAttr::get(op->getContext(), isOperand, 0,
                                              sharding.toSharding(),
                                              sharding.getDevices()));
  };
  take(root, false, 0);
  llvm::SetVector<Value> inside = sourcesOf(root->getResult(0));
  inside.insert_range(sourcesOf(t.getDefiningOp()->getOperand(0)));
  for (OpOperand &use : x.getUses())
    for (Value result : use.getOwner()->getResults())
      if (inside.contains(result))
        take(use.getOwner(), true, use.getOperandNumber());
  if (!shardings.empty())
    gelu->setAttr(kShardingAttrName,
                  ArrayAttr::get(gelu.getContext(), shardings));
}

} // namespace

void importer::recognizeGelu(Operation *function) {
  const double rootHalf = std::sqrt(0.5);
  const double rootTwoOverPi = std::sqrt(2 / std::acos(-1.0));
  // Hendrycks and Gimpel, arXiv 1606.08415.
  const Polynomial erfArgument = {{{1, 0}, rootHalf}};
  const Polynomial tanhArgument = {{{1, 0}, rootTwoOverPi},
                                   {{3, 0}, rootTwoOverPi * 0.044715}};
  SmallVector<Operation *> functions;
  function->walk([&](Operation *op) {
    if (isa<ErfOp, TanhOp>(op))
      functions.push_back(op);
  });
  for (Operation *op : functions) {
    bool isErf = isa<ErfOp>(op);
    Value x = findX(op->getOperand(0), isErf ? erfArgument : tanhArgument);
    Value result = x ? findResult(op->getResult(0), x) : Value();
    if (!result)
      continue;
    Operation *root = result.getDefiningOp();
    OpBuilder builder(root);
    Location loc = builder.getFusedLoc({root->getLoc(), op->getLoc()});
    auto kind = GeluKindAttr::get(op->getContext(),
                                  isErf ? GeluKind::Erf : GeluKind::Tanh);
    auto gelu = GeluOp::create(builder, loc, x.getType(), x, kind,
                               FlatSymbolRefAttr(), SignatureAttr());
    moveShardings(root, x, op->getResult(0), gelu);
    result.replaceAllUsesWith(gelu);
  }
}

void importer::removeUnused(ModuleOp module) {
  // Backwards, so that users go before what they use.
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (!isa<InputOp>(op) && isOpTriviallyDead(op))
      op->erase();
  llvm::StringSet<> used;
  module.walk([&](ReadOp op) { used.insert(op.getVariable()); });
  for (VariableOp variable :
       llvm::make_early_inc_range(module.getOps<VariableOp>()))
    if (!used.contains(variable.getSymName()))
      variable.erase();
}
