// RUN: oneflow-opt %s --convert-oneflow-to-comm --convert-comm-to-actor --actor-elide-copies | FileCheck %s

// Every update sees the values with which the step began.

oneflow.placement @mesh cpu [dp = 1]
oneflow.variable @a on @mesh storage [B] : tensor<4xf32>
oneflow.variable @b on @mesh storage [B] : tensor<4xf32>

// CHECK-LABEL: actor.graph @swap
// CHECK-DAG: [[A:%.*]] = actor.variable @a
// CHECK-DAG: [[B:%.*]] = actor.variable @b
// CHECK: actor.copy [[B]] to [[OLD_B:%.*]]
// CHECK-NEXT: actor.copy [[A]] to [[OLD_A:%.*]]
// CHECK-NEXT: actor.copy [[OLD_B]] to [[A]]
// CHECK-NEXT: actor.copy [[OLD_A]] to [[B]]
func.func @swap() {
  %a = oneflow.read @a on @mesh sbp () -> ([B]) : tensor<4xf32>
  %b = oneflow.read @b on @mesh sbp () -> ([B]) : tensor<4xf32>
  oneflow.update @a, %b on @mesh sbp ([B]) -> () : tensor<4xf32>
  oneflow.update @b, %a on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}
