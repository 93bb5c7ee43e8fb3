// RUN: oneflow-opt %s -oneflow-apply-optimizer="optimizer=sgd learning-rate=0.5 momentum=0.75 weight-decay=0.25" | FileCheck %s --check-prefix=SGD
// RUN: oneflow-opt %s -oneflow-apply-optimizer="beta1=0.5" | FileCheck %s --check-prefix=ADAMW
// RUN: oneflow-opt %s -oneflow-apply-optimizer=optimizer=none | FileCheck %s --check-prefix=NONE
// RUN: not oneflow-opt %s -oneflow-apply-optimizer=optimizer=adam 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: expected the optimizer adamw, sgd or none, got: adam

// SGD: oneflow.variable @w : tensor<4x3xf32> {trainable}
// SGD-NEXT: oneflow.variable @w.velocity like @w : tensor<4x3xf32>
// SGD-NEXT: oneflow.variable @b : tensor<3xf16>
// SGD-NEXT: oneflow.variable @b.velocity like @b : tensor<3xf16>
// SGD-NEXT: oneflow.variable @optimizer.step : tensor<i64>
// SGD-NEXT: oneflow.variable @optimizer.learning_rate : tensor<f32> = dense<5.000000e-01> : tensor<f32>
// SGD: oneflow.update @optimizer.step
// SGD: %[[G:.*]] = oneflow.input "dw"
// SGD-DAG: %[[P:.*]] = oneflow.read @w :
// SGD-DAG: %[[V:.*]] = oneflow.read @w.velocity :
// SGD: %[[P1:.*]], %[[V1:.*]] = oneflow.sgd_update %[[P]], %[[G]], %[[V]], %{{.*}} {momentum = 7.500000e-01 : f64, weight_decay = 2.500000e-01 : f64}
// SGD: oneflow.update @w, %[[P1]]
// SGD: oneflow.update @w.velocity, %[[V1]]
// The learning rate in the parameter's type.
// SGD: oneflow.cast %{{.*}} : (tensor<f32>) -> tensor<f16>
// SGD: oneflow.update @b,
// SGD-NOT: oneflow.gradient

// ADAMW: oneflow.variable @w.first_moment like @w : tensor<4x3xf32>
// ADAMW-NEXT: oneflow.variable @w.second_moment like @w : tensor<4x3xf32>
// ADAMW: %[[STEP:.*]] = oneflow.add
// ADAMW: oneflow.update @optimizer.step, %[[STEP]]
// ADAMW: %[[P1:.*]], %[[M1:.*]], %[[M2:.*]] = oneflow.adamw_update %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[STEP]], %{{.*}} {beta1 = 5.000000e-01 : f64,
// ADAMW: oneflow.update @w, %[[P1]]
// ADAMW: oneflow.update @w.first_moment, %[[M1]]
// ADAMW: oneflow.update @w.second_moment, %[[M2]]

// NONE-NOT: oneflow.variable @optimizer
// NONE: oneflow.output "w.gradient" %{{.*}} {oneflow.gradient} : tensor<4x3xf32>
// NONE: oneflow.output "b.gradient" %{{.*}} {oneflow.gradient} : tensor<3xf16>
// NONE-NOT: oneflow.gradient
oneflow.variable @w : tensor<4x3xf32> {trainable}
oneflow.variable @b : tensor<3xf16> {trainable}
func.func @train() {
  %0 = oneflow.input "dw" : tensor<4x3xf32>
  %1 = oneflow.input "db" : tensor<3xf16>
  oneflow.gradient @w, %0 : tensor<4x3xf32>
  oneflow.gradient @b, %1 : tensor<3xf16>
  return
}
