# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models for the tests of SBP hints, and a way to shard them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, *shape):
    values = np.random.default_rng(len(name)).uniform(-1, 1, shape)
    return numpy_helper.from_array(values.astype(np.float32), name)


def model(nodes, inputs, outputs, weights, ir_version=11):
    tensors = lambda shapes: [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()]
    graph = helper.make_graph(nodes, "g", tensors(inputs), tensors(outputs), weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=ir_version)


def two_layers(rows=16):
    """y = relu(x W1' + b1) W2' + b2, with weights of [out, in]."""
    return model(
        [helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["h"], "fc1", transB=1),
         helper.make_node("Relu", ["h"], ["r"], "act"),
         helper.make_node("Gemm", ["r", "fc2.weight", "fc2.bias"], ["y"], "fc2", transB=1)],
        {"x": [rows, 8]}, {"y": [rows, 4]},
        [weight("fc1.weight", 12, 8), weight("fc1.bias", 12),
         weight("fc2.weight", 4, 12), weight("fc2.bias", 4)])


def heads():
    """x W with 3 heads of 4 made of its 12 columns."""
    shape = numpy_helper.from_array(np.array([8, 3, 4], np.int64), "shape")
    return model([helper.make_node("MatMul", ["x", "w"], ["h"], "project"),
                  helper.make_node("Reshape", ["h", "shape"], ["y"], "heads")],
                 {"x": [8, 6]}, {"y": [8, 3, 4]}, [weight("w", 6, 12), shape])


def packed():
    """Three projections of 6 columns in one weight and one bias."""
    sizes = numpy_helper.from_array(np.array([6, 6, 6], np.int64), "sizes")
    return model([helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
                  helper.make_node("Add", ["b", "h"], ["s"], "sum"),
                  helper.make_node("Split", ["s", "sizes"], ["q", "k", "v"], "split", axis=1)],
                 {"x": [8, 4]}, {"q": [8, 6], "k": [8, 6], "v": [8, 6]},
                 [weight("w", 4, 18), weight("b", 18), sizes])


def folded():
    """y = relu(x) w, where nothing is left of a constant, an identity and a no-op."""
    return model([helper.make_node("Identity", ["x"], ["i"], "same"),
                  helper.make_node("Relu", ["i"], ["r"], "act"),
                  helper.make_node("Identity", ["r"], ["j"], "same again"),
                  helper.make_node("MatMul", ["j", "w"], ["y"], "product")],
                 {"x": [8, 6]}, {"y": [8, 4]}, [weight("w", 6, 4)])


def named(name):
    """y = x w, with a weight of that name."""
    return model([helper.make_node("MatMul", ["x", name], ["y"], "product")],
                 {"x": [8, 6]}, {"y": [8, 4]}, [weight(name, 6, 4)])


def gelu():
    """y = (x / 2) (1 + erf(x / sqrt(2)))."""
    scalars = [numpy_helper.from_array(np.float32(value), name)
               for name, value in (("root", 2 ** 0.5), ("one", 1), ("a half", 0.5))]
    return model([helper.make_node("Div", ["x", "root"], ["d"], "argument"),
                  helper.make_node("Erf", ["d"], ["e"], "erf"),
                  helper.make_node("Add", ["e", "one"], ["f"], "plus"),
                  helper.make_node("Mul", ["x", "a half"], ["h"], "half"),
                  helper.make_node("Mul", ["h", "f"], ["y"], "product")],
                 {"x": [8, 6]}, {"y": [8, 6]}, scalars)


def configure(proto, name="cluster", devices=4):
    proto.configuration.append(
        onnx.DeviceConfigurationProto(name=name, num_devices=devices))
    return proto


def shard(proto, node, tensor, cuts, devices, groups=None, configuration="cluster"):
    """Says in a model that `node` has `tensor` cut: {axis: number of shards}, or
    {axis: [(dim_value, number of shards), ...]}."""
    node = next(each for each in proto.graph.node if each.name == node)
    own = next((each for each in node.device_configurations
                if each.configuration_id == configuration), None)
    if own is None:
        own = node.device_configurations.add()
        own.configuration_id = configuration
    spec = own.sharding_spec.add()
    spec.tensor_name = tensor
    spec.device.extend(devices)
    for key, members in (groups or {}).items():
        spec.index_to_device_group_map.add(key=key, value=members)
    for axis, parts in cuts.items():
        dim = spec.sharded_dim.add()
        dim.axis = axis
        for size, shards in parts if isinstance(parts, list) else [(None, parts)]:
            simple = dim.simple_sharding.add(num_shards=shards)
            if size is not None:
                simple.dim_value = size
    return proto


def sharded_two_layers(rows=16):
    """Two by two devices: rows over the first axis, features over the second."""
    proto = configure(two_layers(rows))
    pairs = {-1: [0, 1], -2: [2, 3]}
    across = {-1: [0, 2], -2: [1, 3]}
    shard(proto, "fc1", "x", {0: 2}, [-1, -2], pairs)
    shard(proto, "fc1", "fc1.weight", {0: 2}, [-1, -2], across)
    shard(proto, "fc1", "h", {0: 2, 1: 2}, [0, 1, 2, 3])
    shard(proto, "act", "r", {-2: 2, -1: 2}, [0, 1, 2, 3])
    shard(proto, "fc2", "fc2.weight", {1: 2}, [-1, -2], across)
    shard(proto, "fc2", "y", {0: 2}, [-1, -2], pairs)
    return proto
