//===- Parts.cpp - tensors that are several variables ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Parts.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/Parts.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace oneflow;

/// Fails, with an error on `part`, where it says other things of its whole than
/// the first part does.
static LogicalResult verifyAgreement(VariableOp first, VariableOp part) {
  PartAttr theirs = first.getPartAttr(), own = part.getPartAttr();
  auto fail = [&](auto describe) {
    InFlightDiagnostic error = part.emitOpError("expected parts of ")
                               << own.getWhole() << " to agree";
    describe(error);
    error.attachNote(first.getLoc()) << "another part is here";
    return error;
  };
  if (own.getShape() != theirs.getShape() || own.getDim() != theirs.getDim())
    return fail([&](InFlightDiagnostic &error) {
      error << ": [" << theirs.getShape() << "] at dim " << theirs.getDim()
            << ", got: [" << own.getShape() << "] at dim " << own.getDim();
    });
  if (part.getTensorType().getElementType() !=
      first.getTensorType().getElementType())
    return fail([&](InFlightDiagnostic &error) {
      error << " in type: " << first.getTensorType().getElementType()
            << ", got: " << part.getTensorType().getElementType();
    });
  if (part.getTrainable() != first.getTrainable())
    return fail(
        [](InFlightDiagnostic &error) { error << ": all trainable or none"; });
  return success();
}

/// Fails, with an error on a part, where the sorted parts do not tile the
/// whole.
static LogicalResult verifyTiling(const Whole &whole) {
  int64_t end = 0;
  for (VariableOp part : whole.parts) {
    int64_t offset = part.getPartAttr().getOffset();
    if (offset != end)
      return part.emitOpError("expected the next part of ")
             << whole.name << " from " << end << " along dim " << whole.dim
             << ", got: from " << offset
             << (offset < end ? ", which overlaps another" : "");
    end += part.getTensorType().getDimSize(whole.dim);
  }
  int64_t extent = whole.type.getDimSize(whole.dim);
  if (end != extent)
    return VariableOp(whole.parts.back()).emitOpError("expected parts of ")
           << whole.name << " up to " << extent << " along dim " << whole.dim
           << ", got: up to " << end;
  return success();
}

FailureOr<SmallVector<Whole>> oneflow::collectWholes(ModuleOp module) {
  llvm::MapVector<StringAttr, SmallVector<VariableOp>> groups;
  for (auto variable : module.getOps<VariableOp>())
    if (PartAttr part = variable.getPartAttr())
      groups[part.getWhole()].push_back(variable);

  SmallVector<Whole> wholes;
  bool ok = true;
  for (auto &[name, parts] : groups) {
    VariableOp first = parts.front();
    PartAttr part = first.getPartAttr();
    // Users know variables by their names only; kernels may have any.
    if (auto taken = module.lookupSymbol<VariableOp>(name)) {
      InFlightDiagnostic error = first.emitOpError("is part of ")
                                 << name << ", which is also a variable's name";
      error.attachNote(taken.getLoc()) << "it is here";
      ok = false;
      continue;
    }
    bool agree = llvm::all_of(parts, [&](VariableOp each) {
      return succeeded(verifyAgreement(first, each));
    });
    llvm::sort(parts, [](VariableOp a, VariableOp b) {
      return a.getPartAttr().getOffset() < b.getPartAttr().getOffset();
    });
    wholes.push_back(
        {name,
         RankedTensorType::get(part.getShape(),
                               first.getTensorType().getElementType()),
         part.getDim(), std::move(parts)});
    ok &= agree && succeeded(verifyTiling(wholes.back()));
  }
  if (!ok)
    return failure();
  return wholes;
}
