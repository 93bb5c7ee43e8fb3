// RUN: oneflow-opt %s --actor-plan-memory --actor-prove-schedule | FileCheck %s

oneflow.placement @mesh cpu [dp = 1]

llvm.func @plain(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
llvm.func @inplace(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
    attributes {oneflow.may_share = [array<i64: 0, 0>]}
llvm.func @workspace(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
    attributes {oneflow.workspace = 256 : i64}

// Of a row of kernels two buffers live at a time: the third takes the first's place.
// CHECK-LABEL: actor.graph @row arena 256
// CHECK: actor.scratch "a" bytes 128 offset [[A:[0-9]+]]
// CHECK: actor.scratch "b" bytes 128 offset [[B:[0-9]+]]
// CHECK: actor.scratch "c" bytes 128 offset [[A]]
actor.graph @row {
  %a = actor.scratch "a" bytes 128
  %b = actor.scratch "b" bytes 128
  %c = actor.scratch "c" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @plain "1" (%a) results from 0 scalars []
    actor.launch @plain "2" (%a, %b) results from 1 scalars []
    actor.launch @plain "3" (%b, %c) results from 1 scalars []
  }
}

// A kernel that allows it writes over its operand.
// CHECK-LABEL: actor.graph @in_place arena 128
actor.graph @in_place {
  %a = actor.scratch "a" bytes 128
  %b = actor.scratch "b" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @plain "1" (%a) results from 0 scalars []
    actor.launch @inplace "2" (%a, %b) results from 1 scalars []
  }
}

// ... but not over one that is read later.
// CHECK-LABEL: actor.graph @still_read arena 384
actor.graph @still_read {
  %a = actor.scratch "a" bytes 128
  %b = actor.scratch "b" bytes 128
  %c = actor.scratch "c" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @plain "1" (%a) results from 0 scalars []
    actor.launch @inplace "2" (%a, %b) results from 1 scalars []
    actor.launch @plain "3" (%a, %b, %c) results from 2 scalars []
  }
}

// Tasks that nothing orders share nothing.
// CHECK-LABEL: actor.graph @unordered arena 128
actor.graph @unordered {
  %x = actor.register "x" slots 1 bytes 4
  %y = actor.register "y" slots 1 bytes 4
  actor.task "in x" on @mesh host posts(%x) {
    actor.read_port "x" into %x <tensor<1xf32>, @mesh, <[B]>>
  }
  actor.task "in y" on @mesh host posts(%y) {
    actor.read_port "y" into %y <tensor<1xf32>, @mesh, <[B]>>
  }
}

// CHECK-LABEL: actor.graph @with_workspace
// CHECK: [[W:%.*]] = actor.scratch "workspace" bytes 256 offset
// CHECK: actor.launch @workspace "1"(%{{.*}}, [[W]])
actor.graph @with_workspace {
  %a = actor.scratch "a" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @workspace "1" (%a) results from 0 scalars []
  }
}
