/*===-- Kernels.c - native code for the runtime's tests -----------*- C -*-===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* Chains as the compiler emits them, written by hand, so that the runtime is
|* tested without a compiler. scalars[0] is the number of elements throughout.
|*
\*===----------------------------------------------------------------------===*/

#include "oneflow/Plan/KernelAbi.h"

static int32_t add_one(void *const *buffers, const int64_t *scalars,
                       int64_t begin, int64_t end) {
  (void)scalars;
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + 1.0f;
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_add_one(OfChainContext *context) {
  return context->launch(context, 0, add_one, context->buffers,
                         context->scalars, context->scalars[0]);
}

/* y = x + rank, where scalars[1] is the rank. */
static int32_t add_rank(void *const *buffers, const int64_t *scalars,
                        int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + (float)scalars[1];
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_add_rank(OfChainContext *context) {
  return context->launch(context, 1, add_rank, context->buffers,
                         context->scalars, context->scalars[0]);
}

/* Refuses negative elements as if they were bad indices. */
static int32_t check_index(void *const *buffers, const int64_t *scalars,
                           int64_t begin, int64_t end) {
  (void)scalars;
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < 0)
      return ONEFLOW_KERNEL_INDEX_OUT_OF_RANGE;
    y[i] = x[i];
  }
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_check_index(OfChainContext *context) {
  return context->launch(context, 2, check_index, context->buffers,
                         context->scalars, context->scalars[0]);
}

/* Issues kernels until it is cancelled. */
int32_t chain_endless(OfChainContext *context) {
  while (1) {
    int32_t status = context->launch(context, 0, add_one, context->buffers,
                                     context->scalars, context->scalars[0]);
    if (status != ONEFLOW_KERNEL_OK)
      return status;
  }
}

/* variable += x; y = variable. */
static int32_t accumulate(void *const *buffers, const int64_t *scalars,
                          int64_t begin, int64_t end) {
  (void)scalars;
  float *variable = buffers[0];
  const float *x = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin; i < end; ++i) {
    variable[i] += x[i];
    y[i] = variable[i];
  }
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_accumulate(OfChainContext *context) {
  return context->launch(context, 3, accumulate, context->buffers,
                         context->scalars, context->scalars[0]);
}

/* Needs relative relocations (a table of pointers) and writable data. */
static const float one = 1.0f, two = 2.0f;
static const float *const table[2] = {&one, &two};
static float calls = 0.0f;
/* Keeps the compiler from folding the table away. */
const float *const *volatile table_address = table;

static int32_t add_table(void *const *buffers, const int64_t *scalars,
                         int64_t begin, int64_t end) {
  (void)scalars;
  const float *x = buffers[0];
  float *y = buffers[1];
  const float *const *at = table_address;
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + *at[i & 1] + calls;
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_add_table(OfChainContext *context) {
  calls += 1.0f;
  return context->launch(context, 4, add_table, context->buffers,
                         context->scalars, context->scalars[0]);
}

/* What pipelines are made of. Elements and coordinates may differ from action
   to action; the work of the whole kernel is one item. */

/* The running sum of x over the coordinates of time, scalars[1], in y[0]. */
static int32_t sum_over_time(void *const *buffers, const int64_t *scalars,
                             int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  (void)begin;
  (void)end;
  if (scalars[1] == 0)
    y[0] = 0.0f;
  for (int64_t i = 0; i < scalars[0]; ++i)
    y[0] += x[i];
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_sum_over_time(OfChainContext *context) {
  return context->launch(context, 5, sum_over_time, context->buffers,
                         context->scalars, 1);
}

/* y = x + w[0] */
static int32_t add_first(void *const *buffers, const int64_t *scalars,
                         int64_t begin, int64_t end) {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  (void)scalars;
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + w[0];
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_add_first(OfChainContext *context) {
  return context->launch(context, 6, add_first, context->buffers,
                         context->scalars, context->scalars[0]);
}

int32_t chain_nothing(OfChainContext *context) {
  (void)context;
  return ONEFLOW_KERNEL_OK;
}

/* y[0] = x[0] + 1, whatever scalars[0] is. */
int32_t chain_add_one_to_first(OfChainContext *context) {
  return context->launch(context, 0, add_one, context->buffers,
                         context->scalars, 1);
}

/* How many values are produced but not consumed, on all ranks of the process;
   consume() takes its time and gives out the most there ever were. */
static int ahead = 0, most_ahead = 0;

static int32_t produce(void *const *buffers, const int64_t *scalars,
                       int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  (void)scalars;
  (void)begin;
  (void)end;
  y[0] = x[0];
  int now = __atomic_add_fetch(&ahead, 1, __ATOMIC_SEQ_CST);
  if (now > __atomic_load_n(&most_ahead, __ATOMIC_SEQ_CST))
    __atomic_store_n(&most_ahead, now, __ATOMIC_SEQ_CST);
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_produce(OfChainContext *context) {
  return context->launch(context, 7, produce, context->buffers,
                         context->scalars, 1);
}

static int32_t consume(void *const *buffers, const int64_t *scalars,
                       int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  (void)begin;
  (void)end;
  for (volatile int64_t wait = 0; wait < 4000000; ++wait) {
  }
  if (scalars[1] == 0)
    y[0] = 0.0f;
  y[0] += x[0];
  y[1] = (float)__atomic_load_n(&most_ahead, __ATOMIC_SEQ_CST);
  __atomic_sub_fetch(&ahead, 1, __ATOMIC_SEQ_CST);
  return ONEFLOW_KERNEL_OK;
}

int32_t chain_consume(OfChainContext *context) {
  return context->launch(context, 8, consume, context->buffers,
                         context->scalars, 1);
}
