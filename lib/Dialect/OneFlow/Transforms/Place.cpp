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
    // Pipeline stages are there already.
    for (auto stage : module.getOps<PlacementOp>())
      if (stage->hasAttr("oneflow.stage"))
        return stage;
    // A model may have a variable of that name.
    std::string name = "mesh";
    for (unsigned number = 0; Operation *known = module.lookupSymbol(name);
         name = "mesh_" + std::to_string(number++))
      if (auto placement = dyn_cast<PlacementOp>(known))
        return placement;
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
    properties.sym_name = builder.getStringAttr(name);
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
    if (microBatches < 1)
      return emitError(getOperation().getLoc())
             << "option micro-batches: expected at least 1, got: "
             << static_cast<int64_t>(microBatches);
    for (const std::string &name : parsed->names)
      if (name == "time")
        return emitError(getOperation().getLoc())
               << "option mesh: expected names of axes of ranks, got 'time', "
                  "which is the axis of micro-batches";
    if (microBatches > 1)
      names.push_back(builder.getStringAttr("time"));
    for (const std::string &name : parsed->names)
      names.push_back(builder.getStringAttr(name));
    if (microBatches > 1)
      sizes.push_back(microBatches);
    sizes.append(parsed->sizes.begin(), parsed->sizes.end());
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

  /// An op goes where its variable is. Of a module of pipeline stages the
  /// others go where their first operand is made, or else where they are used
  /// first: what the optimizer adds, say.
  void placeOps(FlatSymbolRefAttr fallback) {
    bool hasStages = SymbolTable::lookupNearestSymbolFrom<PlacementOp>(
                         getOperation(), fallback)
                         ->hasAttr("oneflow.stage");
    SymbolTableCollection symbols;
    auto placementOf = [](Operation *other) {
      auto spread = dyn_cast_or_null<SpreadOpInterface>(other);
      return spread ? spread.getPlacementAttr() : FlatSymbolRefAttr();
    };
    SmallVector<SpreadOpInterface> sources;
    getOperation().walk([&](SpreadOpInterface op) {
      if (op.getPlacementAttr())
        return;
      FlatSymbolRefAttr placement;
      if (FlatSymbolRefAttr symbol = variableOf(op)) {
        if (auto variable =
                symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol))
          placement = variable.getPlacementAttr();
      } else if (hasStages && op->getNumOperands() == 0) {
        sources.push_back(op);
        return;
      }
      for (Value operand : op->getOperands())
        if (hasStages && !placement)
          placement = placementOf(operand.getDefiningOp());
      op.setPlacementAttr(placement ? placement : fallback);
    });
    for (SpreadOpInterface op : llvm::reverse(sources)) {
      FlatSymbolRefAttr placement;
      Operation *first = nullptr;
      for (Operation *user : op->getUsers())
        if (!first || user->isBeforeInBlock(first))
          first = user;
      if (first)
        placement = placementOf(first);
      op.setPlacementAttr(placement ? placement : fallback);
    }
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
