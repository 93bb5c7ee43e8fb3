// RUN: oneflow-opt %s --oneflow-place -verify-diagnostics

// expected-error@+1 {{expected @mesh to be a placement or free}}
oneflow.variable @mesh : tensor<4xf32>
