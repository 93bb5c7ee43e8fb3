// RUN: oneflow-opt %s -split-input-file -oneflow-unpack-variables | FileCheck %s

// Nothing here may be unpacked: each case misses one thing.

// A gap between the cuts.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 1] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x1xf32>
  oneflow.output "a" %a : tensor<3x1xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// A gap at the end.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 1] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x1xf32>
  oneflow.output "b" %b : tensor<3x1xf32>
  return
}

// -----

// Cuts that overlap.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 3] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x3xf32>
  oneflow.output "a" %a : tensor<3x3xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// One cut only.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 4] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  oneflow.output "a" %a : tensor<3x4xf32>
  return
}

// -----

// Steps along the packed dimension: every second column.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 2] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 1] sizes [3, 2] strides [1, 2] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// A cut of the rows, too.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [2, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<2x2xf32>
  oneflow.output "b" %b : tensor<2x2xf32>
  return
}

// -----

// The product is also handed out.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  oneflow.output "all" %0 : tensor<3x4xf32>
  return
}

// -----

// The product goes through an op that is not followed.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = oneflow.relu %0 : tensor<3x4xf32>
  %a = oneflow.slice %r offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %r offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// The weight is also used whole.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  oneflow.output "w" %w : tensor<2x4xf32>
  return
}

// -----

// The weight is also read elsewhere.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}
func.func @other() {
  %w = oneflow.read @w : tensor<2x4xf32>
  oneflow.output "w" %w : tensor<2x4xf32>
  return
}

// -----

// Another product cuts the same weight elsewhere.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  %1 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %c = oneflow.slice %1 offsets [0, 0] sizes [3, 1] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x1xf32>
  oneflow.output "c" %c : tensor<3x1xf32>
  %d = oneflow.slice %1 offsets [0, 1] sizes [3, 3] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x3xf32>
  oneflow.output "d" %d : tensor<3x3xf32>
  return
}

// -----

// The weight is updated.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  oneflow.update @w, %w : tensor<2x4xf32>
  return
}

// -----

// Some state is like the weight.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
oneflow.variable @m like @w : tensor<2x4xf32>
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// The storage of the whole is fixed.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.placement @mesh cpu [tp = 2]
oneflow.variable @w on @mesh storage [S(1)] : tensor<2x4xf32>
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// The name of a part is taken.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
oneflow.variable @w.1 : tensor<f32>
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// The bias is also used whole, so that the weight stays, too.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
oneflow.variable @b : tensor<4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %b = oneflow.read @b : tensor<4xf32>
  %s = oneflow.add %0, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %c = oneflow.slice %s offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "c" %c : tensor<3x2xf32>
  %d = oneflow.slice %s offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "d" %d : tensor<3x2xf32>
  oneflow.output "b" %b : tensor<4xf32>
  return
}

// -----

// What is added is no variable.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %y = oneflow.input "y" : tensor<3x4xf32>
  %s = oneflow.add %0, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %c = oneflow.slice %s offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "c" %c : tensor<3x2xf32>
  %d = oneflow.slice %s offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "d" %d : tensor<3x2xf32>
  return
}

// -----

// Heads come first, the packing factor within each: parts are no intervals.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = oneflow.reshape %0 : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
  %a = oneflow.slice %r offsets [0, 0, 0] sizes [3, 2, 1] strides [1, 1, 1] : (tensor<3x2x2xf32>) -> tensor<3x2x1xf32>
  %b = oneflow.slice %r offsets [0, 0, 1] sizes [3, 2, 1] strides [1, 1, 1] : (tensor<3x2x2xf32>) -> tensor<3x2x1xf32>
  oneflow.output "a" %a : tensor<3x2x1xf32>
  oneflow.output "b" %b : tensor<3x2x1xf32>
  return
}

// -----

// A reshape tears the packed dimension apart.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = oneflow.reshape %0 : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %a = oneflow.slice %r offsets [0, 0] sizes [2, 3] strides [1, 1] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %b = oneflow.slice %r offsets [0, 3] sizes [2, 3] strides [1, 1] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  oneflow.output "a" %a : tensor<2x3xf32>
  oneflow.output "b" %b : tensor<2x3xf32>
  return
}

// -----

// A gather at an index that is data.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = oneflow.reshape %0 : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
  %i = oneflow.input "i" : tensor<i64>
  %one = oneflow.constant dense<1> : tensor<i64>
  %a = oneflow.gather %r, %i dim 1 : (tensor<3x2x2xf32>, tensor<i64>) -> tensor<3x2xf32>
  %b = oneflow.gather %r, %one dim 1 : (tensor<3x2x2xf32>, tensor<i64>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// An op carries a signature.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.placement @mesh cpu [tp = 2]
oneflow.variable @w on @mesh : tensor<2x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] on @mesh sbp ([B]) -> ([B]) : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// The variable, the product or a cut is pinned.
// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {oneflow.sbp = ["S(1)@tp"], trainable}
func.func @variable() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @product() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w {oneflow.sbp = ["in1=S(1)@tp"]} : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}

// -----

// CHECK-NOT: part of
// CHECK: oneflow.read @w
oneflow.variable @w : tensor<2x4xf32> {trainable}
func.func @cut() {
  %x = oneflow.input "x" : tensor<3x2xf32>
  %w = oneflow.read @w : tensor<2x4xf32>
  %0 = oneflow.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = oneflow.slice %0 offsets [0, 0] sizes [3, 2] strides [1, 1] {oneflow.sbp = ["in0=S(1)@tp"]} : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "a" %a : tensor<3x2xf32>
  %b = oneflow.slice %0 offsets [0, 2] sizes [3, 2] strides [1, 1] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  oneflow.output "b" %b : tensor<3x2xf32>
  return
}
