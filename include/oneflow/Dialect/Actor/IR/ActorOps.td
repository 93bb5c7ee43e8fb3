// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The schedule: one to one with the plan file.

#ifndef ONEFLOW_DIALECT_ACTOR_IR_ACTOROPS_TD
#define ONEFLOW_DIALECT_ACTOR_IR_ACTOROPS_TD

include "oneflow/Dialect/Actor/IR/ActorBase.td"

class Actor_Op<string mnemonic, list<Trait> traits = []>
    : Op<Actor_Dialect, mnemonic, traits>;

def Actor_GraphOp
    : Actor_Op<"graph", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
                         DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the actor graph of one entry";
  let description = [{
    Buffers first, then tasks, in an order that respects what they wait for.
    `arena_bytes` is there once memory is planned: the largest of the ranks' arenas.

    Constraints:
    1. graph_c1: phases have distinct names and at least one action; where there are
       phases, each task names one
    2. graph_c2: a schedule names, of every phase with compute or comm tasks on its ranks,
       every action once, in ascending order
    3. graph_c3: the fills of a register divide the actions of its producer and of its
       consumers
    4. graph_c4: a task on the transfer stream is one exchange between placements that
       share no rank
    5. graph_c5: ranks that run the same compute or comm tasks go through the phases of those
       in one order

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

def Actor_PhaseOp : Actor_Op<"phase", [HasParent<"GraphOp">]> {
  let summary = "a stretch of work that acts as one, once or per micro-batch";
  let description = [{
    Tasks name the phase that they belong to, and act as often as it does. A graph
    without phases has one, without a name, of one action. Phases that stand first
    come first where nothing else is said.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$actions);
  let assemblyFormat = "$name `actions` $actions attr-dict";
}

def Actor_ScheduleOp : Actor_Op<"schedule", [HasParent<"GraphOp">]> {
  let summary = "the order in which the ranks of a placement go through the phases";
  let description = [{
    Step i is action `actions[i]` of phase `phases[i]`: see Schedule in Plan.fbs. On
    each rank the compute tasks act step by step, and so do the communications.
    Every action of every phase that has such tasks on these ranks is named once, those
    of one phase in ascending order. A placement of the same ranks under another name
    has the same schedule. Ranks without a schedule go through the phases one after the other.

    ```mlir
    actor.schedule on @stage0 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$placement, StrArrayAttr:$phases,
                       DenseI64ArrayAttr:$actions);
  let assemblyFormat = "`on` $placement $phases `actions` $actions attr-dict";
}

class Actor_BufferOp<string mnemonic> : Actor_Op<mnemonic, [HasParent<"GraphOp">]> {
  let results = (outs Actor_BufferType:$result);
}

def Actor_RegisterOp : Actor_BufferOp<"register"> {
  let summary = "a slot group through which a task hands over to others";
  let description = [{
    `slots` are the producer's credits; fill k of a run is in slot k modulo `slots`.
    A register of 0 bytes only orders its producer before its consumers. `offset` is
    in bytes from the arena's begin; slots lie one behind the other, each aligned.

    `fills` is how often it is filled in a run, by default once per action of its
    producer. With fewer, the producer works on one slot for several actions and posts it with
    the last of them: an accumulation. A consumer that acts more often than
    the register is filled holds each slot for as many actions as that takes.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$slots, I64Attr:$bytes,
                       OptionalAttr<I64Attr>:$fills, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $name `slots` $slots `bytes` $bytes (`fills` $fills^)? (`offset` $offset^)? attr-dict
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
  let summary = "an actor: acts when all it waits for is there";
  let description = [{
    It acts as often in a run as its `phase` says, once without one.
    `waits` are registers that it consumes, `posts` those that it produces. The body is
    either a list of launches and copies (a chain), or one of read_port, write_port, collective,
    exchange. `order` is the place of a communication among those of its phase, from
    1, which all ranks keep; 0 for everything else.

    A task on the `transfer` stream is an exchange from one placement to another that
    share no rank. Those of one phase between the same two placements act in their order, and
    independently of all others.
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$placement,
                       Actor_StreamAttr:$stream,
                       OptionalAttr<StrAttr>:$phase,
                       DefaultValuedAttr<I64Attr, "0">:$order,
                       Variadic<Actor_BufferType>:$waits,
                       Variadic<Actor_BufferType>:$posts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `on` $placement $stream (`phase` $phase^)? (`order` $order^)?
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
