// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWOPS_TD

include "oneflow/Dialect/OneFlow/IR/StructuralOps.td"
include "oneflow/Dialect/OneFlow/IR/ElementwiseOps.td"
include "oneflow/Dialect/OneFlow/IR/TensorOps.td"
include "oneflow/Dialect/OneFlow/IR/ConvolutionOps.td"
include "oneflow/Dialect/OneFlow/IR/PoolOps.td"
include "oneflow/Dialect/OneFlow/IR/NormOps.td"
include "oneflow/Dialect/OneFlow/IR/BatchNormOp.td"
include "oneflow/Dialect/OneFlow/IR/IndexOps.td"
include "oneflow/Dialect/OneFlow/IR/TrainingOps.td"

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWOPS_TD
