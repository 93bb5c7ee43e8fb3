//===- SbpPinChecks.cpp - whether tensors can lie as pinned ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Refuses pins that the shape of the tensor rules out, whatever the op: one
// error that says what was asked, what is possible and what is nearest. What
// the op itself allows is found out when its signature is chosen.
//
//===----------------------------------------------------------------------===//

#include "SbpPins.h"

#include "oneflow/Dialect/OneFlow/IR/Parts.h"

using namespace mlir;
using namespace oneflow;

/// Why `state` is none that the tensor can have.
static std::optional<std::string> mistakeIn(const sbp::NdSbp &state,
                                            const sbp::Shape &shape,
                                            const sbp::Mesh &mesh,
                                            bool mayBePartial) {
  if (!mayBePartial)
    for (const sbp::Sbp &sbp : state)
      if (sbp.isPartial())
        return "variables and inputs are never partial";
  return sbp::checkLegal(state, shape, mesh);
}

/// The block nearest to `block` that leaves at least one for each of `parts`.
static int64_t nearestBlock(int64_t block, int64_t extent, int64_t parts) {
  int64_t nearest = 1;
  for (int64_t candidate = 1; candidate <= extent / parts; ++candidate)
    if (extent % candidate == 0 &&
        std::abs(candidate - block) <= std::abs(nearest - block))
      nearest = candidate;
  return nearest;
}

/// How much of what `wanted` says `other` changes.
static int64_t distanceOf(const sbp::Sbp &wanted, const sbp::Sbp &other) {
  constexpr int64_t kKind = int64_t(1) << 40;
  if (wanted.kind != other.kind)
    // Whole is nearer to anything than the other two are to each other.
    return other.isBroadcast() ? kKind : 2 * kKind;
  if (!wanted.isSplit())
    return wanted == other ? 0 : 1;
  return std::abs(wanted.dim - other.dim) * 2 +
         (wanted.block == other.block ? 0 : 1);
}

/// What the parts of one tensor have in common.
static std::string groupOf(Operation *op) {
  if (auto variable = dyn_cast<VariableOp>(op))
    return variable.getPartAttr().getWhole().str();
  return std::to_string(
      op->getAttrOfType<IntegerAttr>(kPackedAttrName).getInt());
}

std::string SbpPins::describePart(const Target &target) {
  auto textOf = [](ArrayRef<int64_t> shape) {
    std::string text;
    for (int64_t extent : shape)
      text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text;
  };
  if (auto variable = dyn_cast<VariableOp>(target.op)) {
    PartAttr part = variable.getPartAttr();
    if (!part)
      return "";
    return "part '" + variable.getSymName().str() + "', " +
           textOf(variable.getTensorType().getShape()) + ", of '" +
           part.getWhole().str() + "', " + textOf(part.getShape()) +
           ", which holds several projections: ";
  }
  if (!target.op->hasAttr(kPackedAttrName))
    return "";
  return "one of the projections of the node, " + textOf(shapeOf(target)) +
         ": ";
}

LogicalResult SbpPins::checkState(const Target &target) {
  const StatePins &pinned = stateOf(target);
  if (llvm::none_of(pinned, [](const auto &pin) { return pin.has_value(); }))
    return success();
  FailureOr<PlacementOp> placement = placementOf(target);
  if (failed(placement))
    return failure();
  if (!isa<VariableOp>(target.op) && failed(requireStaticShapes(target.op)))
    return failure();
  sbp::Shape shape = shapeOf(target);
  sbp::Mesh mesh = placement->getMesh();
  bool mayBePartial = !isa<VariableOp, InputOp>(target.op);
  sbp::NdSbp state;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    state.push_back(pinned[axis] ? pinned[axis]->sbp : sbp::Sbp::broadcast());
    sbp::Mesh prefix(mesh.begin(), mesh.begin() + axis + 1);
    auto mistake = mistakeIn(state, shape, prefix, mayBePartial);
    if (!mistake)
      continue;

    // One mistake of a user, though each part of a tensor makes it.
    std::string part = describePart(target);
    if (!part.empty() &&
        !reported
             .insert(pinned[axis]->reason + "@" + std::to_string(axis) + " " +
                     groupOf(target.op))
             .second)
      return failure();

    sbp::Sbp wanted = state[axis];
    std::vector<sbp::Sbp> candidates = {sbp::Sbp::broadcast()};
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
      candidates.push_back(sbp::Sbp::split(dim));
      if (wanted.isSplit() && wanted.dim == dim && wanted.block > 1)
        candidates.push_back(sbp::Sbp::split(
            dim, nearestBlock(wanted.block, shape[dim], mesh[axis])));
    }
    for (const sbp::Sbp &earlier : state)
      if (earlier.isPartial() && earlier != wanted)
        candidates.push_back(earlier);
    std::vector<sbp::Sbp> possible;
    for (const sbp::Sbp &candidate : candidates) {
      state[axis] = candidate;
      if (!llvm::is_contained(possible, candidate) &&
          !mistakeIn(state, shape, prefix, mayBePartial))
        possible.push_back(candidate);
    }
    InFlightDiagnostic error =
        target.op->emitOpError()
        << part << nameOf(target) << "along '" << axisName(*placement, axis)
        << "': " << pinned[axis]->reason << " asks for "
        << sbp::toString(wanted) << ": " << *mistake << "; a tensor of ";
    if (shape.empty())
      error << "rank 0";
    llvm::interleave(shape, error, "x");
    error << " can lie there as: ";
    llvm::interleaveComma(possible, error, [&](const sbp::Sbp &sbp) {
      error << sbp::toString(sbp);
    });
    auto nearest =
        llvm::min_element(possible, [&](const sbp::Sbp &a, const sbp::Sbp &b) {
          return distanceOf(wanted, a) < distanceOf(wanted, b);
        });
    error << "; nearest: " << sbp::toString(*nearest);
    return failure();
  }
  return success();
}

LogicalResult SbpPins::checkStates() {
  bool ok = true;
  SmallVector<Target> targets;
  for (auto &[variable, state] : storages)
    targets.push_back({variable, Target::Kind::Storage});
  for (auto &[op, known] : pins) {
    for (unsigned index = 0; index < known.operands.size(); ++index)
      targets.push_back({op, Target::Kind::Operand, index});
    for (unsigned index = 0; index < known.results.size(); ++index)
      targets.push_back({op, Target::Kind::Result, index});
  }
  for (const Target &target : targets)
    ok &= succeeded(checkState(target));
  return success(ok);
}
