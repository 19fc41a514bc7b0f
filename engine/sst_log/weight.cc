#include "engine/sst_log/weight.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/coding.h"

namespace varve {
namespace {

struct KeyBits {
  uint64_t high = 0;
  uint64_t low = 0;
};

KeyBits BitsBehind(std::string_view key, size_t common_prefix) {
  char bytes[sizeof(KeyBits)] = {};
  key.remove_prefix(std::min(common_prefix, key.size()));
  key.copy(bytes, sizeof(bytes));
  return {LoadBigEndian64(bytes), LoadBigEndian64(bytes + sizeof(uint64_t))};
}

// The least and the most of a trait.
struct Span {
  double least = 0;
  double most = 0;

  double ShareOf(double x) const { return most > least ? (x - least) / (most - least) : 0; }
};

Span SpanOf(const std::vector<TableTraits>& tables, double TableTraits::*trait) {
  const auto [least, most] =
      std::minmax_element(tables.begin(), tables.end(),
                          [&](const TableTraits& a, const TableTraits& b) { return a.*trait < b.*trait; });
  return tables.empty() ? Span{} : Span{(*least).*trait, (*most).*trait};
}

}  // namespace

double Sparseness(std::string_view smallest, std::string_view largest, uint64_t entries,
                  size_t common_prefix) {
  const KeyBits from = BitsBehind(smallest, common_prefix);
  const KeyBits to = BitsBehind(largest, common_prefix);
  const uint64_t high = from.high ^ to.high;
  const int bits = high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(from.low ^ to.low);
  return bits - std::log2(static_cast<double>(std::max<uint64_t>(entries, 1)));
}

std::vector<double> CombinedWeights(const std::vector<TableTraits>& tables) {
  const Span hotness = SpanOf(tables, &TableTraits::hotness);
  const Span sparseness = SpanOf(tables, &TableTraits::sparseness);
  std::vector<double> weights;
  weights.reserve(tables.size());
  for (const TableTraits& table : tables) {
    weights.push_back((hotness.ShareOf(table.hotness) + sparseness.ShareOf(table.sparseness)) / 2);
  }
  return weights;
}

}  // namespace varve
