//===- GraphImporter.h - a graph as it is built -----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a validated graph in order and builds the module. Variables and
// constants come into being when computation first asks for them, so that what
// only feeds shape computations leaves no trace.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_GRAPHIMPORTER_H
#define ONEFLOW_LIB_IMPORT_GRAPHIMPORTER_H

#include "HostTensor.h"
#include "Model.h"
#include "oneflow/Import/Onnx.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

namespace oneflow::importer {

/// A value of the graph. Aliases (Identity and the like) share one.
struct GraphValue {
  mlir::RankedTensorType type;
  /// Null until computation asks for it.
  mlir::Value value;
  /// The elements, where they are known and were asked for.
  HostTensorRef data;
  /// The name that the value was defined under.
  std::string name;
  const ::onnx::TensorProto *initializer = nullptr;

  /// Whether it becomes a trainable variable: its elements are not for folding.
  bool isWeight() const;
};

class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext *context, const Model &model,
                const OnnxImportOptions &options)
      : model(model), options(options), builder(context) {}

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  /// The value of that name; validation guarantees that there is one.
  GraphValue &find(llvm::StringRef name) { return *values.find(name)->second; }
  void alias(llvm::StringRef name, llvm::StringRef target) {
    values[name] = values.find(target)->second;
  }
  void define(llvm::StringRef name, GraphValue value);

  /// The value in the function; makes the variable or constant on first use.
  /// Null, with an error, where its data cannot be read.
  mlir::Value materialize(GraphValue &value);

  /// The elements; null where they are not known at import. `failed` says that
  /// reading them was an error.
  mlir::FailureOr<HostTensorRef> load(GraphValue &value);

  /// Whether a node or the graph's outputs refer to the value.
  bool isUsed(llvm::StringRef name) const { return uses.contains(name); }

  mlir::OpBuilder &getBuilder() { return builder; }
  const Model &getModel() const { return model; }

private:
  llvm::LogicalResult checkDims();
  llvm::LogicalResult importInitializers();
  llvm::LogicalResult importInput(const ::onnx::ValueInfoProto &input);
  mlir::FailureOr<mlir::RankedTensorType>
  bindType(mlir::Location loc, const ::onnx::ValueInfoProto &info);
  llvm::LogicalResult importNodes();
  /// Shardings.cpp. The name of the chosen configuration goes to
  /// `configuration`.
  llvm::LogicalResult chooseConfiguration();
  /// Fails where the node speaks of a configuration that the model has not.
  llvm::LogicalResult checkConfigurations(const ::onnx::NodeProto &node,
                                          int index);
  /// Marks the ops that came into being after `before`, null for all, with what
  /// the configuration says of the node.
  llvm::LogicalResult importShardings(const ::onnx::NodeProto &node, int index,
                                      mlir::Operation *before);
  llvm::LogicalResult importOutput(const ::onnx::ValueInfoProto &output);
  mlir::Location location(llvm::StringRef name);

  const Model &model;
  const OnnxImportOptions &options;
  mlir::OpBuilder builder;
  mlir::ModuleOp module;
  /// Where variables are inserted: before the function.
  mlir::Operation *function = nullptr;
  llvm::StringMap<std::shared_ptr<GraphValue>> values;
  llvm::StringSet<> uses;
  /// Names of all of them, used or not.
  llvm::StringSet<> initializers;
  /// Null where no sharding is asked for.
  const ::onnx::DeviceConfigurationProto *configuration = nullptr;
};

/// Replaces the erf and tanh forms of GELU by oneflow.gelu, which takes over
/// the shardings of x and of the result; those of values in between go with
/// them.
void recognizeGelu(mlir::Operation *function);

/// Removes pure ops without users, but inputs, and variables that nothing
/// reads.
void removeUnused(mlir::ModuleOp module);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_GRAPHIMPORTER_H
