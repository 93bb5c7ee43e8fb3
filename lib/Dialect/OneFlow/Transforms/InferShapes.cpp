//===- InferShapes.cpp - static shapes everywhere -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops whose types follow from their operands infer them anew; the few whose
// result type is a choice (cast, broadcast, reshape) have only their dynamic
// extents filled in.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace oneflow {
#define GEN_PASS_DEF_INFERSHAPESPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// A broadcast's dynamic extents are the operand's where those are not
/// repeated.
static RankedTensorType inferBroadcast(RankedTensorType from,
                                       RankedTensorType to) {
  SmallVector<int64_t> shape(to.getShape());
  for (int64_t dim = 0; dim < std::min(from.getRank(), to.getRank()); ++dim) {
    int64_t extent = from.getDimSize(from.getRank() - 1 - dim);
    int64_t &target = shape[to.getRank() - 1 - dim];
    if (ShapedType::isDynamic(target) && extent != 1)
      target = extent;
  }
  return to.clone(shape);
}

/// A reshape's single dynamic extent follows from the number of elements.
static RankedTensorType inferReshape(RankedTensorType from,
                                     RankedTensorType to) {
  if (!from.hasStaticShape() || to.getNumDynamicDims() != 1)
    return to;
  SmallVector<int64_t> shape(to.getShape());
  int64_t known = 1;
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent))
      known *= extent;
  if (known != 0 && from.getNumElements() % known == 0)
    *llvm::find(shape, ShapedType::kDynamic) = from.getNumElements() / known;
  return to.clone(shape);
}

/// The result types that follow from the operands.
static LogicalResult inferTypes(Operation *op, SmallVectorImpl<Type> &types) {
  auto operandType = [&] {
    return cast<RankedTensorType>(op->getOperand(0).getType());
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](CastOp cast) {
        types.push_back(cast.getType().clone(operandType().getShape()));
        return success();
      })
      .Case([&](BroadcastOp broadcast) {
        types.push_back(inferBroadcast(operandType(), broadcast.getType()));
        return success();
      })
      .Case([&](ReshapeOp reshape) {
        types.push_back(inferReshape(operandType(), reshape.getType()));
        return success();
      })
      .Case([&](InferTypeOpInterface interface) {
        return interface.inferReturnTypes(
            op->getContext(), op->getLoc(), op->getOperands(),
            op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), types);
      })
      .Default([&](Operation *) {
        llvm::append_range(types, op->getResultTypes());
        return success();
      });
}

/// Refines the result types in place.
static LogicalResult refineResults(Operation *op) {
  SmallVector<Type> types;
  if (failed(inferTypes(op, types)))
    return failure();
  for (auto [result, inferred] : llvm::zip(op->getResults(), types)) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    auto newType = dyn_cast<RankedTensorType>(inferred);
    if (!type || !newType)
      continue;
    if (type.getElementType() != newType.getElementType() ||
        failed(verifyCompatibleShape(type, newType)))
      return op->emitOpError("expected a result of type ")
             << newType << " by its operands, got: " << type;
    SmallVector<int64_t> shape(newType.getShape());
    for (auto [extent, known] : llvm::zip(shape, type.getShape()))
      if (ShapedType::isDynamic(extent))
        extent = known;
    result.setType(type.clone(shape));
  }
  return success();
}

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || shaped.hasStaticShape();
}

/// Whether the tensor's bytes can be counted: offsets and sizes are 64 bits
/// wide everywhere below.
static bool isAddressable(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || llvm::is_contained(shaped.getShape(), 0))
    return true;
  int64_t bytes = (shaped.getElementTypeBitWidth() + 7) / 8;
  return llvm::none_of(shaped.getShape(), [&](int64_t extent) {
    return llvm::MulOverflow(bytes, extent, bytes);
  });
}

namespace {
struct InferShapesPass : oneflow::impl::InferShapesPassBase<InferShapesPass> {
  void runOnOperation() override {
    WalkResult walk =
        getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
          if (!isa<SpreadOpInterface>(op))
            return WalkResult::advance();
          if (failed(refineResults(op)))
            return WalkResult::interrupt();
          // Operands are static here: the first op that is not is where extents
          // are missing.
          for (Type type : op->getResultTypes()) {
            if (isStatic(type) && isAddressable(type))
              continue;
            op->emitOpError(isStatic(type)
                                ? "expected a tensor of less than 2^63 bytes, "
                                  "got: "
                                : "expected a static shape, got: ")
                << type;
            return WalkResult::interrupt();
          }
          return WalkResult::advance();
        });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
