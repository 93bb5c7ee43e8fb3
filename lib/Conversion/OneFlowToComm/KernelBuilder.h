//===- KernelBuilder.h - building comm.kernel -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects a kernel's inputs while its body is built: tensors are known
// beforehand, scalars are asked for on the way.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_KERNELBUILDER_H
#define ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_KERNELBUILDER_H

#include "LocalShape.h"

#include "llvm/ADT/MapVector.h"

#include <memory>

namespace oneflow {

/// The comm.scalar ops of one function: each is made once, at the function's
/// begin.
class ScalarValues {
public:
  explicit ScalarValues(mlir::Block *entry) : entry(entry) {}
  mlir::Value get(comm::ScalarAttr scalar, mlir::Location loc);

private:
  mlir::Block *entry;
  llvm::DenseMap<mlir::Attribute, mlir::Value> values;
};

/// Whether a tensor of `type` has no element, whatever its other extents.
bool isEmpty(mlir::RankedTensorType type);

/// One kernel under construction; see LocalView for what ops ask of it. Tensors
/// without elements do not come from other kernels: the kernel makes its own,
/// so that it neither waits for them nor needs memory for them.
class RankKernelBuilder : public LocalView {
public:
  RankKernelBuilder(ScalarValues &scalars, mlir::Location loc,
                    mlir::ValueRange tensors, std::vector<LocalShape> operands,
                    std::vector<LocalShape> results);
  ~RankKernelBuilder() override;

  /// Builder inside the kernel's body.
  mlir::OpBuilder &getBody() { return body; }
  /// The body's argument for a scalar; a constant 0 for null.
  mlir::Value getScalar(comm::ScalarAttr scalar);
  /// Extents of a local shape, inside the kernel.
  mlir::SmallVector<mlir::OpFoldResult> getExtents(const LocalShape &shape);
  /// Tensors of the results' shapes that hold zeros.
  mlir::SmallVector<mlir::Value> makeZeros();

  /// Ends the body with `values` and makes the op at the builder's place.
  comm::KernelOp finish(mlir::OpBuilder &builder, llvm::StringRef name,
                        mlir::FlatSymbolRefAttr placement,
                        mlir::ValueRange values);

  mlir::Value getOperand(unsigned index) override;
  mlir::RankedTensorType getResultType(unsigned index) override;
  mlir::SmallVector<mlir::OpFoldResult>
  getResultExtents(unsigned index) override;
  mlir::OpFoldResult getOperandOffset(unsigned index, unsigned dim) override;
  mlir::OpFoldResult getResultOffset(unsigned index, unsigned dim) override;

private:
  mlir::OpFoldResult getOffset(const LocalShape &shape, unsigned dim);
  mlir::Value makeZeros(const LocalShape &shape);

  ScalarValues &scalars;
  mlir::Location loc;
  mlir::SmallVector<mlir::Value> inputs;
  /// The tensors in the body; null where one is without elements and was not
  /// asked for yet.
  mlir::SmallVector<mlir::Value> tensors;
  std::vector<LocalShape> operands, results;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder body;
  llvm::DenseMap<mlir::Attribute, mlir::Value> arguments;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_KERNELBUILDER_H
