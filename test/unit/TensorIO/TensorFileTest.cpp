//===- TensorFileTest.cpp - tensors, whole files, formats -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes and element access, atomic writing, and the choice of a format.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/TensorFile.h"
#include "TemporaryFolder.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include <cmath>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace oneflow::tensorio;

namespace {

TEST(TensorTest, SizesAreChecked) {
  EXPECT_EQ(tensorSize(DType::F32, {})->bytes, 4u);
  EXPECT_EQ(tensorSize(DType::F64, {2, 3})->bytes, 48u);
  EXPECT_EQ(tensorSize(DType::F64, {2, 0})->elements, 0u);
  EXPECT_FALSE(tensorSize(DType::F32, {-1}));
  constexpr int64_t huge = int64_t(1) << 31;
  EXPECT_FALSE(tensorSize(DType::F32, {huge, huge}));
  EXPECT_FALSE(tensorSize(DType::F32, {huge, huge, 0}));
  EXPECT_TRUE(tensorSize(DType::U8, {huge, huge - 1}));
}

TEST(TensorTest, ElementsAsDoubles) {
  auto one = [](DType dtype, auto value) {
    return elementAsDouble(makeTensor<decltype(value)>(dtype, {1}, {value}), 0);
  };
  EXPECT_EQ(one(DType::I8, int8_t(-5)), -5);
  EXPECT_EQ(one(DType::U64, uint64_t(1) << 63), 9223372036854775808.0);
  EXPECT_EQ(one(DType::F32, 0.5f), 0.5);
  // IEEE 754 binary16: 1.0, the smallest subnormal, -65504, infinity, NaN.
  EXPECT_EQ(one(DType::F16, uint16_t(0x3c00)), 1.0);
  EXPECT_EQ(one(DType::F16, uint16_t(0x0001)), std::ldexp(1.0, -24));
  EXPECT_EQ(one(DType::F16, uint16_t(0xfbff)), -65504.0);
  EXPECT_TRUE(std::isinf(one(DType::F16, uint16_t(0x7c00))));
  EXPECT_TRUE(std::isnan(one(DType::F16, uint16_t(0x7e00))));
  EXPECT_EQ(one(DType::BF16, uint16_t(0xc040)), -3.0);
}

TEST(AtomicFileTest, LeavesNothingUnlessCommitted) {
  TemporaryFolder folder;
  std::string path = folder.path("x");
  ASSERT_TRUE(writeFile(path, {'o', 'l', 'd'}).ok());
  {
    Expected<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new", 3).ok());
    EXPECT_EQ(*readFile(path), (Bytes{'o', 'l', 'd'}));
  }
  EXPECT_EQ(folder.fileCount(), 1u);
  EXPECT_EQ(*readFile(path), (Bytes{'o', 'l', 'd'}));
  ASSERT_TRUE(writeFile(path, {'n', 'e', 'w'}).ok());
  EXPECT_EQ(*readFile(path), (Bytes{'n', 'e', 'w'}));
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(AtomicFileTest, NamesWhatCannotBeWritten) {
  TemporaryFolder folder;
  std::string path = folder.path("missing/x");
  Status status = writeFile(path, {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path), std::string::npos);
  EXPECT_FALSE(writeFile(folder.path(""), {}).ok());
  EXPECT_FALSE(readFile(folder.path("")).ok());
  EXPECT_FALSE(readFile(folder.path("none")).ok());
}

TEST(AtomicFileTest, KeepsLinksAndDevices) {
  TemporaryFolder folder;
  std::string link = folder.path("link"), target = folder.path("target");
  ASSERT_TRUE(writeFile(target, {'o', 'l', 'd'}).ok());
  ASSERT_EQ(::symlink("target", link.c_str()), 0);
  ASSERT_TRUE(writeFile(link, {'n', 'e', 'w'}).ok());
  EXPECT_EQ(*readFile(target), (Bytes{'n', 'e', 'w'}));
  struct stat info;
  ASSERT_EQ(::lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));

  // Reached by a link, so that a mistake here replaces the link only.
  std::string device = folder.path("device");
  ASSERT_EQ(::symlink("/dev/full", device.c_str()), 0);
  Status status = writeFile(device, {'x'});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(device), std::string::npos);
  ASSERT_EQ(::stat(device.c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(TensorFileTest, ExtensionsDecide) {
  EXPECT_EQ(*fileFormat("a.b/c.NPY"), FileFormat::Npy);
  EXPECT_EQ(*fileFormat("x.npz"), FileFormat::Npz);
  EXPECT_EQ(*fileFormat("x.safetensors"), FileFormat::SafeTensors);
  EXPECT_EQ(*fileFormat("x.pb"), FileFormat::TensorProto);
  EXPECT_FALSE(fileFormat("a.npy/x").ok());
  EXPECT_FALSE(fileFormat("x.txt").ok());
}

TEST(TensorFileTest, WritesAndReadsByExtension) {
  TemporaryFolder folder;
  TensorMap one = {{"a", makeTensor<int32_t>(DType::I32, {2}, {1, -1})}};
  for (const char *name : {"x.npz", "x.safetensors"}) {
    ASSERT_TRUE(writeTensors(folder.path(name), one).ok());
    expectEqual(readTensors(folder.path(name))->at("a"), one["a"]);
  }
  ASSERT_TRUE(writeTensors(folder.path("x.npy"), one).ok());
  expectEqual(readTensors(folder.path("x.npy"))->at(""), one["a"]);
  TensorMap two = one;
  two["b"] = one["a"];
  EXPECT_FALSE(writeTensors(folder.path("y.npy"), two).ok());
}

} // namespace
