//===- SbpWarnings.cpp - pins that do not mean what they seem to ----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SbpWarnings.h.
//
//===----------------------------------------------------------------------===//

#include "SbpWarnings.h"
#include "oneflow/Sbp/CostModel.h"

#include <set>

using namespace mlir;
using namespace oneflow;

static const SbpPin *pinOf(const StatePins &pins, size_t axis) {
  return axis < pins.size() && pins[axis] ? &*pins[axis] : nullptr;
}

static ArrayRef<int64_t> extentsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Splits within blocks
//===----------------------------------------------------------------------===//

namespace {

/// A reshape that makes a dimension several, the first in steps of `block`.
struct Blocks {
  Operation *reshape = nullptr;
  int64_t block = 1;
};

} // namespace

/// How a reshape cuts dimension `dim` of what it takes; a block of 1 where it
/// does not.
static int64_t blockOf(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                       int64_t dim) {
  int64_t before = 1, product = 1;
  for (int64_t d = 0; d < dim; ++d)
    before *= from[d];
  for (int64_t extent : to) {
    if (product == before && extent > 1)
      return extent < from[dim] && from[dim] % extent == 0 ? from[dim] / extent
                                                           : 1;
    product *= extent;
  }
  return 1;
}

/// Follows dimension `dim` of `value` by elementwise sums to a reshape that
/// cuts it.
static Blocks findBlocks(Value value, int64_t dim, unsigned depth = 0) {
  // A bias, a cast and a residual sum are all that stands in between.
  constexpr unsigned kDepth = 4;
  for (Operation *user : value.getUsers()) {
    if (auto reshape = dyn_cast<ReshapeOp>(user)) {
      int64_t block =
          blockOf(extentsOf(value), extentsOf(reshape.getResult()), dim);
      if (block > 1)
        return {reshape, block};
    } else if (isa<AddOp, CastOp>(user) && depth < kDepth &&
               extentsOf(user->getResult(0)) == extentsOf(value)) {
      if (Blocks found = findBlocks(user->getResult(0), dim, depth + 1);
          found.reshape)
        return found;
    }
  }
  return {};
}

/// What becomes of dimension `dim` of the weight behind its products.
static Blocks findBlocks(ReadOp read, int64_t dim) {
  for (Operation *user : read.getResult().getUsers()) {
    auto matmul = dyn_cast<MatmulOp>(user);
    if (!matmul || matmul.getRhs() != read.getResult())
      continue;
    int64_t rank = static_cast<int64_t>(extentsOf(matmul.getRhs()).size());
    if (dim != rank - (matmul.getTransposeRhs() ? 2 : 1))
      continue;
    int64_t last =
        static_cast<int64_t>(extentsOf(matmul.getResult()).size()) - 1;
    if (Blocks found = findBlocks(matmul.getResult(), last); found.reshape)
      return found;
  }
  return {};
}

/// The name that the user knows a variable by.
static StringRef userNameOf(VariableOp variable) {
  PartAttr part = variable.getPartAttr();
  return part ? part.getWhole().getValue() : variable.getSymName();
}

static void warnOfBlocks(ReadOp read, VariableOp variable,
                         const StatePins &storage, PlacementOp placement,
                         std::set<std::string> &warned) {
  sbp::Mesh mesh = placement.getMesh();
  ArrayRef<int64_t> extents = variable.getTensorType().getShape();
  sbp::Shape shape(extents.begin(), extents.end());
  sbp::NdSbp state;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    const SbpPin *pin = pinOf(storage, axis);
    state.push_back(pin ? pin->sbp : sbp::Sbp::broadcast());
    if (!pin || !pin->sbp.isSplit() || pin->sbp.block != 1)
      continue;
    Blocks blocks = findBlocks(read, pin->sbp.dim);
    if (!blocks.reshape)
      continue;
    sbp::Mesh prefix(mesh.begin(), mesh.begin() + axis + 1);
    sbp::NdSbp blocked = state;
    blocked.back() = sbp::Sbp::split(pin->sbp.dim, blocks.block);
    // Fewer blocks than ranks cannot be split by blocks at all.
    if (sbp::checkLegal(blocked, shape, prefix) ||
        sbp::checkLegal(state, shape, prefix) ||
        sbp::sameLayout(state, blocked, shape, prefix) ||
        !warned.insert(pin->reason).second)
      continue;
    StringRef node = nodeNameOf(blocks.reshape->getLoc());
    variable.emitWarning()
        << pin->reason << " splits " << userNameOf(variable) << " within the "
        << shape[pin->sbp.dim] / blocks.block << " blocks of " << blocks.block
        << " (attention heads, say) that "
        << (node.empty() ? StringRef("a reshape") : node)
        << " makes of them, which " << mesh[axis]
        << " ranks do not share evenly, so that all that works by blocks "
           "gathers them; "
        << sbp::toString(blocked.back()) << "@" << axisName(placement, axis)
        << " splits between blocks";
  }
}

//===----------------------------------------------------------------------===//
// Storages and shardings
//===----------------------------------------------------------------------===//

static void warnOfSharding(ReadOp read, VariableOp variable,
                           const StatePins &storage, PlacementOp placement,
                           const SbpPins &pins, std::set<std::string> &warned) {
  for (OpOperand &use : read.getResult().getUses()) {
    const OpPins *known = pins.lookup(use.getOwner());
    if (!known || use.getOperandNumber() >= known->operands.size())
      continue;
    const StatePins &used = known->operands[use.getOperandNumber()];
    for (size_t axis = 0; axis < storage.size(); ++axis) {
      const SbpPin *stored = pinOf(storage, axis), *wanted = pinOf(used, axis);
      if (!stored || !wanted || stored->sbp == wanted->sbp ||
          !StringRef(wanted->reason).starts_with(kShardingReason) ||
          !warned.insert(stored->reason + wanted->reason).second)
        continue;
      StringRef node = nodeNameOf(use.getOwner()->getLoc());
      variable.emitWarning()
          << "along '" << axisName(placement, axis) << "': " << stored->reason
          << " stores " << userNameOf(variable) << " as "
          << sbp::toString(stored->sbp) << ", but "
          << (node.empty() ? use.getOwner()->getName().stripDialect() : node)
          << " uses it as " << sbp::toString(wanted->sbp) << " by "
          << wanted->reason << ", so that it is boxed in every step";
    }
  }
}

void oneflow::warnOfPins(ModuleOp module, const SbpPins &pins) {
  std::set<std::string> warned;
  SymbolTableCollection symbols;
  module.walk([&](ReadOp read) {
    auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(
        read, read.getVariableAttr());
    PlacementOp placement =
        lookupPlacement(variable, variable.getPlacementAttr());
    const StatePins &storage = pins.storageOf(variable);
    if (!variable.getTensorType().hasStaticShape())
      return;
    warnOfBlocks(read, variable, storage, placement, warned);
    warnOfSharding(read, variable, storage, placement, pins, warned);
  });
}
