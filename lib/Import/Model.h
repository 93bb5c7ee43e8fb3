//===- Model.h - a parsed and checked model ---------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way from a file or bytes to a ModelProto whose structure is sound:
// versions are there, names are unique, every value is defined before it is
// used.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_MODEL_H
#define ONEFLOW_LIB_IMPORT_MODEL_H

#include "mlir/IR/Location.h"
#include "llvm/Support/LogicalResult.h"

#include "onnx-ml.pb.h"

#include <memory>
#include <string>

namespace oneflow::importer {

/// Opsets of the default domain whose operators the importer knows.
inline constexpr int64_t kOldestOpset = 7;
inline constexpr int64_t kNewestOpset = 28;

/// A model and where it came from.
struct Model {
  ::onnx::ModelProto proto;
  /// As the user gave it, for locations and messages.
  std::string path;
  /// Version of the default domain.
  int64_t opset = 0;

  const ::onnx::GraphProto &graph() const { return proto.graph(); }
  mlir::Location location(mlir::MLIRContext *context) const;
  /// The location of something in the model that has a name.
  mlir::Location location(mlir::MLIRContext *context, llvm::StringRef name,
                          unsigned line = 0) const;
};

/// The node's name, or one made of its operator and index where it has none.
std::string nodeName(const ::onnx::NodeProto &node, int index);

/// Parses bytes; reports an error at `path` where they are no model.
mlir::FailureOr<std::unique_ptr<Model>> parseModel(mlir::MLIRContext *context,
                                                   llvm::StringRef bytes,
                                                   llvm::StringRef path);

/// Reads and parses a file of up to 2 GiB.
mlir::FailureOr<std::unique_ptr<Model>> readModel(mlir::MLIRContext *context,
                                                  llvm::StringRef path);

/// Checks versions, names and order, and sets `opset`.
llvm::LogicalResult validateModel(mlir::MLIRContext *context, Model &model);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_MODEL_H
