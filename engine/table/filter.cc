#include "engine/table/filter.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace varve {
namespace {

// Odd, near 2^32 / golden ratio: multiplying by it walks through well-spread values.
constexpr uint32_t kProbeStep = 0x9e3779b9U;
constexpr uint32_t kBitsPerLineLog2 = 10;
static_assert(1U << kBitsPerLineLog2 == kFilterLineBytes * 8);
constexpr uint32_t kLinesMax = 1U << 30;

uint64_t CapacityFor(uint64_t keys, double reserve) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(keys) * (1 + std::max(reserve, 0.0))));
}

// std::pow takes ten times as long, and merges ask for rates of filters again and again.
double Power(double base, uint32_t exponent) {
  double power = 1;
  for (; exponent != 0; exponent >>= 1) {
    power *= (exponent & 1) != 0 ? base : 1;
    base *= base;
  }
  return power;
}

}  // namespace

FilterGeometry FilterGeometry::For(uint64_t capacity, double bits_per_key) {
  FilterGeometry geometry;
  if (capacity == 0 || !(bits_per_key > 0)) {
    return geometry;
  }
  const double bits = std::ceil(static_cast<double>(capacity) * bits_per_key);
  const double wanted = std::min(std::ceil(bits / (kFilterLineBytes * 8)), static_cast<double>(kLinesMax));
  const auto lines = static_cast<uint32_t>(std::max(wanted, 1.0));
  geometry.pages = static_cast<uint32_t>(CeilDiv(lines, kFilterLinesPerPageMax));
  geometry.lines_per_page = static_cast<uint32_t>(CeilDiv(lines, geometry.pages));
  // 0.69 bits is best for one large filter; crowded lines make fewer probes better.
  const double probes = std::round(bits_per_key * 0.65);
  geometry.probes = static_cast<uint32_t>(std::clamp(probes, 1.0, static_cast<double>(kFilterProbesMax)));
  return geometry;
}

bool FilterMayContain(const FilterGeometry& geometry, std::string_view page, uint64_t hash) {
  const char* line = page.data() + geometry.OffsetOf(hash);
  auto h = static_cast<uint32_t>(hash);
  for (uint32_t i = 0; i < geometry.probes; ++i) {
    const uint32_t bit = h >> (32 - kBitsPerLineLog2);
    if ((static_cast<uint8_t>(line[bit >> 3]) >> (bit & 7) & 1) == 0) {
      return false;
    }
    h *= kProbeStep;
  }
  return true;
}

void FilterInsert(const FilterGeometry& geometry, std::string& page, uint64_t hash) {
  char* line = page.data() + geometry.OffsetOf(hash);
  auto h = static_cast<uint32_t>(hash);
  for (uint32_t i = 0; i < geometry.probes; ++i) {
    const uint32_t bit = h >> (32 - kBitsPerLineLog2);
    line[bit >> 3] = static_cast<char>(static_cast<uint8_t>(line[bit >> 3]) | 1U << (bit & 7));
    h *= kProbeStep;
  }
}

double ExpectedFalsePositiveRate(const FilterDescriptor& filter) {
  if (filter.capacity == 0) {
    return 1;
  }
  constexpr double kLineBits = kFilterLineBytes * 8;
  const double lines = std::max(1.0, static_cast<double>(filter.capacity) * filter.bits_per_key / kLineBits);
  const double keys_per_line = static_cast<double>(filter.insertions) / lines;
  const auto most = static_cast<uint32_t>(keys_per_line + 10 * std::sqrt(keys_per_line) + 10);
  // A bit stays clear with each key.
  const double stays_clear = Power(1 - 1 / kLineBits, filter.probes);
  double rate = 0;
  double share = std::exp(-keys_per_line);  // of lines with `keys` keys
  double clear = 1;
  for (uint32_t keys = 0; keys <= most; ++keys) {
    rate += share * Power(1 - clear, filter.probes);
    share *= keys_per_line / (keys + 1);
    clear *= stays_clear;
  }
  return rate;
}

uint64_t FilterBuilder::BytesFor(uint64_t keys, double bits_per_key, double reserve) {
  const FilterGeometry geometry = FilterGeometry::For(CapacityFor(keys, reserve), bits_per_key);
  return uint64_t{geometry.pages} * geometry.page_bytes();
}

FilterBuilder::Image FilterBuilder::Build(double bits_per_key, double reserve) const {
  Image image = Begin(bits_per_key, reserve);
  Insert(0, hashes_.size(), image);
  return image;
}

FilterBuilder::Image FilterBuilder::Begin(double bits_per_key, double reserve) const {
  Image image;
  const uint64_t capacity = CapacityFor(hashes_.size(), reserve);
  image.geometry = FilterGeometry::For(capacity, bits_per_key);
  if (image.geometry.pages == 0) {
    return image;
  }
  image.descriptor = FilterDescriptor{capacity, hashes_.size(), bits_per_key, image.geometry.probes};
  image.pages.assign(image.geometry.pages, std::string(image.geometry.page_bytes(), '\0'));
  return image;
}

void FilterBuilder::Insert(size_t first, size_t count, Image& image) const {
  if (image.pages.empty()) {
    return;
  }
  const size_t end = first + std::min(count, hashes_.size() - first);
  for (size_t i = first; i < end; ++i) {
    FilterInsert(image.geometry, image.pages[image.geometry.PageOf(hashes_[i])], hashes_[i]);
  }
}

}  // namespace varve
