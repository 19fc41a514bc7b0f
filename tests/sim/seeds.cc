#include "tests/sim/seeds.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace varve::sim {

namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool Expect(const Outcome& outcome) {
  if (!outcome.failure.empty()) {
    ADD_FAILURE() << outcome.trace << "seed " << outcome.seed << ": " << outcome.failure;
  }
  return outcome.failure.empty();
}

}  // namespace

void RunSeeds(const Simulate& simulate, uint64_t first, uint64_t count) {
  Figures sum;
  uint64_t done = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = simulate(seed);
    sum += outcome.figures;
    ++done;
    if (!Expect(outcome)) {
      break;
    }
  }
  fmt::print(
      "{} seeds from {}: {} crashes, {} operations, {} versions, {} errors and {} lies injected, {} noticed, "
      "{} writes refused\n",
      done, first, sum.crashes, sum.operations, sum.versions, sum.errors, sum.lies, sum.noticed, sum.refused);
}

void RunSeedRange(const Simulate& simulate, uint64_t first, uint64_t count) {
  RunSeeds(simulate, FromEnvironment("VARVE_SIM_FIRST_SEED", first),
           FromEnvironment("VARVE_SIM_SEEDS", count));
}

void RunKeptSeeds(const Simulate& simulate, std::string_view kind) {
  std::ifstream file(VARVE_SIM_SEEDS_FILE);
  ASSERT_TRUE(file.is_open()) << VARVE_SIM_SEEDS_FILE;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string of;
    uint64_t seed = 0;
    if (words >> of >> seed && of == kind) {
      Expect(simulate(seed));
    }
  }
}

void RunTwice(const Simulate& simulate, uint64_t seed) {
  const Outcome once = simulate(seed);
  const Outcome again = simulate(seed);
  EXPECT_GT(once.trace_lines, 0U);
  EXPECT_EQ(once.trace_lines, again.trace_lines);
  EXPECT_EQ(once.trace_digest, again.trace_digest);
  EXPECT_EQ(once.trace, again.trace);
}

}  // namespace varve::sim
