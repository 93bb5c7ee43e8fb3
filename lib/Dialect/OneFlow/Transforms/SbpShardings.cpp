//===- SbpShardings.cpp - pins from shardings over devices ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `oneflow.sharding` says which device holds which shard; on the mesh that the
// ops were placed on, that is one SBP per axis, or an error that names a mesh
// on which it is.
//
//===----------------------------------------------------------------------===//

#include "SbpPins.h"
#include "oneflow/Sbp/Sharding.h"

using namespace mlir;
using namespace oneflow;

static std::string meshText(PlacementOp placement) {
  std::string text;
  for (auto [axis, size] : llvm::enumerate(placement.getAxisSizes()))
    text += (text.empty() ? "" : ",") + axisName(placement, axis).str() + "=" +
            std::to_string(size);
  return text;
}

/// Where all shardings of the module have SBPs, as --mesh spells it.
static std::optional<std::string>
fittingMesh(const std::vector<std::pair<sbp::Sharding, sbp::Shape>> &tensors,
            int64_t devices) {
  std::optional<sbp::Mesh> mesh = sbp::meshFor(tensors, devices);
  if (!mesh || mesh->size() > 26)
    return std::nullopt;
  std::string text = "--mesh ";
  for (auto [axis, size] : llvm::enumerate(*mesh))
    text += (axis ? "," : "") + std::string(1, static_cast<char>('a' + axis)) +
            "=" + std::to_string(size);
  return text;
}

LogicalResult SbpPins::pinShardings() {
  struct Sharded {
    Target target;
    sbp::Sharding sharding;
    int64_t devices;
  };
  std::vector<Sharded> all;
  std::vector<std::pair<sbp::Sharding, sbp::Shape>> tensors;
  bool ok = true;
  module.walk([&](Operation *op) {
    auto shardings = op->getAttrOfType<ArrayAttr>(kShardingAttrName);
    if (!shardings)
      return;
    if (failed(requireStaticShapes(op))) {
      ok = false;
      return;
    }
    for (auto attr : shardings.getAsRange<ShardingAttr>()) {
      Target target = {op,
                       attr.getIsOperand() ? Target::Kind::Operand
                                           : Target::Kind::Result,
                       attr.getIndex()};
      sbp::Sharding sharding = attr.toSharding();
      sbp::Shape shape = shapeOf(target);
      if (auto reason =
              sbp::checkSharding(sharding, shape, attr.getDevices())) {
        op->emitOpError() << nameOf(target) << "sharded as "
                          << sbp::toString(sharding) << ": " << *reason;
        ok = false;
        continue;
      }
      tensors.push_back({sharding, shape});
      all.push_back({target, std::move(sharding), attr.getDevices()});
    }
  });
  if (!ok)
    return failure();

  for (const Sharded &sharded : all) {
    FailureOr<PlacementOp> placement = placementOf(sharded.target);
    if (failed(placement))
      return failure();
    std::string what = kShardingReason.str() + sbp::toString(sharded.sharding);
    auto refuse = [&](const Twine &reason) {
      InFlightDiagnostic error = sharded.target.op->emitOpError()
                                 << nameOf(sharded.target) << "cannot obey "
                                 << what << ": " << reason;
      if (auto mesh = fittingMesh(tensors, sharded.devices))
        error << "; a mesh that fits the whole model: " << *mesh;
      else
        error << "; no mesh of " << sharded.devices
              << " ranks fits the whole model, --device-configuration none "
                 "ignores it";
      return failure();
    };
    sbp::Mesh mesh = placement->getMesh();
    if (sbp::rankCount(mesh) != sharded.devices)
      return refuse("the model is sharded over " + Twine(sharded.devices) +
                    " devices, the mesh " + meshText(*placement) + " has " +
                    Twine(sbp::rankCount(mesh)) + " ranks");
    std::optional<sbp::NdSbp> state =
        sbp::stateOf(sharded.sharding, shapeOf(sharded.target), mesh);
    if (!state)
      return refuse("no SBPs on the mesh " + meshText(*placement) +
                    " put these shards on these ranks");
    for (auto [axis, sbp] : llvm::enumerate(*state))
      if (failed(pin(sharded.target, *placement, axis, {sbp, what})))
        return failure();
  }
  return success();
}
