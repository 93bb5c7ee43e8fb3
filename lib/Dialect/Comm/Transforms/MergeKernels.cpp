//===- MergeKernels.cpp - two kernels as one ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See MergeKernels.h.
//
//===----------------------------------------------------------------------===//

#include "MergeKernels.h"

#include "oneflow/Interfaces/SourceName.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::comm;

/// The source nodes' names, or else the names of the parts, each once and not
/// too many.
static std::string mergedName(KernelOp producer, KernelOp consumer,
                              Location loc) {
  std::string name = sourceName(loc);
  if (!name.empty())
    return name;
  constexpr size_t limit = 4;
  SmallVector<StringRef> parts;
  for (KernelOp kernel : {producer, consumer})
    kernel.getName().split(parts, '+');
  llvm::SetVector<StringRef> distinct(parts.begin(), parts.end());
  distinct.remove("...");
  return llvm::join(distinct.getArrayRef().take_front(limit), "+") +
         (distinct.size() > limit || llvm::is_contained(parts, "...") ? "+..."
                                                                      : "");
}

SmallVector<Operation *> comm::getDependentsBetween(KernelOp producer,
                                                    KernelOp consumer) {
  llvm::SmallPtrSet<Operation *, 8> reached = {producer};
  SmallVector<Operation *> dependents;
  for (Operation *op = producer->getNextNode(); op != consumer;
       op = op->getNextNode())
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return reached.contains(operand.getDefiningOp());
        })) {
      reached.insert(op);
      dependents.push_back(op);
    }
  return dependents;
}

MergedKernel::MergedKernel(KernelOp producer, KernelOp consumer,
                           bool keepsProducer)
    : producer(producer), consumer(consumer), keepsProducer(keepsProducer) {
  // Inputs: tensors of both, then scalars of both, each value once.
  llvm::SmallSetVector<Value, 8> inputs;
  for (bool scalars : {false, true})
    for (KernelOp part : {producer, consumer})
      for (Value input : part.getInputs())
        if (input.getType().isIndex() == scalars &&
            input.getDefiningOp() != producer)
          inputs.insert(input);

  if (!keepsProducer)
    for (Value result : producer.getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return user != consumer; }))
        replaced.push_back(result);
  replaced.append(consumer.getResults().begin(), consumer.getResults().end());
  SmallVector<Type> types;
  SmallVector<Value> extents;
  for (Value result : replaced) {
    types.push_back(result.getType());
    llvm::append_range(extents, getExtents(result));
  }

  OpBuilder builder(consumer);
  Location loc = builder.getFusedLoc({producer.getLoc(), consumer.getLoc()});
  kernel = KernelOp::create(
      builder, loc, types,
      builder.getStringAttr(mergedName(producer, consumer, loc)),
      consumer.getPlacementAttr(), inputs.getArrayRef(), extents);
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping, outside;
  for (Value input : inputs)
    outside.map(input, block.addArgument(input.getType(), loc));
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  for (KernelOp part : {producer, consumer}) {
    Block &old = part.getBody().front();
    for (auto [argument, input] :
         llvm::zip(old.getArguments(), part.getInputs()))
      mapping.map(argument, outside.lookup(input));
    for (Operation &op : old.without_terminator())
      body.clone(op, mapping);
    for (auto [result, value] :
         llvm::zip(part.getResults(), old.getTerminator()->getOperands()))
      outside.map(result, mapping.lookup(value));
  }
  SmallVector<Value> values;
  for (Value result : replaced)
    values.push_back(outside.lookup(result));
  YieldOp::create(body, consumer.getBody().front().getTerminator()->getLoc(),
                  values);
}

void MergedKernel::commit() {
  if (!keepsProducer) {
    Operation *place = kernel;
    for (Operation *op : getDependentsBetween(producer, consumer)) {
      op->moveAfter(place);
      place = op;
    }
  }
  for (auto [old, made] : llvm::zip(replaced, kernel.getResults()))
    old.replaceAllUsesWith(made);
  consumer.erase();
  if (producer.use_empty())
    producer.erase();
}

void MergedKernel::discard() { kernel.erase(); }
