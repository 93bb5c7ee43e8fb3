// RUN: oneflow-opt %s -oneflow-differentiate=loss-scale=1024 -oneflow-apply-optimizer=optimizer=sgd -oneflow-unscale-gradients=growth-interval=5 | FileCheck %s
// RUN: oneflow-opt %s -oneflow-differentiate=loss-scale=1024 -oneflow-apply-optimizer=optimizer=sgd -oneflow-unscale-gradients=dynamic=false | FileCheck %s --check-prefix=FIXED
// RUN: not oneflow-opt %s -oneflow-differentiate=loss-scale=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not oneflow-opt %s -oneflow-differentiate=loss-scale=1e-50 2>&1 | FileCheck %s --check-prefix=TINY
// RUN: not oneflow-opt %s -oneflow-differentiate -oneflow-apply-optimizer -oneflow-unscale-gradients 2>&1 | FileCheck %s --check-prefix=UNSCALED
// RUN: not oneflow-opt %s -oneflow-differentiate=loss-scale=2 -oneflow-unscale-gradients 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not oneflow-opt %s -oneflow-unscale-gradients=growth-interval=0 2>&1 | FileCheck %s --check-prefix=INTERVAL

// NEGATIVE: error: option loss-scale: expected a positive number, got: -1
// TINY: error: option loss-scale: expected a positive number, got: 1
// UNSCALED: error: 'func.func' op expected an optimizer of the gradients of a scaled loss, got no scale
// NONE: error: 'func.func' op expected an optimizer of the gradients of a scaled loss, got no optimizer
// INTERVAL: error: option growth-interval: expected at least 1, got: 0

// CHECK: oneflow.variable @optimizer.loss_scale : tensor<f32> = dense<1.024000e+03> : tensor<f32>
// CHECK: oneflow.variable @optimizer.good_steps : tensor<i64>
// CHECK-LABEL: func @train
// CHECK: oneflow.output "loss" %[[LOSS:.*]] : tensor<f32>
// The gradient of the loss is the scale; the loss that comes out is not scaled.
// CHECK: %[[SCALE:.*]] = oneflow.read @optimizer.loss_scale
// CHECK: %[[SEED:.*]] = oneflow.broadcast %[[SCALE]] : (tensor<f32>) -> tensor<4xf32>
// CHECK: %[[GW:.*]] = oneflow.mul %[[SEED]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[INVERSE:.*]] = oneflow.div %{{.*}}, %[[SCALE]]
// CHECK: %[[UW:.*]] = oneflow.mul %[[GW]], %[[INVERSE]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-DAG: %[[ABOVE:.*]] = oneflow.compare <gt> %[[UW]],
// CHECK-DAG: %[[BELOW:.*]] = oneflow.compare <lt> %[[UW]],
// CHECK: %[[HALF:.*]] = oneflow.select %[[ABOVE]],
// CHECK: %[[BOTH:.*]] = oneflow.select %[[BELOW]], %[[HALF]],
// CHECK: %[[LEAST:.*]] = oneflow.reduce <min> %[[BOTH]] dims [0]
// Another one of f16 is unscaled in f32.
// CHECK: %[[WIDE:.*]] = oneflow.cast %{{.*}} : (tensor<f16>) -> tensor<f32>
// CHECK: %[[UV:.*]] = oneflow.mul %[[WIDE]], %[[INVERSE]]
// CHECK: %[[ALL:.*]] = oneflow.min %[[LEAST]],
// CHECK: %[[FINITE:.*]] = oneflow.compare <gt> %[[ALL]], %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: %[[P:.*]], %[[V:.*]] = oneflow.sgd_update %{{.*}}, %[[UW]],
// CHECK: %[[OLD:.*]] = oneflow.read @w : tensor<4xf32>
// CHECK: %[[NEXT:.*]] = oneflow.select %[[FINITE]], %[[P]], %[[OLD]]
// CHECK: oneflow.update @w, %[[NEXT]]
// CHECK: %[[NEXTV:.*]] = oneflow.select %[[FINITE]], %[[V]],
// CHECK: oneflow.update @w.velocity, %[[NEXTV]]
// CHECK: oneflow.update @v,
// CHECK: oneflow.select %[[FINITE]]
// CHECK: oneflow.update @optimizer.step,
// CHECK: %[[COUNT:.*]] = oneflow.add
// CHECK: %[[FOUR:.*]] = oneflow.constant dense<4> : tensor<i64>
// CHECK: %[[GROWS:.*]] = oneflow.compare <gt> %[[COUNT]], %[[FOUR]]
// CHECK: oneflow.update @optimizer.loss_scale,
// CHECK: oneflow.update @optimizer.good_steps,

// FIXED-NOT: good_steps
// FIXED: oneflow.compare <lt>
// FIXED: oneflow.update @w,
// FIXED: oneflow.update @optimizer.step,
// FIXED-NOT: oneflow.update
oneflow.variable @w : tensor<4xf32> {trainable}
oneflow.variable @v : tensor<f16> {trainable}
func.func @train() {
  %x = oneflow.input "x" : tensor<4xf32>
  %w = oneflow.read @w : tensor<4xf32>
  %v = oneflow.read @v : tensor<f16>
  %p = oneflow.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = oneflow.reduce <sum> %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  %c = oneflow.cast %v : (tensor<f16>) -> tensor<f32>
  %t = oneflow.add %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %t : tensor<f32>
  return
}
