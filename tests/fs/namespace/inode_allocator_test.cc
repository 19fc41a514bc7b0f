#include "fs/namespace/inode_allocator.h"

#include <gtest/gtest.h>

#include "engine/ring/local_executor.h"
#include "fs/namespace/namespace_format.h"
#include "tests/support/memory_store.h"

namespace varve {
namespace {

TEST(InodeAllocator, NoNumberIsGivenOutTwiceAlsoAfterACrash) {
  const SystemClock clock;
  LocalExecutor executor(clock);
  MemoryStore store;
  uint64_t last = 1;
  for (int life = 0; life < 3; ++life) {
    const std::optional<Store::Lookup> stored = store.TryGet(kInodeCounterKey, ReadOptions());
    InodeNumber next(2);
    if (**stored) {
      const Result<InodeNumber> decoded = DecodeInodeCounter((**stored)->bytes());
      ASSERT_TRUE(decoded.ok());
      next = *decoded;
    }
    InodeAllocator allocator(store, next);
    for (int i = 0; i < 5000; ++i) {
      const Result<InodeNumber> number = executor.Run(allocator.Allocate());
      ASSERT_TRUE(number.ok());
      EXPECT_GT(number->value, last);
      last = number->value;
    }
  }
}

TEST(InodeAllocator, AFullStoreRefusesNumbersBeyondTheReservedBlock) {
  const SystemClock clock;
  LocalExecutor executor(clock);
  MemoryStore store;
  InodeAllocator allocator(store, InodeNumber(2));
  ASSERT_TRUE(executor.Run(allocator.Allocate()).ok());
  store.set_full(true);
  for (uint64_t i = 1; i < InodeAllocator::kBlock; ++i) {
    ASSERT_TRUE(executor.Run(allocator.Allocate()).ok());
  }
  EXPECT_TRUE(executor.Run(allocator.Allocate()).Is(ErrorCode::kNoSpace));
}

}  // namespace
}  // namespace varve
