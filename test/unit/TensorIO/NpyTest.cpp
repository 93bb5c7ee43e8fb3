//===- NpyTest.cpp - .npy and .npz files ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes of headers here are written by hand after numpy.lib.format;
// agreement with NumPy itself is tested in test/TensorIO.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Npy.h"
#include "TemporaryFolder.h"
#include "oneflow/TensorIO/AtomicFile.h"
#include "oneflow/TensorIO/Npz.h"

using namespace oneflow::tensorio;

namespace {

Bytes npyFile(const std::string &header, const Bytes &data, int major = 1) {
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<uint8_t>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Expected<Tensor> parse(const Bytes &file) {
  return parseNpy(file.data(), file.size(), "x.npy");
}

TEST(NpyTest, ReadsFortranOrder) {
  // Columns of [[1, 2, 3], [4, 5, 6]].
  Expected<Tensor> tensor = parse(
      npyFile("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
              {1, 4, 2, 5, 3, 6}));
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  expectEqual(*tensor,
              makeTensor<uint8_t>(DType::U8, {2, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST(NpyTest, ReadsFortranOrderOfThreeDimensions) {
  // Element [i][j][k] of shape 2x3x2 holds 100i + 10j + k.
  std::vector<uint16_t> columns, rows;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i)
        columns.push_back(static_cast<uint16_t>(100 * i + 10 * j + k));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k)
        rows.push_back(static_cast<uint16_t>(100 * i + 10 * j + k));
  Expected<Tensor> tensor = parse(
      npyFile("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 2)}",
              makeTensor<uint16_t>(DType::U16, {12}, columns).bytes));
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  expectEqual(*tensor, makeTensor<uint16_t>(DType::U16, {2, 3, 2}, rows));
}

TEST(NpyTest, ReadsAllVersionsAndSpellings) {
  for (int major : {1, 2, 3}) {
    Expected<Tensor> tensor = parse(
        npyFile("{\"shape\": (2L,), 'fortran_order':False,'descr':'<i2'}\n",
                {1, 0, 2, 0}, major));
    ASSERT_TRUE(tensor.ok()) << tensor.message();
    expectEqual(*tensor, makeTensor<int16_t>(DType::I16, {2}, {1, 2}));
  }
}

TEST(NpyTest, RefusesWithTheReason) {
  struct Row {
    const char *header;
    const char *reason;
  };
  const Row rows[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
       "not little-endian"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
       "'<c8' is not supported"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
       "structured"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
       "expected the data of f32 [2], 8 bytes, got: 4 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': "
       "(4294967296, 4294967296, 4)}",
       "got: 4 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "'shape'"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
      {"{'descr': '<f4', 'descr': '<f4'}", "repeated"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
       "neither True nor False"},
      {"[1]", "not a Python dict"}};
  for (const Row &row : rows) {
    Expected<Tensor> tensor = parse(npyFile(row.header, {0, 0, 0, 0}));
    ASSERT_FALSE(tensor.ok()) << row.header;
    EXPECT_NE(tensor.message().find(row.reason), std::string::npos)
        << tensor.message();
    EXPECT_EQ(tensor.message().rfind("'x.npy'", 0), 0u) << tensor.message();
  }
}

TEST(NpyTest, RoundTripsAllDTypes) {
  TemporaryFolder folder;
  for (const auto &[name, tensor] : tensorsOfAllDTypes()) {
    std::string path = folder.path(name + ".npy");
    ASSERT_TRUE(writeNpy(path, tensor).ok());
    Expected<Tensor> again = readNpy(path);
    ASSERT_TRUE(again.ok()) << again.message();
    expectEqual(*again, tensor);
    // The data is aligned as NumPy aligns it.
    EXPECT_EQ((encodeNpy(tensor).size() - tensor.bytes.size()) % 64, 0u);
  }
}

TEST(NpyTest, SurvivesMutations) {
  Tensor tensor = makeTensor<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  int refused = 0;
  parseMutations(encodeNpy(tensor), 500, [&](const Bytes &bytes) {
    Expected<Tensor> parsed = parse(bytes);
    refused += !parsed.ok();
    if (parsed.ok())
      EXPECT_TRUE(isConsistent(*parsed));
  });
  EXPECT_GT(refused, 250);
}

TEST(NpzTest, RoundTripsStoredAndDeflated) {
  TemporaryFolder folder;
  for (NpzCompression compression :
       {NpzCompression::Stored, NpzCompression::Deflated}) {
    std::string path = folder.path("x.npz");
    TensorMap tensors = tensorsOfAllDTypes();
    tensors["zeros"] = Tensor::zeros(DType::F64, {1000, 100});
    Status status = writeNpz(path, tensors, compression);
    ASSERT_TRUE(status.ok()) << status.message();
    bool isSmall = std::filesystem::file_size(path) < 100'000;
    EXPECT_EQ(isSmall, compression == NpzCompression::Deflated);
    Expected<TensorMap> again = readNpz(path);
    ASSERT_TRUE(again.ok()) << again.message();
    ASSERT_EQ(again->size(), tensors.size());
    for (const auto &[name, tensor] : tensors)
      expectEqual((*again)[name], tensor);
  }
}

TEST(NpzTest, RefusesWhatIsNoArchive) {
  Expected<TensorMap> tensors = parseNpz(Bytes(100, 'x'), "x.npz");
  ASSERT_FALSE(tensors.ok());
  EXPECT_NE(tensors.message().find("'x.npz'"), std::string::npos);
  EXPECT_FALSE(parseNpz({}, "x.npz").ok());
}

TEST(NpzTest, FindsDamagedData) {
  TemporaryFolder folder;
  std::string path = folder.path("x.npz");
  Tensor tensor = Tensor::zeros(DType::U8, {256});
  ASSERT_TRUE(writeNpz(path, {{"a", tensor}}).ok());
  Expected<Bytes> contents = readFile(path);
  ASSERT_TRUE(contents.ok());
  // Behind the local header and the .npy header lies the data.
  (*contents)[300] ^= 1;
  Expected<TensorMap> damaged = parseNpz(*contents, "x.npz");
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.message().find("x.npz:a.npy"), std::string::npos)
      << damaged.message();
}

TEST(NpzTest, SurvivesMutations) {
  TemporaryFolder folder;
  std::string path = folder.path("x.npz");
  TensorMap tensors = tensorsOfAllDTypes();
  for (NpzCompression compression :
       {NpzCompression::Stored, NpzCompression::Deflated}) {
    ASSERT_TRUE(writeNpz(path, tensors, compression).ok());
    Expected<Bytes> contents = readFile(path);
    ASSERT_TRUE(contents.ok());
    parseMutations(*contents, 500, [&](const Bytes &bytes) {
      Expected<TensorMap> parsed = parseNpz(bytes, "x.npz");
      if (!parsed.ok())
        return;
      for (const auto &[name, tensor] : *parsed)
        EXPECT_TRUE(isConsistent(tensor));
    });
  }
}

} // namespace
