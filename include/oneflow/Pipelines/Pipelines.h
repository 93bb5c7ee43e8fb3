//===- oneflow/Pipelines/Pipelines.h - the named pipelines ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way of a model from the logical graph to native chains, as lists of
// passes that oneflow-compile and oneflow-opt share.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PIPELINES_PIPELINES_H
#define ONEFLOW_PIPELINES_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace oneflow {

/// Logical graph to logical graph: inference as it came, or a training step.
struct LogicalPipelineOptions
    : mlir::PassPipelineOptions<LogicalPipelineOptions> {
  Option<bool> train{*this, "train", llvm::cl::desc("make a training step"),
                     llvm::cl::init(false)};
  Option<std::string> output{*this, "output",
                             llvm::cl::desc("output that holds the logits"),
                             llvm::cl::init("")};
  Option<std::string> loss{*this, "loss",
                           llvm::cl::desc("cross-entropy or mean"),
                           llvm::cl::init("cross-entropy")};
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("adamw, sgd or none"),
                                llvm::cl::init("adamw")};
  Option<double> learningRate{*this, "learning-rate",
                              llvm::cl::desc("initial learning rate"),
                              llvm::cl::init(1e-3)};
  Option<double> weightDecay{*this, "weight-decay",
                             llvm::cl::desc("decay of the parameters"),
                             llvm::cl::init(1e-2)};
  Option<double> momentum{*this, "momentum", llvm::cl::desc("of sgd"),
                          llvm::cl::init(0.9)};
  Option<bool> unpack{
      *this, "unpack",
      llvm::cl::desc("one variable per projection of packed ones, which pays "
                     "only where a mesh axis may split them"),
      llvm::cl::init(false)};
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("with an axis pp, the model is cut into that many stages"),
      llvm::cl::init("dp=1")};
  Option<std::string> device{*this, "device", llvm::cl::desc("cpu"),
                             llvm::cl::init("cpu")};
  Option<int64_t> microBatches{
      *this, "micro-batches",
      llvm::cl::desc(
          "parts of the batch that a step takes one after the other"),
      llvm::cl::init(1)};
  Option<std::string> pipeline{
      *this, "schedule",
      llvm::cl::desc("gpipe, 1f1b, interleaved or zero-bubble"),
      llvm::cl::init("1f1b")};
  Option<int64_t> chunks{
      *this, "chunks",
      llvm::cl::desc("parts of the model per stage, for interleaved"),
      llvm::cl::init(1)};
  ListOption<std::string> stageHints{*this, "stages",
                                     llvm::cl::desc("PATTERN=STAGE")};
  Option<std::string> precision{
      *this, "precision",
      llvm::cl::desc("f32, bf16 or f16; empty: as the model is"),
      llvm::cl::init("")};
  Option<std::string> precisionOps{
      *this, "precision-ops",
      llvm::cl::desc("changes of the list: op=low, op=high or op=follow"),
      llvm::cl::init("")};
  Option<double> lossScale{*this, "loss-scale",
                           llvm::cl::desc("initial loss scale, 0 for none"),
                           llvm::cl::init(0)};
  Option<bool> dynamicLossScale{
      *this, "dynamic-loss-scale",
      llvm::cl::desc("whether the loss scale changes"), llvm::cl::init(true)};
  Option<int64_t> lossScaleInterval{
      *this, "loss-scale-interval",
      llvm::cl::desc("finite steps in a row that double the loss scale"),
      llvm::cl::init(2000)};
};

/// Logical graph to a placed and signed one with boxing.
struct SpreadPipelineOptions
    : mlir::PassPipelineOptions<SpreadPipelineOptions> {
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("axes and sizes, such as "
                                          "dp=2,tp=2 (default: dp=1)"),
                           llvm::cl::init("dp=1")};
  Option<std::string> device{*this, "device", llvm::cl::desc("cpu (default)"),
                             llvm::cl::init("cpu")};
  Option<int64_t> microBatches{
      *this, "micro-batches",
      llvm::cl::desc(
          "parts of the batch that a step takes one after the other"),
      llvm::cl::init(1)};
  ListOption<std::string> hints{
      *this, "hints",
      llvm::cl::desc("PATTERN[:inN|:outN]=SBP@AXIS or =[SBP, ...]")};
  Option<unsigned> zero{*this, "zero",
                        llvm::cl::desc("ZeRO stage: 1 and 2 split optimizer "
                                       "state along axes that split inputs, 3 "
                                       "parameters, too"),
                        llvm::cl::init(0)};
  Option<bool> explain{*this, "explain",
                       llvm::cl::desc("say why each signature was chosen"),
                       llvm::cl::init(false)};
};

/// Per-rank program to a proved schedule with native chains.
struct SchedulePipelineOptions
    : mlir::PassPipelineOptions<SchedulePipelineOptions> {
  Option<unsigned> vectorBytes{*this, "vector-bytes",
                               llvm::cl::desc("of a vector register"),
                               llvm::cl::init(64)};
  Option<unsigned> vectorRegisters{*this, "vector-registers",
                                   llvm::cl::desc("how many there are"),
                                   llvm::cl::init(32)};
};

void buildLogicalPipeline(mlir::OpPassManager &passes,
                          const LogicalPipelineOptions &options);
void buildSpreadPipeline(mlir::OpPassManager &passes,
                         const SpreadPipelineOptions &options);
void buildRankPipeline(mlir::OpPassManager &passes);
void buildSchedulePipeline(mlir::OpPassManager &passes,
                           const SchedulePipelineOptions &options);

/// The project's dialects and what its passes need of upstream's.
void registerOneFlowDialects(mlir::DialectRegistry &registry);
/// All passes and pipelines of the project, for command lines.
void registerOneFlowPassesAndPipelines();

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_PIPELINES_H
