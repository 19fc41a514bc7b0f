// Every build runs each target on its seeds, on seeds that were changed at random (the same ones every time),
// and on the inputs that once were a bug: regressions/TARGET/. VARVE_FUZZ_INPUT=FILE VARVE_FUZZ_TARGET=NAME
// runs that alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "tests/fuzz/fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr int kChangesPerSeed = 4;
constexpr int kChangedSeedsMax = 40;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A few bytes overwritten, inserted or removed.
std::string Changed(std::string input, Prng& random) {
  for (uint64_t changes = 1 + random.Below(4); changes > 0 && input.size() > 1; --changes) {
    const size_t at = random.Below(input.size());
    switch (random.Below(4)) {
      case 0:
        input.erase(at, 1 + random.Below(4));
        break;
      case 1:
        input.insert(at, 1 + random.Below(4), static_cast<char>(random.Next()));
        break;
      default:
        input[at] = static_cast<char>(random.OneIn(3) ? 0xff : random.Next());
    }
  }
  return input;
}

class FuzzReplay : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzReplay, SeedsAndChangedSeedsEnd) {
  Prng random(1);
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  int changed = 0;
  for (const std::string& seed : seeds) {
    GetParam().run(seed);
    for (int i = 0; i < kChangesPerSeed && changed < kChangedSeedsMax; ++i, ++changed) {
      GetParam().run(Changed(seed, random));
    }
  }
}

TEST_P(FuzzReplay, InputsThatWereBugsEnd) {
  const std::filesystem::path folder = std::filesystem::path(VARVE_FUZZ_REGRESSIONS) / GetParam().name;
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "none yet";
  }
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    GetParam().run(ReadFile(entry.path()));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplay, ::testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(FuzzReplayOfOne, InputNamedByTheEnvironmentEnds) {
  const char* const path = std::getenv("VARVE_FUZZ_INPUT");
  const char* const name = std::getenv("VARVE_FUZZ_TARGET");
  if (path == nullptr || name == nullptr) {
    GTEST_SKIP() << "VARVE_FUZZ_INPUT and VARVE_FUZZ_TARGET name no input";
  }
  const FuzzTarget* const target = FindTarget(name);
  ASSERT_NE(target, nullptr);
  target->run(ReadFile(path));
}

}  // namespace
}  // namespace varve::fuzz
