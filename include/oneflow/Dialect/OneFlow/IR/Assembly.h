//===- OneFlow/IR/Assembly.h - text forms shared by ops ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The custom directives of the dialect's assembly formats.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ASSEMBLY_H
#define ONEFLOW_DIALECT_ONEFLOW_IR_ASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace oneflow {

class NdSbpAttr;
class SignatureAttr;

/// `[S(0), B]`
mlir::ParseResult parseNdSbp(mlir::AsmParser &parser, NdSbpAttr &sbp);
void printNdSbp(mlir::AsmPrinter &printer, NdSbpAttr sbp);
void printNdSbp(mlir::AsmPrinter &printer, mlir::Operation *op, NdSbpAttr sbp);

/// `([S(0)], [B]) -> ([S(0)])`
mlir::ParseResult parseSignature(mlir::AsmParser &parser, SignatureAttr &sig);
void printSignature(mlir::AsmPrinter &printer, SignatureAttr sig);

/// `on @mesh sbp ([S(0)]) -> ([S(0)])`; each half may be absent.
mlir::ParseResult parseSpread(mlir::OpAsmParser &parser,
                              mlir::FlatSymbolRefAttr &placement,
                              SignatureAttr &signature);
void printSpread(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                 mlir::FlatSymbolRefAttr placement, SignatureAttr signature);

/// `[dp = 2, tp = 2]`
mlir::ParseResult parseMeshAxes(mlir::OpAsmParser &parser,
                                mlir::ArrayAttr &names,
                                mlir::DenseI64ArrayAttr &sizes);
void printMeshAxes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::ArrayAttr names, mlir::DenseI64ArrayAttr sizes);

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ASSEMBLY_H
