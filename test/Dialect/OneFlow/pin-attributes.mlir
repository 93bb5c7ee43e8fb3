// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s

// Attributes that pin read back, and what they stand on does not vanish before they are
// heard: neither an identity nor two transposes in a row.

// RUN: oneflow-opt %s --canonicalize | FileCheck %s --check-prefix=KEPT

// CHECK: oneflow.variable @w : tensor<8x4xf32> {oneflow.sbp = ["S(0)@dp", "[B, S(1)]"]}
// KEPT: oneflow.variable @w
oneflow.variable @w : tensor<8x4xf32> {oneflow.sbp = ["S(0)@dp", "[B, S(1)]"]}

func.func @f() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  // CHECK: oneflow.sharding = [#oneflow.sharding<in 0, groups = {{\[\[0, 1\], \[2, 3\]\]}}, dims = {{\[\[0, 2\]\]}}, devices = 4>, #oneflow.sharding<out 0, groups = {{\[\[0\], \[1\], \[2\], \[3\]\]}}, dims = {{\[\[1, 2, 2\], \[0, 2\]\]}}, devices = 4>]
  // KEPT: oneflow.relu
  %0 = oneflow.relu %x {oneflow.sharding = [
      #oneflow.sharding<in 0, groups = [[0, 1], [2, 3]], dims = [[0, 2]], devices = 4>,
      #oneflow.sharding<out 0, groups = [[0], [1], [2], [3]], dims = [[1, 2, 2], [0, 2]], devices = 4>]} : tensor<8x4xf32>
  // CHECK: oneflow.sbp = ["in0=S(1)@tp", "out0=[S(0), ?]"]
  // KEPT: oneflow.transpose
  // KEPT: oneflow.transpose
  // KEPT: oneflow.reshape
  %1 = oneflow.transpose %0 [1, 0] {oneflow.sbp = ["in0=S(1)@tp", "out0=[S(0), ?]"]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = oneflow.transpose %1 [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = oneflow.reshape %2 {oneflow.sbp = ["S(0)@dp"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  oneflow.output "y" %3 : tensor<8x4xf32>
  return
}
