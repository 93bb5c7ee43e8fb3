// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `actor` dialect and its attributes.

#ifndef ONEFLOW_DIALECT_ACTOR_IR_ACTORBASE_TD
#define ONEFLOW_DIALECT_ACTOR_IR_ACTORBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "oneflow/Dialect/Actor/IR/ActorEnums.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "oneflow/Dialect/Comm/IR/CommBase.td"

def Actor_Dialect : Dialect {
  let name = "actor";
  let cppNamespace = "::oneflow::actor";
  let summary = "when, and where in memory";
  let description = [{
    The actor graph of each entry of a plan: tasks, registers (slots are credits),
    streams, and where every buffer lies. One to one with include/oneflow/Plan/Plan.fbs.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::oneflow::comm::CommDialect"];
}

def Actor_BufferType : TypeDef<Actor_Dialect, "Buffer">, BuildableType<"::oneflow::actor::BufferType::get($_builder.getContext())"> {
  let mnemonic = "buffer";
  let summary = "a place in a rank's memory";
}

def Actor_StreamAttr : EnumAttr<Actor_Dialect, Actor_Stream, "stream">;

def Actor_CollectiveKindAttr
    : EnumAttr<Actor_Dialect, Actor_CollectiveKind, "collective_kind">;

#endif // ONEFLOW_DIALECT_ACTOR_IR_ACTORBASE_TD
