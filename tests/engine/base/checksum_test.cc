#include "engine/base/checksum.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <string>

namespace varve {
namespace {

// The function is part of every format: these values are XXH3's, and must never change.
TEST(Checksum, IsTheOneThatTheFormatsName) {
  EXPECT_EQ(Checksum64(std::string_view("")), 0x2d06800538d394c2U);
  EXPECT_EQ(Checksum64(std::string_view("varve")), Checksum64(std::string_view("varve"), 0));
}

// Long inputs are hashed with other instructions than short ones: all give what the library's plain code
// gives.
TEST(Checksum, IsTheSameFunctionAtEverySize) {
  std::string bytes(9000, ' ');
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] = static_cast<char>(i * 131 + i / 256);
  }
  for (size_t size = 0; size < bytes.size(); size += size < 1200 ? 1 : 77) {
    for (const uint64_t seed : {0UL, 1UL, 0x9e3779b97f4a7c15UL}) {
      ASSERT_EQ(Checksum64(std::string_view(bytes).substr(0, size), seed),
                XXH3_64bits_withSeed(bytes.data(), size, seed))
          << size;
    }
  }
}

#ifdef __x86_64__
// Where they are in use, all other code of the thread gets slower.
TEST(Checksum, LeavesTheUpperPartsOfVectorRegistersUnused) {
  if (!__builtin_cpu_supports("avx")) {
    GTEST_SKIP() << "a processor without AVX has none";
  }
  using Register = std::array<uint64_t, 4>;
  std::array<Register, 4> registers;
  for (const size_t size : {size_t{100}, size_t{600}, size_t{4096}, size_t{1} << 20}) {
    const std::string bytes(size, 'x');
    (void)Checksum64(bytes, 1);
    asm volatile(
        "vmovdqu %%ymm0, %0\n"
        "vmovdqu %%ymm2, %1\n"
        "vmovdqu %%ymm4, %2\n"
        "vmovdqu %%ymm6, %3\n"
        : "=m"(registers[0]), "=m"(registers[1]), "=m"(registers[2]), "=m"(registers[3]));
    for (const Register& each : registers) {
      EXPECT_EQ(each[2], 0U) << size;
      EXPECT_EQ(each[3], 0U) << size;
    }
  }
}
#endif

TEST(Checksum, DependsOnEveryBitAndOnTheSeed) {
  std::string bytes(600, 'x');
  const uint64_t before = Checksum64(bytes, 1);
  EXPECT_NE(before, Checksum64(bytes, 2));
  for (size_t i = 0; i < bytes.size() * 8; i++) {
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << (i % 8)));
    EXPECT_NE(before, Checksum64(bytes, 1)) << i;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << (i % 8)));
  }
}

}  // namespace
}  // namespace varve
