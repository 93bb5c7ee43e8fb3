//===- CommToActor.cpp - from per-rank programs to actor graphs -----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the actor graph of every function from its stages.
//
//===----------------------------------------------------------------------===//

#include "ChunkSchedule.h"
#include "Outline.h"
#include "Stages.h"

#include "oneflow/Conversion/Passes.h"
#include "oneflow/Dialect/Actor/IR/Actor.h"
#include "oneflow/Interfaces/SourceName.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace oneflow {
#define GEN_PASS_DEF_CONVERTCOMMTOACTORPASS
#include "oneflow/Conversion/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

class GraphBuilder {
public:
  GraphBuilder(func::FuncOp function, KernelOutliner &outliner)
      : function(function), outliner(outliner), stages(function),
        builder(function.getContext()),
        bufferType(actor::BufferType::get(function.getContext())) {}

  FailureOr<actor::GraphOp> build();

private:
  LogicalResult makeBuffers();
  void makeTask(Stage &stage);
  void makeUpdates(Stage &stage);
  void makeCollective(Operation *op);
  void makeLaunch(comm::KernelOp kernel);
  void makeLaunch(comm::AccumulateOp accumulate);
  void makePhases();
  int64_t slotsOf(const Stage &producer, ArrayRef<Stage *> consumers) const;

  int64_t actionsOf(const Stage &stage) const {
    return stages.getPhases().getPhases()[stage.phase].actions;
  }

  /// Bytes of the largest part that a rank may hold.
  int64_t bytesOf(Value tensor);
  /// Static extents and scalars of a tensor, as attributes.
  SmallVector<Attribute> shapeOf(Value tensor);
  void addRegister(Stage *producer, ArrayRef<Stage *> consumers, Value buffer) {
    posts[producer].push_back(buffer);
    for (Stage *consumer : consumers)
      if (consumer != producer)
        waits[consumer].push_back(buffer);
  }

  func::FuncOp function;
  KernelOutliner &outliner;
  Stages stages;
  ChunkSchedule schedule;
  OpBuilder builder;
  actor::BufferType bufferType;
  DenseMap<Value, Value> buffers;
  llvm::DenseMap<Attribute, Value> variables;
  DenseMap<Stage *, SmallVector<Value>> posts, waits;
  unsigned nextChain = 0;
  /// By phase.
  DenseMap<unsigned, int64_t> lastOrder;
};

} // namespace

int64_t GraphBuilder::bytesOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t bytes = bits < 8 ? 1 : bits / 8;
  for (int64_t extent : comm::getBounds(tensor))
    bytes *= extent;
  return bytes;
}

SmallVector<Attribute> GraphBuilder::shapeOf(Value tensor) {
  SmallVector<Attribute> shape;
  SmallVector<Value> extents = comm::getExtents(tensor);
  unsigned next = 0;
  for (int64_t extent : cast<RankedTensorType>(tensor.getType()).getShape()) {
    if (ShapedType::isDynamic(extent))
      shape.push_back(
          extents[next++].getDefiningOp<comm::ScalarOp>().getValueAttr());
    else
      shape.push_back(builder.getI64IntegerAttr(extent));
  }
  return shape;
}

void GraphBuilder::makePhases() {
  if (!stages.getPhases().hasMicroBatches())
    return;
  for (const comm::Phase &phase : stages.getPhases().getPhases())
    actor::PhaseOp::create(builder, function.getLoc(), phase.name,
                           phase.actions);
  for (const ChunkSchedule::Stage &stage : schedule.getStages()) {
    SmallVector<StringRef> names;
    SmallVector<int64_t> actions;
    for (const ChunkSchedule::Step &step : stage.steps) {
      names.push_back(stages.getPhases().getPhases()[step.phase].name);
      actions.push_back(step.action);
    }
    actor::ScheduleOp::create(builder, function.getLoc(), stage.placement,
                              builder.getStrArrayAttr(names),
                              builder.getDenseI64ArrayAttr(actions));
  }
}

/// As many values as the schedule lets be under way at once, and one more where
/// a transfer is to go on while the next is made or taken.
int64_t GraphBuilder::slotsOf(const Stage &producer,
                              ArrayRef<Stage *> consumers) const {
  auto isTransfer = [&](const Stage &stage) {
    return stage.kind == Stage::Kind::Transfer &&
           comm::isTransfer(stage.ops[0]);
  };
  if (schedule.getStages().empty() || actionsOf(producer) == 1)
    return 1;
  int64_t ahead = isTransfer(producer);
  llvm::SmallSetVector<unsigned, 4> used;
  for (const Stage *consumer : consumers) {
    // A transfer acts with the phase that makes what it takes.
    ahead |= isTransfer(*consumer);
    used.insert(consumer->phase);
  }
  if (used.empty())
    return 1 + ahead;
  // What comes from another stage is there when it is used first.
  unsigned made = producer.phase;
  if (isTransfer(producer))
    made = *llvm::min_element(used);
  return schedule.countUnderWay(made, used.getArrayRef()) + ahead;
}

LogicalResult GraphBuilder::makeBuffers() {
  for (Operation &op : function.getBody().front()) {
    if (auto read = dyn_cast<comm::ReadOp>(op)) {
      Value &buffer = variables[read.getVariableAttr()];
      if (!buffer)
        buffer = actor::VariableOp::create(
            builder, op.getLoc(), bufferType, read.getVariable(),
            bytesOf(read.getResult()), IntegerAttr(), IntegerAttr());
      buffers[read.getResult()] = buffer;
      continue;
    }
    if (auto update = dyn_cast<comm::UpdateOp>(op)) {
      Value &buffer = variables[update.getVariableAttr()];
      if (!buffer)
        buffer = actor::VariableOp::create(
            builder, op.getLoc(), bufferType, update.getVariable(),
            bytesOf(update.getValue()), IntegerAttr(), IntegerAttr());
      continue;
    }
    for (Value result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      std::string name = sourceName(op.getLoc());
      if (name.empty())
        name = op.getName().stripDialect().str();
      Stage *producer = stages.getProducer(result);
      SmallVector<Stage *> consumers = stages.getConsumers(result);
      bool local =
          producer->kind == Stage::Kind::Chain &&
          llvm::all_of(consumers, [&](Stage *s) { return s == producer; });
      if (local) {
        buffers[result] =
            actor::ScratchOp::create(builder, op.getLoc(), bufferType, name,
                                     bytesOf(result), IntegerAttr());
        continue;
      }
      bool accumulates = isa<comm::AccumulateOp>(op);
      Value buffer = actor::RegisterOp::create(
          builder, op.getLoc(), bufferType, name,
          accumulates ? 1 : slotsOf(*producer, consumers), bytesOf(result),
          accumulates ? builder.getI64IntegerAttr(1) : IntegerAttr(),
          IntegerAttr());
      buffers[result] = buffer;
      addRegister(producer, consumers, buffer);
    }
  }
  for (auto [reader, updater] : stages.getUnorderedUpdates()) {
    // A reader that comes later in the order would be a cycle; depths exclude
    // it for all but outputs, whose order is free.
    if (reader->index > updater->index && reader->kind != Stage::Kind::Output)
      return function.emitOpError("a variable is read behind its update");
    IntegerAttr fills;
    if (actionsOf(*reader) > actionsOf(*updater))
      fills = builder.getI64IntegerAttr(actionsOf(*updater));
    Value order = actor::RegisterOp::create(builder, function.getLoc(),
                                            bufferType, "order", /*slots=*/1,
                                            /*bytes=*/0, fills, IntegerAttr());
    addRegister(reader, updater, order);
  }
  return success();
}

void GraphBuilder::makeLaunch(comm::KernelOp kernel) {
  OutlinedKernel outlined = outliner.outline(kernel);
  SmallVector<Value> operands;
  for (Value input : kernel.getInputs())
    if (!input.getType().isIndex())
      operands.push_back(buffers.lookup(input));
  int64_t firstResult = operands.size();
  for (Value result : kernel.getResults())
    operands.push_back(buffers.lookup(result));
  actor::LaunchOp::create(builder, kernel.getLoc(), outlined.symbol,
                          kernel.getNameAttr(), operands,
                          builder.getI64IntegerAttr(firstResult),
                          builder.getArrayAttr(outlined.scalars));
}

/// Reads what it writes: the sum so far.
void GraphBuilder::makeLaunch(comm::AccumulateOp accumulate) {
  Value sum = buffers.lookup(accumulate.getResult());
  OutlinedKernel outlined = outliner.outline(accumulate);
  std::string name = sourceName(accumulate.getLoc());
  actor::LaunchOp::create(
      builder, accumulate.getLoc(), outlined.symbol,
      builder.getStringAttr(name + (name.empty() ? "" : " ") + "accumulate"),
      ValueRange{sum, buffers.lookup(accumulate.getValue()), sum},
      builder.getI64IntegerAttr(2), builder.getArrayAttr(outlined.scalars));
}

void GraphBuilder::makeCollective(Operation *op) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  Value source = buffers.lookup(operand), target = buffers.lookup(result);
  auto make = [&](actor::CollectiveKind kind, comm::Reducer reducer,
                  ArrayRef<Attribute> shape, int64_t sourceDim,
                  int64_t sourceBlock, int64_t targetDim, int64_t targetBlock) {
    auto i64 = [&](int64_t number) {
      return builder.getI64IntegerAttr(number);
    };
    MLIRContext *context = builder.getContext();
    actor::CollectiveOp::create(
        builder, op->getLoc(), actor::CollectiveKindAttr::get(context, kind),
        source, target,
        TypeAttr::get(
            cast<RankedTensorType>(operand.getType()).getElementType()),
        builder.getArrayAttr(shape),
        op->getAttrOfType<DenseI64ArrayAttr>("axes"),
        comm::ReducerAttr::get(context, reducer), i64(sourceDim),
        i64(sourceBlock), i64(targetDim), i64(targetBlock));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](comm::AllReduceOp reduce) {
        make(actor::CollectiveKind::AllReduce, reduce.getReducer(),
             shapeOf(operand), -1, 1, -1, 1);
      })
      .Case([&](comm::AllGatherOp gather) {
        make(actor::CollectiveKind::AllGather, comm::Reducer::Sum,
             shapeOf(result), gather.getDim(), gather.getBlock(), -1, 1);
      })
      .Case([&](comm::ReduceScatterOp scatter) {
        make(actor::CollectiveKind::ReduceScatter, scatter.getReducer(),
             shapeOf(operand), -1, 1, scatter.getDim(), scatter.getBlock());
      })
      .Case([&](comm::AllToAllOp all) {
        SmallVector<Attribute> whole = shapeOf(operand);
        whole[all.getSourceDim()] = shapeOf(result)[all.getSourceDim()];
        make(actor::CollectiveKind::AllToAll, comm::Reducer::Sum, whole,
             all.getSourceDim(), all.getSourceBlock(), all.getTargetDim(),
             all.getTargetBlock());
      })
      .Case([&](comm::ExchangeOp exchange) {
        actor::ExchangeOp::create(builder, op->getLoc(), source, target,
                                  exchange.getSource(), exchange.getTarget());
      });
}

void GraphBuilder::makeUpdates(Stage &stage) {
  // All updates see the values with which the step began: where one takes
  // another variable's, that is put aside before any is overwritten.
  SmallVector<Value> sources;
  for (comm::UpdateOp update : stage.updates) {
    Value source = buffers.lookup(update.getValue());
    if (source.getDefiningOp<actor::VariableOp>()) {
      OpBuilder outside(builder.getBlock()->getParentOp());
      Value aside = actor::ScratchOp::create(
          outside, update.getLoc(), bufferType, "old value",
          actor::getBytes(source), IntegerAttr());
      actor::CopyOp::create(builder, update.getLoc(), source, aside);
      source = aside;
    }
    sources.push_back(source);
  }
  for (auto [update, source] : llvm::zip(stage.updates, sources))
    actor::CopyOp::create(builder, update.getLoc(), source,
                          variables.lookup(update.getVariableAttr()));
}

void GraphBuilder::makeTask(Stage &stage) {
  std::string name;
  actor::Stream stream = actor::Stream::Host;
  int64_t order = 0;
  SmallVector<Location> locations;
  for (Operation *op : stage.ops)
    locations.push_back(op->getLoc());
  for (comm::UpdateOp update : stage.updates)
    locations.push_back(update.getLoc());
  switch (stage.kind) {
  case Stage::Kind::Input:
    name = ("input " + cast<comm::InputOp>(stage.ops[0]).getName()).str();
    break;
  case Stage::Kind::Output:
    name = ("output " + cast<comm::OutputOp>(stage.ops[0]).getName()).str();
    break;
  case Stage::Kind::Chain:
    name = "chain" + std::to_string(nextChain++);
    stream = actor::Stream::Compute;
    break;
  case Stage::Kind::Transfer:
    order = ++lastOrder[stage.phase];
    name = (stage.ops[0]->getName().stripDialect() + " " +
            std::to_string(order) + " " + sourceName(stage.ops[0]->getLoc()))
               .str();
    // A graph without phases keeps one order of all communications.
    stream =
        stages.getPhases().hasMicroBatches() && comm::isTransfer(stage.ops[0])
            ? actor::Stream::Transfer
            : actor::Stream::Comm;
    break;
  }
  // A chain's location is its first op's: the launches keep their own.
  Location loc = locations.empty() ? function.getLoc() : locations.front();
  StringAttr phase;
  if (stages.getPhases().hasMicroBatches())
    phase =
        builder.getStringAttr(stages.getPhases().getPhases()[stage.phase].name);
  auto task = actor::TaskOp::create(
      builder, loc, builder.getStringAttr(name), stage.placement,
      actor::StreamAttr::get(builder.getContext(), stream), phase,
      builder.getI64IntegerAttr(order), waits.lookup(&stage),
      posts.lookup(&stage));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&task.getBody());
  for (Operation *op : stage.ops) {
    if (auto kernel = dyn_cast<comm::KernelOp>(op))
      makeLaunch(kernel);
    else if (auto accumulate = dyn_cast<comm::AccumulateOp>(op))
      makeLaunch(accumulate);
    else if (auto input = dyn_cast<comm::InputOp>(op))
      actor::ReadPortOp::create(builder, op->getLoc(), input.getNameAttr(),
                                buffers.lookup(input.getResult()),
                                input.getLayout());
    else if (auto output = dyn_cast<comm::OutputOp>(op))
      actor::WritePortOp::create(builder, op->getLoc(), output.getNameAttr(),
                                 buffers.lookup(output.getValue()),
                                 output.getLayout());
    else
      makeCollective(op);
  }
  makeUpdates(stage);
}

FailureOr<actor::GraphOp> GraphBuilder::build() {
  FailureOr<ChunkSchedule> made =
      ChunkSchedule::make(function, stages.getPhases());
  if (failed(made))
    return failure();
  schedule = std::move(*made);
  builder.setInsertionPoint(function);
  auto graph = actor::GraphOp::create(builder, function.getLoc(),
                                      function.getName(), IntegerAttr());
  builder.createBlock(&graph.getBody());
  makePhases();
  if (failed(makeBuffers()))
    return failure();
  for (const std::unique_ptr<Stage> &stage : stages.getStages())
    makeTask(*stage);
  return graph;
}

/// What the stages rely on; passes may run in any order.
static LogicalResult verifyProgram(func::FuncOp function) {
  if (!function.getBody().hasOneBlock() || function.getNumArguments() != 0)
    return function.emitOpError(
        "expected a per-rank program of one block without "
        "arguments: run --convert-oneflow-to-comm first");
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isa_and_nonnull<comm::CommDialect>(op.getDialect()))
      return op.emitOpError(
          "expected only ops of the comm dialect in a per-rank "
          "program: run --convert-oneflow-to-comm first");
    for (Value result : op.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      SmallVector<Value> extents = comm::getExtents(result);
      bool scalars = llvm::all_of(extents, [](Value extent) {
        return extent.getDefiningOp<comm::ScalarOp>() != nullptr;
      });
      if (!scalars ||
          extents.size() != static_cast<size_t>(type.getNumDynamicDims()))
        return op.emitOpError(
                   "expected an extent from a comm.scalar for each of the ")
               << type.getNumDynamicDims() << " dynamic dimensions of " << type;
    }
  }
  if (function.getBody().front().getTerminator()->getNumOperands() != 0)
    return function.emitOpError("expected results as comm.output");
  return success();
}

namespace {
struct ConvertCommToActorPass
    : oneflow::impl::ConvertCommToActorPassBase<ConvertCommToActorPass> {
  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function->hasAttr("oneflow.kernel"))
        continue;
      if (failed(verifyProgram(function)))
        return signalPassFailure();
      FailureOr<actor::GraphOp> graph =
          GraphBuilder(function, outliner).build();
      if (failed(graph))
        return signalPassFailure();
      outliner.replace(function, *graph);
    }
  }
};
} // namespace
