//===- Variable.h - tensors that outlive a step -----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's part of a variable, in the memory layout that kernels expect:
// dense, or packed in panels along one dimension of extent N, as
// [ceil(N / panel)][K][panel] with zeros behind N. Outside of this class every
// variable is dense.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_VARIABLE_H
#define ONEFLOW_RUNTIME_VARIABLE_H

#include "Layout.h"
#include "Memory.h"

namespace oneflow::runtime {

class VariableStorage {
public:
  /// Allocates zeroed memory for the part of `rank`; none if the rank is
  /// outside of the variable's placement. Fails when the plan's size is too
  /// small.
  Status bind(const plan::Variable &variable, const plan::Plan &plan, int rank);

  /// Whether this rank holds a part.
  bool exists() const { return present; }
  uint8_t *data() const { return memory.data(); }
  const TensorLayout &layout() const { return tensorLayout; }
  const Holding &holding() const { return part; }
  /// The part as it lies in memory; null when it is packed.
  const uint8_t *dense() const { return panel > 0 ? nullptr : memory.data(); }
  /// Of the part when dense.
  uint64_t denseBytes() const;

  /// Takes this rank's part of the dense logical tensor `value`. Of a Partial
  /// variable the first part takes the value, later ones the neutral element.
  void setLogical(const void *value);
  /// Writes this rank's part, dense, to `value` (denseBytes() bytes).
  void getDense(void *value) const;

private:
  /// Calls `visit(dense offset, packed offset)`, in bytes, for every element.
  template <typename Visit> void forEachPacked(Visit visit) const;
  void pack(const uint8_t *dense);
  void unpack(uint8_t *dense) const;

  bool present = false;
  uint32_t panel = 0;
  uint32_t panelDim = 1;
  TensorLayout tensorLayout;
  Holding part;
  MappedMemory memory;
};

/// Takes the part that `holding` describes of a dense logical tensor; later
/// parts of Partial sums and products get the neutral element instead.
void takePart(const TensorLayout &layout, const Holding &holding,
              const void *logical, void *local);

/// Bytes of the parts of a tensor that rank `rank` contributes to gatherParts:
/// of its dense part, or 0 for replicas and ranks outside.
uint64_t contributedBytes(const TensorLayout &layout, int64_t rank);

/// Puts a tensor together from the contributing ranks' dense parts,
/// parts[rank]; parts of Partial tensors are combined in rank order. Allocates
/// when the tensor is Partial.
void gatherParts(const TensorLayout &layout,
                 const std::vector<const uint8_t *> &parts, void *logical);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_VARIABLE_H
