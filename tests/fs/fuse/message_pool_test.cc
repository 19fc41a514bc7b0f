#include "fs/fuse/message_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace varve {
namespace {

TEST(MessagePool, BytesStayAsLongAsALeaseIsHeld) {
  MessagePool pool;
  MessageLease kept;
  {
    const MessageLease taken = pool.Take();
    taken.bytes()[0] = 'x';
    kept = taken;
  }
  EXPECT_EQ(pool.leased(), 1U);
  const MessageLease other = pool.Take();
  EXPECT_NE(other.bytes().data(), kept.bytes().data());
  EXPECT_EQ(kept.bytes()[0], 'x');
}

TEST(MessagePool, AReturnedBufferIsUsedAgain) {
  MessagePool pool;
  const char* first = nullptr;
  {
    const MessageLease taken = pool.Take();
    first = taken.bytes().data();
  }
  EXPECT_EQ(pool.leased(), 0U);
  EXPECT_EQ(pool.Take().bytes().data(), first);
}

TEST(MessagePool, BuffersHoldTheLargestRequestAndAreAlignedToPages) {
  MessagePool pool;
  const MessageLease taken = pool.Take();
  EXPECT_EQ(taken.bytes().size(), kPayloadBytesMax + 4096);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.bytes().data()) % 4096, 0U);
}

TEST(MessagePool, ABurstIsServedAndGivenBack) {
  MessagePool pool;
  std::vector<MessageLease> burst;
  for (int i = 0; i < 100; ++i) {
    burst.push_back(pool.Take());
  }
  EXPECT_EQ(pool.leased(), 100U);
  burst.clear();
  EXPECT_EQ(pool.leased(), 0U);
}

// Those of the pool's own memory are used first again: huge pages that were put there are not lost to malloc.
TEST(MessagePool, TheFirstBuffersStayAndWhatABurstNeedsBeyondDoesNot) {
  MessagePool pool;
  std::set<const char*> first;
  {
    std::vector<MessageLease> burst;
    for (int i = 0; i < 20; ++i) {
      burst.push_back(pool.Take());
      if (first.size() < 8) {
        first.insert(burst.back().bytes().data());
      }
    }
  }
  std::vector<MessageLease> again;
  for (int i = 0; i < 8; ++i) {
    again.push_back(pool.Take());
    EXPECT_TRUE(first.contains(again.back().bytes().data())) << i;
  }
}

// Many reads of a block each, for long, must not go to the system for their memory; what large ones have used
// does not stay for ever.
TEST(MessagePool, WhatABurstOfSmallMessagesNeedsStaysAndOfLargeOnesALittle) {
  MessagePool pool;
  const auto take_together = [&](int count, size_t bytes) {
    std::vector<MessageLease> burst;
    for (int i = 0; i < count; ++i) {
      burst.push_back(pool.Take());
      burst.back().ExpectBytes(bytes);
    }
  };
  take_together(100, 4096);
  EXPECT_EQ(pool.unused(), 100U);
  take_together(1000, 4096);
  EXPECT_EQ(pool.unused(), 136U);
  take_together(136, kPayloadBytesMax);
  EXPECT_EQ(pool.unused(), 16U);
}

TEST(MessagePool, ALargeMessageKeepsItsBytesAsItsMemoryBecomesHuge) {
  MessagePool pool;
  std::vector<MessageLease> messages;
  // The last ones are malloc's.
  for (int i = 0; i < 10; ++i) {
    messages.push_back(pool.Take());
    const std::span<char> bytes = messages.back().bytes();
    std::fill(bytes.begin(), bytes.end(), static_cast<char>('a' + i));
  }
  for (const MessageLease& message : messages) {
    message.ExpectBytes(kHugeMessageBytes - 1);
    message.ExpectBytes(kPayloadBytesMax);
  }
  for (int i = 0; i < 10; ++i) {
    const std::span<char> bytes = messages[static_cast<size_t>(i)].bytes();
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'a' + i), static_cast<ptrdiff_t>(bytes.size())) << i;
  }
}

TEST(MessagePool, AMovedLeaseIsOneLease) {
  MessagePool pool;
  MessageLease first = pool.Take();
  MessageLease second = std::move(first);
  first = MessageLease();
  EXPECT_EQ(pool.leased(), 1U);
}

}  // namespace
}  // namespace varve
