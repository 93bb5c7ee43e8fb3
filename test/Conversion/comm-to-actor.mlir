// RUN: oneflow-opt %s --convert-oneflow-to-comm --convert-comm-to-actor | FileCheck %s

oneflow.placement @mesh cpu [dp = 2]
oneflow.variable @w on @mesh storage [B] : tensor<4xf32>

// Kernels before and behind the communication are two chains; the variable is updated
// in the second, which is ordered behind its readers.
// CHECK-LABEL: actor.graph @step
// CHECK: actor.task "input x" on @mesh host
// CHECK: actor.task "chain0" on @mesh compute
// CHECK: actor.launch @mul
// CHECK: actor.launch @reduce
// CHECK: actor.task "all_reduce 1
// CHECK: actor.collective all_reduce sum
// CHECK: actor.task "chain1" on @mesh compute
// CHECK: actor.launch @add
// CHECK: actor.copy {{.*}} to
// CHECK: actor.task "output y" on @mesh host
func.func @step() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<8x4xf32>
  %w = oneflow.read @w on @mesh sbp () -> ([B]) : tensor<4xf32>
  %m = oneflow.mul %x, %w on @mesh sbp ([S(0)], [B]) -> ([S(0)]) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %s = oneflow.reduce <sum> %m dims [0] on @mesh sbp ([S(0)]) -> ([P(sum)]) : (tensor<8x4xf32>) -> tensor<4xf32>
  %b = oneflow.boxing %s on @mesh sbp ([P(sum)]) -> ([B]) : tensor<4xf32>
  %n = oneflow.add %w, %b on @mesh sbp ([B], [B]) -> ([B]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  oneflow.update @w, %n on @mesh sbp ([B]) -> () : tensor<4xf32>
  oneflow.output "y" %b on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// Equal kernels share one function.
// CHECK-LABEL: actor.graph @twice
// CHECK: actor.launch [[K:@[a-z_0-9]+]]
// CHECK: actor.launch [[K]]
// CHECK: func.func private [[K]](%{{.*}}: tensor<4xf32>{{.*}}) -> tensor<4xf32> attributes {oneflow.kernel}
func.func @twice() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  %a = oneflow.exp %x on @mesh sbp ([B]) -> ([B]) : tensor<4xf32>
  %b = oneflow.exp %a on @mesh sbp ([B]) -> ([B]) : tensor<4xf32>
  oneflow.output "y" %b on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}
