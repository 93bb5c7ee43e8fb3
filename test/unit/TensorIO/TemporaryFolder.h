//===- TemporaryFolder.h - files of one test --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of its own for every test, removed with what is in it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H
#define ONEFLOW_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H

#include "oneflow/TensorIO/Tensor.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace oneflow::tensorio {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "oneflow-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return (folder / name).string();
  }
  size_t fileCount() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder),
                      std::filesystem::directory_iterator()));
  }

private:
  std::filesystem::path folder;
};

template <typename T>
Tensor makeTensor(DType dtype, Shape shape, const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return {dtype, std::move(shape), std::move(bytes)};
}

inline void expectEqual(const Tensor &got, const Tensor &expected) {
  EXPECT_STREQ(dtypeName(got.dtype), dtypeName(expected.dtype));
  EXPECT_EQ(got.shape, expected.shape);
  EXPECT_EQ(got.bytes, expected.bytes);
}

/// One tensor of every dtype, with different shapes: a scalar, an empty one,
/// and some of up to three dimensions. Bools hold 0 and 1 only.
inline TensorMap tensorsOfAllDTypes() {
  const Shape shapes[] = {{}, {0, 3}, {5}, {2, 3}, {2, 1, 3}};
  TensorMap tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    Tensor tensor = Tensor::zeros(dtype, shapes[i % 5]);
    for (size_t j = 0; j < tensor.bytes.size(); ++j)
      tensor.bytes[j] =
          static_cast<uint8_t>(dtype == DType::Bool ? j % 2 : 17 * j + i);
    tensors[std::string("t.") + dtypeName(dtype)] = tensor;
  }
  return tensors;
}

/// Calls `parse` with damaged copies of `good`: cut short, bits flipped, bytes
/// overwritten, pieces doubled or removed. That `parse` returns is the test;
/// the seed is fixed, so that a failure comes again.
template <typename Parse>
void parseMutations(const Bytes &good, int count, Parse parse) {
  std::mt19937 random(20240229);
  auto below = [&](size_t bound) { return bound ? random() % bound : 0; };
  for (int i = 0; i < count; ++i) {
    Bytes bytes = good;
    // Headers decide most, so half of the damage goes to the first bytes.
    size_t reach = i % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 160);
    size_t place = below(reach);
    auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    size_t length = std::min(1 + below(8), bytes.size() - place);
    auto end = at + static_cast<std::ptrdiff_t>(length);
    switch (i % 5) {
    case 0:
      bytes.resize(place);
      break;
    case 1:
      *at = static_cast<uint8_t>(*at ^ (1u << below(8)));
      break;
    case 2:
      for (; at != end; ++at)
        *at = static_cast<uint8_t>(random());
      break;
    case 3:
      bytes.erase(at, end);
      break;
    case 4: {
      Bytes piece(at, end);
      bytes.insert(at, piece.begin(), piece.end());
      break;
    }
    }
    parse(bytes);
  }
}

} // namespace oneflow::tensorio

#endif // ONEFLOW_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H
