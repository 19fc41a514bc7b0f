#include "engine/base/huge_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/base/units.h"

namespace varve {
namespace {

// What /proc/self/smaps says of the mapping that holds `at`, in KiB; 0: nothing.
uint64_t OfMapping(const char* at, const std::string& field) {
  std::ifstream maps("/proc/self/smaps");
  bool is_ours = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto address = reinterpret_cast<uintptr_t>(at);
      is_ours = address >= begin && address < end;
    } else if (is_ours && line.starts_with(field + ":")) {
      return std::stoull(line.substr(field.size() + 1));
    }
  }
  return 0;
}

TEST(HugeMemory, BeginsAtAHugePageAndHasWhatWasAskedFor) {
  for (const size_t bytes :
       {size_t{1}, size_t{4096}, HugeMemory::kPageBytes, 3 * HugeMemory::kPageBytes + 5}) {
    HugeMemory memory(bytes);
    EXPECT_EQ(memory.bytes().size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.bytes().data()) % HugeMemory::kPageBytes, 0u);
    EXPECT_EQ(memory.bytes().front(), 0);
    std::fill(memory.bytes().begin(), memory.bytes().end(), 'x');
    EXPECT_EQ(memory.bytes().back(), 'x');
  }
}

TEST(HugeMemory, TakesNoMemoryUntilItIsTouched) {
  HugeMemory memory(16 * kMiB);
  memory.bytes()[0] = 'a';
  EXPECT_LE(OfMapping(memory.bytes().data(), "Rss"), 64u);
}

TEST(HugeMemory, HugePagesTakeThePlaceOfWhatIsThere) {
  HugeMemory memory(3 * HugeMemory::kPageBytes);
  const std::span<char> bytes = memory.bytes();
  for (size_t i = 0; i < bytes.size(); i += 1000) {
    bytes[i] = static_cast<char>(i / 1000);
  }
  // Of the first page, the last byte only.
  memory.MakeHuge(bytes.subspan(HugeMemory::kPageBytes - 1, HugeMemory::kPageBytes));
  for (size_t i = 0; i < bytes.size(); i += 1000) {
    ASSERT_EQ(bytes[i], static_cast<char>(i / 1000)) << i;
  }
  const uint64_t huge_kib = OfMapping(bytes.data(), "AnonHugePages");
  if (huge_kib == 0) {
    GTEST_SKIP() << "this kernel collapses no pages, or has none to spare";
  }
  EXPECT_EQ(huge_kib, 2 * HugeMemory::kPageBytes / kKiB);
}

// A mapping ends where it was asked to, which may be within a huge page.
TEST(HugeMemory, WhatIsNoWholeHugePageStaysAsItIs) {
  HugeMemory memory(HugeMemory::kPageBytes + 8 * kKiB);
  const std::span<char> end = memory.bytes().last(8 * kKiB);
  std::fill(end.begin(), end.end(), 'e');
  memory.MakeHuge(end);
  EXPECT_EQ(std::count(end.begin(), end.end(), 'e'), 8 * 1024);
  EXPECT_EQ(OfMapping(memory.bytes().data(), "AnonHugePages"), 0u);
}

}  // namespace
}  // namespace varve
