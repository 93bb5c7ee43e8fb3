// Normalizations by the statistics of rows.
func.func @layer_norm_columns() {
  %x = oneflow.input "x" : tensor<5x10xf64>
  %scale = oneflow.input "scale" : tensor<10xf64>
  %bias = oneflow.input "bias" : tensor<10xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<5x10xf64>, tensor<10xf64>, tensor<10xf64>) -> (tensor<5x10xf64>, tensor<5x1xf64>, tensor<5x1xf64>)
  oneflow.output "r0" %r0 : tensor<5x10xf64>
  oneflow.output "r1" %r1 : tensor<5x1xf64>
  oneflow.output "r2" %r2 : tensor<5x1xf64>
  return
}
func.func @layer_norm_plain() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<3x5x4xf64>) -> (tensor<3x5x4xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x5x4xf64>
  oneflow.output "r1" %r1 : tensor<3x1x1xf64>
  oneflow.output "r2" %r2 : tensor<3x1x1xf64>
  return
}
func.func @layer_norm_two_dims() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %scale = oneflow.input "scale" : tensor<5x4xf64>
  %bias = oneflow.input "bias" : tensor<5x4xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 1 {epsilon = 0.25 : f64} : (tensor<3x5x4xf64>, tensor<5x4xf64>, tensor<5x4xf64>) -> (tensor<3x5x4xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x5x4xf64>
  oneflow.output "r1" %r1 : tensor<3x1x1xf64>
  oneflow.output "r2" %r2 : tensor<3x1x1xf64>
  return
}
func.func @layer_norm_all() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %scale = oneflow.input "scale" : tensor<5x7xf64>
  %bias = oneflow.input "bias" : tensor<5x7xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 0 {epsilon = 1.0e-05 : f64} : (tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>) -> (tensor<5x7xf64>, tensor<1x1xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<5x7xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  oneflow.output "r2" %r2 : tensor<1x1xf64>
  return
}
func.func @layer_norm_one_row() {
  %x = oneflow.input "x" : tensor<1x24xf64>
  %scale = oneflow.input "scale" : tensor<24xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<1x24xf64>, tensor<24xf64>) -> (tensor<1x24xf64>, tensor<1x1xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<1x24xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  oneflow.output "r2" %r2 : tensor<1x1xf64>
  return
}
func.func @layer_norm_one_long_row() {
  %x = oneflow.input "x" : tensor<1x9001xf64>
  %scale = oneflow.input "scale" : tensor<9001xf64>
  %bias = oneflow.input "bias" : tensor<9001xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<1x9001xf64>, tensor<9001xf64>, tensor<9001xf64>) -> (tensor<1x9001xf64>, tensor<1x1xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<1x9001xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  oneflow.output "r2" %r2 : tensor<1x1xf64>
  return
}
func.func @layer_norm_long_rows() {
  %x = oneflow.input "x" : tensor<3x9001xf64>
  %scale = oneflow.input "scale" : tensor<9001xf64>
  %bias = oneflow.input "bias" : tensor<9001xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<3x9001xf64>, tensor<9001xf64>, tensor<9001xf64>) -> (tensor<3x9001xf64>, tensor<3x1xf64>, tensor<3x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x9001xf64>
  oneflow.output "r1" %r1 : tensor<3x1xf64>
  oneflow.output "r2" %r2 : tensor<3x1xf64>
  return
}
func.func @layer_norm_f32() {
  %x = oneflow.input "x" : tensor<4x3x6xf32>
  %scale = oneflow.input "scale" : tensor<6xf32>
  %bias = oneflow.input "bias" : tensor<6xf32>
  %r0, %r1, %r2 = oneflow.layer_norm %x scale %scale bias %bias dims_from 2 {epsilon = 1.0e-05 : f64} : (tensor<4x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x3x6xf32>, tensor<4x3x1xf32>, tensor<4x3x1xf32>)
  oneflow.output "r0" %r0 : tensor<4x3x6xf32>
  oneflow.output "r1" %r1 : tensor<4x3x1xf32>
  oneflow.output "r2" %r2 : tensor<4x3x1xf32>
  return
}
func.func @layer_norm_bias() {
  %x = oneflow.input "x" : tensor<4x7xf64>
  %bias = oneflow.input "bias" : tensor<7xf64>
  %r0, %r1, %r2 = oneflow.layer_norm %x bias %bias dims_from 1 {epsilon = 0.0 : f64} : (tensor<4x7xf64>, tensor<7xf64>) -> (tensor<4x7xf64>, tensor<4x1xf64>, tensor<4x1xf64>)
  oneflow.output "r0" %r0 : tensor<4x7xf64>
  oneflow.output "r1" %r1 : tensor<4x1xf64>
  oneflow.output "r2" %r2 : tensor<4x1xf64>
  return
}
func.func @rms_norm_columns() {
  %x = oneflow.input "x" : tensor<5x10xf64>
  %scale = oneflow.input "scale" : tensor<10xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<5x10xf64>, tensor<10xf64>) -> (tensor<5x10xf64>, tensor<5x1xf64>)
  oneflow.output "r0" %r0 : tensor<5x10xf64>
  oneflow.output "r1" %r1 : tensor<5x1xf64>
  return
}
func.func @rms_norm_plain() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r0, %r1 = oneflow.rms_norm %x dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<3x5x4xf64>) -> (tensor<3x5x4xf64>, tensor<3x1x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x5x4xf64>
  oneflow.output "r1" %r1 : tensor<3x1x1xf64>
  return
}
func.func @rms_norm_two_dims() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %scale = oneflow.input "scale" : tensor<5x4xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 1 {epsilon = 0.25 : f64} : (tensor<3x5x4xf64>, tensor<5x4xf64>) -> (tensor<3x5x4xf64>, tensor<3x1x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x5x4xf64>
  oneflow.output "r1" %r1 : tensor<3x1x1xf64>
  return
}
func.func @rms_norm_all() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %scale = oneflow.input "scale" : tensor<5x7xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 0 {epsilon = 1.0e-05 : f64} : (tensor<5x7xf64>, tensor<5x7xf64>) -> (tensor<5x7xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<5x7xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  return
}
func.func @rms_norm_one_row() {
  %x = oneflow.input "x" : tensor<1x24xf64>
  %scale = oneflow.input "scale" : tensor<24xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<1x24xf64>, tensor<24xf64>) -> (tensor<1x24xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<1x24xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  return
}
func.func @rms_norm_one_long_row() {
  %x = oneflow.input "x" : tensor<1x9001xf64>
  %scale = oneflow.input "scale" : tensor<9001xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<1x9001xf64>, tensor<9001xf64>) -> (tensor<1x9001xf64>, tensor<1x1xf64>)
  oneflow.output "r0" %r0 : tensor<1x9001xf64>
  oneflow.output "r1" %r1 : tensor<1x1xf64>
  return
}
func.func @rms_norm_long_rows() {
  %x = oneflow.input "x" : tensor<3x9001xf64>
  %scale = oneflow.input "scale" : tensor<9001xf64>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 1 {epsilon = 1.0e-05 : f64} : (tensor<3x9001xf64>, tensor<9001xf64>) -> (tensor<3x9001xf64>, tensor<3x1xf64>)
  oneflow.output "r0" %r0 : tensor<3x9001xf64>
  oneflow.output "r1" %r1 : tensor<3x1xf64>
  return
}
func.func @rms_norm_f32() {
  %x = oneflow.input "x" : tensor<4x3x6xf32>
  %scale = oneflow.input "scale" : tensor<6xf32>
  %r0, %r1 = oneflow.rms_norm %x scale %scale dims_from 2 {epsilon = 1.0e-05 : f64} : (tensor<4x3x6xf32>, tensor<6xf32>) -> (tensor<4x3x6xf32>, tensor<4x3x1xf32>)
  oneflow.output "r0" %r0 : tensor<4x3x6xf32>
  oneflow.output "r1" %r1 : tensor<4x3x1xf32>
  return
}
