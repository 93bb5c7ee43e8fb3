// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes inside the schedule dialect.

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_TD
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideCopiesPass : Pass<"actor-elide-copies", "::mlir::ModuleOp"> {
  let summary = "let kernels write variables in place";
  let description = [{
    A copy into a variable goes where the kernel that makes the value can write into the
    variable at once: nothing behind it reads the old value, and it reads the old
    value itself only where its code allows operand and result to share
    (`oneflow.may_share`).
  }];
}

def PackVariablesPass : Pass<"actor-pack-variables", "::mlir::ModuleOp"> {
  let summary = "keep the weights of matrix products in panels";
  let description = [{
    A variable that no graph writes, and that every kernel reading it takes as the right
    operand of a matrix product and nothing else, is kept packed in panels of as many
    columns as a kernel computes at once: it is packed when the plan is loaded and
    never again. Runs on the kernels' functions, before they are lowered, and tells
    them by `oneflow.panel` and `oneflow.panel_dim` (see
    oneflow/Conversion/KernelToCpu.h).
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "64",
           "of a vector register; a panel is two of them wide">,
  ];
}

def PlanMemoryPass : Pass<"actor-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every register and scratch buffer its place in the arena";
  let description = [{
    Adds the workspaces that kernels ask for (`oneflow.workspace`). Two buffers share
    bytes only when, on all ranks that use both, any value of the one is released before
    any of the other is begun, or the reverse, in every firing order; a kernel's result
    takes its operand's place where its code allows it and this is the operand's last
    use. Ranks that share no buffer have arenas of their own, each from 0. See
    docs/schedules.md and OffsetPacking.h.
  }];
  let options = [
    Option<"report", "report", "bool", "false",
           "print, for each group of ranks, the arena's size and what is alive at the peak">,
  ];
}

def ProveSchedulePass : Pass<"actor-prove-schedule", "::mlir::ModuleOp"> {
  let summary = "phase gate: prove that the graph ends, whatever fires first";
  let description = [{
    Checks of the unrolled graph, in which each task acts as often as its phase says, and
    names the culprits when it fails:
    1. every register has one producer, on ranks that its consumers are on, and whoever
       touches its bytes waits for it or posts it
    2. what registers, their slots, schedules and orders make wait for each other has no
       cycle, so every firing order ends
    3. communications have orders from 1, distinct within a phase; that all ranks keep
       them is graph_c5
    4. buffers that share arena bytes on the same ranks, and reads and writes of one
       variable, are ordered
    5. every buffer lies inside the arena, all its slots, aligned
  }];
}

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_TD
