//===- GraphSection.cpp - the graph of a plan -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the entries of a plan share; EntryBuilder.cpp holds the entries.
//
//===----------------------------------------------------------------------===//

#include "GraphSection.h"

#include "oneflow/Dialect/OneFlow/IR/Parts.h"
#include "oneflow/Interfaces/SourceName.h"
#include "oneflow/Plan/KernelAbi.h"

using namespace mlir;
using namespace oneflow;

FailureOr<plan::DType> GraphSection::getDType(Operation *op, Type type) {
  if (type.isF32())
    return plan::DType::F32;
  if (type.isF64())
    return plan::DType::F64;
  if (type.isF16())
    return plan::DType::F16;
  if (type.isBF16())
    return plan::DType::BF16;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return plan::DType::Bool;
    case 8:
      return plan::DType::I8;
    case 16:
      return plan::DType::I16;
    case 32:
      return plan::DType::I32;
    case 64:
      return plan::DType::I64;
    }
  }
  op->emitOpError("has element type ") << type << ", which a plan cannot hold";
  return failure();
}

FailureOr<flatbuffers::Offset<plan::Layout>>
GraphSection::makeLayout(Operation *op, RankedTensorType type,
                         FlatSymbolRefAttr placement, NdSbpAttr sbp) {
  auto index = placementIndex.find(placement);
  if (index == placementIndex.end())
    return op->emitOpError("is on no placement of the module");
  auto dtype = getDType(op, type.getElementType());
  if (failed(dtype))
    return failure();
  std::vector<plan::Sbp> states;
  for (const sbp::Sbp &axis : sbp.getAxes())
    states.emplace_back(axis.dim, axis.block,
                        static_cast<plan::SbpKind>(axis.kind),
                        static_cast<plan::Reducer>(axis.reducer));
  auto shape = fb.CreateVector(type.getShape().data(), type.getRank());
  auto axes = fb.CreateVectorOfStructs(states);
  return plan::CreateLayout(fb, *dtype, index->second, shape, axes);
}

LogicalResult GraphSection::addPlacements() {
  for (auto placement : module.getOps<PlacementOp>()) {
    placementIndex[FlatSymbolRefAttr::get(placement.getSymNameAttr())] =
        placements.size();
    std::vector<Offset<plan::MeshAxis>> axes;
    for (auto [name, size] :
         llvm::zip(placement.getAxisNames().getAsRange<StringAttr>(),
                   placement.getAxisSizes())) {
      bool isTime = placement.hasTimeAxis() && axes.empty();
      axes.push_back(plan::CreateMeshAxis(fb, fb.CreateSharedString(name.str()),
                                          size, isTime));
    }
    placements.push_back(plan::CreatePlacement(
        fb, fb.CreateSharedString(placement.getSymName().str()),
        static_cast<plan::DeviceKind>(placement.getDevice()),
        placement.getFirstRank(), fb.CreateVector(axes)));
  }
  if (placements.empty())
    return module.emitError("expected a module with a placement");
  return success();
}

unsigned GraphSection::getTransferStream(FlatSymbolRefAttr source,
                                         FlatSymbolRefAttr target,
                                         StringRef phase) {
  std::string name =
      ("transfer " + source.getValue() + " -> " + target.getValue()).str();
  if (!phase.empty())
    name += (" " + phase).str();
  auto found = llvm::find(transferStreams, name);
  unsigned index = found - transferStreams.begin();
  if (found == transferStreams.end())
    transferStreams.push_back(name);
  return static_cast<unsigned>(actor::Stream::Transfer) + index;
}

void GraphSection::addScalars() {
  for (comm::ScalarAttr scalar : tables.getScalars()) {
    std::vector<plan::SplitStep> steps;
    for (auto [axis, block] : llvm::zip(scalar.getAxes(), scalar.getBlocks()))
      steps.emplace_back(axis, block);
    auto stepVector = fb.CreateVectorOfStructs(steps);
    scalars.push_back(
        plan::CreateScalar(fb, static_cast<plan::ScalarKind>(scalar.getKind()),
                           placementIndex.lookup(scalar.getPlacement()),
                           scalar.getSize(), stepVector));
  }
}

void GraphSection::addKernels() {
  for (const actor::KernelUse &kernel : tables.getKernels())
    kernels.push_back(plan::CreateKernel(
        fb, fb.CreateSharedString(kernel.symbol.getValue().str()),
        fb.CreateSharedString(kernel.name.str()),
        fb.CreateSharedString(sourceLocation(kernel.loc))));
}

LogicalResult GraphSection::addVariables() {
  DenseMap<StringAttr, actor::VariableOp> packedVariables;
  module.walk([&](actor::VariableOp use) {
    if (use.getPanel())
      packedVariables[use.getVariableAttr().getAttr()] = use;
  });
  for (auto variable : module.getOps<VariableOp>()) {
    RankedTensorType type = variable.getTensorType();
    if (!variable.getPlacementAttr() || !variable.getStorageAttr())
      return variable.emitOpError("has no placement or storage");
    auto layout = makeLayout(variable, type, variable.getPlacementAttr(),
                             variable.getStorageAttr());
    if (failed(layout))
      return failure();
    PlacementOp placement =
        lookupPlacement(variable, variable.getPlacementAttr());
    unsigned bits = type.getElementType().getIntOrFloatBitWidth();
    int64_t bytes = bits < 8 ? 1 : bits / 8;
    sbp::Shape logical(type.getShape().begin(), type.getShape().end());
    for (int64_t extent : sbp::ceilingShape(variable.getStorageAttr().toNdSbp(),
                                            logical, placement.getMesh()))
      bytes *= extent;
    unsigned panel = 0, panelDim = 1;
    if (actor::VariableOp packed =
            packedVariables.lookup(variable.getSymNameAttr())) {
      panel = *packed.getPanel();
      panelDim = packed.getPanelDim().value_or(1);
      bytes = packed.getBytes();
    }
    uint64_t offset = 0, dataBytes = 0;
    auto initial = plan::Initial::Zeros;
    if (ElementsAttr value = variable.getInitialAttr()) {
      auto place = data.add(value);
      if (failed(place))
        return variable.emitOpError("has an initial value that is not at hand");
      initial = plan::Initial::Data;
      offset = *place;
      dataBytes = data.getLastBytes();
    }
    variableIndex[FlatSymbolRefAttr::get(variable.getSymNameAttr())] =
        variables.size();
    variables.push_back(plan::CreateVariable(
        fb, fb.CreateSharedString(variable.getSymName().str()),
        fb.CreateSharedString(sourceLocation(variable.getLoc())), *layout,
        bytes, panel, panelDim, initial, variable.getTrainable(), offset,
        dataBytes));
  }
  return success();
}

LogicalResult GraphSection::addWholes() {
  auto found = collectWholes(module);
  if (failed(found))
    return failure();
  for (Whole &whole : *found) {
    VariableOp first = whole.parts.front();
    auto dtype = getDType(first, whole.type.getElementType());
    if (failed(dtype))
      return failure();
    std::vector<uint32_t> parts;
    for (VariableOp part : whole.parts)
      parts.push_back(
          variableIndex.lookup(FlatSymbolRefAttr::get(part.getSymNameAttr())));
    auto name = fb.CreateString(whole.name.getValue().str());
    auto location = fb.CreateSharedString(sourceLocation(first.getLoc()));
    auto shape =
        fb.CreateVector(whole.type.getShape().data(), whole.type.getRank());
    auto partVector = fb.CreateVector(parts);
    wholes.push_back(plan::CreateWhole(fb, name, location, *dtype, shape,
                                       whole.dim, partVector));
  }
  return success();
}

LogicalResult GraphSection::build(const CpuObject &code,
                                  const PlanExportOptions &options) {
  if (failed(addPlacements()))
    return failure();
  addScalars();
  addKernels();
  if (failed(addVariables()) || failed(addWholes()))
    return failure();
  for (auto graph : module.getOps<actor::GraphOp>())
    if (failed(addEntry(graph)))
      return failure();
  if (entries.empty())
    return module.emitError(
        "expected a module with a function to make an entry of the plan of");

  // In the order of actor::Stream; behind them, one for each kind of transfer.
  std::vector<Offset<plan::Stream>> streams;
  for (auto [name, kind] : {std::pair("host", plan::StreamKind::Host),
                            std::pair("compute", plan::StreamKind::CpuCompute),
                            std::pair("comm", plan::StreamKind::CpuComm)})
    streams.push_back(plan::CreateStream(fb, fb.CreateString(name), kind));
  for (const std::string &name : transferStreams)
    streams.push_back(plan::CreateStream(fb, fb.CreateString(name),
                                         plan::StreamKind::CpuTransfer));
  std::vector<Offset<plan::KeyValue>> metadata;
  for (const auto &[key, value] : options.metadata)
    metadata.push_back(
        plan::CreateKeyValue(fb, fb.CreateString(key), fb.CreateString(value)));
  auto root = plan::CreatePlan(
      fb, fb.CreateString("oneflow-mlir 0.1.0"), ONEFLOW_KERNEL_ABI_VERSION,
      fb.CreateString("x86_64"), fb.CreateVectorOfStrings(code.cpuFeatures),
      fb.CreateVector(placements), fb.CreateVector(scalars),
      fb.CreateVector(variables),
      /*constants=*/0, fb.CreateVector(kernels), fb.CreateVector(streams),
      fb.CreateVector(entries), fb.CreateVector(metadata),
      fb.CreateVector(wholes));
  plan::FinishPlanBuffer(fb, root);
  return success();
}
