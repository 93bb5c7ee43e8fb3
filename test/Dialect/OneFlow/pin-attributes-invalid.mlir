// RUN: oneflow-opt %s --split-input-file -verify-diagnostics

// What the dialect refuses of `oneflow.sbp` and `oneflow.sharding`, and names near them.

// expected-error@+1 {{'oneflow.sbp': expected SBP@AXIS or [SBP, ...], perhaps after inN= or outN=, got: 'S(0)': expected '@' and an axis after the SBP}}
oneflow.variable @w : tensor<4xf32> {oneflow.sbp = ["S(0)"]}

// -----

// expected-error@+1 {{'oneflow.sbp' asks for in0, the op has operands: 0, results: 0}}
oneflow.variable @w : tensor<4xf32> {oneflow.sbp = ["in0=S(0)@p"]}

// -----

// expected-error@+1 {{'oneflow.sbp': expected a list of texts}}
oneflow.variable @w : tensor<4xf32> {oneflow.sbp = "S(0)@p"}

// -----

// expected-error@+1 {{'oneflow.sbp': expected a text, got: 1}}
oneflow.variable @w : tensor<4xf32> {oneflow.sbp = [1]}

// -----

oneflow.variable @w : tensor<4xf32>
func.func @f() {
  // expected-error@+1 {{'oneflow.sbp' goes with the variable, as which this op lies, or with the op that uses the value}}
  %w = oneflow.read @w {oneflow.sbp = ["S(0)@p"]} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{'oneflow.sbp' goes with variables and ops of the graph}}
func.func @f() attributes {oneflow.sbp = ["S(0)@p"]} {
  return
}

// -----

// expected-error@+1 {{the dialect has no attribute 'oneflow.spb', it has 'oneflow.sbp' and 'oneflow.sharding'}}
oneflow.variable @w : tensor<4xf32> {oneflow.spb = ["S(0)@p"]}

// -----

// expected-error@+1 {{'oneflow.sharding' goes with the ops that compute}}
oneflow.variable @w : tensor<4xf32> {oneflow.sharding = []}

// -----

func.func @f() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error@+1 {{'oneflow.sharding' asks for out1, the op has operands: 1, results: 1}}
  %0 = oneflow.relu %x {oneflow.sharding = [#oneflow.sharding<out 1, groups = [[0]], dims = [], devices = 1>]} : tensor<4xf32>
  return
}

// -----

func.func @f() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error@+1 {{'oneflow.sharding': expected a sharding, got: "S(0)"}}
  %0 = oneflow.relu %x {oneflow.sharding = ["S(0)"]} : tensor<4xf32>
  return
}

// -----

func.func @f() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error@+1 {{expected at least 2 numbers in one of dims, got: 1}}
  %0 = oneflow.relu %x {oneflow.sharding = [#oneflow.sharding<out 0, groups = [[0]], dims = [[0]], devices = 1>]} : tensor<4xf32>
  return
}

// -----

func.func @f() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error@+1 {{expected at least 1 device, got: 0}}
  %0 = oneflow.relu %x {oneflow.sharding = [#oneflow.sharding<out 0, groups = [[0]], dims = [], devices = 0>]} : tensor<4xf32>
  return
}
