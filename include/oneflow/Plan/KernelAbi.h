/*===-- oneflow/Plan/KernelAbi.h - the ABI of compiled kernels ----*- C -*-===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* What native code inside a plan may assume of the runtime, and the runtime of
|* the code. Freestanding C: the compiler emits code against this header, the
|* runtime implements it, and nothing else is shared between the two but
|* Plan.fbs and the other headers of this folder.
|*
|* Two kinds of functions exist in a plan's code section:
|*
|*   - a kernel (OfKernelFn) computes a range of independent work items. It
|*     allocates nothing, calls nothing, and its result does not depend on how
|*     the items are spread over threads: determinism rests on that.
|*   - a chain (OfChainFn) is the statically ordered work between two
|*     communications. It issues kernels through OfChainContext::launch, one
|*     after the other, and returns at the first status that is not zero.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ONEFLOW_PLAN_KERNELABI_H
#define ONEFLOW_PLAN_KERNELABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of everything in this header. A plan records the version it was
 *  compiled against; the runtime loads no other. */
#define ONEFLOW_KERNEL_ABI_VERSION 1u

/** Every buffer that a kernel sees starts at a multiple of this many bytes. */
#define ONEFLOW_BUFFER_ALIGNMENT 64u

/** What a kernel returns, and `launch` and a chain pass on. */
enum OfKernelStatus {
  /** All items are done. */
  ONEFLOW_KERNEL_OK = 0,
  /** The run was cancelled between two kernels; nothing is wrong. */
  ONEFLOW_KERNEL_CANCELLED = 1,
  /** An index operand lies outside its table (a label, an embedding id). */
  ONEFLOW_KERNEL_INDEX_OUT_OF_RANGE = 2
};

/** Computes the work items [begin, end) of a kernel.
 *
 *  \param buffers one pointer per tensor operand, then one per result, then the
 *         workspace if the kernel has one; dense row-major, or the packed
 *         layout which the kernel was compiled for. Owned by the caller.
 *  \param scalars the kernel's run-time extents and offsets, in elements.
 *  \return an OfKernelStatus.
 *
 *  Thread-safe for disjoint ranges of one call's items. */
typedef int32_t (*OfKernelFn)(void *const *buffers, const int64_t *scalars,
                              int64_t begin, int64_t end);

/** What the runtime hands to a chain for one action. Lives as long as the call.
 */
typedef struct OfChainContext {
  /** ONEFLOW_KERNEL_ABI_VERSION of the runtime. */
  uint32_t abi_version;
  uint32_t reserved;
  /** Base pointers, in the order of the chain's buffer list in the plan. */
  void *const *buffers;
  /** The plan's scalars as evaluated for this rank, in the plan's order. */
  const int64_t *scalars;
  /** Runs items [0, items) of `kernel`, possibly spread over the rank's worker
   *  pool, and returns when all are done: the first status in item order that
   *  is not zero, or ONEFLOW_KERNEL_CANCELLED without having run anything.
   *  `kernel_id` indexes the plan's kernel table, for traces and errors. */
  int32_t (*launch)(struct OfChainContext *context, uint32_t kernel_id,
                    OfKernelFn kernel, void *const *buffers,
                    const int64_t *scalars, int64_t items);
} OfChainContext;

/** Runs one chain to its end. \return an OfKernelStatus. */
typedef int32_t (*OfChainFn)(OfChainContext *context);

#ifdef __cplusplus
}
#endif

#endif /* ONEFLOW_PLAN_KERNELABI_H */
