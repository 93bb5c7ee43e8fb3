// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes from one dialect to the next.

#ifndef ONEFLOW_CONVERSION_PASSES_TD
#define ONEFLOW_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertOneFlowToCommPass : Pass<"convert-oneflow-to-comm", "::mlir::ModuleOp"> {
  let summary = "from the logical graph to one program per rank";
  let description = [{
    Shapes become local: even splits static, uneven ones dynamic with the scalar that
    gives the extent. Boxing becomes a collective, an exchange, or a kernel where
    nothing moves; every other op becomes a kernel of its own, with scalars for what
    depends on the rank. Expects what `--oneflow-verify-spread` checks.
  }];
  let dependentDialects = ["::oneflow::comm::CommDialect"];
}

def ConvertCommToActorPass : Pass<"convert-comm-to-actor", "::mlir::ModuleOp"> {
  let summary = "from per-rank programs to actor graphs and kernel functions";
  let description = [{
    Kernels become functions marked `oneflow.kernel`, equal ones shared. Kernels between
    two communications become one task, a chain; each collective, input and output is a
    task of its own. What crosses tasks is a register, what does not is scratch. A
    variable is updated in its own memory; where some reader of the old value is
    not ordered before, a register of 0 bytes orders it.
  }];
  let dependentDialects = ["::oneflow::actor::ActorDialect"];
}

def ConvertActorToLLVMPass : Pass<"convert-actor-to-llvm", "::mlir::ModuleOp"> {
  let summary = "emit the native function of every chain";
  let description = [{
    For each task of launches, adds an `llvm.func` of the ABI OfChainFn
    (oneflow/Plan/KernelAbi.h), named `<graph>.<task>`, that issues the launches in
    order. The graphs stay: the plan is exported from them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ONEFLOW_CONVERSION_PASSES_TD
