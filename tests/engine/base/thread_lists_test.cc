#include "engine/base/thread_lists.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace varve {
namespace {

constexpr size_t kGrain = 64;
constexpr uint32_t kKeptMax = 3;
using Lists = ThreadLists<struct TestOwner, kGrain, 2, kKeptMax>;

void* Allocate(size_t bytes) {
  void* kept = Lists::Take(bytes);
  return kept != nullptr ? kept : std::malloc(Lists::AllocationBytes(bytes));
}

void Free(void* memory, size_t bytes) {
  if (!Lists::Keep(memory, bytes)) {
    std::free(memory);
  }
}

class ThreadListsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kKeepsFreedMemory) {
      GTEST_SKIP() << "this build keeps nothing";
    }
  }
};

TEST_F(ThreadListsTest, WhatWasFreedComesBackForAnySizeOfItsClass) {
  EXPECT_EQ(Lists::AllocationBytes(1), kGrain);
  EXPECT_EQ(Lists::AllocationBytes(kGrain), kGrain);
  EXPECT_EQ(Lists::AllocationBytes(kGrain + 1), 2 * kGrain);
  void* const first = Allocate(1);
  Free(first, 1);
  EXPECT_EQ(Lists::Take(kGrain + 1), nullptr);
  EXPECT_EQ(Lists::Take(kGrain), first);
  EXPECT_EQ(Lists::Take(kGrain), nullptr);
  std::free(first);
}

TEST_F(ThreadListsTest, KeepsNoMoreThanItMayAndNothingThatIsLarge) {
  std::vector<void*> memory;
  for (uint32_t i = 0; i <= kKeptMax; ++i) {
    memory.push_back(std::malloc(kGrain));
  }
  for (uint32_t i = 0; i < kKeptMax; ++i) {
    EXPECT_TRUE(Lists::Keep(memory[i], kGrain));
  }
  EXPECT_FALSE(Lists::Keep(memory[kKeptMax], kGrain));
  std::free(memory[kKeptMax]);
  for (uint32_t i = kKeptMax; i-- > 0;) {
    EXPECT_EQ(Lists::Take(kGrain), memory[i]);
    std::free(memory[i]);
  }
  EXPECT_EQ(Lists::AllocationBytes(2 * kGrain + 1), 2 * kGrain + 1);
  EXPECT_FALSE(Lists::Keep(memory.data(), 2 * kGrain + 1));
  EXPECT_EQ(Lists::Take(2 * kGrain + 1), nullptr);
}

TEST_F(ThreadListsTest, AThreadHasItsOwn) {
  void* memory = std::malloc(kGrain);
  std::thread([memory] {
    EXPECT_TRUE(Lists::Keep(memory, 1));
    EXPECT_EQ(Lists::Take(1), memory);
  }).join();
  EXPECT_EQ(Lists::Take(1), nullptr);
  // Given back at that thread's end: valgrind sees whether it is.
  std::thread([memory] { EXPECT_TRUE(Lists::Keep(memory, 1)); }).join();
}

}  // namespace
}  // namespace varve
