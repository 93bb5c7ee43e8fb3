// RUN: oneflow-opt %s --actor-elide-copies | FileCheck %s

oneflow.placement @mesh cpu [dp = 1]
oneflow.variable @w on @mesh storage [B] : tensor<32xf32>

llvm.func @plain(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
llvm.func @inplace(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
    attributes {oneflow.may_share = [array<i64: 0, 0>]}

// CHECK-LABEL: actor.graph @in_place
// CHECK: actor.launch @inplace "update"([[W:%.*]], [[W]])
// CHECK-NOT: actor.copy
actor.graph @in_place {
  %w = actor.variable @w bytes 128
  %new = actor.scratch "new" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @inplace "update" (%w, %new) results from 1 scalars []
    actor.copy %new to %w
  }
}

// The kernel reads the old value elsewhere than where it writes.
// CHECK-LABEL: actor.graph @not_in_place
// CHECK: actor.copy
actor.graph @not_in_place {
  %w = actor.variable @w bytes 128
  %new = actor.scratch "new" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @plain "update" (%w, %new) results from 1 scalars []
    actor.copy %new to %w
  }
}

// Somebody reads the old value behind the kernel.
// CHECK-LABEL: actor.graph @read_later
// CHECK: actor.copy
actor.graph @read_later {
  %w = actor.variable @w bytes 128
  %new = actor.scratch "new" bytes 128
  %use = actor.scratch "use" bytes 128
  actor.task "chain" on @mesh compute {
    actor.launch @inplace "update" (%w, %new) results from 1 scalars []
    actor.launch @plain "use" (%w, %use) results from 1 scalars []
    actor.copy %new to %w
  }
}

// Each action takes the value that the one before it left, and leaves one for the next: the
// reader behind all of them sees the last.
// CHECK-LABEL: actor.graph @several_actions
// CHECK: actor.launch @plain "before"([[W:%.*]], [[USE:%.*]])
// CHECK: actor.launch @inplace "update"([[W]], [[W]])
// CHECK-NOT: actor.copy
actor.graph @several_actions {
  actor.phase "forward" actions 4
  actor.phase "update" actions 1
  %w = actor.variable @w bytes 128
  %new = actor.scratch "new" bytes 128
  %use = actor.scratch "use" bytes 128
  %after = actor.scratch "after" bytes 128
  actor.task "forward" on @mesh compute phase "forward" {
    actor.launch @plain "before" (%w, %use) results from 1 scalars []
    actor.launch @inplace "update" (%w, %new) results from 1 scalars []
    actor.copy %new to %w
  }
  actor.task "update" on @mesh compute phase "update" {
    actor.launch @plain "after" (%w, %after) results from 1 scalars []
  }
}
