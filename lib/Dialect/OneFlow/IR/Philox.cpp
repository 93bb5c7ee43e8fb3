//===- Philox.cpp - counter-based random numbers --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10 as arith ops.
//
//===----------------------------------------------------------------------===//

#include "Philox.h"

#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace oneflow;

namespace {
/// A 64-bit product in two words.
struct Product {
  Value high, low;
};
} // namespace

static Product multiply(OpBuilder &b, Location loc, uint32_t factor, Value x) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value wide =
      arith::MulIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, x),
                            intScalar(b, loc, i64, factor));
  Value high = arith::ShRUIOp::create(b, loc, wide, intScalar(b, loc, i64, 32));
  return {arith::TruncIOp::create(b, loc, i32, high),
          arith::TruncIOp::create(b, loc, i32, wide)};
}

std::array<Value, 4> oneflow::buildPhilox(OpBuilder &b, Location loc,
                                          std::array<Value, 4> x,
                                          std::array<Value, 2> key) {
  auto exclusive = [&](Value l, Value r) -> Value {
    return arith::XOrIOp::create(b, loc, l, r);
  };
  auto bump = [&](Value word, uint32_t weyl) -> Value {
    return arith::AddIOp::create(
        b, loc, word,
        intScalar(b, loc, b.getI32Type(), static_cast<int32_t>(weyl)));
  };
  for (int round = 0; round < 10; ++round) {
    if (round != 0)
      key = {bump(key[0], 0x9E3779B9), bump(key[1], 0xBB67AE85)};
    Product first = multiply(b, loc, 0xD2511F53, x[0]);
    Product second = multiply(b, loc, 0xCD9E8D57, x[2]);
    x = {exclusive(exclusive(second.high, x[1]), key[0]), second.low,
         exclusive(exclusive(first.high, x[3]), key[1]), first.low};
  }
  return x;
}
