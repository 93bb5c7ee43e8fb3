// RUN: oneflow-opt %s -split-input-file -verify-diagnostics --actor-prove-schedule

// Faults of graphs whose tasks act several times: each is found, and the culprits named.

oneflow.placement @s0 cpu [dp = 1]

// Both forward passes come before the first backward pass, which the one slot of what it
// needs does not allow.
actor.graph @too_few_slots arena 64 {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  actor.schedule on @s0 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
  // expected-note @below {{register "x" has 1 slot, but "backward" action 0 releases fill 0 only after "forward" action 1 made fill 1}}
  %x = actor.register "x" slots 1 bytes 4 offset 0
  // expected-error @below {{check 2: these wait for each other: "forward" action 1 waits until "backward" action 0 releases fill 0 of register "x" of 1 slot; "backward" action 0 comes behind "forward" action 1 in the order of computation of rank 0 (@s0)}}
  actor.task "forward" on @s0 compute phase "forward" posts(%x) {
  }
  actor.task "backward" on @s0 compute phase "backward" waits(%x) {
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]
oneflow.placement @s1 cpu [dp = 1] from 1

// Across two stages: the first fills its pipeline with two micro-batches, and the
// second hands back a gradient only after it has seen both.
actor.graph @too_few_slots_across_stages arena 256 {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  actor.schedule on @s0 ["forward", "backward", "forward", "backward"] actions [0, 0, 1, 1]
  actor.schedule on @s1 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
  %y = actor.register "y" slots 2 bytes 4 offset 0
  %y1 = actor.register "y1" slots 2 bytes 4 offset 0
  %dy1 = actor.register "dy1" slots 2 bytes 4 offset 128
  %dy = actor.register "dy" slots 2 bytes 4 offset 128
  actor.task "f0" on @s0 compute phase "forward" posts(%y) {
  }
  actor.task "send" on @s0 transfer phase "forward" order 1 waits(%y) posts(%y1) {
    actor.exchange %y <tensor<1xf32>, @s0, <[B]>> to %y1 <tensor<1xf32>, @s1, <[B]>>
  }
  actor.task "f1" on @s1 compute phase "forward" waits(%y1) {
  }
  actor.task "b1" on @s1 compute phase "backward" posts(%dy1) {
  }
  actor.task "send back" on @s1 transfer phase "backward" order 1 waits(%dy1) posts(%dy) {
    actor.exchange %dy1 <tensor<1xf32>, @s1, <[B]>> to %dy <tensor<1xf32>, @s0, <[B]>>
  }
  // expected-error @below {{check 2: these wait for each other: "b0" action 0 waits for fill 0 of register "dy" from "send back" action 0; "send back" action 0 waits for fill 0 of register "dy1" from "b1" action 0; "b1" action 0 comes behind "f1" action 1 in the order of computation of rank 1 (@s1); "f1" action 1 waits for fill 1 of register "y1" from "send" action 1; "send" action 1 waits for fill 1 of register "y" from "f0" action 1; "f0" action 1 comes behind "b0" action 0 in the order of computation of rank 0 (@s0)}}
  actor.task "b0" on @s0 compute phase "backward" waits(%dy) {
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]

// The sum over both micro-batches is there only when the phase is over.
actor.graph @sum_within_the_phase arena 128 {
  actor.phase "backward" actions 2
  actor.phase "update" actions 1
  actor.schedule on @s0 ["backward", "update", "backward"] actions [0, 0, 1]
  %sum = actor.register "sum" slots 1 bytes 4 fills 1 offset 0
  // expected-error @below {{check 2: these wait for each other: "backward" action 1 comes behind "update" in the order of computation of rank 0 (@s0); "update" waits for register "sum" from "backward" action 1}}
  actor.task "backward" on @s0 compute phase "backward" posts(%sum) {
  }
  actor.task "update" on @s0 compute phase "update" waits(%sum) {
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]
oneflow.placement @s1 cpu [dp = 1] from 1

// Nothing carries the value from the one stage to the other.
actor.graph @no_path arena 64 {
  %y = actor.register "y" slots 1 bytes 4 offset 0
  actor.task "f0" on @s0 compute posts(%y) {
  }
  // expected-error @below {{check 1: waits on rank 1 (@s1) for register "y", which "f0" posts on rank 0 (@s0): no path leads there, and it never acts}}
  actor.task "f1" on @s1 compute waits(%y) {
  }
}

// -----

oneflow.placement @both cpu [dp = 2]
oneflow.placement @s1 cpu [dp = 1] from 1

llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64) -> i32

// A token is there, but no bytes, where the target of the exchange does not lie.
actor.graph @read_elsewhere arena 128 {
  %x = actor.register "x" slots 1 bytes 4 offset 0
  %y = actor.register "y" slots 1 bytes 4 offset 64
  actor.task "in" on @both host posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @both, <[B]>>
  }
  actor.task "narrow" on @both comm order 1 waits(%x) posts(%y) {
    actor.exchange %x <tensor<1xf32>, @both, <[B]>> to %y <tensor<1xf32>, @s1, <[B]>>
  }
  actor.task "use" on @both compute waits(%y) {
    // expected-error @below {{check 1: task "use" reads register "y" on rank 0 (@both), where "narrow" does not write it}}
    actor.launch @k "use" (%y) results from 1 scalars []
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]

llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64) -> i32

// "forward" ends x before it begins y, but the next x arrives while y is needed.
actor.graph @shared_with_the_next_action arena 128 {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  actor.schedule on @s0 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
  // expected-error @below {{check 4: register "x" and register "y" share arena bytes, but nothing orders their uses}}
  %x = actor.register "x" slots 1 bytes 4 offset 0
  %y = actor.register "y" slots 2 bytes 4 offset 0
  actor.task "in" on @s0 host phase "forward" posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @s0, <[B]>>
  }
  actor.task "forward" on @s0 compute phase "forward" waits(%x) posts(%y) {
    actor.launch @k "forward" (%x, %y) results from 1 scalars []
  }
  actor.task "backward" on @s0 compute phase "backward" waits(%y) {
    actor.launch @k "backward" (%y) results from 1 scalars []
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]

// The second slot is outside.
actor.graph @slots_outside arena 64 {
  // expected-error @below {{check 5: expected 68 bytes at a multiple of 64 inside an arena of 64, got offset 0}}
  %x = actor.register "x" slots 2 bytes 4 offset 0
}

// -----

oneflow.placement @s0 cpu [dp = 1]
oneflow.variable @mean on @s0 storage [B] : tensor<1xf32>

llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64) -> i32

// "backward" reads the mean of whichever micro-batches the schedule let come first.
actor.graph @schedule_decides_the_value arena 64 {
  actor.phase "forward" actions 3
  actor.phase "backward" actions 3
  actor.schedule on @s0 ["forward", "forward", "backward", "forward", "backward", "backward"] actions [0, 1, 0, 2, 1, 2]
  %w = actor.variable @mean bytes 4
  actor.task "forward" on @s0 compute phase "forward" {
    // expected-error @below {{check 4: writes variable @mean several times, and task "backward" uses it between some of them: the two neither take turns nor is one done before the other begins}}
    actor.launch @k "mean" (%w) results from 0 scalars []
  }
  actor.task "backward" on @s0 compute phase "backward" {
    actor.launch @k "use" (%w) results from 1 scalars []
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]
oneflow.variable @mean on @s0 storage [B] : tensor<1xf32>

llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64) -> i32

// As above with turns, and a reader behind all: no fault.
actor.graph @turns arena 64 {
  actor.phase "forward" actions 3
  actor.phase "update" actions 1
  actor.schedule on @s0 ["forward", "forward", "forward", "update"] actions [0, 1, 2, 0]
  %w = actor.variable @mean bytes 4
  actor.task "use" on @s0 compute phase "forward" {
    actor.launch @k "use" (%w) results from 1 scalars []
  }
  actor.task "forward" on @s0 compute phase "forward" {
    actor.launch @k "mean" (%w) results from 0 scalars []
  }
  actor.task "update" on @s0 compute phase "update" {
    actor.launch @k "use" (%w) results from 1 scalars []
  }
}

// -----

oneflow.placement @s0 cpu [dp = 2]

// Orders are among those of a phase.
actor.graph @same_order arena 64 {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  %x = actor.register "x" slots 2 bytes 0 offset 0
  %s = actor.scratch "s" bytes 4 offset 0
  %t = actor.scratch "t" bytes 4 offset 0
  actor.task "first" on @s0 comm phase "forward" order 1 posts(%x) {
    actor.collective all_reduce sum %s to %s f32 [1 : i64] over [0]
  }
  actor.task "second" on @s0 comm phase "backward" order 1 waits(%x) {
    actor.collective all_reduce sum %t to %t f32 [1 : i64] over [0]
  }
}
