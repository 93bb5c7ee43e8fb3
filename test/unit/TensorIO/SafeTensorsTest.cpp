//===- SafeTensorsTest.cpp - .safetensors files ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers written by hand, each wrong in one way; agreement with the reference
// implementation is tested in test/TensorIO.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/SafeTensors.h"
#include "TemporaryFolder.h"
#include "oneflow/TensorIO/AtomicFile.h"

using namespace oneflow::tensorio;

namespace {

Bytes file(const std::string &header, size_t dataBytes) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<uint8_t>(uint64_t(header.size()) >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (size_t i = 0; i < dataBytes; ++i)
    bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

Expected<SafeTensors> parse(const Bytes &bytes) {
  return parseSafeTensors(bytes.data(), bytes.size(), "x.safetensors");
}

TEST(SafeTensorsTest, ReadsTensorsAndMetadata) {
  Expected<SafeTensors> parsed =
      parse(file(R"({"__metadata__":{"step":"7"},)"
                 R"("b":{"dtype":"I16","shape":[2],"data_offsets":[1,5]},)"
                 R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                 R"("e":{"dtype":"F32","shape":[0,4],"data_offsets":[5,5]}}  )",
                 5));
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  EXPECT_EQ(parsed->metadata.at("step"), "7");
  ASSERT_EQ(parsed->tensors.size(), 3u);
  expectEqual(parsed->tensors.at("a"), makeTensor<uint8_t>(DType::U8, {}, {0}));
  expectEqual(parsed->tensors.at("b"),
              makeTensor<int16_t>(DType::I16, {2}, {0x0201, 0x0403}));
  EXPECT_EQ(parsed->tensors.at("e").shape, (Shape{0, 4}));
}

TEST(SafeTensorsTest, RefusesWithTheReason) {
  struct Row {
    const char *header;
    const char *reason;
  };
  const Row rows[] = {
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})",
       "tensor 'b' overlaps"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", "hole"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       "4 bytes at the end"},
      {R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})",
       "ends at byte 9 of 8"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       "f32 [3] does not fit its 8 bytes"},
      {R"({"a":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}})",
       "other than sizes"},
      {R"({"a":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}})",
       "other than sizes"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}})",
       "not a range"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0]}})", "not a range"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,4294967296],)"
       R"("data_offsets":[0,8]}})",
       "does not fit"},
      {R"({"a":{"dtype":"F8","shape":[8],"data_offsets":[0,8]}})",
       "'F8' of 'a' is not supported"},
      {R"({"a":{"dtype":"U8","shape":[8]}})", "lacks 'data_offsets'"},
      {R"({"a":[1]})", "not described by an object"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
       R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
       "names 'a' twice"},
      {R"({"__metadata__":{"n":1},)"
       R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
       "other than strings"},
      {R"({"a":[[[[[[[[[[[[1]]]]]]]]]]]]})", "nested too deeply"},
      {R"({"a":)", "not a JSON object"},
      {R"([])", "begin with '{'"},
      {"", "begin with '{'"}};
  for (const Row &row : rows) {
    Expected<SafeTensors> parsed = parse(file(row.header, 8));
    ASSERT_FALSE(parsed.ok()) << row.header;
    EXPECT_NE(parsed.message().find(row.reason), std::string::npos)
        << parsed.message();
    EXPECT_NE(parsed.message().find("'x.safetensors'"), std::string::npos);
  }
}

TEST(SafeTensorsTest, RefusesHeadersBeyondTheFile) {
  Bytes bytes = file("{}", 0);
  bytes[0] = 3;
  EXPECT_FALSE(parse(bytes).ok());
  // A size that overflows when 8 is added to it.
  std::fill(bytes.begin(), bytes.begin() + 8, 0xff);
  EXPECT_FALSE(parse(bytes).ok());
  EXPECT_FALSE(parse(Bytes(7)).ok());
}

TEST(SafeTensorsTest, RoundTripsAllDTypes) {
  TemporaryFolder folder;
  std::string path = folder.path("x.safetensors");
  SafeTensors written{tensorsOfAllDTypes(), {{"step", "12"}}};
  Status status = writeSafeTensors(path, written);
  ASSERT_TRUE(status.ok()) << status.message();
  Expected<SafeTensors> again = readSafeTensors(path);
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again->metadata, written.metadata);
  ASSERT_EQ(again->tensors.size(), written.tensors.size());
  for (const auto &[name, tensor] : written.tensors)
    expectEqual(again->tensors.at(name), tensor);
}

TEST(SafeTensorsTest, RefusesToWriteInconsistentTensors) {
  TemporaryFolder folder;
  Tensor broken{DType::F32, {2}, Bytes(7)};
  EXPECT_FALSE(writeSafeTensors(folder.path("x"), {{{"a", broken}}, {}}).ok());
  Tensor good{DType::F32, {2}, Bytes(8)};
  EXPECT_FALSE(
      writeSafeTensors(folder.path("x"), {{{"__metadata__", good}}, {}}).ok());
  EXPECT_EQ(folder.fileCount(), 0u);
}

TEST(SafeTensorsTest, SurvivesMutations) {
  TemporaryFolder folder;
  std::string path = folder.path("x.safetensors");
  ASSERT_TRUE(
      writeSafeTensors(path, {tensorsOfAllDTypes(), {{"a", "b"}}}).ok());
  Expected<Bytes> contents = readFile(path);
  ASSERT_TRUE(contents.ok());
  int refused = 0;
  parseMutations(*contents, 1000, [&](const Bytes &bytes) {
    Expected<SafeTensors> parsed = parse(bytes);
    refused += !parsed.ok();
    if (!parsed.ok())
      return;
    for (const auto &[name, tensor] : parsed->tensors)
      EXPECT_TRUE(isConsistent(tensor));
  });
  EXPECT_GT(refused, 500);
}

} // namespace
