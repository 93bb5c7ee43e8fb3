//===- RandomTest.cpp - random kernels beside an interpreter --------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion decides what is kept, where and in which loops; wrong decisions show
// in combinations nobody writes by hand. Here random graphs of pointwise ops
// with broadcasts, and of reductions over rows, columns and both, are compared
// with the same graph computed value by value in double.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace oneflow::test;

namespace {

/// A value over the dims (i, j), those in `dims` only: bit 0 for i, bit 1 for
/// j.
struct Tensor {
  std::string name;
  int dims;
  std::vector<double> data;
};

class Generator {
public:
  explicit Generator(unsigned seed) : engine(seed) {
    rows = pick({1, 5, 64, 150});
    columns = pick({1, 7, 130, 700});
  }

  int number(int below) { return engine() % below; }
  int64_t pick(std::vector<int64_t> from) { return from[number(from.size())]; }

  int64_t size(int dims) const {
    return (dims & 1 ? rows : 1) * (dims & 2 ? columns : 1);
  }
  std::string type(int dims) const {
    return "tensor<" + (dims & 1 ? std::to_string(rows) + "x" : "") +
           (dims & 2 ? std::to_string(columns) + "x" : "") + "f32>";
  }
  static std::string map(int dims) {
    const char *names[] = {"()", "(i)", "(j)", "(i, j)"};
    return std::string("affine_map<(i, j) -> ") + names[dims] + ">";
  }
  static std::string mapOwn(int dims, int all) {
    // Over the dims in `all` only.
    std::string from = all == 3   ? "(i, j)"
                       : all == 1 ? "(i)"
                       : all == 2 ? "(j)"
                                  : "()";
    const char *names[] = {"()", "(i)", "(j)", "(i, j)"};
    return "affine_map<" + from + " -> " + names[dims] + ">";
  }
  double at(const Tensor &t, int64_t i, int64_t j) const {
    return t.data[(t.dims & 1 ? i : 0) * (t.dims & 2 ? columns : 1) +
                  (t.dims & 2 ? j : 0)];
  }

  void build() {
    for (int n = 0; n < 3; ++n) {
      Tensor input{"%in" + std::to_string(n), n == 0 ? 3 : number(4), {}};
      auto values = randomF32(size(input.dims), 0.5f, 1.5f, engine());
      input.data.assign(values.begin(), values.end());
      inputs.push_back(values);
      header += (n ? ", " : "") + input.name + ": " + type(input.dims);
      tensors.push_back(input);
    }
    int ops = 3 + number(8);
    for (int n = 0; n < ops; ++n)
      number(3) ? addPointwise(n) : addReduction(n);
    // The last value, and some of the others.
    for (size_t n = 3; n < tensors.size(); ++n)
      if (n + 1 == tensors.size() || number(4) == 0)
        results.push_back(n);
    std::string types, names;
    for (size_t n : results) {
      types += (types.empty() ? "" : ", ") + type(tensors[n].dims);
      names += (names.empty() ? "" : ", ") + tensors[n].name;
    }
    text = "func.func @k(" + header + ") -> (" + types +
           ") attributes {oneflow.kernel} {\n  %zero = arith.constant 0.0 : "
           "f32\n" +
           body + "  return " + names + " : " + types + "\n}\n";
  }

  void addPointwise(int n) {
    const Tensor a = tensors[number(tensors.size())],
                 c = tensors[number(tensors.size())];
    int dims = a.dims | c.dims, kind = number(4);
    std::string id = std::to_string(n), iterators;
    for (int bit : {1, 2})
      if (dims & bit)
        iterators +=
            std::string(iterators.empty() ? "" : ", ") + "\"parallel\"";
    const char *code[] = {
        "    %r = arith.addf %a, %c : f32\n",
        "    %r = arith.subf %a, %c : f32\n",
        "    %t = math.tanh %a : f32\n    %r = arith.mulf %t, %c : f32\n",
        "    %r = arith.maximumf %a, %c : f32\n"};
    body += "  %e" + id + " = tensor.empty() : " + type(dims) + "\n  %v" + id +
            " = linalg.generic {indexing_maps = [" + mapOwn(a.dims, dims) +
            ", " + mapOwn(c.dims, dims) + ", " + mapOwn(dims, dims) +
            "], iterator_types = [" + iterators + "]} ins(" + a.name + ", " +
            c.name + " : " + type(a.dims) + ", " + type(c.dims) + ") outs(%e" +
            id + " : " + type(dims) +
            ") {\n  ^bb0(%a: f32, %c: f32, %o: f32):\n" + code[kind] +
            "    linalg.yield %r : f32\n  } -> " + type(dims) + "\n";
    Tensor result{"%v" + id, dims, {}};
    for (int64_t i = 0; i < (dims & 1 ? rows : 1); ++i)
      for (int64_t j = 0; j < (dims & 2 ? columns : 1); ++j) {
        double x = at(a, i, j), y = at(c, i, j);
        result.data.push_back(kind == 0   ? x + y
                              : kind == 1 ? x - y
                              : kind == 2 ? std::tanh(x) * y
                                          : std::max(x, y));
      }
    tensors.push_back(result);
  }

  /// The mean over some dims, so that values stay near one.
  void addReduction(int n) {
    std::vector<size_t> full;
    for (size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].dims == 3)
        full.push_back(t);
    const Tensor a = tensors[full[number(full.size())]];
    int dims = number(3); // none, i or j is left
    std::string id = std::to_string(n), t = type(dims);
    double count = static_cast<double>(rows * columns / size(dims));
    body +=
        "  %e" + id + " = tensor.empty() : " + t + "\n  %f" + id +
        " = linalg.fill ins(%zero : f32) outs(%e" + id + " : " + t + ") -> " +
        t + "\n  %n" + id + " = arith.constant " + std::to_string(1 / count) +
        " : f32\n  %v" + id + " = linalg.generic {indexing_maps = [" + map(3) +
        ", " + map(dims) + "], iterator_types = [" +
        (dims & 1 ? "\"parallel\"" : "\"reduction\"") + ", " +
        (dims & 2 ? "\"parallel\"" : "\"reduction\"") + "]} ins(" + a.name +
        " : " + type(3) + ") outs(%f" + id + " : " + t +
        ") {\n  ^bb0(%a: f32, %o: f32):\n    %m = arith.mulf %a, %n" + id +
        " : f32\n    %r = arith.addf %m, %o : f32\n    linalg.yield %r : f32\n"
        "  } -> " +
        t + "\n";
    Tensor result{"%v" + id, dims, std::vector<double>(size(dims))};
    double factor = static_cast<float>(std::stod(std::to_string(1 / count)));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.data[(dims & 1 ? i : 0) + (dims & 2 ? j : 0)] +=
            at(a, i, j) * factor;
    tensors.push_back(result);
  }

  std::mt19937 engine;
  int64_t rows, columns;
  std::string header, body, text;
  std::vector<Tensor> tensors;
  std::vector<std::vector<float>> inputs;
  std::vector<size_t> results;
};

} // namespace

TEST(Random, GraphsMatchInterpreter) {
  unsigned count =
      getenv("ONEFLOW_TEST_SEEDS") ? atoi(getenv("ONEFLOW_TEST_SEEDS")) : 60;
  unsigned shared = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    Generator generator(seed);
    generator.build();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + generator.text);
    Kernels kernels(generator.text, seed % 4 == 0);
    std::vector<Buffer> buffers;
    for (const auto &input : generator.inputs)
      buffers.push_back(Buffer::of(input));
    std::vector<Buffer> outputs;
    for (size_t n : generator.results) {
      outputs.push_back(Buffer(generator.tensors[n].data.size() * 4));
      buffers.push_back(outputs.back());
    }
    EXPECT_EQ(kernels.run("k", buffers, {}, 1), 0);
    for (size_t r = 0; r < outputs.size(); ++r) {
      const auto &data = generator.tensors[generator.results[r]].data;
      expectNear(outputs[r].get<float>(), {data.begin(), data.end()}, 2e-4);
      if (testing::Test::HasFailure())
        return;
    }
    // In place, as far as the kernel allows: each pair on its own.
    for (auto [operand, result] : kernels.info["k"].mayShare) {
      ++shared;
      std::vector<Buffer> again = buffers;
      Buffer both = Buffer::of(generator.inputs[operand]);
      again[operand] = again[3 + result] = both;
      for (size_t r = 0; r < outputs.size(); ++r)
        if (static_cast<int64_t>(r) != result)
          again[3 + r] = Buffer(outputs[r].get<float>().size() * 4);
      EXPECT_EQ(kernels.run("k", again, {}, 1), 0);
      for (size_t r = 0; r < outputs.size(); ++r)
        EXPECT_EQ(again[3 + r].get<float>(), outputs[r].get<float>());
    }
  }
  EXPECT_GT(shared, 0u);
}
