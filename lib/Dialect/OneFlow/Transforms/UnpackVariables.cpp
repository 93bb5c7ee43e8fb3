//===- UnpackVariables.cpp - one variable per packed projection -----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every projection of a packed one its own variables and its own matmul,
// so that each can be split by heads. What the user sees stays the whole.
//
//===----------------------------------------------------------------------===//

#include "CutElements.h"
#include "PackedProjection.h"

#include "oneflow/Dialect/OneFlow/IR/Parts.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace oneflow {
#define GEN_PASS_DEF_UNPACKVARIABLESPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// Intervals of the packed dimension as indices of an operand's dimension;
/// empty where one falls between two indices.
static SmallVector<Interval> indicesOf(ArrayRef<Interval> intervals,
                                       int64_t unit) {
  SmallVector<Interval> indices;
  for (const Interval &interval : intervals) {
    if (interval.begin % unit != 0 || interval.end % unit != 0)
      return {};
    indices.push_back({interval.begin / unit, interval.end / unit});
  }
  return indices;
}

static VariableOp variableOf(const PackedProjection::Operand &operand) {
  auto read = operand.use->get().getDefiningOp<ReadOp>();
  return read ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(
                    read, read.getVariableAttr())
              : VariableOp();
}

namespace {

/// How a use wants a variable cut.
struct WantedCut {
  int64_t dim;
  SmallVector<Interval> indices;

  bool operator==(const WantedCut &other) const {
    return dim == other.dim && indices == other.indices;
  }
};

struct UnpackVariablesPass
    : oneflow::impl::UnpackVariablesPassBase<UnpackVariablesPass> {
  using UnpackVariablesPassBase::UnpackVariablesPassBase;

  void runOnOperation() override {
    SmallVector<PackedProjection> projections;
    getOperation().walk([&](MatmulOp matmul) {
      if (auto projection = PackedProjection::match(matmul))
        projections.push_back(std::move(*projection));
    });
    keepWhatCanBeUnpacked(projections);
    nextNumber = 0;
    getOperation().walk([&](Operation *op) {
      if (auto number = op->getAttrOfType<IntegerAttr>(kPackedAttrName))
        nextNumber = std::max(nextNumber, number.getInt() + 1);
    });
    for (PackedProjection &projection : projections) {
      // Ops are erased with their projection: addresses may come again.
      numbers.clear();
      rewrite(projection);
    }
    for (auto &[variable, parts] : partsOf)
      eraseWhole(variable);
    partsOf.clear();
  }

private:
  // Which projections can be unpacked.

  void keepWhatCanBeUnpacked(SmallVectorImpl<PackedProjection> &projections);
  bool canBeUnpacked(const PackedProjection &projection,
                     const DenseMap<OpOperand *, WantedCut> &wanted);
  bool usesAgree(VariableOp variable,
                 const DenseMap<OpOperand *, WantedCut> &wanted);
  bool canBeCut(VariableOp variable, size_t count);

  // Unpacking.

  void rewrite(PackedProjection &projection);
  Value rebuild(const PackedProjection &projection, Value value, size_t index);
  Value part(const PackedProjection &projection,
             const PackedProjection::Operand &operand, size_t index);
  ArrayRef<VariableOp> cutVariable(VariableOp variable, int64_t dim,
                                   ArrayRef<Interval> indices);
  void eraseWhole(VariableOp variable);
  /// Tells the parts of one op from those of others.
  IntegerAttr numberOf(Operation *op);

  llvm::MapVector<VariableOp, SmallVector<VariableOp>> partsOf;
  /// Of the projection at hand: a value's part by its interval.
  std::map<std::pair<void *, size_t>, Value> rebuilt;
  DenseMap<Operation *, IntegerAttr> numbers;
  int64_t nextNumber = 0;
};

} // namespace

void UnpackVariablesPass::keepWhatCanBeUnpacked(
    SmallVectorImpl<PackedProjection> &projections) {
  // A variable that has to stay keeps all projections that use it, and those
  // keep their other variables.
  for (bool changed = true; changed;) {
    DenseMap<OpOperand *, WantedCut> wanted;
    for (const PackedProjection &projection : projections)
      for (const PackedProjection::Operand &operand : projection.operands)
        wanted[operand.use] = {
            operand.packed.dim,
            indicesOf(projection.intervals, operand.packed.unit)};
    size_t count = projections.size();
    llvm::erase_if(projections, [&](const PackedProjection &projection) {
      return !canBeUnpacked(projection, wanted);
    });
    changed = projections.size() != count;
  }
}

bool UnpackVariablesPass::canBeUnpacked(
    const PackedProjection &projection,
    const DenseMap<OpOperand *, WantedCut> &wanted) {
  return llvm::all_of(
      projection.operands, [&](const PackedProjection::Operand &operand) {
        if (wanted.lookup(operand.use).indices.empty())
          return false;
        if (auto constant = operand.use->get().getDefiningOp<ConstantOp>())
          return canCutElements(constant.getValue());
        VariableOp variable = variableOf(operand);
        return variable && canBeCut(variable, projection.intervals.size()) &&
               usesAgree(variable, wanted);
      });
}

bool UnpackVariablesPass::canBeCut(VariableOp variable, size_t count) {
  // A storage or a pin says how the whole is to lie; a part is cut already.
  if (variable.getStorageAttr() || isPinned(variable) ||
      variable.getPartAttr() || variable.getLikeAttr())
    return false;
  if (ElementsAttr initial = variable.getInitialAttr();
      initial && !canCutElements(initial))
    return false;
  for (size_t i = 0; i < count; ++i)
    if (getOperation().lookupSymbol(
            (variable.getSymName() + "." + Twine(i)).str()))
      return false;
  return true;
}

bool UnpackVariablesPass::usesAgree(
    VariableOp variable, const DenseMap<OpOperand *, WantedCut> &wanted) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(variable, getOperation());
  if (!uses)
    return false;
  const WantedCut *first = nullptr;
  for (SymbolTable::SymbolUse use : *uses) {
    auto read = dyn_cast<ReadOp>(use.getUser());
    if (!read || read.getSignatureAttr())
      return false;
    for (OpOperand &operand : read.getResult().getUses()) {
      auto cut = wanted.find(&operand);
      if (cut == wanted.end() || (first && !(cut->second == *first)))
        return false;
      first = &cut->second;
    }
  }
  return first;
}

ArrayRef<VariableOp>
UnpackVariablesPass::cutVariable(VariableOp variable, int64_t dim,
                                 ArrayRef<Interval> indices) {
  SmallVector<VariableOp> &parts = partsOf[variable];
  if (!parts.empty())
    return parts;
  RankedTensorType type = variable.getTensorType();
  OpBuilder b(&getContext());
  b.setInsertionPoint(variable);
  for (auto [index, interval] : llvm::enumerate(indices)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = interval.end - interval.begin;
    std::string name = (variable.getSymName() + "." + Twine(index)).str();
    ElementsAttr initial = variable.getInitialAttr();
    if (initial)
      initial = cutElements(initial, dim, interval.begin, interval.end, name);
    parts.push_back(VariableOp::create(
        b, variable.getLoc(), b.getStringAttr(name),
        TypeAttr::get(type.clone(shape)), initial, variable.getTrainableAttr(),
        /*like=*/nullptr, variable.getPlacementAttr(), /*storage=*/nullptr,
        PartAttr::get(&getContext(), variable.getSymNameAttr(), type.getShape(),
                      dim, interval.begin)));
  }
  return parts;
}

IntegerAttr UnpackVariablesPass::numberOf(Operation *op) {
  IntegerAttr &number = numbers[op];
  if (!number)
    number = Builder(&getContext()).getI64IntegerAttr(nextNumber++);
  return number;
}

/// One part of what an operand brings in from outside.
Value UnpackVariablesPass::part(const PackedProjection &projection,
                                const PackedProjection::Operand &operand,
                                size_t index) {
  Value whole = operand.use->get();
  Value &known = rebuilt[{whole.getAsOpaquePointer(), index}];
  if (known)
    return known;
  SmallVector<Interval> indices =
      indicesOf(projection.intervals, operand.packed.unit);
  int64_t dim = operand.packed.dim;
  OpBuilder b(whole.getDefiningOp());
  if (auto constant = whole.getDefiningOp<ConstantOp>()) {
    ElementsAttr value =
        cutElements(constant.getValue(), dim, indices[index].begin,
                    indices[index].end, "part");
    auto made = ConstantOp::create(b, constant.getLoc(), value,
                                   constant.getPlacementAttr(), nullptr);
    made->setAttr(kPackedAttrName, numberOf(constant));
    return known = made;
  }
  auto read = whole.getDefiningOp<ReadOp>();
  VariableOp variable = cutVariable(variableOf(operand), dim, indices)[index];
  return known = ReadOp::create(b, read.getLoc(), variable.getType(),
                                variable.getSymName(), read.getPlacementAttr(),
                                nullptr);
}

/// The interval's part of a value of the projection: the op that gives it, on
/// the parts of its operands.
Value UnpackVariablesPass::rebuild(const PackedProjection &projection,
                                   Value value, size_t index) {
  std::pair<void *, size_t> key(value.getAsOpaquePointer(), index);
  if (auto known = rebuilt.find(key); known != rebuilt.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands;
  for (OpOperand &use : op->getOpOperands()) {
    auto *outside = llvm::find_if(
        projection.operands, [&](const PackedProjection::Operand &operand) {
          return operand.use == &use;
        });
    if (outside != projection.operands.end())
      operands.push_back(part(projection, *outside, index));
    else if (projection.values.count(use.get()))
      operands.push_back(rebuild(projection, use.get(), index));
    else
      operands.push_back(use.get());
  }
  OpBuilder b(op);
  Operation *clone = b.clone(*op);
  clone->setAttr(kPackedAttrName, numberOf(op));
  clone->setOperands(operands);
  PackedDim packed = projection.values.lookup(value);
  const Interval &interval = projection.intervals[index];
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[packed.dim] = (interval.end - interval.begin) / packed.unit;
  clone->getResult(0).setType(type.clone(shape));
  return rebuilt[key] = clone->getResult(0);
}

void UnpackVariablesPass::eraseWhole(VariableOp variable) {
  // Reads that nothing used before either.
  if (auto uses = SymbolTable::getSymbolUses(variable, getOperation()))
    for (SymbolTable::SymbolUse use : *uses)
      use.getUser()->erase();
  variable.erase();
}

void UnpackVariablesPass::rewrite(PackedProjection &projection) {
  rebuilt.clear();
  for (const PackedProjection::Cut &cut : projection.cuts) {
    size_t index = llvm::find(projection.intervals, cut.interval) -
                   projection.intervals.begin();
    Operation *op = cut.use->getOwner();
    Value result = rebuild(projection, cut.use->get(), index);
    // A gather drops the dimension that it cuts.
    if (Type wanted = op->getResult(0).getType(); result.getType() != wanted) {
      OpBuilder b(op);
      result =
          ReshapeOp::create(b, op->getLoc(), wanted, result, nullptr, nullptr);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  // Users first: those that nothing uses go until none is left.
  SmallVector<Operation *> dead;
  for (auto &[value, packed] : projection.values)
    dead.push_back(value.getDefiningOp());
  for (const PackedProjection::Operand &operand : projection.operands)
    dead.push_back(operand.use->get().getDefiningOp());
  while (!dead.empty()) {
    SmallVector<Operation *> left;
    size_t count = dead.size();
    llvm::SmallPtrSet<Operation *, 8> seen;
    for (Operation *op : dead) {
      if (!seen.insert(op).second)
        continue;
      if (op->use_empty())
        op->erase();
      else
        left.push_back(op);
    }
    if (left.size() == count)
      break;
    dead = std::move(left);
  }
}
