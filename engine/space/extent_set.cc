#include "engine/space/extent_set.h"

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"

namespace varve {

bool ExtentSet::Contains(const Extent& extent) const {
  auto after = by_place_.upper_bound(extent.first_unit);
  if (after == by_place_.begin()) {
    return false;
  }
  const auto at = std::prev(after);
  return extent.end_unit() <= uint64_t{at->first} + at->second;
}

bool ExtentSet::Overlaps(const Extent& extent) const {
  const auto after = by_place_.upper_bound(extent.first_unit);
  if (after != by_place_.end() && after->first < extent.end_unit()) {
    return true;
  }
  if (after == by_place_.begin()) {
    return false;
  }
  const auto at = std::prev(after);
  return uint64_t{at->first} + at->second > extent.first_unit;
}

void ExtentSet::Add(uint32_t first, uint32_t units) {
  by_place_.emplace(first, units);
  by_size_.emplace(units, first);
  units_ += units;
}

void ExtentSet::Erase(ByPlace::iterator at) {
  by_size_.erase({at->second, at->first});
  units_ -= at->second;
  by_place_.erase(at);
}

void ExtentSet::Insert(const Extent& extent) {
  Check(extent.units > 0 && !Overlaps(extent), "units were freed twice");
  uint32_t first = extent.first_unit;
  uint32_t units = extent.units;
  const auto after = by_place_.lower_bound(first);
  if (after != by_place_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      units += before->second;
      Erase(before);
    }
  }
  if (after != by_place_.end() && after->first == extent.end_unit()) {
    units += after->second;
    Erase(after);
  }
  Add(first, units);
}

void ExtentSet::Remove(const Extent& extent) {
  Check(Contains(extent), "units that are not free were taken");
  const auto at = std::prev(by_place_.upper_bound(extent.first_unit));
  const uint32_t first = at->first;
  const uint64_t end = uint64_t{first} + at->second;
  Erase(at);
  if (first < extent.first_unit) {
    Add(first, extent.first_unit - first);
  }
  if (extent.end_unit() < end) {
    Add(static_cast<uint32_t>(extent.end_unit()), static_cast<uint32_t>(end - extent.end_unit()));
  }
}

std::vector<Extent> ExtentSet::Take(uint64_t units) {
  Check(units > 0 && units <= units_, "more units were taken than are free");
  std::vector<Extent> taken;
  while (units > 0) {
    auto fit = by_size_.end();
    if (units <= by_size_.rbegin()->first) {
      fit = by_size_.lower_bound({static_cast<uint32_t>(units), 0});
    } else {
      fit = std::prev(fit);
    }
    const Extent extent{fit->second, static_cast<uint32_t>(std::min<uint64_t>(units, fit->first))};
    Remove(extent);
    taken.push_back(extent);
    units -= extent.units;
  }
  return taken;
}

std::vector<Extent> ExtentSet::TakeAll() {
  std::vector<Extent> all;
  all.reserve(by_place_.size());
  for (const auto& [first, units] : by_place_) {
    all.push_back({first, units});
  }
  by_place_.clear();
  by_size_.clear();
  units_ = 0;
  return all;
}

}  // namespace varve
