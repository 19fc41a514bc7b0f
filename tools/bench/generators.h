// The distributions that storage benchmarks draw keys from, as YCSB (Cooper et al., SoCC 2010) defines them.
// Every generator gives numbers of records, 0 to items-1, and is used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/prng.h"

namespace varve {

// The sum of 1/i^constant for i = 1 … items, 0 < constant < 1, in constant time for any number of items.
double ZetaSum(uint64_t items, double constant);

// The 64-bit FNV-1a hash of a number's eight bytes: what YCSB scrambles with.
uint64_t FnvHash(uint64_t number);

class NumberGenerator {
 public:
  virtual ~NumberGenerator() = default;
  // `items` may differ from call to call: the records that exist by now. Precondition: items > 0.
  virtual uint64_t Next(Prng& random, uint64_t items) = 0;
};

class UniformGenerator final : public NumberGenerator {
 public:
  uint64_t Next(Prng& random, uint64_t items) override { return random.Below(items); }
};

// Rank 0 is the most popular: rank r is drawn with probability 1/(r+1)^constant, divided by their sum. By the
// method of Gray et al. ("Quickly generating billion-record synthetic databases", SIGMOD 1994), which is
// exact for the first two ranks and close for the others.
class ZipfianGenerator final : public NumberGenerator {
 public:
  // 0 < constant < 1.
  explicit ZipfianGenerator(double constant);
  uint64_t Next(Prng& random, uint64_t items) override;

 private:
  void Prepare(uint64_t items);

  const double constant_;
  const double alpha_;
  uint64_t items_ = 0;
  double zeta_ = 0;
  double eta_ = 0;
};

// Zipfian popularity, popular records scattered over the whole range: ranks of a fixed large space are hashed
// onto the records, so that a record stays popular when others are added.
class ScrambledZipfianGenerator final : public NumberGenerator {
 public:
  explicit ScrambledZipfianGenerator(double constant) : ranks_(constant) {}
  uint64_t Next(Prng& random, uint64_t items) override;

 private:
  ZipfianGenerator ranks_;
};

// The record added last is the most popular, and popularity falls as a Zipfian towards older ones.
class LatestGenerator final : public NumberGenerator {
 public:
  explicit LatestGenerator(double constant) : ranks_(constant) {}
  uint64_t Next(Prng& random, uint64_t items) override { return items - 1 - ranks_.Next(random, items); }

 private:
  ZipfianGenerator ranks_;
};

// A contiguous share of the records takes most draws, uniform inside and outside of it.
class HotRangeGenerator final : public NumberGenerator {
 public:
  // The range begins at `begin` (a share of the records), holds `range` of them and takes `draws` of all
  // draws; all are between 0 and 1, and begin + range <= 1.
  HotRangeGenerator(double begin, double range, double draws) : begin_(begin), range_(range), draws_(draws) {}
  uint64_t Next(Prng& random, uint64_t items) override;

 private:
  const double begin_, range_, draws_;
};

enum class Distribution : uint8_t { kUniform, kZipfian, kScrambledZipfian, kLatest, kHotRange };

// RangeHot: 15% of the records, in one piece, take 98% of the reads.
std::unique_ptr<NumberGenerator> MakeGenerator(Distribution distribution, double zipf_constant);

}  // namespace varve
