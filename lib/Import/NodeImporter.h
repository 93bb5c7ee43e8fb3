//===- NodeImporter.h - one node, as its handler sees it --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, attributes, results and errors of a node. A handler reads what it
// knows; an attribute that no handler asked for is an error afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_NODEIMPORTER_H
#define ONEFLOW_LIB_IMPORT_NODEIMPORTER_H

#include "GraphImporter.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/StringSet.h"

namespace oneflow::importer {

/// Tensors of more elements than this are not folded.
inline constexpr int64_t kFoldLimit = 1 << 16;

class NodeImporter {
public:
  NodeImporter(GraphImporter &graph, const ::onnx::NodeProto &node, int index);

  int64_t opset() const { return graph.getModel().opset; }
  int index() const { return nodeIndex; }
  mlir::Location loc() const { return location; }
  mlir::OpBuilder &builder() { return graph.getBuilder(); }
  GraphImporter &importer() { return graph; }
  const ::onnx::NodeProto &proto() const { return node; }
  /// "ai.onnx::Gemm-13"
  std::string operatorName() const;
  /// An error that begins with the node and its operator.
  mlir::InFlightDiagnostic error() const;

  // Inputs. An empty name stands for an absent one.
  unsigned inputCount() const { return node.input_size(); }
  bool hasInput(unsigned i) const;
  mlir::RankedTensorType inputType(unsigned i);
  /// Null, with an error, where it cannot be made.
  mlir::Value input(unsigned i);
  /// The elements where they are known, weights included; null where they are
  /// not.
  mlir::FailureOr<HostTensorRef> knownInput(unsigned i);
  /// The elements, or an error that says what the input is needed for.
  mlir::FailureOr<HostTensorRef> constantInput(unsigned i,
                                               llvm::StringRef role);
  /// The same for integers of rank 0 or 1.
  mlir::FailureOr<std::vector<int64_t>> constantInts(unsigned i,
                                                     llvm::StringRef role);
  /// Whether all inputs are known, small, and not weights.
  mlir::FailureOr<bool> canFold();

  // Attributes, by the type that the operator gives them.
  bool hasAttribute(llvm::StringRef name) const { return attribute(name); }
  mlir::FailureOr<int64_t> intAttribute(llvm::StringRef name,
                                        int64_t otherwise);
  mlir::FailureOr<double> floatAttribute(llvm::StringRef name,
                                         double otherwise);
  mlir::FailureOr<std::string> stringAttribute(llvm::StringRef name,
                                               llvm::StringRef otherwise);
  /// Nothing where the attribute is absent.
  mlir::FailureOr<std::optional<std::vector<int64_t>>>
  intsAttribute(llvm::StringRef name);
  /// The attribute of that name and type; null where it is absent.
  mlir::FailureOr<const ::onnx::AttributeProto *>
  typedAttribute(llvm::StringRef name,
                 ::onnx::AttributeProto::AttributeType type);
  llvm::LogicalResult checkAttributes();

  /// `axis` counted from the front, or an error. `end` allows the axis behind
  /// the last.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank,
                                         bool end = false);
  /// The same for a list, which must be free of duplicates; sorted.
  mlir::FailureOr<std::vector<int64_t>>
  normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  // Results.
  bool isUsed(unsigned output) const;
  llvm::LogicalResult setResult(mlir::Value value, unsigned output = 0);
  llvm::LogicalResult setData(HostTensor data, unsigned output = 0);
  /// The result is the input itself.
  llvm::LogicalResult forwardInput(unsigned input, unsigned output = 0);

  // Building blocks that several operators need.
  mlir::Value scalar(double value, mlir::Type elementType);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  /// NumPy's broadcast of two shapes, or an error.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  broadcastShapes(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);
  template <typename Op> mlir::Value unary(mlir::Value x) {
    return Op::create(builder(), location, x.getType(), x,
                      mlir::FlatSymbolRefAttr(), SignatureAttr());
  }
  /// Null, with an error, where types do not match or shapes do not broadcast.
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    mlir::Type type = binaryType(lhs, rhs);
    if (!type)
      return {};
    return Op::create(builder(), location, type, lhs, rhs,
                      mlir::FlatSymbolRefAttr(), SignatureAttr());
  }
  /// An error unless the input's elements are floats (or any number, or
  /// booleans).
  llvm::LogicalResult requireFloat(unsigned input);
  llvm::LogicalResult requireNumber(unsigned input);
  llvm::LogicalResult requireBoolean(unsigned input);

private:
  mlir::Type binaryType(mlir::Value lhs, mlir::Value rhs);
  const ::onnx::AttributeProto *attribute(llvm::StringRef name) const;

  GraphImporter &graph;
  const ::onnx::NodeProto &node;
  int nodeIndex;
  mlir::Location location;
  llvm::StringSet<> knownAttributes;
};

/// Builds what a node stands for, by the operator table.
llvm::LogicalResult importNode(GraphImporter &graph,
                               const ::onnx::NodeProto &node, int index);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_NODEIMPORTER_H
