// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Samples of the ops that take parts of tensors; see elementwise.mlir. `indices`
// are from -10 to 9, `labels` from 0 to 9.

// Slices.

func.func @slice_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.slice %x offsets [1, 0] sizes [3, 7] strides [1, 1] : (tensor<5x7xf64>) -> tensor<3x7xf64>
  oneflow.output "r" %r : tensor<3x7xf64>
  return
}
func.func @slice_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.slice %x offsets [0, 2] sizes [5, 4] strides [1, 1] : (tensor<5x7xf64>) -> tensor<5x4xf64>
  oneflow.output "r" %r : tensor<5x4xf64>
  return
}
func.func @slice_steps() {
  %x = oneflow.input "x" : tensor<3x5x7xf64>
  %r = oneflow.slice %x offsets [0, 1, 0] sizes [3, 2, 7] strides [1, 3, 1] : (tensor<3x5x7xf64>) -> tensor<3x2x7xf64>
  oneflow.output "r" %r : tensor<3x2x7xf64>
  return
}
func.func @slice_steps_inside() {
  %x = oneflow.input "x" : tensor<3x5x7xf64>
  %r = oneflow.slice %x offsets [0, 0, 1] sizes [3, 5, 3] strides [1, 1, 2] : (tensor<3x5x7xf64>) -> tensor<3x5x3xf64>
  oneflow.output "r" %r : tensor<3x5x3xf64>
  return
}
func.func @slice_box() {
  %x = oneflow.input "x" : tensor<3x5x7xf64>
  %r = oneflow.slice %x offsets [1, 0, 2] sizes [2, 5, 1] strides [1, 1, 4] : (tensor<3x5x7xf64>) -> tensor<2x5x1xf64>
  oneflow.output "r" %r : tensor<2x5x1xf64>
  return
}
func.func @slice_i64() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.slice %x offsets [0, 3] sizes [5, 2] strides [1, 2] : (tensor<5x7xi64>) -> tensor<5x2xi64>
  oneflow.output "r" %r : tensor<5x2xi64>
  return
}
func.func @slice_i1() {
  %x = oneflow.input "x" : tensor<5x7xi1>
  %r = oneflow.slice %x offsets [2, 0] sizes [3, 7] strides [1, 1] : (tensor<5x7xi1>) -> tensor<3x7xi1>
  oneflow.output "r" %r : tensor<3x7xi1>
  return
}
func.func @slice_f32_large() {
  %x = oneflow.input "x" : tensor<6x3000xf32>
  %r = oneflow.slice %x offsets [0, 1000] sizes [6, 1500] strides [1, 1] : (tensor<6x3000xf32>) -> tensor<6x1500xf32>
  oneflow.output "r" %r : tensor<6x1500xf32>
  return
}

// Padding.

func.func @pad_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.pad %x low [1, 0] high [2, 0] interior [0, 0] value 0.0 : f64 : (tensor<5x7xf64>) -> tensor<8x7xf64>
  oneflow.output "r" %r : tensor<8x7xf64>
  return
}
func.func @pad_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.pad %x low [0, 2] high [0, 1] interior [0, 0] value 1.0 : f64 : (tensor<5x7xf64>) -> tensor<5x10xf64>
  oneflow.output "r" %r : tensor<5x10xf64>
  return
}
func.func @pad_value() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.pad %x low [0, 2] high [0, 0] interior [0, 0] value -1.5 : f64 : (tensor<5x7xf64>) -> tensor<5x9xf64>
  oneflow.output "r" %r : tensor<5x9xf64>
  return
}
func.func @pad_interior() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.pad %x low [0, 1, 0] high [0, 2, 0] interior [0, 2, 0] value 0.0 : f64 : (tensor<3x5x4xf64>) -> tensor<3x16x4xf64>
  oneflow.output "r" %r : tensor<3x16x4xf64>
  return
}
func.func @pad_interior_inside() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.pad %x low [0, 1] high [0, 3] interior [0, 1] value 0.0 : f64 : (tensor<5x7xf64>) -> tensor<5x17xf64>
  oneflow.output "r" %r : tensor<5x17xf64>
  return
}
func.func @pad_i64() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.pad %x low [2, 0] high [0, 0] interior [0, 0] value 3 : i64 : (tensor<5x7xi64>) -> tensor<7x7xi64>
  oneflow.output "r" %r : tensor<7x7xi64>
  return
}

// Concatenation.

func.func @concat_rows() {
  %x = oneflow.input "x" : tensor<2x7xf64>
  %y = oneflow.input "y" : tensor<5x7xf64>
  %r = oneflow.concat %x, %y dim 0 : (tensor<2x7xf64>, tensor<5x7xf64>) -> tensor<7x7xf64>
  oneflow.output "r" %r : tensor<7x7xf64>
  return
}
func.func @concat_columns() {
  %x = oneflow.input "x" : tensor<5x2xf64>
  %y = oneflow.input "y" : tensor<5x7xf64>
  %z = oneflow.input "z" : tensor<5x1xf64>
  %r = oneflow.concat %x, %y, %z dim 1 : (tensor<5x2xf64>, tensor<5x7xf64>, tensor<5x1xf64>) -> tensor<5x10xf64>
  oneflow.output "r" %r : tensor<5x10xf64>
  return
}
func.func @concat_middle() {
  %x = oneflow.input "x" : tensor<3x2x4xf64>
  %y = oneflow.input "y" : tensor<3x3x4xf64>
  %r = oneflow.concat %x, %y dim 1 : (tensor<3x2x4xf64>, tensor<3x3x4xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @concat_i64() {
  %x = oneflow.input "x" : tensor<5x2xi64>
  %y = oneflow.input "y" : tensor<5x3xi64>
  %r = oneflow.concat %x, %y dim 1 : (tensor<5x2xi64>, tensor<5x3xi64>) -> tensor<5x5xi64>
  oneflow.output "r" %r : tensor<5x5xi64>
  return
}
func.func @concat_f32_large() {
  %x = oneflow.input "x" : tensor<3x2000xf32>
  %y = oneflow.input "y" : tensor<3x1100xf32>
  %r = oneflow.concat %x, %y dim 1 : (tensor<3x2000xf32>, tensor<3x1100xf32>) -> tensor<3x3100xf32>
  oneflow.output "r" %r : tensor<3x3100xf32>
  return
}

// Choice by a condition.

func.func @select() {
  %c = oneflow.input "c" : tensor<5x7xi1>
  %x = oneflow.input "x" : tensor<5x7xf64>
  %y = oneflow.input "y" : tensor<5x7xf64>
  %r = oneflow.select %c, %x, %y : (tensor<5x7xi1>, tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @select_mask() {
  %c = oneflow.input "c" : tensor<5x5xi1>
  %x = oneflow.input "x" : tensor<3x5x5xf64>
  %y = oneflow.input "y" : tensor<f64>
  %r = oneflow.select %c, %x, %y : (tensor<5x5xi1>, tensor<3x5x5xf64>, tensor<f64>) -> tensor<3x5x5xf64>
  oneflow.output "r" %r : tensor<3x5x5xf64>
  return
}
func.func @select_column() {
  %c = oneflow.input "c" : tensor<5x1xi1>
  %x = oneflow.input "x" : tensor<7xf64>
  %y = oneflow.input "y" : tensor<5x7xf64>
  %r = oneflow.select %c, %x, %y : (tensor<5x1xi1>, tensor<7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @select_i64() {
  %c = oneflow.input "c" : tensor<5x7xi1>
  %x = oneflow.input "x" : tensor<5x7xi64>
  %y = oneflow.input "y" : tensor<5x1xi64>
  %r = oneflow.select %c, %x, %y : (tensor<5x7xi1>, tensor<5x7xi64>, tensor<5x1xi64>) -> tensor<5x7xi64>
  oneflow.output "r" %r : tensor<5x7xi64>
  return
}

// Choice by indices.

func.func @gather_rows() {
  %x = oneflow.input "x" : tensor<10x6xf64>
  %indices = oneflow.input "indices" : tensor<5xi64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x6xf64>, tensor<5xi64>) -> tensor<5x6xf64>
  oneflow.output "r" %r : tensor<5x6xf64>
  return
}
func.func @gather_embedding() {
  %x = oneflow.input "x" : tensor<10x12xf64>
  %indices = oneflow.input "indices" : tensor<3x5xi64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x12xf64>, tensor<3x5xi64>) -> tensor<3x5x12xf64>
  oneflow.output "r" %r : tensor<3x5x12xf64>
  return
}
func.func @gather_columns() {
  %x = oneflow.input "x" : tensor<5x10xf64>
  %indices = oneflow.input "indices" : tensor<7xi64>
  %r = oneflow.gather %x, %indices dim 1 : (tensor<5x10xf64>, tensor<7xi64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @gather_middle() {
  %x = oneflow.input "x" : tensor<3x10x4xf64>
  %indices = oneflow.input "indices" : tensor<2x5xi32>
  %r = oneflow.gather %x, %indices dim 1 : (tensor<3x10x4xf64>, tensor<2x5xi32>) -> tensor<3x2x5x4xf64>
  oneflow.output "r" %r : tensor<3x2x5x4xf64>
  return
}
func.func @gather_one() {
  %x = oneflow.input "x" : tensor<10x6xf64>
  %indices = oneflow.input "indices" : tensor<i64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x6xf64>, tensor<i64>) -> tensor<6xf64>
  oneflow.output "r" %r : tensor<6xf64>
  return
}
func.func @gather_i64() {
  %x = oneflow.input "x" : tensor<10x6xi64>
  %indices = oneflow.input "indices" : tensor<5xi64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x6xi64>, tensor<5xi64>) -> tensor<5x6xi64>
  oneflow.output "r" %r : tensor<5x6xi64>
  return
}
func.func @gather_i1() {
  %x = oneflow.input "x" : tensor<10x6xi1>
  %indices = oneflow.input "indices" : tensor<5xi64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x6xi1>, tensor<5xi64>) -> tensor<5x6xi1>
  oneflow.output "r" %r : tensor<5x6xi1>
  return
}
func.func @gather_f32() {
  %x = oneflow.input "x" : tensor<10x260xf32>
  %indices = oneflow.input "indices" : tensor<70xi64>
  %r = oneflow.gather %x, %indices dim 0 : (tensor<10x260xf32>, tensor<70xi64>) -> tensor<70x260xf32>
  oneflow.output "r" %r : tensor<70x260xf32>
  return
}
func.func @gather_grad_rows() {
  %dy = oneflow.input "dy" : tensor<5x6xf64>
  %indices = oneflow.input "indices" : tensor<5xi64>
  %r = oneflow.gather_grad %dy, %indices dim 0 extent 10 : (tensor<5x6xf64>, tensor<5xi64>) -> tensor<10x6xf64>
  oneflow.output "r" %r : tensor<10x6xf64>
  return
}
func.func @gather_grad_embedding() {
  %dy = oneflow.input "dy" : tensor<3x5x12xf64>
  %indices = oneflow.input "indices" : tensor<3x5xi64>
  %r = oneflow.gather_grad %dy, %indices dim 0 extent 10 : (tensor<3x5x12xf64>, tensor<3x5xi64>) -> tensor<10x12xf64>
  oneflow.output "r" %r : tensor<10x12xf64>
  return
}
func.func @gather_grad_columns() {
  %dy = oneflow.input "dy" : tensor<5x7xf64>
  %indices = oneflow.input "indices" : tensor<7xi64>
  %r = oneflow.gather_grad %dy, %indices dim 1 extent 10 : (tensor<5x7xf64>, tensor<7xi64>) -> tensor<5x10xf64>
  oneflow.output "r" %r : tensor<5x10xf64>
  return
}
func.func @gather_grad_middle() {
  %dy = oneflow.input "dy" : tensor<3x2x5x4xf64>
  %indices = oneflow.input "indices" : tensor<2x5xi32>
  %r = oneflow.gather_grad %dy, %indices dim 1 extent 10 : (tensor<3x2x5x4xf64>, tensor<2x5xi32>) -> tensor<3x10x4xf64>
  oneflow.output "r" %r : tensor<3x10x4xf64>
  return
}
func.func @gather_grad_one() {
  %dy = oneflow.input "dy" : tensor<6xf64>
  %indices = oneflow.input "indices" : tensor<i64>
  %r = oneflow.gather_grad %dy, %indices dim 0 extent 10 : (tensor<6xf64>, tensor<i64>) -> tensor<10x6xf64>
  oneflow.output "r" %r : tensor<10x6xf64>
  return
}
func.func @gather_grad_f32() {
  %dy = oneflow.input "dy" : tensor<70x260xf32>
  %indices = oneflow.input "indices" : tensor<70xi64>
  %r = oneflow.gather_grad %dy, %indices dim 0 extent 10 : (tensor<70x260xf32>, tensor<70xi64>) -> tensor<10x260xf32>
  oneflow.output "r" %r : tensor<10x260xf32>
  return
}
