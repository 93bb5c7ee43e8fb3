// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Enumerations of the `actor` dialect.

#ifndef ONEFLOW_DIALECT_ACTOR_IR_ACTORENUMS_TD
#define ONEFLOW_DIALECT_ACTOR_IR_ACTORENUMS_TD

include "mlir/IR/EnumAttr.td"

def Actor_Stream : I32EnumAttr<"Stream", "what serves a task", [
    I32EnumAttrCase<"Host", 0, "host">, I32EnumAttrCase<"Compute", 1, "compute">,
    I32EnumAttrCase<"Comm", 2, "comm">,
    I32EnumAttrCase<"Transfer", 3, "transfer">]> {
  let cppNamespace = "::oneflow::actor";
  let genSpecializedAttr = 0;
}

def Actor_CollectiveKind : I32EnumAttr<"CollectiveKind", "a collective operation", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">]> {
  let cppNamespace = "::oneflow::actor";
  let genSpecializedAttr = 0;
}

#endif // ONEFLOW_DIALECT_ACTOR_IR_ACTORENUMS_TD
