// RUN: oneflow-opt %s -split-input-file -oneflow-mixed-precision=type=bf16 | FileCheck %s
// RUN: oneflow-opt %s -split-input-file -oneflow-mixed-precision="type=f16 ops=matmul=high,gelu=low,softmax=follow" | FileCheck %s --check-prefix=CHANGED

// A bias is a parameter and has no say, an input has; softmax is high. The input, the
// variables and the output keep their types, and everything is cast once.
oneflow.variable @w : tensor<3x3xf32> {trainable}
oneflow.variable @b : tensor<3xf32> {trainable}
// CHECK-LABEL: func @main
// CHANGED-LABEL: func @main
func.func @main() {
  // CHECK: %[[X:.*]] = oneflow.input "x" : tensor<8x3xf32>
  // CHECK: %[[XL:.*]] = oneflow.cast %[[X]] : (tensor<8x3xf32>) -> tensor<8x3xbf16>
  // CHECK: %[[W:.*]] = oneflow.read @w : tensor<3x3xf32>
  // CHECK-NEXT: %[[WL:.*]] = oneflow.cast %[[W]] : (tensor<3x3xf32>) -> tensor<3x3xbf16>
  // CHECK: %[[B:.*]] = oneflow.read @b : tensor<3xf32>
  // CHECK-NEXT: %[[BL:.*]] = oneflow.cast %[[B]] : (tensor<3xf32>) -> tensor<3xbf16>
  // CHECK-NOT: oneflow.cast
  // CHECK: %[[P:.*]] = oneflow.matmul %[[XL]], %[[WL]] {{.*}} -> tensor<8x3xbf16>
  // CHECK: %[[A:.*]] = oneflow.add %[[P]], %[[BL]] {{.*}} -> tensor<8x3xbf16>
  // CHECK: %[[G:.*]] = oneflow.gelu <erf> %[[A]] : tensor<8x3xbf16>
  // CHECK: %[[Q:.*]] = oneflow.matmul %[[G]], %[[WL]] {{.*}} -> tensor<8x3xbf16>
  // CHECK-NEXT: %[[QH:.*]] = oneflow.cast %[[Q]] : (tensor<8x3xbf16>) -> tensor<8x3xf32>
  // CHECK: %[[S:.*]] = oneflow.softmax %[[QH]] dim 1 : tensor<8x3xf32>
  // CHECK: %[[R:.*]] = oneflow.add %[[X]], %[[QH]] {{.*}} -> tensor<8x3xf32>
  // CHECK: oneflow.output "s" %[[S]] : tensor<8x3xf32>
  // CHECK: oneflow.output "q" %[[QH]] : tensor<8x3xf32>
  // CHECK: oneflow.output "r" %[[R]] : tensor<8x3xf32>

  // CHANGED: %[[P:.*]] = oneflow.matmul {{.*}} -> tensor<8x3xf32>
  // CHANGED: %[[A:.*]] = oneflow.add {{.*}} -> tensor<8x3xf32>
  // CHANGED-NEXT: %[[AL:.*]] = oneflow.cast %[[A]] : (tensor<8x3xf32>) -> tensor<8x3xf16>
  // CHANGED: %[[G:.*]] = oneflow.gelu <erf> %[[AL]] : tensor<8x3xf16>
  // CHANGED-NEXT: %[[GH:.*]] = oneflow.cast %[[G]] : (tensor<8x3xf16>) -> tensor<8x3xf32>
  // CHANGED: %[[Q:.*]] = oneflow.matmul %[[GH]], {{.*}} -> tensor<8x3xf32>
  // CHANGED: oneflow.softmax %[[Q]] dim 1 : tensor<8x3xf32>
  %x = oneflow.input "x" : tensor<8x3xf32>
  %w = oneflow.read @w : tensor<3x3xf32>
  %b = oneflow.read @b : tensor<3xf32>
  %p = oneflow.matmul %x, %w : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
  %a = oneflow.add %p, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %g = oneflow.gelu <erf> %a : tensor<8x3xf32>
  %again = oneflow.read @w : tensor<3x3xf32>
  %q = oneflow.matmul %g, %again : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
  %s = oneflow.softmax %q dim 1 : tensor<8x3xf32>
  %r = oneflow.add %x, %q : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  oneflow.output "s" %s : tensor<8x3xf32>
  oneflow.output "q" %q : tensor<8x3xf32>
  oneflow.output "r" %r : tensor<8x3xf32>
  return
}

// -----

// Constants are rounded here, not in every step: 0.1 is 0x3DCD in bf16. What is computed
// from parameters alone has no say either. Statistics are f32 in any case.
oneflow.variable @w : tensor<4x4xf32> {trainable}
oneflow.variable @s : tensor<4xf32> {trainable}
oneflow.variable @running : tensor<8x4xf32>
// CHECK-LABEL: func @main
func.func @main() {
  // CHECK-DAG: %[[C:.*]] = oneflow.constant dense<1.000980e-01> : tensor<bf16>
  // CHECK-DAG: %[[T:.*]] = oneflow.transpose {{.*}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-DAG: %[[TL:.*]] = oneflow.cast %[[T]] : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  // CHECK: %[[P:.*]] = oneflow.matmul %{{.*}}, %[[TL]]
  // CHECK: %[[M:.*]] = oneflow.mul %[[P]], %[[C]] {{.*}} -> tensor<8x4xbf16>
  // CHECK: %[[MH:.*]] = oneflow.cast %[[M]] : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  // CHECK: oneflow.layer_norm %[[MH]] {{.*}} -> (tensor<8x4xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
  // A comparison follows, and gives what it gave.
  // CHECK: oneflow.compare <lt> %[[M]], %[[C]] : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<8x4xi1>
  // CHECK: oneflow.update @running, %[[MH]] : tensor<8x4xf32>
  %x = oneflow.input "x" : tensor<8x4xf32>
  %w = oneflow.read @w : tensor<4x4xf32>
  %scale = oneflow.read @s : tensor<4xf32>
  %c = oneflow.constant dense<0.1> : tensor<f32>
  %t = oneflow.transpose %w [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = oneflow.matmul %x, %t : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %m = oneflow.mul %p, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %y, %mean, %inverse = oneflow.layer_norm %m scale %scale dims_from 1
      {epsilon = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>)
      -> (tensor<8x4xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
  %l = oneflow.compare <lt> %m, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xi1>
  oneflow.output "y" %y : tensor<8x4xf32>
  oneflow.output "l" %l : tensor<8x4xi1>
  oneflow.update @running, %m : tensor<8x4xf32>
  return
}

// -----

// A cast of the model stays: what it rounds is rounded. So does f64.
// CHECK-LABEL: func @main
func.func @main() {
  // CHECK: %[[H:.*]] = oneflow.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK: %[[F:.*]] = oneflow.cast %[[H]] : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK: oneflow.relu %[[F]] : tensor<4xf32>
  // CHECK: oneflow.exp %{{.*}} : tensor<4xf64>
  %x = oneflow.input "x" : tensor<4xf32>
  %h = oneflow.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %f = oneflow.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %r = oneflow.relu %f : tensor<4xf32>
  oneflow.output "r" %r : tensor<4xf32>
  %d = oneflow.cast %x : (tensor<4xf32>) -> tensor<4xf64>
  %e = oneflow.exp %d : tensor<4xf64>
  oneflow.output "e" %e : tensor<4xf64>
  return
}
