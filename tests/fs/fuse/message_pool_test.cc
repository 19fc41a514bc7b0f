#include "fs/fuse/message_pool.h"

#include <gtest/gtest.h>

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

TEST(MessagePool, AMovedLeaseIsOneLease) {
  MessagePool pool;
  MessageLease first = pool.Take();
  MessageLease second = std::move(first);
  first = MessageLease();
  EXPECT_EQ(pool.leased(), 1U);
}

}  // namespace
}  // namespace varve
