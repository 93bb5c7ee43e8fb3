// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s

oneflow.placement @mesh cpu [dp = 2]
oneflow.variable @w on @mesh storage [B] : tensor<4xf32>

// CHECK-LABEL: actor.graph @step arena 192 {
actor.graph @step arena 192 {
  // CHECK: [[X:%.*]] = actor.register "x" slots 2 bytes 8 offset 64
  %x = actor.register "x" slots 2 bytes 8 offset 64
  // CHECK: [[Y:%.*]] = actor.register "y" slots 1 bytes 16
  %y = actor.register "y" slots 1 bytes 16
  // CHECK: [[S:%.*]] = actor.scratch "s" bytes 16 offset 0
  %s = actor.scratch "s" bytes 16 offset 0
  // CHECK: [[W:%.*]] = actor.variable @w bytes 16
  %w = actor.variable @w bytes 16
  // CHECK: actor.task "x" on @mesh host posts([[X]])
  actor.task "x" on @mesh host posts(%x) {
    // CHECK: actor.read_port "x" into [[X]] <tensor<4xf32>, @mesh, <[S(0)]>>
    actor.read_port "x" into %x <tensor<4xf32>, @mesh, <[S(0)]>>
  }
  // CHECK: actor.task "gather" on @mesh comm order 1 waits([[X]]) posts([[Y]])
  actor.task "gather" on @mesh comm order 1 waits(%x) posts(%y) {
    // CHECK: actor.collective all_gather sum [[X]] to [[Y]] f32 [#comm.scalar<extent, 5, @mesh, [0], [1]>] over [0] {source_dim = 0 : i64}
    actor.collective all_gather sum %x to %y f32 [#comm.scalar<extent, 5, @mesh, [0], [1]>] over [0] {source_dim = 0 : i64}
  }
  // CHECK: actor.task "exchange" on @mesh comm order 2
  actor.task "exchange" on @mesh comm order 2 waits(%x) posts(%y) {
    // CHECK: actor.exchange [[X]] <tensor<4xf32>, @mesh, <[S(0)]>> to [[Y]] <tensor<4xf32>, @mesh, <[B]>>
    actor.exchange %x <tensor<4xf32>, @mesh, <[S(0)]>> to %y <tensor<4xf32>, @mesh, <[B]>>
  }
  // CHECK: actor.task "chain" on @mesh compute waits([[Y]])
  actor.task "chain" on @mesh compute waits(%y) {
    // CHECK: actor.launch @k "gelu"([[Y]], [[S]]) results from 1 scalars [#comm.scalar<offset, 5, @mesh, [0], [1]>]
    actor.launch @k "gelu" (%y, %s) results from 1 scalars [#comm.scalar<offset, 5, @mesh, [0], [1]>]
    // CHECK: actor.copy [[S]] to [[W]]
    actor.copy %s to %w
  }
  // CHECK: actor.task "out" on @mesh host waits([[Y]])
  actor.task "out" on @mesh host waits(%y) {
    // CHECK: actor.write_port "y" from [[Y]] <tensor<4xf32>, @mesh, <[B]>>
    actor.write_port "y" from %y <tensor<4xf32>, @mesh, <[B]>>
  }
}
