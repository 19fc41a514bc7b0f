#include "engine/store/filter_budget.h"

#include <algorithm>

#include "engine/table/filter_allocation.h"

namespace varve {

namespace {

uint64_t RunsOf(const Version& version, uint32_t level) {
  return level == 0 ? version.level0().size()
                    : (version.tree(level).empty() ? 0 : 1) + version.level(level).log_index.depth();
}

FilterLoad LoadOf(const Version& version, uint32_t level) {
  const TableTotals totals = version.totals(level);
  const auto runs = static_cast<double>(RunsOf(version, level));
  FilterLoad load;
  if (runs > 0) {
    load.runs = runs;
    load.capacity = static_cast<double>(std::max(totals.filter_capacity, totals.entries)) / runs;
  }
  return load;
}

}  // namespace

FilterBudget::FilterBudget(double bits_per_key, uint64_t memtable_bytes)
    : bits_per_key_(bits_per_key), memtable_bytes_(memtable_bytes) {
  for (std::atomic<double>& bits : bits_) {
    bits.store(bits_per_key, std::memory_order_relaxed);
  }
}

void FilterBudget::Update(const Version& version) {
  std::array<FilterLoad, kLevels> loads;
  for (uint32_t level = 0; level < kLevels; ++level) {
    loads[level] = LoadOf(version, level);
  }
  const TableTotals all = version.totals();
  if (all.entries == 0) {
    return;
  }
  // What an empty level above others is about to get: a memtable, or what the level above it has too much of.
  if (loads[0].runs == 0) {
    const double record_bytes =
        std::max(static_cast<double>(all.valid_bytes) / static_cast<double>(all.entries), 1.0);
    loads[0].runs = 1;
    loads[0].capacity = static_cast<double>(memtable_bytes_) / record_bytes;
  }
  for (uint32_t level = 1; level < version.last_level(); ++level) {
    if (loads[level].runs == 0) {
      loads[level] = {1, loads[level - 1].capacity * loads[level - 1].runs};
    }
  }
  const std::vector<double> bits = AllocateFilterBits(loads, bits_per_key_);
  for (uint32_t level = 0; level < kLevels; ++level) {
    bits_[level].store(bits[level], std::memory_order_relaxed);
  }
}

}  // namespace varve
