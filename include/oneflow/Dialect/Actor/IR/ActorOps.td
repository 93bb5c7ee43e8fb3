// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The schedule: one to one with the plan file.

#ifndef ONEFLOW_DIALECT_ACTOR_IR_ACTOROPS_TD
#define ONEFLOW_DIALECT_ACTOR_IR_ACTOROPS_TD

include "oneflow/Dialect/Actor/IR/ActorBase.td"

class Actor_Op<string mnemonic, list<Trait> traits = []>
    : Op<Actor_Dialect, mnemonic, traits>;

def Actor_GraphOp : Actor_Op<"graph", [Symbol, IsolatedFromAbove, NoTerminator,
                                       SingleBlock]> {
  let summary = "the actor graph of one entry";
  let description = [{
    Buffers first, then tasks, in an order that respects what they wait for.
    `arena_bytes` is there once memory is planned.

    ```mlir
    actor.graph @main {
      %x = actor.register "x" slots 1 bytes 64
      actor.task "x" on @mesh host posts(%x) {
        actor.read_port "x" into %x #comm.layout<tensor<4xf32>, @mesh, <[B]>>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`arena` $arena_bytes^)? $body attr-dict
  }];
}

class Actor_BufferOp<string mnemonic> : Actor_Op<mnemonic, [HasParent<"GraphOp">]> {
  let results = (outs Actor_BufferType:$result);
}

def Actor_RegisterOp : Actor_BufferOp<"register"> {
  let summary = "a slot group through which a task hands over to others";
  let description = [{
    `slots` are the producer's credits. A register of 0 bytes only orders its producer
    before its consumers. `offset` is in bytes from the arena's begin.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$slots, I64Attr:$bytes,
                       OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $name `slots` $slots `bytes` $bytes (`offset` $offset^)? attr-dict
  }];
}

def Actor_ScratchOp : Actor_BufferOp<"scratch"> {
  let summary = "a buffer that lives inside one task's action";
  let arguments = (ins StrAttr:$name, I64Attr:$bytes, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $name `bytes` $bytes (`offset` $offset^)? attr-dict
  }];
}

def Actor_VariableOp : Actor_BufferOp<"variable"> {
  let summary = "the rank's part of a variable, in place";
  let description = [{
    With `panel`, it lies packed in panels of that width along dimension `panel_dim`:
    see Variable in Plan.fbs. All graphs of a module agree.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, I64Attr:$bytes,
                       OptionalAttr<I64Attr>:$panel, OptionalAttr<I64Attr>:$panel_dim);
  let assemblyFormat = [{
    $variable `bytes` $bytes (`panel` $panel^ `along` $panel_dim)? attr-dict
  }];
}

def Actor_TaskOp : Actor_Op<"task", [HasParent<"GraphOp">, NoTerminator, SingleBlock,
                                     AttrSizedOperandSegments]> {
  let summary = "an actor: acts once per run, when all it waits for is there";
  let description = [{
    `waits` are registers that it consumes, `posts` those that it produces. The body is
    either a list of launches and copies (a chain), or one of read_port, write_port, collective,
    exchange. `order` is the place of a communication in the one order that all ranks
    keep, from 1; 0 for everything else.
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$placement,
                       Actor_StreamAttr:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$order,
                       Variadic<Actor_BufferType>:$waits,
                       Variadic<Actor_BufferType>:$posts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `on` $placement $stream (`order` $order^)?
    (`waits` `(` $waits^ `)`)?
    (`posts` `(` $posts^ `)`)? $body attr-dict
  }];
}

def Actor_ReadPortOp : Actor_Op<"read_port", [HasParent<"TaskOp">]> {
  let summary = "copies this rank's part of a caller's tensor into a buffer";
  let arguments = (ins StrAttr:$port, Actor_BufferType:$target, Comm_LayoutAttr:$layout);
  let assemblyFormat = "$port `into` $target $layout attr-dict";
}

def Actor_WritePortOp : Actor_Op<"write_port", [HasParent<"TaskOp">]> {
  let summary = "copies a buffer to the caller";
  let arguments = (ins StrAttr:$port, Actor_BufferType:$source, Comm_LayoutAttr:$layout);
  let assemblyFormat = "$port `from` $source $layout attr-dict";
}

def Actor_LaunchOp : Actor_Op<"launch", [HasParent<"TaskOp">]> {
  let summary = "runs a kernel";
  let description = [{
    `name` is what the user calls it. Buffers stand in the order of the kernel's
    operands, results and workspace; those from `first_result` on are written. Scalars
    are `#comm.scalar`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$name,
                       Variadic<Actor_BufferType>:$buffers, I64Attr:$first_result,
                       ArrayAttr:$scalars);
  let assemblyFormat = [{
    $kernel $name `(` $buffers `)` `results` `from` $first_result `scalars` $scalars
    attr-dict
  }];
}

def Actor_CopyOp : Actor_Op<"copy", [HasParent<"TaskOp">]> {
  let summary = "copies a buffer to another of its size, within a chain";
  let description = [{
    How a variable gets its new value. `--actor-elide-copies` removes those whose
    source can be the target.
  }];
  let arguments = (ins Actor_BufferType:$source, Actor_BufferType:$target);
  let assemblyFormat = "$source `to` $target attr-dict";
}

def Actor_CollectiveOp : Actor_Op<"collective", [HasParent<"TaskOp">]> {
  let summary = "a collective over the ranks that differ in `axes` only";
  let description = [{
    `shape` is the tensor as the group sees it whole (see CollectiveBody in Plan.fbs):
    integers, and `#comm.scalar` where an extent depends on the rank.
  }];
  let arguments = (ins Actor_CollectiveKindAttr:$kind, Actor_BufferType:$source,
                       Actor_BufferType:$target, TypeAttr:$element_type,
                       ArrayAttr:$shape, DenseI64ArrayAttr:$axes,
                       Comm_ReducerAttr:$reducer,
                       DefaultValuedAttr<I64Attr, "-1">:$source_dim,
                       DefaultValuedAttr<I64Attr, "1">:$source_block,
                       DefaultValuedAttr<I64Attr, "-1">:$target_dim,
                       DefaultValuedAttr<I64Attr, "1">:$target_block);
  let assemblyFormat = [{
    $kind $reducer $source `to` $target $element_type $shape `over` $axes attr-dict
  }];
}

def Actor_ExchangeOp : Actor_Op<"exchange", [HasParent<"TaskOp">]> {
  let summary = "the exact intersection exchange between two layouts";
  let arguments = (ins Actor_BufferType:$source, Actor_BufferType:$target,
                       Comm_LayoutAttr:$source_layout, Comm_LayoutAttr:$target_layout);
  let assemblyFormat = [{
    $source $source_layout `to` $target $target_layout attr-dict
  }];
}

#endif // ONEFLOW_DIALECT_ACTOR_IR_ACTOROPS_TD
