//===- Pipelines.cpp - the named pipelines --------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per stretch of the way; the reason stands beside each pass.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/Pipelines.h"

#include "oneflow/Conversion/KernelToCpu.h"
#include "oneflow/Conversion/Passes.h"
#include "oneflow/Dialect/Actor/IR/Actor.h"
#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Dialect/Comm/Transforms/Passes.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"
#include "oneflow/Target/Cpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace oneflow;

void oneflow::buildLogicalPipeline(OpPassManager &passes,
                                   const LogicalPipelineOptions &options) {
  // Everything below needs static logical shapes.
  passes.addPass(createInferShapesPass());
  passes.addPass(createCanonicalizerPass());
  // Before differentiation, which then knows the parts only: gradients of the
  // whole would have to be put together, and optimizer state, too.
  if (options.unpack)
    passes.addPass(createUnpackVariablesPass());
  // Before differentiation, too: gradients are computed where the ops are.
  AssignStagesPassOptions stages;
  stages.mesh = options.mesh;
  stages.device = options.device;
  stages.microBatches = options.microBatches;
  stages.pipeline = options.pipeline;
  stages.chunks = options.chunks;
  stages.hints.assign(options.stageHints.begin(), options.stageHints.end());
  passes.addPass(createAssignStagesPass(stages));
  if (options.train)
    passes.addPass(
        createAttachLossPass({"main", options.output, options.loss}));
  // Before differentiation: the gradients of casts are casts, and those of
  // parameters come out in the parameters' type.
  if (!options.precision.empty()) {
    MixedPrecisionPassOptions precision;
    precision.type = options.precision;
    precision.ops = options.precisionOps;
    passes.addPass(createMixedPrecisionPass(precision));
  }
  if (options.train) {
    DifferentiatePassOptions gradients;
    gradients.lossScale = options.lossScale;
    passes.addPass(createDifferentiatePass(gradients));
    ApplyOptimizerPassOptions optimizer;
    optimizer.optimizer = options.optimizer;
    optimizer.learningRate = options.learningRate;
    optimizer.weightDecay = options.weightDecay;
    optimizer.momentum = options.momentum;
    passes.addPass(createApplyOptimizerPass(optimizer));
    // Behind all that sums gradients up: once per step.
    if (options.lossScale != 0)
      passes.addPass(createUnscaleGradientsPass(
          {options.dynamicLossScale, options.lossScaleInterval}));
  }
  // After the training step was made: it needs the dropouts that inference
  // drops.
  passes.addPass(createConvertToInferencePass());
  // After differentiation, which knows batch norms as a whole.
  passes.addPass(createDecomposeBatchNormPass());
  // Gradients repeat subexpressions and leave values that nothing uses.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void oneflow::buildSpreadPipeline(OpPassManager &passes,
                                  const SpreadPipelineOptions &options) {
  passes.addPass(
      createPlacePass({options.mesh, options.device, options.microBatches}));
  InferSbpPassOptions inference;
  inference.hints.assign(options.hints.begin(), options.hints.end());
  inference.zero = options.zero;
  inference.explain = options.explain;
  passes.addPass(createInferSbpPass(inference));
  // Before boxing: the primitives' signatures say where it goes.
  passes.addPass(createDecomposeSplitPass());
  passes.addPass(createInsertBoxingPass());
  passes.addPass(createVerifySpreadPass());
}

void oneflow::buildRankPipeline(OpPassManager &passes) {
  passes.addPass(createConvertOneFlowToCommPass());
  // Equal reads, slices and fills of different consumers become one.
  passes.addPass(createCSEPass());
  passes.addPass(comm::createFuseKernelsPass());
  passes.addPass(comm::createVerifyLocalPass());
}

void oneflow::buildSchedulePipeline(OpPassManager &passes,
                                    const SchedulePipelineOptions &options) {
  passes.addPass(createConvertCommToActorPass());
  // Before the kernels are lowered, which read packed weights by other
  // addresses.
  passes.addPass(actor::createPackVariablesPass({options.vectorBytes}));
  // Before memory is planned: lowering tells workspaces and what may share.
  LowerKernelsOptions kernels;
  kernels.vectorBytes = options.vectorBytes;
  kernels.vectorRegisters = options.vectorRegisters;
  passes.addPass(createLowerKernelsPass(kernels));
  passes.addPass(actor::createElideCopiesPass());
  passes.addPass(actor::createPlanMemoryPass());
  passes.addPass(actor::createProveSchedulePass());
  passes.addPass(createConvertActorToLLVMPass());
}

void oneflow::registerOneFlowDialects(DialectRegistry &registry) {
  registry
      .insert<OneFlowDialect, comm::CommDialect, actor::ActorDialect,
              arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  registerCpuTranslation(registry);
}

void oneflow::registerOneFlowPassesAndPipelines() {
  registerOneFlowPasses();
  comm::registerOneFlowCommPasses();
  actor::registerOneFlowActorPasses();
  registerOneFlowConversionPasses();
  registerLowerKernelsPass();
  PassPipelineRegistration<LogicalPipelineOptions>(
      "oneflow-logical-pipeline",
      "shapes, and with train the loss, its gradients and the optimizer",
      buildLogicalPipeline);
  PassPipelineRegistration<SpreadPipelineOptions>(
      "oneflow-spread-pipeline", "placement, SBP signatures and boxing",
      buildSpreadPipeline);
  PassPipelineRegistration<>("oneflow-rank-pipeline",
                             "per-rank programs with fused kernels",
                             buildRankPipeline);
  PassPipelineRegistration<SchedulePipelineOptions>(
      "oneflow-schedule-pipeline",
      "tasks, native kernels, memory and the proof of the schedule",
      buildSchedulePipeline);
}
