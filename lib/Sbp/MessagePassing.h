//===- MessagePassing.h - a choice by messages ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequential tree-reweighted message passing (Kolmogorov, Convergent
// Tree-Reweighted Message Passing for Energy Minimization, PAMI 2006): a good
// choice where the graph is mostly chains, as graphs of computations are.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_SBP_MESSAGEPASSING_H
#define ONEFLOW_LIB_SBP_MESSAGEPASSING_H

#include <cstddef>
#include <vector>

namespace oneflow::sbp {

/// Costs of every pair of options of two nodes, the first in rows.
struct PairCosts {
  unsigned first, second;
  std::vector<double> costs;
};

/// One option for each node, of low cost: nodes should come in an order in
/// which chains run, such as that of the computation. At most one pair per two
/// nodes, `first < second`. Infinite costs count as very large ones, so that
/// the choice may be a forbidden one. Deterministic; touches at most about
/// `work` matrix entries.
std::vector<unsigned>
chooseByMessages(const std::vector<std::vector<double>> &nodes,
                 const std::vector<PairCosts> &pairs, size_t work);

} // namespace oneflow::sbp

#endif // ONEFLOW_LIB_SBP_MESSAGEPASSING_H
