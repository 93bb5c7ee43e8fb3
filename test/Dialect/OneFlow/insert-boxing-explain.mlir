// RUN: oneflow-opt %s --oneflow-insert-boxing=explain -verify-diagnostics -o /dev/null

// 4 KiB over 4 ranks, then over 2 others: bytes over all ranks, and of the fullest.

oneflow.placement @mesh cpu [p = 4]
oneflow.placement @tail cpu [p = 2] from 4
func.func @main() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<32x32xf32>
  // expected-remark@+1 {{operand 0: [S(0)] all-gather [B]; 12288 bytes in 15.61 us, gathering everything 12288; peak 5120 bytes of 10240}}
  %0 = oneflow.relu %x on @mesh sbp ([B]) -> ([B]) : tensor<32x32xf32>
  // expected-remark@+1 {{operand 0: [S(0)] all-to-all [S(1)]; 3072 bytes in 15.15 us, gathering everything 12288; peak 4096 bytes of 4096}}
  %1 = oneflow.exp %x on @mesh sbp ([S(1)]) -> ([S(1)]) : tensor<32x32xf32>
  // expected-remark@+1 {{operand 0: [S(0)] exchange across [S(0)]; 4096 bytes in 10.41 us, gathering everything 20480; peak 4096 bytes of 6144}}
  %2 = oneflow.neg %x on @tail sbp ([S(0)]) -> ([S(0)]) : tensor<32x32xf32>
  return
}
