//===- TrainingVariables.cpp - variables that training adds ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares variables, and advances `@optimizer.step`.
//
//===----------------------------------------------------------------------===//

#include "TrainingVariables.h"

using namespace mlir;
using namespace oneflow;

VariableOp oneflow::getOrCreateVariable(ModuleOp module, Location loc,
                                        StringRef name, RankedTensorType type,
                                        ElementsAttr initial) {
  if (Operation *existing = SymbolTable::lookupSymbolIn(module, name)) {
    auto variable = dyn_cast<VariableOp>(existing);
    if (variable && variable.getType() == type)
      return variable;
    existing->emitOpError("expected a variable of type ")
        << type << " under the name @" << name << ", which an optimizer needs";
    return {};
  }
  OpBuilder b(module.getContext());
  // After the variables that are there, so that the module reads in order.
  Operation *last = nullptr;
  for (auto variable : module.getOps<VariableOp>())
    last = variable;
  if (last)
    b.setInsertionPointAfter(last);
  else
    b.setInsertionPointToStart(module.getBody());
  return VariableOp::create(b, loc, name, type, initial, /*trainable=*/false,
                            /*like=*/nullptr, /*placement=*/nullptr,
                            /*storage=*/nullptr, /*part=*/nullptr);
}

Value oneflow::getOrCreateStep(func::FuncOp function) {
  constexpr StringLiteral name = "optimizer.step";
  for (auto update : function.getOps<UpdateOp>())
    if (update.getVariable() == name)
      return update.getValue();

  OpBuilder b(function.getContext());
  Location loc = NameLoc::get(b.getStringAttr(name), function.getLoc());
  auto type = RankedTensorType::get({}, b.getI64Type());
  if (!getOrCreateVariable(function->getParentOfType<ModuleOp>(), loc, name,
                           type, {}))
    return {};
  b.setInsertionPointToStart(&function.getBody().front());
  Value before = ReadOp::create(b, loc, type, name, nullptr, nullptr);
  Value one = oneflow::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, int64_t(1)), nullptr, nullptr);
  Value step = AddOp::create(b, loc, before, one, nullptr, nullptr);
  UpdateOp::create(b, loc, name, step, nullptr, nullptr);
  return step;
}
