//===- Indexing.h - which elements an operator takes ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Slice, Split and Concat say about their axes, for folding and for
// building alike.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_INDEXING_H
#define ONEFLOW_LIB_IMPORT_INDEXING_H

#include "NodeImporter.h"

namespace oneflow::importer {

/// The positions first, first + step, ... of an axis, `count` of them. The step
/// is 1 where there are fewer than two.
struct AxisRange {
  int64_t first = 0, count = 0, step = 1;

  std::vector<int64_t> positions() const;
};

/// What a Slice takes from each dimension of its input.
mlir::FailureOr<llvm::SmallVector<AxisRange>> readSlice(NodeImporter &node);

struct SplitParts {
  int64_t axis = 0;
  /// One extent per output; they add up to the input's.
  std::vector<int64_t> extents;
};
mlir::FailureOr<SplitParts> readSplit(NodeImporter &node);

struct ConcatShape {
  int64_t axis = 0;
  llvm::SmallVector<int64_t> shape;
};
/// Checks the types of all inputs.
mlir::FailureOr<ConcatShape> readConcat(NodeImporter &node);

/// The axis of a Gather; checks the type of the indices.
mlir::FailureOr<int64_t> readGatherAxis(NodeImporter &node);
/// Known indices as positions below `extent`, or an error.
mlir::FailureOr<std::vector<int64_t>>
readGatherPositions(NodeImporter &node, const HostTensor &indices,
                    int64_t extent);

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_INDEXING_H
