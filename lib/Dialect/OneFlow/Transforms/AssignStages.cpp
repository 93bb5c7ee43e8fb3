//===- AssignStages.cpp - cut a model into pipeline stages ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts each entry into contiguous parts of about equal cost, puts part c on the
// placement of chunk c, and lets variables and inputs go where they are used
// first.
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"
#include "oneflow/Sbp/Hints.h"
#include "oneflow/Schedule/Balance.h"
#include "oneflow/Schedule/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace oneflow {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

struct AssignStagesPass
    : oneflow::impl::AssignStagesPassBase<AssignStagesPass> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    if (failed(parseMesh()) || failed(checkSchedule()))
      return signalPassFailure();
    if (stages == 1)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(cut(function)))
        return signalPassFailure();
    makePlacements();
    for (auto function : getOperation().getOps<func::FuncOp>())
      place(function);
    getOperation()->setAttr(
        "oneflow.schedule",
        StringAttr::get(&getContext(), schedule::toString(kind)));
  }

private:
  InFlightDiagnostic refuse(const Twine &option) {
    return emitError(getOperation().getLoc()) << "option " << option << ": ";
  }

  /// Takes `pp` off the mesh.
  LogicalResult parseMesh() {
    std::string reason;
    std::optional<sbp::NamedMesh> parsed = sbp::parseMesh(mesh, &reason);
    if (!parsed)
      return refuse("mesh") << reason;
    for (auto [name, size] : llvm::zip(parsed->names, parsed->sizes)) {
      if (name == "pp") {
        stages = size;
        continue;
      }
      names.push_back(name);
      sizes.push_back(size);
    }
    if (names.empty()) {
      names.push_back("dp");
      sizes.push_back(1);
    }
    return success();
  }

  LogicalResult checkSchedule() {
    std::optional<schedule::PipelineKind> parsed =
        schedule::parsePipelineKind(pipeline);
    if (!parsed)
      return refuse("schedule")
             << "expected gpipe, 1f1b, interleaved or zero-bubble, got: "
             << pipeline;
    kind = *parsed;
    if (chunks < 1)
      return refuse("chunks") << "expected at least 1, got: " << chunks;
    if (stages == 1)
      return success();
    std::string error;
    schedule::PipelineShape shape{static_cast<unsigned>(stages),
                                  static_cast<unsigned>(microBatches),
                                  static_cast<unsigned>(chunks)};
    if (microBatches > 1 &&
        !schedule::makePipelineSchedule(kind, shape, &error))
      return refuse("schedule") << error;
    return success();
  }

  /// Seconds that an op takes on its stage, compared with others: the work of
  /// all ranks of a stage is spread alike.
  static double secondsOf(Operation *op, const sbp::CostModel &model) {
    if (isa<ReadOp, InputOp, OutputOp, oneflow::ConstantOp>(op))
      return 0;
    double bytes = 0, flops = 0;
    auto count = [](Value value) {
      double elements = 1;
      for (int64_t extent : shapeOf(value))
        elements *= static_cast<double>(extent);
      return elements;
    };
    for (ValueRange values :
         {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        bytes += count(value) * elementBytesOf(value);
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      ArrayRef<int64_t> lhs =
          cast<RankedTensorType>(matmul.getLhs().getType()).getShape();
      flops = 2 * count(matmul.getResult()) *
              lhs[lhs.size() - (matmul.getTransposeLhs() ? 2 : 1)];
    }
    return model.computeSeconds(
        flops, isa<MatmulOp>(op) ? bytes : model.fusedShare * bytes);
  }

  LogicalResult cut(func::FuncOp function) {
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (failed(requireStaticShapes(&op)))
        return failure();
      if (!isa<ReadOp, InputOp, OutputOp, oneflow::ConstantOp>(op))
        ops.push_back(&op);
    }
    int64_t parts = stages * chunks;
    if (static_cast<int64_t>(ops.size()) < parts)
      return function.emitOpError("expected at least as many ops as pipeline "
                                  "stages to cut it into, got: ")
             << ops.size() << " ops for " << parts << " stages";
    sbp::CostModel model =
        device == "cuda" ? sbp::CostModel::cuda() : sbp::CostModel::cpu();
    DenseMap<Operation *, size_t> position;
    for (auto [index, op] : llvm::enumerate(ops))
      position[op] = index;
    std::vector<double> seconds, crossing(ops.size(), 0);
    std::vector<double> change(ops.size() + 1, 0);
    for (auto [index, op] : llvm::enumerate(ops)) {
      seconds.push_back(secondsOf(op, model));
      for (Value result : op->getResults()) {
        size_t last = index;
        for (Operation *user : result.getUsers())
          if (auto place = position.find(user); place != position.end())
            last = std::max(last, place->second);
        double bytes = elementBytesOf(result);
        for (int64_t extent : shapeOf(result))
          bytes *= static_cast<double>(extent);
        if (last > index) {
          change[index + 1] += bytes;
          change[last + 1] -= bytes;
        }
      }
    }
    double sum = 0;
    for (size_t index = 0; index < ops.size(); ++index)
      crossing[index] = sum += change[index];

    std::vector<std::optional<unsigned>> pins(ops.size());
    if (failed(findPins(ops, pins)))
      return failure();
    std::string error;
    std::optional<std::vector<unsigned>> parted = schedule::balanceStages(
        seconds, crossing, 1 / model.link.bytesPerSecond, pins,
        static_cast<unsigned>(parts), &error);
    if (!parted)
      return function.emitOpError("cannot be cut into ")
             << parts << " pipeline stages: " << error;
    for (auto [op, part] : llvm::zip(ops, *parted))
      stageOf[op] = part;
    return success();
  }

  /// `PATTERN=k`: what matches is in part k.
  LogicalResult findPins(ArrayRef<Operation *> ops,
                         std::vector<std::optional<unsigned>> &pins) {
    for (const std::string &hint : hints) {
      StringRef text(hint);
      auto [pattern, number] = text.rsplit('=');
      int64_t part;
      if (pattern.empty() || number.trim().getAsInteger(10, part) || part < 0 ||
          part >= stages * chunks)
        return refuse("hints")
               << "expected PATTERN=STAGE with a stage from 0 "
                  "to "
               << stages * chunks - 1 << ", got: '" << hint << "'";
      bool matched = false;
      for (auto [index, op] : llvm::enumerate(ops)) {
        if (!sbp::matchesPattern(pattern.trim().str(),
                                 nodeNameOf(op->getLoc()).str()))
          continue;
        matched = true;
        if (pins[index] && *pins[index] != part)
          return op->emitOpError("is hinted into pipeline stage ")
                 << *pins[index] << " and, by '" << hint << "', into " << part;
        pins[index] = static_cast<unsigned>(part);
      }
      if (!matched)
        return refuse("hints") << "'" << hint << "' matches no node";
    }
    return success();
  }

  void makePlacements() {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    SmallVector<Attribute> axes;
    SmallVector<int64_t> extents;
    if (microBatches > 1) {
      axes.push_back(builder.getStringAttr("time"));
      extents.push_back(microBatches);
    }
    int64_t ranks = 1;
    for (auto [name, size] : llvm::zip(names, sizes)) {
      axes.push_back(builder.getStringAttr(name));
      extents.push_back(size);
      ranks *= size;
    }
    for (int64_t part = 0; part < stages * chunks; ++part) {
      std::string name = "stage" + std::to_string(part);
      auto placement = PlacementOp::create(
          builder, getOperation().getLoc(), name,
          device == "cuda" ? Device::Cuda : Device::Cpu,
          builder.getArrayAttr(axes), builder.getDenseI64ArrayAttr(extents),
          (part % stages) * ranks);
      placement->setAttr("oneflow.stage", builder.getI64IntegerAttr(part));
      placements.push_back(FlatSymbolRefAttr::get(placement));
    }
  }

  void place(func::FuncOp function) {
    for (Operation &op : function.getBody().front().without_terminator()) {
      auto known = stageOf.find(&op);
      if (known == stageOf.end())
        continue;
      if (auto spread = dyn_cast<SpreadOpInterface>(op))
        spread.setPlacementAttr(placements[known->second]);
      else if (auto made = stageOf.find(op.getOperand(0).getDefiningOp());
               made != stageOf.end())
        // What a batch norm is decomposed into goes with what it normalizes.
        known->second = made->second;
    }
    // The rest goes where it is used first, outputs where they are made.
    for (Operation &op : llvm::reverse(function.getBody().front())) {
      auto spread = dyn_cast<SpreadOpInterface>(op);
      if (!spread || stageOf.contains(&op))
        continue;
      unsigned part = stages * chunks - 1;
      if (isa<OutputOp>(op)) {
        if (auto made = stageOf.find(op.getOperand(0).getDefiningOp());
            made != stageOf.end())
          part = made->second;
      } else {
        for (Operation *user : op.getUsers())
          if (auto known = stageOf.find(user); known != stageOf.end())
            part = std::min(part, known->second);
      }
      stageOf[&op] = part;
      spread.setPlacementAttr(placements[part]);
    }
    // A variable is where its first read of the first entry is.
    for (auto read : function.getOps<ReadOp>()) {
      auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
          read, read.getVariableAttr());
      if (!variable)
        continue;
      if (!variable.getPlacementAttr())
        variable.setPlacementAttr(read.getPlacementAttr());
      read.setPlacementAttr(variable.getPlacementAttr());
    }
  }

  int64_t stages = 1;
  schedule::PipelineKind kind = schedule::PipelineKind::OneForwardOneBackward;
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  SmallVector<FlatSymbolRefAttr> placements;
  DenseMap<Operation *, unsigned> stageOf;
};

} // namespace
