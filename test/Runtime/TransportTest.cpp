//===- TransportTest.cpp - what every transport must do -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankHarness.h"

#include <limits>

using namespace oneflow;
using namespace oneflow::runtime;
using namespace oneflow::test;
using plan::DType;
using plan::Reducer;

static const Reducer kReducers[] = {Reducer::Sum, Reducer::Max, Reducer::Min,
                                    Reducer::Prod};

static void check(const TransportResult &result) {
  ASSERT_TRUE(result.ok) << result.message;
}

TEST(Transport, LocalRanksAreRanks) {
  Transport &transport = transportUnderTest();
  ASSERT_FALSE(transport.localRanks().empty());
  int previous = -1;
  for (int rank : transport.localRanks()) {
    EXPECT_GT(rank, previous);
    EXPECT_LT(rank, transport.rankCount());
    previous = rank;
  }
}

TEST(Transport, GroupsNumberTheirMembersInOrder) {
  int ranks = transportUnderTest().rankCount();
  std::vector<std::vector<int>> groups(2);
  for (int rank = ranks - 1; rank >= 0; --rank)
    groups[rank % 2].push_back(rank);
  if (groups[1].empty())
    groups.pop_back();
  onGroups(groups, [&](int rank, Communicator &group) {
    const std::vector<int> &members = groups[rank % 2];
    ASSERT_EQ(group.size(), static_cast<int>(members.size()));
    ASSERT_EQ(members[group.rank()], rank);
    // The group talks among itself.
    std::vector<int32_t> all(members.size());
    std::vector<ByteRange> parts;
    for (size_t i = 0; i < members.size(); ++i)
      parts.push_back({4 * i, 4});
    int32_t own = rank;
    check(group.allGather(&own, all.data(), parts));
    EXPECT_EQ(all, std::vector<int32_t>(members.begin(), members.end()));
  });
}

TEST(Transport, BarrierHolds) {
  onGroupsOfEverySize([](Communicator &group) {
    for (int i = 0; i < 50; ++i)
      check(group.barrier());
  });
}

TEST(Transport, ExchangeMovesEveryMessage) {
  // Everyone to everyone, sizes 0 to some thousand bytes, in any order of
  // lists.
  onGroupsOfEverySize([](Communicator &group) {
    int size = group.size(), rank = group.rank();
    auto bytesBetween = [&](int from, int to) {
      return static_cast<size_t>((from * 3 + to) % 4) * 1500;
    };
    for (int round = 0; round < 10; ++round) {
      std::vector<std::vector<uint8_t>> out(size), in(size);
      std::vector<SendMessage> sends;
      std::vector<ReceiveMessage> receives;
      for (int step = 1; step < size; ++step) {
        int to = (rank + step) % size, from = (rank + step) % size;
        out[to].assign(bytesBetween(rank, to) + 1,
                       static_cast<uint8_t>(rank * 16 + to + round));
        in[from].assign(bytesBetween(from, rank) + 1, 0xee);
        sends.push_back({to, out[to].data(), bytesBetween(rank, to)});
        receives.push_back({from, in[from].data(), bytesBetween(from, rank)});
      }
      check(group.exchange(sends, receives));
      for (int from = 0; from < size; ++from) {
        if (from == rank)
          continue;
        std::vector<uint8_t> expected(
            bytesBetween(from, rank),
            static_cast<uint8_t>(from * 16 + rank + round));
        expected.push_back(0xee); // nothing is written behind a message
        EXPECT_EQ(in[from], expected);
      }
    }
  });
}

TEST(Transport, ExchangeSendsOneBufferToEveryone) {
  onGroupsOfEverySize([](Communicator &group) {
    int size = group.size(), rank = group.rank();
    const std::vector<uint8_t> own(5000, static_cast<uint8_t>(rank + 1));
    std::vector<std::vector<uint8_t>> in(size);
    std::vector<SendMessage> sends;
    std::vector<ReceiveMessage> receives;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank)
        continue;
      in[peer].resize(own.size());
      sends.push_back({peer, own.data(), own.size()});
      receives.push_back({peer, in[peer].data(), own.size()});
    }
    check(group.exchange(sends, receives));
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank)
        EXPECT_EQ(in[peer], std::vector<uint8_t>(
                                own.size(), static_cast<uint8_t>(peer + 1)));
  });
}

TEST(Transport, ExchangeNeedsOnlyTheNamedPeers) {
  if (transportUnderTest().rankCount() < 2)
    GTEST_SKIP() << "needs 2 ranks";
  std::vector<int> everyone(transportUnderTest().rankCount());
  std::iota(everyone.begin(), everyone.end(), 0);
  onGroups({everyone}, [](int rank, Communicator &world) {
    int32_t value = 42, got = 0;
    if (rank == 0)
      check(world.exchange({{1, &value, 4}}, {}));
    if (rank == 1) {
      check(world.exchange({}, {{0, &got, 4}}));
      EXPECT_EQ(got, 42);
    }
  });
}

TEST(Transport, AllReduceEveryTypeAndReducer) {
  onGroupsOfEverySize([](Communicator &group) {
    for (int type = 0; type <= static_cast<int>(DType::MAX); ++type)
      for (Reducer reducer : kReducers)
        for (size_t count : {0, 1, 3, 1000}) {
          auto dtype = static_cast<DType>(type);
          std::vector<double> own(count), sum(count);
          for (size_t i = 0; i < count; ++i) {
            own[i] = testValue(group.rank(), i);
            sum[i] = testValue(0, i);
            for (int rank = 1; rank < group.size(); ++rank)
              sum[i] = combine(dtype, reducer, sum[i], testValue(rank, i));
          }
          Array source(dtype, own), target(dtype, count), expected(dtype, sum);
          check(group.allReduce(source.data(), target.data(), count, dtype,
                                reducer));
          EXPECT_TRUE(target.equals(expected))
              << dtypeName(dtype) << " reducer " << static_cast<int>(reducer)
              << " count " << count << " ranks " << group.size();
          check(group.allReduce(source.data(), source.data(), count, dtype,
                                reducer));
          EXPECT_TRUE(source.equals(expected)) << "in place";
        }
  });
}

TEST(Transport, ReductionsAreInRankOrder) {
  // Sums whose float value depends on the order: 1e8 + 1 - 1e8 ...
  onGroupsOfEverySize([](Communicator &group) {
    auto value = [](int rank, int i) {
      static const float values[] = {1e8f, 1.0f, -1e8f, 3.5f, 1e-3f};
      return values[(rank + i) % 5];
    };
    constexpr int count = 4099; // several slices and blocks
    std::vector<float> source(count), target(count), expected(count);
    for (int i = 0; i < count; ++i) {
      source[i] = value(group.rank(), i);
      expected[i] = value(0, i);
      for (int rank = 1; rank < group.size(); ++rank)
        expected[i] += value(rank, i);
    }
    check(group.allReduce(source.data(), target.data(), count, DType::F32,
                          Reducer::Sum));
    EXPECT_EQ(target, expected);
  });
}

TEST(Transport, NaNPropagatesWhateverTheRank) {
  onGroupsOfEverySize([](Communicator &group) {
    for (Reducer reducer : {Reducer::Max, Reducer::Min})
      for (int bad = 0; bad < group.size(); ++bad) {
        float nan = std::numeric_limits<float>::quiet_NaN();
        float value = group.rank() == bad ? nan : 1.0f + group.rank();
        double wide = value;
        uint16_t half = group.rank() == bad ? 0x7e00 : 0x3c00;
        uint16_t bfloat = group.rank() == bad ? 0x7fc0 : 0x3f80;
        check(group.allReduce(&value, &value, 1, DType::F32, reducer));
        check(group.allReduce(&wide, &wide, 1, DType::F64, reducer));
        check(group.allReduce(&half, &half, 1, DType::F16, reducer));
        check(group.allReduce(&bfloat, &bfloat, 1, DType::BF16, reducer));
        EXPECT_TRUE(std::isnan(value));
        EXPECT_TRUE(std::isnan(wide));
        EXPECT_GT(half & 0x7fff, 0x7c00);
        EXPECT_GT(bfloat & 0x7fff, 0x7f80);
      }
  });
}

TEST(Transport, AllGatherUnevenParts) {
  onGroupsOfEverySize([](Communicator &group) {
    std::vector<ByteRange> parts;
    uint64_t offset = 0;
    // Some parts empty, and not in order of their offsets.
    for (int rank = group.size() - 1; rank >= 0; --rank) {
      parts.insert(parts.begin(),
                   {offset, static_cast<uint64_t>(rank % 3) * 10});
      offset += parts.front().bytes;
    }
    std::vector<uint8_t> target(offset + 1, 0xee), expected(offset + 1, 0xee);
    for (int rank = 0; rank < group.size(); ++rank)
      std::fill_n(expected.begin() + parts[rank].offset, parts[rank].bytes,
                  static_cast<uint8_t>(rank + 1));
    std::vector<uint8_t> source(parts[group.rank()].bytes,
                                static_cast<uint8_t>(group.rank() + 1));
    check(group.allGather(source.data(), target.data(), parts));
    EXPECT_EQ(target, expected);
  });
}

TEST(Transport, ReduceScatterUnevenParts) {
  onGroupsOfEverySize([](Communicator &group) {
    for (DType dtype : {DType::F32, DType::I8, DType::BF16})
      for (Reducer reducer : kReducers) {
        std::vector<uint64_t> counts;
        size_t total = 0, begin = 0;
        for (int rank = 0; rank < group.size(); ++rank) {
          counts.push_back((rank + 2) % 3 * 11);
          begin += rank < group.rank() ? counts.back() : 0;
          total += counts.back();
        }
        std::vector<double> own(total), sum(counts[group.rank()]);
        for (size_t i = 0; i < total; ++i)
          own[i] = testValue(group.rank(), i);
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] = testValue(0, begin + i);
          for (int rank = 1; rank < group.size(); ++rank)
            sum[i] =
                combine(dtype, reducer, sum[i], testValue(rank, begin + i));
        }
        Array source(dtype, own), target(dtype, sum.size()),
            expected(dtype, sum);
        check(group.reduceScatter(source.data(), target.data(), counts, dtype,
                                  reducer));
        EXPECT_TRUE(target.equals(expected));
      }
  });
}

TEST(Transport, AllToAllUnevenParts) {
  onGroupsOfEverySize([](Communicator &group) {
    int size = group.size(), rank = group.rank();
    auto bytesBetween = [](int from, int to) {
      return static_cast<uint64_t>((from + 2 * to) % 4) * 7;
    };
    std::vector<ByteRange> sends, receives;
    std::vector<uint8_t> source, expected;
    for (int peer = 0; peer < size; ++peer) {
      sends.push_back({source.size(), bytesBetween(rank, peer)});
      source.insert(source.end(), bytesBetween(rank, peer),
                    static_cast<uint8_t>(rank * 8 + peer));
      receives.push_back({expected.size(), bytesBetween(peer, rank)});
      expected.insert(expected.end(), bytesBetween(peer, rank),
                      static_cast<uint8_t>(peer * 8 + rank));
    }
    std::vector<uint8_t> target(expected.size());
    check(group.allToAll(source.data(), sends, target.data(), receives));
    EXPECT_EQ(target, expected);
  });
}
