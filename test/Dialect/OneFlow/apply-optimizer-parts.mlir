// RUN: oneflow-opt %s -oneflow-apply-optimizer | FileCheck %s --check-prefix=ADAMW
// RUN: oneflow-opt %s -oneflow-apply-optimizer=optimizer=none | FileCheck %s --check-prefix=NONE

// State of a part is a part of the whole's state. @w.2 has no gradient here, where
// the whole's would be zero.

// ADAMW: oneflow.variable @w.0 part of "w" [5, 2] at dim 0 offset 0 : tensor<2x2xf32> {trainable}
// ADAMW-NEXT: oneflow.variable @w.0.first_moment part of "w.first_moment" [5, 2] at dim 0 offset 0 like @w.0 : tensor<2x2xf32>
// ADAMW-NEXT: oneflow.variable @w.0.second_moment part of "w.second_moment" [5, 2] at dim 0 offset 0 like @w.0 : tensor<2x2xf32>
// ADAMW: oneflow.variable @w.1.first_moment part of "w.first_moment" [5, 2] at dim 0 offset 2 like @w.1 : tensor<1x2xf32>
// ADAMW: oneflow.variable @w.2.second_moment part of "w.second_moment" [5, 2] at dim 0 offset 3 like @w.2 : tensor<2x2xf32>
// ADAMW: oneflow.update @w.1,
// ADAMW: oneflow.update @w.2,

// NONE-DAG: %[[G0:.*]] = oneflow.input "g0"
// NONE-DAG: %[[G1:.*]] = oneflow.input "g1"
// NONE-DAG: %[[ZERO:.*]] = oneflow.constant dense<0.000000e+00> : tensor<2x2xf32>
// NONE: %[[G:.*]] = oneflow.concat %[[G0]], %[[G1]], %[[ZERO]] dim 0
// NONE-SAME: -> tensor<5x2xf32>
// NONE: oneflow.output "w.gradient" %[[G]] {oneflow.gradient} : tensor<5x2xf32>
// NONE: oneflow.output "v.gradient"
// NONE-NOT: oneflow.output
oneflow.variable @w.0 part of "w" [5, 2] at dim 0 offset 0 : tensor<2x2xf32> {trainable}
oneflow.variable @w.1 part of "w" [5, 2] at dim 0 offset 2 : tensor<1x2xf32> {trainable}
oneflow.variable @w.2 part of "w" [5, 2] at dim 0 offset 3 : tensor<2x2xf32> {trainable}
oneflow.variable @v : tensor<f32> {trainable}
func.func @train() {
  %0 = oneflow.input "g0" : tensor<2x2xf32>
  %1 = oneflow.input "g1" : tensor<1x2xf32>
  %2 = oneflow.input "gv" : tensor<f32>
  oneflow.gradient @w.1, %1 : tensor<1x2xf32>
  oneflow.gradient @w.0, %0 : tensor<2x2xf32>
  oneflow.gradient @v, %2 : tensor<f32>
  return
}
