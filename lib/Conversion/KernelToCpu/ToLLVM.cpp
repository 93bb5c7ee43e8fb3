//===- ToLLVM.cpp - the rest of a kernel in the llvm dialect --------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's conversions, except that a math function which no instruction
// computes becomes a call of our own implementation: a kernel must not need
// libm, and the loops it is called from must vectorize.
//
//===----------------------------------------------------------------------===//

#include "ToLLVM.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace oneflow::cpu {
namespace {

/// Replaces a scalar math op by a call.
template <typename Op> class CallMath : public OpRewritePattern<Op> {
public:
  CallMath(MLIRContext *context, StringRef name)
      : OpRewritePattern<Op>(context, /*benefit=*/10), name(name) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type || !(type.isF32() || type.isF64()))
      return failure();
    std::string symbol =
        ("oneflow_math_" + name + (type.isF32() ? "_f32" : "_f64")).str();
    auto module = op->template getParentOfType<ModuleOp>();
    SmallVector<Type> arguments(op->getNumOperands(), type);
    FailureOr<LLVM::LLVMFuncOp> callee =
        LLVM::lookupOrCreateFn(rewriter, module, symbol, arguments, type);
    if (failed(callee))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, *callee, op->getOperands());
    return success();
  }

private:
  StringRef name;
};

/// x^n for an integer n, by the power function of the type of x.
class FPowIToPowF : public OpRewritePattern<math::FPowIOp> {
public:
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    Value exponent = arith::SIToFPOp::create(rewriter, op.getLoc(),
                                             op.getType(), op.getRhs());
    rewriter.replaceOpWithNewOp<math::PowFOp>(op, op.getLhs(), exponent);
    return success();
  }
};

bool isShort(Type type) { return type.isF16() || type.isBF16(); }

/// Computes what is written in f16 or bf16 in f32 and rounds each result: the
/// same bits on every target, no call of a runtime library, and, as f32 has
/// more than twice the digits, what one correctly rounded operation would give.
void widenShortFloats(LLVM::LLVMFuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op))
      return;
    if (llvm::any_of(op->getOperandTypes(), isShort) ||
        llvm::any_of(op->getResultTypes(), isShort))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type f32 = b.getF32Type();
    bool isDirect =
        llvm::all_of(op->getOperandTypes(),
                     [](Type type) { return isShort(type) || type.isF32(); }) &&
        llvm::all_of(op->getResultTypes(),
                     [](Type type) { return isShort(type) || type.isF32(); });
    if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      if (isDirect)
        continue;
      // To or from f64: by way of f32.
      Value middle =
          isa<arith::ExtFOp>(op)
              ? Value(arith::ExtFOp::create(b, loc, f32, op->getOperand(0)))
              : Value(arith::TruncFOp::create(b, loc, f32, op->getOperand(0)));
      op->setOperand(0, middle);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isShort(operand.get().getType()))
        operand.set(arith::ExtFOp::create(b, loc, f32, operand.get()));
    b.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      Type type = result.getType();
      if (!isShort(type))
        continue;
      result.setType(f32);
      auto narrow = arith::TruncFOp::create(b, loc, type, result);
      result.replaceAllUsesExcept(narrow, narrow);
    }
  }
}

void populateMathCalls(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<CallMath<math::AcosOp>>(context, "acos");
  patterns.add<CallMath<math::AcoshOp>>(context, "acosh");
  patterns.add<CallMath<math::AsinOp>>(context, "asin");
  patterns.add<CallMath<math::AsinhOp>>(context, "asinh");
  patterns.add<CallMath<math::AtanOp>>(context, "atan");
  patterns.add<CallMath<math::AtanhOp>>(context, "atanh");
  patterns.add<CallMath<math::Atan2Op>>(context, "atan2");
  patterns.add<CallMath<math::CbrtOp>>(context, "cbrt");
  patterns.add<CallMath<math::CosOp>>(context, "cos");
  patterns.add<CallMath<math::CoshOp>>(context, "cosh");
  patterns.add<CallMath<math::ErfOp>>(context, "erf");
  patterns.add<CallMath<math::ErfcOp>>(context, "erfc");
  patterns.add<CallMath<math::ExpOp>>(context, "exp");
  patterns.add<CallMath<math::Exp2Op>>(context, "exp2");
  patterns.add<CallMath<math::ExpM1Op>>(context, "expm1");
  patterns.add<CallMath<math::LogOp>>(context, "log");
  patterns.add<CallMath<math::Log10Op>>(context, "log10");
  patterns.add<CallMath<math::Log1pOp>>(context, "log1p");
  patterns.add<CallMath<math::Log2Op>>(context, "log2");
  patterns.add<CallMath<math::PowFOp>>(context, "pow");
  patterns.add<CallMath<math::RoundOp>>(context, "round");
  patterns.add<CallMath<math::SinOp>>(context, "sin");
  patterns.add<CallMath<math::SinhOp>>(context, "sinh");
  patterns.add<CallMath<math::TanOp>>(context, "tan");
  patterns.add<CallMath<math::TanhOp>>(context, "tanh");
  patterns.add<CallMath<arith::RemFOp>>(context, "fmod");
  patterns.add<FPowIToPowF>(context, PatternBenefit(10));
}

} // namespace

LogicalResult convertToLLVM(LLVM::LLVMFuncOp function) {
  MLIRContext *context = function.getContext();
  widenShortFloats(function);
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    // By bits: the instruction for it flushes denormals, and few chips have it.
    arith::populateExpandBFloat16Patterns(patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<scf::SCFDialect>();
    target.addDynamicallyLegalOp<arith::ExtFOp, arith::TruncFOp>(
        [](Operation *op) {
          return !op->getOperand(0).getType().isBF16() &&
                 !op->getResult(0).getType().isBF16();
        });
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(function, target, std::move(patterns))))
      return failure();
  }
  LowerToLLVMOptions options(context);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  populateMathCalls(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect>();
  return applyFullConversion(function, target, std::move(patterns));
}

} // namespace oneflow::cpu
