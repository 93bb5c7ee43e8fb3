// RUN: oneflow-opt %s --actor-plan-memory=report --actor-prove-schedule 2>&1 | FileCheck %s

// Two stages of two ranks each, four micro-batches, one forward one backward.

oneflow.placement @s0 cpu [dp = 2]
oneflow.placement @s1 cpu [dp = 2] from 2

llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64) -> i32

// The first stage holds the activations of two micro-batches and a gradient, besides the
// next input, which nothing keeps from arriving meanwhile, and what is on its way to
// the other stage and from there: no order of these ranks' own puts the one before the
// other. What the other stage holds does not add to it.
// CHECK: remark: @one_f_one_b on ranks 0-1 (@s0): arena of 2048 bytes, at most 2048 live at once, in 5 of 6 places
// CHECK: note: 1024 bytes: register "saved", 2 slots, of {{.*}}pipeline.mlir:
// CHECK: note: 256 bytes: register "x", of
// CHECK: note: 256 bytes: register "y", of
// CHECK: note: 256 bytes: register "dy", of
// CHECK: note: 256 bytes: register "grad", of
// CHECK: remark: @one_f_one_b on ranks 2-3 (@s1): arena of 768 bytes, at most 768 live at once, in 3 of 3 places
// CHECK-LABEL: actor.graph @one_f_one_b arena 2048
actor.graph @one_f_one_b {
  actor.phase "forward" actions 4
  actor.phase "backward" actions 4
  actor.phase "update" actions 1
  actor.schedule on @s0 ["forward", "forward", "backward", "forward", "backward", "forward", "backward", "backward", "update"] actions [0, 1, 0, 2, 1, 3, 2, 3, 0]
  actor.schedule on @s1 ["forward", "backward", "forward", "backward", "forward", "backward", "forward", "backward"] actions [0, 0, 1, 1, 2, 2, 3, 3]
  %x = actor.register "x" slots 1 bytes 256
  %saved = actor.register "saved" slots 2 bytes 512
  %y = actor.register "y" slots 1 bytes 256
  %y1 = actor.register "y1" slots 1 bytes 256
  %dy1 = actor.register "dy1" slots 1 bytes 256
  %dy = actor.register "dy" slots 1 bytes 256
  %grad = actor.register "grad" slots 1 bytes 256 fills 1
  %t = actor.scratch "t" bytes 128
  %loss = actor.register "loss" slots 1 bytes 256
  actor.task "input" on @s0 host phase "forward" posts(%x) {
    actor.read_port "x" into %x <tensor<64xf32>, @s0, <[B]>>
  }
  actor.task "f0" on @s0 compute phase "forward" waits(%x) posts(%saved, %y) {
    actor.launch @k "f0" (%x, %saved, %y) results from 1 scalars []
  }
  actor.task "send" on @s0 transfer phase "forward" order 1 waits(%y) posts(%y1) {
    actor.exchange %y <tensor<64xf32>, @s0, <[B]>> to %y1 <tensor<64xf32>, @s1, <[B]>>
  }
  actor.task "f1" on @s1 compute phase "forward" waits(%y1) posts(%loss) {
    actor.launch @k "f1" (%y1, %loss) results from 1 scalars []
  }
  actor.task "b1" on @s1 compute phase "backward" waits(%loss) posts(%dy1) {
    actor.launch @k "b1" (%loss, %dy1) results from 1 scalars []
  }
  actor.task "send back" on @s1 transfer phase "backward" order 1 waits(%dy1) posts(%dy) {
    actor.exchange %dy1 <tensor<64xf32>, @s1, <[B]>> to %dy <tensor<64xf32>, @s0, <[B]>>
  }
  actor.task "b0" on @s0 compute phase "backward" waits(%saved, %dy) posts(%grad) {
    actor.launch @k "b0" (%saved, %dy, %grad) results from 2 scalars []
  }
  actor.task "update" on @s0 compute phase "update" waits(%grad) {
    actor.launch @k "update" (%grad, %t) results from 1 scalars []
  }
}
