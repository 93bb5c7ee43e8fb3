//===- ActorDialect.cpp - the schedule dialect ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration, and what ops in tasks access.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/IR/Actor.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::actor;

#include "oneflow/Dialect/Actor/IR/ActorDialect.cpp.inc"
#include "oneflow/Dialect/Actor/IR/ActorEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorTypes.cpp.inc"

#define GET_OP_CLASSES
#include "oneflow/Dialect/Actor/IR/ActorOps.cpp.inc"

void ActorDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "oneflow/Dialect/Actor/IR/ActorAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "oneflow/Dialect/Actor/IR/ActorTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "oneflow/Dialect/Actor/IR/ActorOps.cpp.inc"
      >();
}

SmallVector<Access> actor::getAccesses(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Access>>(op)
      .Case([](ReadPortOp port) {
        return SmallVector<Access>{{port.getTarget(), true}};
      })
      .Case([](WritePortOp port) {
        return SmallVector<Access>{{port.getSource(), false}};
      })
      .Case<CollectiveOp, ExchangeOp, CopyOp>([](auto transfer) {
        return SmallVector<Access>{{transfer.getSource(), false},
                                   {transfer.getTarget(), true}};
      })
      .Case([](LaunchOp launch) {
        SmallVector<Access> accesses;
        int64_t firstWritten = launch.getFirstResult();
        for (auto [index, buffer] : llvm::enumerate(launch.getBuffers()))
          accesses.push_back(
              {buffer, static_cast<int64_t>(index) >= firstWritten});
        return accesses;
      })
      .Default([](Operation *) { return SmallVector<Access>(); });
}

int64_t actor::getBytes(Value buffer) {
  return llvm::TypeSwitch<Operation *, int64_t>(buffer.getDefiningOp())
      .Case<RegisterOp, ScratchOp, VariableOp>(
          [](auto maker) { return static_cast<int64_t>(maker.getBytes()); });
}

std::string actor::describeBuffer(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (auto variable = dyn_cast<VariableOp>(op))
    return ("variable @" + variable.getVariable()).str();
  StringRef kind = isa<RegisterOp>(op) ? "register" : "scratch";
  return (kind + " \"" + op->getAttrOfType<StringAttr>("name").getValue() +
          "\"")
      .str();
}

PlanTables::PlanTables(ModuleOp module) {
  auto addScalar = [&](Attribute attribute) {
    auto scalar = dyn_cast<comm::ScalarAttr>(attribute);
    if (scalar && scalarIndex.try_emplace(scalar, scalars.size()).second)
      scalars.push_back(scalar);
  };
  module.walk([&](Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      llvm::for_each(launch.getScalars(), addScalar);
      auto key = std::pair<Attribute, Attribute>(launch.getKernelAttr(),
                                                 launch.getNameAttr());
      if (kernelIndex.try_emplace(key, kernels.size()).second)
        kernels.push_back(
            {launch.getKernelAttr(), launch.getNameAttr(), op->getLoc()});
    } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
      llvm::for_each(collective.getShape(), addScalar);
    }
  });
}

unsigned PlanTables::getIndex(LaunchOp launch) const {
  return kernelIndex.lookup({launch.getKernelAttr(), launch.getNameAttr()});
}
