//===- TensorData.h - values of TensorProtos --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and elements of ONNX tensors, stored in the model or beside it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_TENSORDATA_H
#define ONEFLOW_LIB_IMPORT_TENSORDATA_H

#include "HostTensor.h"

#include "mlir/IR/Diagnostics.h"
#include "onnx-ml.pb.h"

namespace oneflow::importer {

/// Null for types that the dialect does not have: unsigned integers, strings,
/// complex numbers, floats of eight bits and fewer.
mlir::Type convertElementType(mlir::MLIRContext *context, int32_t onnxType);

/// ONNX's name of a type, "FLOAT", or its number where it has none.
std::string elementTypeName(int32_t onnxType);

/// The element types that convertElementType knows, for messages.
llvm::StringRef supportedElementTypes();

/// Type and extents of a tensor; an error at `loc` where they are bad. `what`
/// names the tensor.
mlir::FailureOr<mlir::RankedTensorType>
tensorTypeOf(mlir::Location loc, llvm::StringRef what,
             const ::onnx::TensorProto &tensor);

/// Checks that as many elements are there as the extents say, without copying
/// them. Only looks at the file's size where the data is external.
llvm::LogicalResult checkTensor(mlir::Location loc, llvm::StringRef what,
                                const ::onnx::TensorProto &tensor,
                                llvm::StringRef modelPath);

/// The elements. External data is looked for in the folder of `modelPath`.
mlir::FailureOr<HostTensor> loadTensor(mlir::Location loc, llvm::StringRef what,
                                       const ::onnx::TensorProto &tensor,
                                       llvm::StringRef modelPath);

/// Whether the elements are stored outside the model.
bool isExternal(const ::onnx::TensorProto &tensor);

/// Appends to `bytes` the `expected` bytes of a tensor stored outside the
/// model; with null `bytes` only checks that they are there.
llvm::LogicalResult readExternalData(mlir::Location loc, llvm::StringRef what,
                                     const ::onnx::TensorProto &tensor,
                                     llvm::StringRef modelPath,
                                     uint64_t expected,
                                     std::vector<char> *bytes);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_TENSORDATA_H
