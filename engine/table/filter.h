// A segment's filter: a Bloom filter whose probes for one key lie in one line of 128 bytes (Putze, Sanders,
// Singler, "Cache-, Hash- and Space-Efficient Bloom Filters"), cut into pages of at most 4 KiB that are read
// and cached one by one. A line is two of the CPU's, which it fetches together: with ten bits a key it
// answers "maybe" of 0.89% of absent keys, a line of 64 bytes of 0.96%. The number of probes follows from the
// bits a key has when the filter is full, so keys may be inserted later up to that capacity.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/table_view.h"

namespace varve {

inline constexpr uint32_t kFilterLineBytes = 128;
inline constexpr uint32_t kFilterLinesPerPageMax = 32;
// Beyond this, more probes hardly lower the rate within one line of 1024 bits.
inline constexpr uint32_t kFilterProbesMax = 16;

struct FilterGeometry {
  uint32_t pages = 0;
  uint32_t lines_per_page = 0;
  uint32_t probes = 0;

  // For `capacity` keys, which may be 0 (no pages).
  static FilterGeometry For(uint64_t capacity, double bits_per_key);

  uint32_t page_bytes() const { return lines_per_page * kFilterLineBytes; }
  uint32_t PageOf(uint64_t hash) const { return LineOf(hash) / lines_per_page; }
  // Of all lines of all pages. The high half of the hash chooses it, the low half the bits within.
  uint32_t LineOf(uint64_t hash) const {
    return static_cast<uint32_t>((hash >> 32) * (uint64_t{pages} * lines_per_page) >> 32);
  }
  // In the payload of page PageOf(hash), where that key's line begins.
  uint32_t OffsetOf(uint64_t hash) const { return LineOf(hash) % lines_per_page * kFilterLineBytes; }
  bool operator==(const FilterGeometry&) const = default;
};

// Whether the key with this Hash64 may be in the filter; `page` is the payload of page geometry.PageOf(hash),
// and has geometry.page_bytes() bytes.
bool FilterMayContain(const FilterGeometry& geometry, std::string_view page, uint64_t hash);
// The same for writing.
void FilterInsert(const FilterGeometry& geometry, std::string& page, uint64_t hash);
// Fetches the line that both look at into the processor's caches.
inline void PrefetchFilterLine(const FilterGeometry& geometry, const char* page, uint64_t hash) {
  const char* const line = page + geometry.OffsetOf(hash);
  __builtin_prefetch(line);
  __builtin_prefetch(line + kFilterLineBytes / 2);
}

// The share of absent keys for which such a filter answers "maybe", by the model of the paper's section 3:
// the keys fall into lines as a Poisson distribution says, and each line is a Bloom filter of its own. 1
// without a filter.
double ExpectedFalsePositiveRate(const FilterDescriptor& filter);

// Collects the hashes of a segment's keys, since the size is known only at the end: eight bytes a key.
class FilterBuilder {
 public:
  void Add(uint64_t hash) { hashes_.push_back(hash); }
  uint64_t keys() const { return hashes_.size(); }
  const std::vector<uint64_t>& hashes() const { return hashes_; }
  // What the pages will take, for estimates.
  static uint64_t BytesFor(uint64_t keys, double bits_per_key, double reserve);

  struct Image {
    FilterGeometry geometry;
    FilterDescriptor descriptor;
    std::vector<std::string> pages;
  };
  // Sized for the keys added × (1 + reserve). No pages when bits_per_key is 0.
  Image Build(double bits_per_key, double reserve) const;
  // The same in steps: an image without keys, then all keys, some at a time.
  Image Begin(double bits_per_key, double reserve) const;
  void Insert(size_t first, size_t count, Image& image) const;

 private:
  std::vector<uint64_t> hashes_;
};

}  // namespace varve
