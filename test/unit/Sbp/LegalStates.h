//===- LegalStates.h - states of a tensor on a mesh -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates states, for tests that go through all of them.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_SBP_LEGALSTATES_H
#define ONEFLOW_TEST_UNIT_SBP_LEGALSTATES_H

#include "oneflow/Sbp/Sbp.h"

#include <utility>

namespace oneflow::sbp::test {

/// Every legal state whose axes are of `choices`, the last axis fastest.
inline std::vector<NdSbp> legalStatesOf(const std::vector<Sbp> &choices,
                                        const Shape &shape, const Mesh &mesh) {
  std::vector<NdSbp> states = {{}}, legal;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    std::vector<NdSbp> extended;
    for (const NdSbp &state : states)
      for (const Sbp &choice : choices) {
        extended.push_back(state);
        extended.back().push_back(choice);
      }
    states = std::move(extended);
  }
  for (NdSbp &state : states)
    if (!checkLegal(state, shape, mesh))
      legal.push_back(std::move(state));
  return legal;
}

} // namespace oneflow::sbp::test

#endif // ONEFLOW_TEST_UNIT_SBP_LEGALSTATES_H
