//===- LowerKernels.cpp - the pass --oneflow-lower-kernels ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "oneflow/Conversion/KernelToCpu.h"

#include "KernelEmitter.h"
#include "ToLLVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace oneflow {
namespace {

class LowerKernelsPass
    : public PassWrapper<LowerKernelsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernelsPass)

  LowerKernelsPass() = default;
  explicit LowerKernelsPass(const LowerKernelsOptions &options) {
    vectorBytes = options.vectorBytes;
    vectorRegisters = options.vectorRegisters;
  }
  LowerKernelsPass(const LowerKernelsPass &other)
      : PassWrapper<LowerKernelsPass, OperationPass<ModuleOp>>(other) {
    vectorBytes = other.vectorBytes.getValue();
    vectorRegisters = other.vectorRegisters.getValue();
  }

  StringRef getArgument() const final { return "oneflow-lower-kernels"; }
  StringRef getDescription() const final {
    return "lower oneflow.kernel functions to the kernel ABI";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                    linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    LowerKernelsOptions options;
    options.vectorBytes = vectorBytes;
    options.vectorRegisters = vectorRegisters;
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("oneflow.kernel"))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels)
      if (failed(lower(kernel, options)))
        return signalPassFailure();
  }

private:
  LogicalResult lower(func::FuncOp kernel, const LowerKernelsOptions &options) {
    if (!kernel.getBody().hasOneBlock())
      return kernel.emitError("expected a kernel of one block");
    if (failed(generalize(kernel)))
      return failure();
    cpu::KernelGraph graph(kernel);
    if (failed(graph.analyze()))
      return failure();
    cpu::KernelEmitter emitter(graph, options);
    SmallVector<LLVM::LLVMFuncOp> functions;
    if (failed(emitter.emit(functions)))
      return failure();
    std::string name = kernel.getName().str();
    auto visibility = SymbolTable::getSymbolVisibility(kernel);
    kernel.erase();
    functions.back().setName(name);
    for (LLVM::LLVMFuncOp function : functions) {
      SymbolTable::setSymbolVisibility(function, visibility);
      if (failed(cpu::convertToLLVM(function)))
        return failure();
    }
    return success();
  }

  /// Named linalg ops become generic ones, dead ops go.
  LogicalResult generalize(func::FuncOp kernel) {
    RewritePatternSet patterns(kernel.getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(kernel, std::move(patterns), config);
  }

  Option<unsigned> vectorBytes{*this, "vector-bytes",
                               llvm::cl::desc("bytes per vector register"),
                               llvm::cl::init(64)};
  Option<unsigned> vectorRegisters{*this, "vector-registers",
                                   llvm::cl::desc("number of vector registers"),
                                   llvm::cl::init(32)};
};

} // namespace

std::unique_ptr<Pass>
createLowerKernelsPass(const LowerKernelsOptions &options) {
  return std::make_unique<LowerKernelsPass>(options);
}

void registerLowerKernelsPass() {
  registerPass([] { return createLowerKernelsPass(); });
}

} // namespace oneflow
