//===- ChainBuffers.h - what a native chain refers to -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The agreement between the emitted chains and the plan that lists their
// buffers.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_CONVERSION_CHAINBUFFERS_H
#define ONEFLOW_CONVERSION_CHAINBUFFERS_H

#include "oneflow/Dialect/Actor/IR/Actor.h"

namespace oneflow {

/// True for tasks of launches and copies, which have a native function.
bool isChain(actor::TaskOp task);

/// The buffers that the native function of a chain gets, in its order.
mlir::SmallVector<mlir::Value> getChainBuffers(actor::TaskOp task);

/// Symbol of the native function.
std::string getChainSymbol(actor::GraphOp graph, actor::TaskOp task);

} // namespace oneflow

#endif // ONEFLOW_CONVERSION_CHAINBUFFERS_H
