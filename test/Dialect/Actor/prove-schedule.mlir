// RUN: oneflow-opt %s -split-input-file -verify-diagnostics --actor-prove-schedule

// Each fault is found by the check that its message names.

oneflow.placement @mesh cpu [dp = 2]

actor.graph @two_producers arena 64 {
  %r = actor.register "r" slots 1 bytes 4 offset 0
  actor.task "a" on @mesh host posts(%r) {
  }
  // expected-error @below {{check 1: posts register "r", which "a" posts as well}}
  actor.task "b" on @mesh host posts(%r) {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @no_producer arena 64 {
  %r = actor.register "r" slots 1 bytes 4 offset 0
  // expected-error @below {{check 1: waits for register "r", which no task posts}}
  actor.task "a" on @mesh host waits(%r) {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @touches_without_waiting arena 64 {
  %r = actor.register "r" slots 1 bytes 4 offset 0
  actor.task "a" on @mesh host posts(%r) {
    actor.read_port "x" into %r <tensor<1xf32>, @mesh, <[B]>>
  }
  actor.task "b" on @mesh host {
    // expected-error @below {{check 1: task "b" reads register "r" without waiting for it}}
    actor.write_port "y" from %r <tensor<1xf32>, @mesh, <[B]>>
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @cycle arena 64 {
  %r = actor.register "r" slots 1 bytes 0 offset 0
  %s = actor.register "s" slots 1 bytes 0 offset 0
  // expected-error @below {{check 2: these wait for each other: "a" waits for register "s" from "b"; "b" waits for register "r" from "a"}}
  actor.task "a" on @mesh compute waits(%s) posts(%r) {
  }
  actor.task "b" on @mesh compute waits(%r) posts(%s) {
  }
}

// -----

// Two communications whose order contradicts their data: the rank that waits for the
// second would never issue the first.
oneflow.placement @mesh cpu [dp = 2]

actor.graph @order_against_data arena 256 {
  %x = actor.register "x" slots 1 bytes 4 offset 0
  %y = actor.register "y" slots 1 bytes 4 offset 64
  %z = actor.register "z" slots 1 bytes 4 offset 128
  actor.task "in" on @mesh host posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @mesh, <[B]>>
  }
  // expected-error @below {{check 2: these wait for each other: "first" comes behind "second" in the order of communications of ranks 0-1 (@mesh); "second" waits for register "y" from "first"}}
  actor.task "first" on @mesh comm order 2 waits(%x) posts(%y) {
    actor.collective all_reduce sum %x to %y f32 [1 : i64] over [0]
  }
  actor.task "second" on @mesh comm order 1 waits(%y) posts(%z) {
    actor.collective all_reduce sum %y to %z f32 [1 : i64] over [0]
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @no_slots arena 64 {
  // expected-error @below {{check 2: a register without slots: its producer never fires}}
  %r = actor.register "r" slots 0 bytes 4 offset 0
  actor.task "a" on @mesh compute posts(%r) {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @same_order arena 256 {
  %x = actor.register "x" slots 1 bytes 4 offset 0
  %y = actor.register "y" slots 1 bytes 4 offset 64
  %z = actor.register "z" slots 1 bytes 4 offset 128
  actor.task "in" on @mesh host posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @mesh, <[B]>>
  }
  actor.task "first" on @mesh comm order 1 waits(%x) posts(%y) {
    actor.collective all_reduce sum %x to %y f32 [1 : i64] over [0]
  }
  // expected-error @below {{check 3: has order 1, and so has "first"}}
  actor.task "second" on @mesh comm order 1 waits(%x) posts(%z) {
    actor.collective all_reduce sum %x to %z f32 [1 : i64] over [0]
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @unordered_sharing arena 64 {
  // expected-error @below {{check 4: register "x" and register "y" share arena bytes, but nothing orders their uses}}
  %x = actor.register "x" slots 1 bytes 4 offset 0
  %y = actor.register "y" slots 1 bytes 4 offset 0
  actor.task "in x" on @mesh host posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @mesh, <[B]>>
  }
  actor.task "in y" on @mesh host posts(%y) {
    actor.read_port "y" into %y <tensor<1xf32>, @mesh, <[B]>>
  }
}

// -----

oneflow.placement @mesh cpu [dp = 1]
oneflow.variable @w on @mesh storage [B] : tensor<1xf32>

actor.graph @unordered_variable arena 128 {
  %w = actor.variable @w bytes 4
  %s = actor.scratch "s" bytes 4 offset 0
  actor.task "out" on @mesh host {
    actor.write_port "w" from %w <tensor<1xf32>, @mesh, <[B]>>
  }
  actor.task "update" on @mesh compute {
    // expected-error @below {{check 4: writes variable @w, which task "out" uses, and nothing orders the two}}
    actor.copy %s to %w
  }
}

// -----

oneflow.placement @mesh cpu [dp = 1]

actor.graph @outside arena 64 {
  // expected-error @below {{check 5: expected 65 bytes at a multiple of 64 inside an arena of 64, got offset 0}}
  %s = actor.scratch "s" bytes 65 offset 0
}

// -----

oneflow.placement @mesh cpu [dp = 1]

// expected-error @below {{check 5: memory is not planned: run --actor-plan-memory}}
actor.graph @unplanned {
}
