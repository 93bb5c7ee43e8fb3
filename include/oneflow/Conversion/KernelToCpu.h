//===- oneflow/Conversion/KernelToCpu.h - kernels to the ABI ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --oneflow-lower-kernels: each `func.func` with the unit attribute
// `oneflow.kernel` becomes an `llvm.func` after oneflow/Plan/KernelAbi.h.
//
// A kernel takes tensors, then `index` scalars, and returns tensors. Attributes
// of an argument or a result:
//
//   oneflow.extents = array<i64: ...>  per dim, which scalar holds the extent
//   of
//                                      a `?` (counted from the first scalar),
//                                      or -1 where the dim is static.
//   oneflow.bounds = array<i64: ...>   optional, per dim: the largest extent of
//   a
//                                      `?`. Needed only where an intermediate
//                                      of dynamic size must be kept in memory.
//   oneflow.panel = P : i64            optional, rank 2 only: the buffer holds
//   the oneflow.panel_dim = d : i64        tensor packed in panels of P along
//   dim d
//                                      (default: the last): element (k, n), n
//                                      along d and K the other extent, is at
//                                      (n / P) * K * P + k * P + n % P, and the
//                                      last panel is filled with zeros. The
//                                      type stays the logical one; a kernel
//                                      that returns its operand packs (or
//                                      unpacks).
//
// What comes out for a kernel @name, beside the function: `@name.items`, which
// takes the scalars and gives the number of work items, and on the function
//
//   oneflow.workspace = <bytes> : i64  a workspace pointer comes last in the
//                                      buffers if and only if it is above zero.
//   oneflow.may_share = [array<i64: operand, result>, ...]
//                                      pairs that may be one buffer.
//
// Calls of `oneflow_math_*` remain; oneflow/Target/Cpu.h links them.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_CONVERSION_KERNELTOCPU_H
#define ONEFLOW_CONVERSION_KERNELTOCPU_H

#include <memory>

namespace mlir {
class Pass;
class DialectRegistry;
} // namespace mlir

namespace oneflow {

/// What the lowering must know of the target; see CpuTarget::vectorBytes and
/// CpuTarget::vectorRegisters.
struct LowerKernelsOptions {
  unsigned vectorBytes = 64;
  unsigned vectorRegisters = 32;
};

/// A module pass. Fails, with an error at the op, on a kernel it cannot lower.
std::unique_ptr<mlir::Pass>
createLowerKernelsPass(const LowerKernelsOptions &options = {});

/// Registers `--oneflow-lower-kernels`.
void registerLowerKernelsPass();

} // namespace oneflow

#endif // ONEFLOW_CONVERSION_KERNELTOCPU_H
