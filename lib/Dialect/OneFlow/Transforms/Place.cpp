//===- Place.cpp - put ops on a mesh --------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every op and variable that has no placement the one that the options
// describe.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"
#include "oneflow/Sbp/Hints.h"

#include "llvm/ADT/StringExtras.h"

namespace oneflow {
#define GEN_PASS_DEF_PLACEPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

struct PlacePass : oneflow::impl::PlacePassBase<PlacePass> {
  using PlacePassBase::PlacePassBase;

  void runOnOperation() override {
    FailureOr<PlacementOp> placement = findOrCreatePlacement();
    if (failed(placement))
      return signalPassFailure();
    placeVariables(FlatSymbolRefAttr::get(*placement));
    placeOps(FlatSymbolRefAttr::get(*placement));
  }

private:
  FailureOr<PlacementOp> findOrCreatePlacement() {
    ModuleOp module = getOperation();
    if (Operation *known = module.lookupSymbol("mesh")) {
      if (auto placement = dyn_cast<PlacementOp>(known))
        return placement;
      return known->emitOpError("expected @mesh to be a placement or free");
    }
    FailureOr<Device> kind = parseDevice();
    if (failed(kind))
      return failure();
    SmallVector<Attribute> names;
    SmallVector<int64_t> sizes;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    if (failed(parseMesh(builder, names, sizes)))
      return failure();
    OperationState state(module.getLoc(), PlacementOp::getOperationName());
    PlacementOp::Properties &properties =
        state.getOrAddProperties<PlacementOp::Properties>();
    properties.sym_name = builder.getStringAttr("mesh");
    properties.device = DeviceAttr::get(&getContext(), *kind);
    properties.axis_names = builder.getArrayAttr(names);
    properties.axis_sizes = builder.getDenseI64ArrayAttr(sizes);
    properties.first_rank = builder.getI64IntegerAttr(0);
    auto placement = cast<PlacementOp>(builder.create(state));
    if (failed(placement.verify()))
      return failure();
    return placement;
  }

  FailureOr<Device> parseDevice() {
    if (std::optional<Device> kind = symbolizeDevice(device))
      return *kind;
    return emitError(getOperation().getLoc())
           << "option device: expected cpu or cuda, got: '" << device << "'";
  }

  LogicalResult parseMesh(OpBuilder &builder, SmallVectorImpl<Attribute> &names,
                          SmallVectorImpl<int64_t> &sizes) {
    std::string reason;
    std::optional<sbp::NamedMesh> parsed = sbp::parseMesh(mesh, &reason);
    if (!parsed)
      return emitError(getOperation().getLoc()) << "option mesh: " << reason;
    for (const std::string &name : parsed->names)
      names.push_back(builder.getStringAttr(name));
    sizes.assign(parsed->sizes.begin(), parsed->sizes.end());
    return success();
  }

  /// A variable is on the placement of its first placed use, if there is one.
  void placeVariables(FlatSymbolRefAttr fallback) {
    ModuleOp module = getOperation();
    llvm::StringMap<FlatSymbolRefAttr> uses;
    module.walk([&](SpreadOpInterface op) {
      if (auto variable = variableOf(op); variable && op.getPlacementAttr())
        uses.try_emplace(variable.getValue(), op.getPlacementAttr());
    });
    for (VariableOp variable : module.getOps<VariableOp>())
      if (!variable.getPlacementAttr()) {
        FlatSymbolRefAttr use = uses.lookup(variable.getSymName());
        variable.setPlacementAttr(use ? use : fallback);
      }
  }

  void placeOps(FlatSymbolRefAttr fallback) {
    SymbolTableCollection symbols;
    getOperation().walk([&](SpreadOpInterface op) {
      if (op.getPlacementAttr())
        return;
      FlatSymbolRefAttr placement = fallback;
      if (FlatSymbolRefAttr symbol = variableOf(op))
        if (auto variable =
                symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol))
          placement = variable.getPlacementAttr();
      op.setPlacementAttr(placement);
    });
  }

  /// The variable that an op reads or updates, null for other ops.
  static FlatSymbolRefAttr variableOf(Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op))
      return read.getVariableAttr();
    if (auto update = dyn_cast<UpdateOp>(op))
      return update.getVariableAttr();
    return {};
  }
};

} // namespace
