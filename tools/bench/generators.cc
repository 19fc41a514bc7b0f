#include "tools/bench/generators.h"

#include <algorithm>
#include <cmath>

namespace varve {

namespace {

// Terms that are added one by one; the rest is an integral and its first two corrections (Euler and
// Maclaurin), whose error is then below 1e-15 of the sum.
constexpr uint64_t kSummedTerms = 10'000;
// The space of YCSB's ScrambledZipfianGenerator.
constexpr uint64_t kScrambledRanks = 10'000'000'000;
constexpr double kHotRangeBegin = 0.4;
constexpr double kHotRange = 0.15;
constexpr double kHotDraws = 0.98;

}  // namespace

double ZetaSum(uint64_t items, double constant) {
  const uint64_t summed = std::min(items, kSummedTerms);
  double sum = 0;
  // From the smallest term up: the least is lost to rounding.
  for (uint64_t i = summed; i > 0; --i) {
    sum += std::pow(static_cast<double>(i), -constant);
  }
  if (items == summed) {
    return sum;
  }
  const auto from = static_cast<double>(summed);
  const auto to = static_cast<double>(items);
  const auto integral = [constant](double x) { return std::pow(x, 1 - constant) / (1 - constant); };
  const auto term = [constant](double x) { return std::pow(x, -constant); };
  const auto slope = [constant](double x) { return -constant * std::pow(x, -constant - 1); };
  return sum + integral(to) - integral(from) + (term(to) - term(from)) / 2 + (slope(to) - slope(from)) / 12;
}

uint64_t FnvHash(uint64_t number) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int i = 0; i < 8; ++i) {
    hash ^= number & 0xFF;
    hash *= 1099511628211;
    number >>= 8;
  }
  return hash;
}

ZipfianGenerator::ZipfianGenerator(double constant) : constant_(constant), alpha_(1 / (1 - constant)) {
}

void ZipfianGenerator::Prepare(uint64_t items) {
  // Records that are added one at a time must not cost a whole sum each: below the terms summed one by one,
  // what is known is carried on.
  if (items_ != 0 && items > items_ && items - items_ < 64) {
    for (uint64_t i = items_ + 1; i <= items; ++i) {
      zeta_ += std::pow(static_cast<double>(i), -constant_);
    }
  } else {
    zeta_ = ZetaSum(items, constant_);
  }
  items_ = items;
  const double two_ranks = ZetaSum(2, constant_);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(items), 1 - constant_)) / (1 - two_ranks / zeta_);
}

uint64_t ZipfianGenerator::Next(Prng& random, uint64_t items) {
  if (items != items_) {
    Prepare(items);
  }
  const double draw = random.NextDouble();
  const double scaled = draw * zeta_;
  if (scaled < 1) {
    return 0;
  }
  if (items <= 2 || scaled < 1 + std::pow(0.5, constant_)) {
    return items == 1 ? 0 : 1;
  }
  const double rank = static_cast<double>(items) * std::pow(eta_ * draw - eta_ + 1, alpha_);
  return std::min(static_cast<uint64_t>(rank), items - 1);
}

uint64_t ScrambledZipfianGenerator::Next(Prng& random, uint64_t items) {
  return FnvHash(ranks_.Next(random, kScrambledRanks)) % items;
}

uint64_t HotRangeGenerator::Next(Prng& random, uint64_t items) {
  const auto all = static_cast<double>(items);
  const uint64_t begin = std::min(static_cast<uint64_t>(all * begin_), items - 1);
  const uint64_t size = std::clamp<uint64_t>(static_cast<uint64_t>(all * range_), 1, items - begin);
  if (size == items || random.NextDouble() < draws_) {
    return begin + random.Below(size);
  }
  const uint64_t outside = random.Below(items - size);
  return outside < begin ? outside : outside + size;
}

std::unique_ptr<NumberGenerator> MakeGenerator(Distribution distribution, double zipf_constant) {
  switch (distribution) {
    case Distribution::kUniform:
      break;
    case Distribution::kZipfian:
      return std::make_unique<ZipfianGenerator>(zipf_constant);
    case Distribution::kScrambledZipfian:
      return std::make_unique<ScrambledZipfianGenerator>(zipf_constant);
    case Distribution::kLatest:
      return std::make_unique<LatestGenerator>(zipf_constant);
    case Distribution::kHotRange:
      return std::make_unique<HotRangeGenerator>(kHotRangeBegin, kHotRange, kHotDraws);
  }
  return std::make_unique<UniformGenerator>();
}

}  // namespace varve
