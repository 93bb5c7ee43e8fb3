//===- OnnxTest.cpp - tensors and weights of ONNX -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Protos are built with protobuf's own classes; agreement with the onnx package
// is tested in test/TensorIO.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Onnx.h"
#include "TemporaryFolder.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include "onnx-ml.pb.h"

using namespace oneflow::tensorio;

namespace {

Bytes serialize(const google::protobuf::MessageLite &message) {
  std::string text = message.SerializeAsString();
  return {text.begin(), text.end()};
}

Expected<NamedTensor> parse(const onnx::TensorProto &proto) {
  Bytes bytes = serialize(proto);
  return parseTensorProto(bytes.data(), bytes.size(), "x.pb");
}

TEST(OnnxTensorTest, ReadsTypedFields) {
  onnx::TensorProto proto;
  proto.set_name("w");
  proto.add_dims(3);
  proto.set_data_type(onnx::TensorProto::INT8);
  for (int value : {-1, 0, 127})
    proto.add_int32_data(value);
  Expected<NamedTensor> named = parse(proto);
  ASSERT_TRUE(named.ok()) << named.message();
  EXPECT_EQ(named->name, "w");
  expectEqual(named->tensor, makeTensor<int8_t>(DType::I8, {3}, {-1, 0, 127}));

  proto.clear_int32_data();
  proto.set_data_type(onnx::TensorProto::UINT32);
  for (uint64_t value : {1u, 2u, 4000000000u})
    proto.add_uint64_data(value);
  named = parse(proto);
  ASSERT_TRUE(named.ok()) << named.message();
  expectEqual(named->tensor,
              makeTensor<uint32_t>(DType::U32, {3}, {1, 2, 4000000000u}));
}

TEST(OnnxTensorTest, RefusesWithTheReason) {
  onnx::TensorProto proto;
  proto.add_dims(2);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_float_data(1);
  EXPECT_NE(parse(proto).message().find("f32 [2] holds 4 bytes"),
            std::string::npos)
      << parse(proto).message();
  proto.set_data_type(onnx::TensorProto::STRING);
  EXPECT_NE(parse(proto).message().find("not supported, number 8"),
            std::string::npos);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_NE(parse(proto).message().find("external data"), std::string::npos);
}

TEST(OnnxTensorTest, RoundTripsAllDTypes) {
  TemporaryFolder folder;
  for (const auto &[name, tensor] : tensorsOfAllDTypes()) {
    std::string path = folder.path(name + ".pb");
    Status status = writeTensorProto(path, {name, tensor});
    ASSERT_TRUE(status.ok()) << status.message();
    Expected<NamedTensor> again = readTensorProto(path);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(again->name, name);
    expectEqual(again->tensor, tensor);
  }
}

TEST(OnnxTensorTest, SurvivesMutations) {
  TemporaryFolder folder;
  std::string path = folder.path("x.pb");
  for (const auto &[name, tensor] : tensorsOfAllDTypes()) {
    ASSERT_TRUE(writeTensorProto(path, {name, tensor}).ok());
    Expected<Bytes> contents = readFile(path);
    ASSERT_TRUE(contents.ok());
    parseMutations(*contents, 100, [&](const Bytes &bytes) {
      Expected<NamedTensor> parsed =
          parseTensorProto(bytes.data(), bytes.size(), "x.pb");
      if (parsed.ok())
        EXPECT_TRUE(isConsistent(parsed->tensor));
    });
  }
}

/// Initializers `w` f32 [2] and `kept` i64 [1], and a Constant `c` f32 [1].
onnx::ModelProto makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  onnx::GraphProto &graph = *model.mutable_graph();
  onnx::TensorProto &weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(2);
  weight.add_float_data(1);
  weight.add_float_data(2);
  onnx::TensorProto &kept = *graph.add_initializer();
  kept.set_name("kept");
  kept.set_data_type(onnx::TensorProto::INT64);
  kept.add_dims(1);
  kept.add_int64_data(7);
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type("Constant");
  node.add_output("c");
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute.mutable_t()->add_dims(1);
  attribute.mutable_t()->add_float_data(3);
  return model;
}

TEST(OnnxModelTest, ReplacesInitializersAndConstants) {
  onnx::ModelProto model = makeModel();
  EXPECT_EQ(*listModelTensors(serialize(model)),
            (std::vector<std::string>{"c", "kept", "w"}));
  Tensor weight = makeTensor<float>(DType::F32, {2}, {10, 20});
  Tensor constant = makeTensor<float>(DType::F32, {1}, {30});
  Expected<Bytes> bytes =
      writeTrainedModel(serialize(model), {{"w", weight}, {"c", constant}});
  ASSERT_TRUE(bytes.ok()) << bytes.message();

  // Nothing but the two values differs.
  onnx::ModelProto trained;
  ASSERT_TRUE(
      trained.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())));
  auto take = [](onnx::TensorProto &proto) {
    std::string raw = proto.raw_data();
    proto.clear_raw_data();
    return Bytes(raw.begin(), raw.end());
  };
  onnx::GraphProto &graph = *trained.mutable_graph();
  EXPECT_EQ(take(*graph.mutable_initializer(0)), weight.bytes);
  EXPECT_EQ(take(*graph.mutable_node(0)->mutable_attribute(0)->mutable_t()),
            constant.bytes);
  model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  model.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_t()
      ->clear_float_data();
  EXPECT_EQ(serialize(trained), serialize(model));
}

TEST(OnnxModelTest, RefusesWithTheReason) {
  Bytes model = serialize(makeModel());
  Tensor weight = makeTensor<float>(DType::F32, {2}, {10, 20});
  Tensor other = makeTensor<double>(DType::F64, {2}, {10, 20});
  EXPECT_NE(writeTrainedModel(model, {{"v", weight}})
                .message()
                .find("no initializer or constant 'v'"),
            std::string::npos);
  EXPECT_NE(writeTrainedModel(model, {{"w", other}})
                .message()
                .find("'w' is f32 [2], got: f64 [2]"),
            std::string::npos);
  EXPECT_FALSE(writeTrainedModel(Bytes(20, 0xff), {}).ok());
  EXPECT_FALSE(writeTrainedModel({}, {}).ok());
}

TEST(OnnxModelTest, EveryInitializerNeedsAValue) {
  onnx::ModelProto model = makeModel();
  model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  EXPECT_NE(writeTrainedModel(serialize(model), {})
                .message()
                .find("no value is given for the model's initializer 'w'"),
            std::string::npos);
  Tensor weight = makeTensor<float>(DType::F32, {2}, {10, 20});
  EXPECT_TRUE(writeTrainedModel(serialize(model), {{"w", weight}}).ok());
}

TEST(OnnxModelTest, SurvivesMutations) {
  Tensor weight = makeTensor<float>(DType::F32, {2}, {10, 20});
  parseMutations(serialize(makeModel()), 500, [&](const Bytes &bytes) {
    (void)listModelTensors(bytes).ok();
    (void)writeTrainedModel(bytes, {{"w", weight}}).ok();
  });
}

} // namespace
