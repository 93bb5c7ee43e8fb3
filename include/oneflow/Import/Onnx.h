//===- oneflow/Import/Onnx.h - ONNX models as modules -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads ONNX models (the standard operators of opset 7 and newer) into the
// `oneflow` dialect. The header exposes no protobuf.
//
// The module holds one `oneflow.variable` per initializer that reaches
// computation and `func.func @main()`, whose `oneflow.input` and
// `oneflow.output` carry the names of the model's. Shapes are static: symbolic
// dimensions are bound by options, and chains of integer ops that compute
// shapes are folded.
//
// Which initializers become what:
//  - float, rank >= 1: a trainable variable;
//  - any other type, rank >= 1: a constant of the compilation where a shape, an
//    axis or the like is asked for, else a variable that is not trainable;
//  - rank 0: a constant. Exporters write literals (0.5, the root of 2) so.
//
// The shardings of the chosen device configuration become the attribute
// `oneflow.sharding` of the ops that have the operands and results. Pipeline
// stages are not used.
//
// Errors are reported through the context's diagnostics, at the location of the
// node, input or initializer; no function throws or aborts on a bad model.
// Functions may run at the same time in different contexts.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_IMPORT_ONNX_H
#define ONEFLOW_IMPORT_ONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace oneflow {

struct OnnxImportOptions {
  /// Extents, at least 1, of symbolic dimensions: by the dimension's name
  /// ("batch"), or by input and axis where it has none ("x:0").
  llvm::StringMap<int64_t> dims;
  /// Which of the model's device configurations (IR version 11) says how
  /// tensors are sharded; "none" for none of them. Where nothing is chosen, the
  /// only one, and an error where there are several.
  std::string deviceConfiguration;
};

/// Imports the model in the file `path`. Tensors stored outside the file must
/// lie in the file's folder or below it.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(mlir::MLIRContext *context, llvm::StringRef path,
           const OnnxImportOptions &options);

/// The same from a serialized ModelProto. `path` names the model in locations;
/// external data is looked for in its folder.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnxBytes(mlir::MLIRContext *context, llvm::StringRef bytes,
                llvm::StringRef path, const OnnxImportOptions &options);

/// A node of a model, by the names that its user knows; operands that are left
/// out are empty.
struct OnnxNodeNames {
  std::string name, operatorType;
  std::vector<std::string> inputs, outputs;
};

/// The nodes of a serialized ModelProto that was imported, in order.
std::vector<OnnxNodeNames> listOnnxNodes(llvm::StringRef bytes);

/// The serialized ModelProto `bytes` without the values of those initializers
/// that are variables of `module`, whose names, types and extents stay; so
/// tensorio::writeTrainedModel can put trained values back. Other initializers
/// keep their values, which are moved into the model where they were external
/// (in the folder of `path`). Fails, with a diagnostic, where the result would
/// pass protobuf's 2 GiB.
mlir::FailureOr<std::string> stripWeights(llvm::StringRef bytes,
                                          llvm::StringRef path,
                                          mlir::ModuleOp module);

} // namespace oneflow

#endif // ONEFLOW_IMPORT_ONNX_H
