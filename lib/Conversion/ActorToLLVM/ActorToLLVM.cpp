//===- ActorToLLVM.cpp - native chains ------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits one OfChainFn per task of launches; see ConvertActorToLLVMPass in
// Passes.td.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Conversion/ChainBuffers.h"
#include "oneflow/Conversion/Passes.h"
#include "oneflow/Dialect/Actor/IR/Actor.h"
#include "oneflow/Plan/KernelAbi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstddef>

namespace oneflow {
#define GEN_PASS_DEF_CONVERTACTORTOLLVMPASS
#include "oneflow/Conversion/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

/// Builds the function of one chain.
class ChainEmitter {
public:
  ChainEmitter(ModuleOp module, const actor::PlanTables &tables)
      : module(module), tables(tables), builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  LogicalResult emit(actor::GraphOp graph, actor::TaskOp task);

private:
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, value));
  }
  /// Address `bytes` behind `base`.
  Value at(Value base, int64_t bytes) {
    return LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value load(Type type, Value base, int64_t bytes) {
    return LLVM::LoadOp::create(builder, loc, type, at(base, bytes));
  }
  /// A stack array of `count` elements, allocated once per call.
  Value stackArray(Type element, int64_t count);
  LogicalResult emitLaunch(actor::LaunchOp launch);
  void emitCopy(actor::CopyOp copy);

  ModuleOp module;
  const actor::PlanTables &tables;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  Type i32, i64;
  Location loc = UnknownLoc::get(builder.getContext());

  LLVM::LLVMFuncOp function;
  Value context, launchFunction;
  /// Base pointers in the order of the chain's buffer list.
  DenseMap<Value, Value> buffers;
  Value bufferTable, scalarTable;
  /// Shared by the launches: the largest that one needs.
  Value bufferArray, scalarArray;
};

} // namespace

SmallVector<Value> oneflow::getChainBuffers(actor::TaskOp task) {
  llvm::SetVector<Value> buffers;
  for (Operation &op : task.getBody().front())
    for (const actor::Access &access : actor::getAccesses(&op))
      buffers.insert(access.buffer);
  return buffers.takeVector();
}

std::string oneflow::getChainSymbol(actor::GraphOp graph, actor::TaskOp task) {
  return (graph.getSymName() + "." + task.getName()).str();
}

bool oneflow::isChain(actor::TaskOp task) {
  return task.getStream() == actor::Stream::Compute;
}

Value ChainEmitter::stackArray(Type element, int64_t count) {
  return LLVM::AllocaOp::create(builder, loc, pointer, element,
                                constant(i64, std::max<int64_t>(count, 1)));
}

LogicalResult ChainEmitter::emitLaunch(actor::LaunchOp launch) {
  loc = launch.getLoc();
  auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(launch.getKernel());
  std::string itemsName = (launch.getKernel() + ".items").str();
  auto items = module.lookupSymbol<LLVM::LLVMFuncOp>(itemsName);
  if (!kernel || !items)
    return launch.emitOpError("expected the compiled kernel ")
           << launch.getKernelAttr() << " and @" << itemsName
           << ": run --oneflow-lower-kernels first";

  for (auto [index, buffer] : llvm::enumerate(launch.getBuffers()))
    LLVM::StoreOp::create(builder, loc, buffers.lookup(buffer),
                          at(bufferArray, index * sizeof(void *)));
  for (auto [index, attribute] : llvm::enumerate(launch.getScalars())) {
    Value value;
    if (auto scalar = dyn_cast<comm::ScalarAttr>(attribute))
      value = load(i64, scalarTable, tables.getIndex(scalar) * sizeof(int64_t));
    else
      value = constant(i64, cast<IntegerAttr>(attribute).getInt());
    LLVM::StoreOp::create(builder, loc, value,
                          at(scalarArray, index * sizeof(int64_t)));
  }
  Value count =
      LLVM::CallOp::create(builder, loc, items, scalarArray).getResult();
  Value address = LLVM::AddressOfOp::create(builder, loc, kernel);
  auto type = LLVM::LLVMFunctionType::get(
      i32, {pointer, i32, pointer, pointer, pointer, i64});
  Value status =
      LLVM::CallOp::create(builder, loc, type,
                           ValueRange{launchFunction, context,
                                      constant(i32, tables.getIndex(launch)),
                                      address, bufferArray, scalarArray, count})
          .getResult();

  // Leave at the first status that is not zero.
  Block *leave = function.addBlock();
  Block *next = function.addBlock();
  Value failed = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                      status, constant(i32, ONEFLOW_KERNEL_OK));
  LLVM::CondBrOp::create(builder, loc, failed, leave, next);
  builder.setInsertionPointToStart(leave);
  LLVM::ReturnOp::create(builder, loc, status);
  builder.setInsertionPointToStart(next);
  return success();
}

void ChainEmitter::emitCopy(actor::CopyOp copy) {
  loc = copy.getLoc();
  LLVM::MemcpyOp::create(builder, loc, buffers.lookup(copy.getTarget()),
                         buffers.lookup(copy.getSource()),
                         constant(i64, actor::getBytes(copy.getSource())),
                         /*isVolatile=*/false);
}

LogicalResult ChainEmitter::emit(actor::GraphOp graph, actor::TaskOp task) {
  loc = task.getLoc();
  builder.setInsertionPointToEnd(module.getBody());
  function =
      LLVM::LLVMFuncOp::create(builder, loc, getChainSymbol(graph, task),
                               LLVM::LLVMFunctionType::get(i32, {pointer}));
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  context = entry->getArgument(0);
  bufferTable = load(pointer, context, offsetof(OfChainContext, buffers));
  scalarTable = load(pointer, context, offsetof(OfChainContext, scalars));
  launchFunction = load(pointer, context, offsetof(OfChainContext, launch));
  buffers.clear();
  for (auto [index, buffer] : llvm::enumerate(getChainBuffers(task)))
    buffers[buffer] = load(pointer, bufferTable, index * sizeof(void *));
  size_t mostBuffers = 0, mostScalars = 0;
  for (auto launch : task.getBody().front().getOps<actor::LaunchOp>()) {
    mostBuffers = std::max<size_t>(mostBuffers, launch.getBuffers().size());
    mostScalars = std::max<size_t>(mostScalars, launch.getScalars().size());
  }
  bufferArray = stackArray(pointer, mostBuffers);
  scalarArray = stackArray(i64, mostScalars);
  for (Operation &op : task.getBody().front()) {
    if (auto launch = dyn_cast<actor::LaunchOp>(op)) {
      if (failed(emitLaunch(launch)))
        return failure();
    } else {
      emitCopy(cast<actor::CopyOp>(op));
    }
  }
  loc = task.getLoc();
  LLVM::ReturnOp::create(builder, loc, constant(i32, ONEFLOW_KERNEL_OK));
  return success();
}

namespace {
struct ConvertActorToLLVMPass
    : oneflow::impl::ConvertActorToLLVMPassBase<ConvertActorToLLVMPass> {
  void runOnOperation() override {
    actor::PlanTables tables(getOperation());
    SmallVector<std::pair<actor::GraphOp, actor::TaskOp>> chains;
    for (auto graph : getOperation().getOps<actor::GraphOp>())
      for (auto task : graph.getOps<actor::TaskOp>())
        if (isChain(task))
          chains.push_back({graph, task});
    for (auto [graph, task] : chains)
      if (failed(ChainEmitter(getOperation(), tables).emit(graph, task)))
        return signalPassFailure();
  }
};
} // namespace
