//===- LowerWhole.cpp - a graph as one rank that holds all of it ----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneflow-lower-whole IN.mlir OUT.ll FUNCTION static|dynamic: replaces every op
// of the function by its local computation on whole tensors and lowers that by
// upstream's passes alone to LLVM IR. With `dynamic`, ops see no static extent,
// as where every dimension is split unevenly. Inputs and variables become
// arguments and outputs results, in order, as memref descriptors
// (llvm.emit_c_interface). With it, tests evaluate what ops say of themselves
// without this project's code generator, runtime or communication.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace oneflow;

/// The type with no static extent but 1, which cannot be split.
static RankedTensorType dynamicType(Type type) {
  auto ranked = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(ranked.getShape());
  for (int64_t &extent : shape)
    if (extent != 1)
      extent = ShapedType::kDynamic;
  return ranked.clone(shape);
}

namespace {
/// All of every tensor, with its extents or without.
class WholeView : public LocalView {
public:
  WholeView(OpBuilder &builder, Operation *op, bool isDynamic)
      : builder(builder), op(op), isDynamic(isDynamic) {}

  Value getOperand(unsigned index) override {
    Value value = op->getOperand(index);
    return isDynamic
               ? tensor::CastOp::create(builder, op->getLoc(),
                                        dynamicType(value.getType()), value)
               : value;
  }
  RankedTensorType getResultType(unsigned index) override {
    Type type = op->getResult(index).getType();
    return isDynamic ? dynamicType(type) : cast<RankedTensorType>(type);
  }
  SmallVector<OpFoldResult> getResultExtents(unsigned index) override {
    auto type = cast<RankedTensorType>(op->getResult(index).getType());
    SmallVector<OpFoldResult> extents;
    for (int64_t extent : type.getShape()) {
      if (isDynamic && extent != 1)
        extents.push_back(
            arith::ConstantIndexOp::create(builder, op->getLoc(), extent)
                .getResult());
      else
        extents.push_back(builder.getIndexAttr(extent));
    }
    return extents;
  }
  OpFoldResult getOperandOffset(unsigned, unsigned) override {
    return builder.getIndexAttr(0);
  }
  OpFoldResult getResultOffset(unsigned, unsigned) override {
    return builder.getIndexAttr(0);
  }

private:
  OpBuilder &builder;
  Operation *op;
  bool isDynamic;
};
} // namespace

/// Replaces an op by its local computation.
static LogicalResult lower(LocalOpInterface local, bool isDynamic) {
  Operation *op = local;
  OpBuilder builder(op);
  WholeView view(builder, op, isDynamic);
  FailureOr<SmallVector<Value>> values = local.buildLocal(builder, view);
  if (failed(values))
    return failure();
  for (auto [index, value] : llvm::enumerate(*values)) {
    OpResult result = op->getResult(index);
    if (value.getType() != view.getResultType(index))
      return op->emitOpError("expected a local result of type ")
             << view.getResultType(index) << ", got: " << value.getType();
    if (isDynamic)
      value = tensor::CastOp::create(builder, op->getLoc(), result.getType(),
                                     value);
    result.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

/// Replaces the ops of `function`, whose terminator then returns the outputs.
static LogicalResult lower(func::FuncOp function, bool isDynamic) {
  Block &block = function.getBody().front();
  SmallVector<Value> outputs;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<InputOp, ReadOp>(op)) {
      Value argument =
          block.addArgument(op.getResult(0).getType(), op.getLoc());
      op.getResult(0).replaceAllUsesWith(argument);
      op.erase();
    } else if (isa<OutputOp, UpdateOp>(op)) {
      outputs.push_back(op.getOperand(0));
      op.erase();
    } else if (auto local = dyn_cast<LocalOpInterface>(op)) {
      if (failed(lower(local, isDynamic)))
        return failure();
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitOpError("expected an op that a rank computes");
    }
  }
  block.getTerminator()->setOperands(outputs);
  function.setType(FunctionType::get(function.getContext(),
                                     block.getArgumentTypes(),
                                     ValueRange(outputs).getTypes()));
  function->setAttr("llvm.emit_c_interface",
                    UnitAttr::get(function.getContext()));
  return success();
}

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: oneflow-lower-whole IN.mlir OUT.ll FUNCTION "
                    "static|dynamic\n";
    return 2;
  }
  bool isDynamic = StringRef(argv[4]) == "dynamic";
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registerAllPasses();
  registry.insert<OneFlowDialect>();
  MLIRContext context(registry);

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  StringRef name = argv[3];
  for (Operation &op : llvm::make_early_inc_range(*module->getBody())) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || function.getName() != name)
      op.erase();
    else if (failed(lower(function, isDynamic)))
      return 1;
  }

  auto run = [&](StringRef pipeline) {
    PassManager passes(&context);
    return success(succeeded(parsePassPipeline(pipeline, passes)) &&
                   succeeded(passes.run(*module)));
  };
  if (failed(
          run("canonicalize,one-shot-bufferize{bufferize-function-boundaries "
              "function-boundary-type-conversion=identity-layout-map}")))
    return 1;
  // As loops: what copies strided memory by a call needs a library for it.
  module->walk([](memref::CopyOp copy) {
    OpBuilder builder(copy);
    linalg::makeMemRefCopyOp(builder, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    copy.erase();
  });
  if (failed(run("func.func(convert-linalg-to-loops,lower-affine),"
                 "expand-strided-metadata,lower-affine,convert-scf-to-cf,"
                 "convert-math-to-llvm,convert-math-to-libm,"
                 "convert-arith-to-llvm,finalize-memref-to-llvm,"
                 "convert-func-to-llvm,convert-cf-to-llvm,"
                 "convert-index-to-llvm,reconcile-unrealized-casts")))
    return 1;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*module, llvmContext);
  if (!translated)
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream out(argv[2], error);
  if (error) {
    llvm::errs() << argv[2] << ": " << error.message() << "\n";
    return 1;
  }
  translated->print(out, nullptr);
  return 0;
}
