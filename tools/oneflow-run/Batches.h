//===- Batches.h - data of any length through one batch ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is compiled for one batch size, the leading extent of its inputs. What
// is here runs data with any number of samples through it, batch by batch, the
// last one filled up with zeros.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_BATCHES_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_BATCHES_H

#include "Handles.h"

namespace oneflow::run {

/// How data is laid over the runs of an entry.
struct Batching {
  /// Leading extent of the plan's inputs; 0 when the data fits one run as it
  /// is.
  int64_t batch = 0;
  int64_t samples = 0;
  /// Per input: cut into batches, rather than given whole to every run.
  std::vector<bool> cut;

  bool isNeeded() const { return batch != 0; }
  int64_t runs() const {
    return isNeeded() ? (samples + batch - 1) / batch : 1;
  }
  /// Samples in the last run that are padding.
  int64_t padding() const { return runs() * batch - samples; }
};

/// Compares data with the entry's inputs, one tensor for each. Inputs of just
/// the plan's shapes need no batching; else all that differ must differ in
/// their leading extent only, in the same way, and every output must have the
/// batch as its leading extent. The error names what does not fit.
Expected<Batching> planBatches(const Entry &entry,
                               const std::vector<const Tensor *> &data);

/// The leading extent that all of the entry's inputs share.
Expected<int64_t> leadingBatch(const Entry &entry);

/// Copies rows (slices of dimension 0) `rows[0..count)` of `source` to the
/// front of `target`, and zeroes the rows behind. Shapes must agree but for
/// dimension 0.
void gatherRows(const Tensor &source, const int64_t *rows, int64_t count,
                Tensor &target);

/// Runs an entry batch by batch. Refers to its arguments, which must outlive
/// it.
class BatchRunner {
public:
  BatchRunner(Session &session, const Entry &entry,
              std::vector<const Tensor *> data, Batching batching);

  /// Runs batch `index` of batching.runs(); its number of samples without the
  /// padding, or 0 where there is no batching.
  Expected<int64_t> run(int64_t index);
  /// Of the last run, padding included.
  const std::vector<Tensor> &outputs() const { return results; }

private:
  Session &session;
  const Entry &entry;
  std::vector<const Tensor *> data;
  Batching batching;
  std::vector<Tensor> staging;
  std::vector<const Tensor *> inputs;
  std::vector<Tensor> results;
};

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_BATCHES_H
