#include "engine/version/live_table.h"

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"

namespace varve {

namespace {

// The parts of `extents` that none of `held` holds. Generations share whole extents as a rule, but a later
// one may have given parts back. Extents of `extents` do not overlap; those of `held` may.
std::vector<Extent> Minus(std::vector<Extent> extents, std::vector<Extent> held) {
  const auto by_place = [](const Extent& a, const Extent& b) { return a.first_unit < b.first_unit; };
  std::sort(extents.begin(), extents.end(), by_place);
  std::sort(held.begin(), held.end(), by_place);
  std::vector<Extent> rest;
  // Before it, everything is held or has been decided.
  uint64_t at = 0;
  auto next = held.begin();
  for (const Extent& extent : extents) {
    at = std::max<uint64_t>(at, extent.first_unit);
    while (at < extent.end_unit()) {
      const uint64_t free_end =
          next == held.end() ? extent.end_unit() : std::min<uint64_t>(next->first_unit, extent.end_unit());
      if (at < free_end) {
        rest.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(free_end - at)});
        at = free_end;
      } else {
        at = std::max<uint64_t>(at, next->end_unit());
        ++next;
      }
    }
  }
  return rest;
}

std::vector<Extent> ExtentsOf(const TableView& view) {
  std::vector<Extent> extents;
  extents.reserve(view.extents.size());
  for (const TableExtent& part : view.extents) {
    extents.push_back(part.extent);
  }
  return extents;
}

}  // namespace

LiveTable::LiveTable(TableView view, std::shared_ptr<LiveTables> registry, std::shared_ptr<PaidBytes> paid)
    : view_(std::move(view)),
      directories_(view_.segments.size()),
      valid_bytes_(view_.live_bytes()),
      total_bytes_(view_.allocated_bytes()),
      entries_(view_.entries()),
      tombstones_(view_.tombstones()),
      hotness_(view_.hotness()),
      registry_(std::move(registry)),
      paid_bytes_(std::move(paid)) {
  for (const SegmentDescriptor& segment : view_.segments) {
    filter_capacity_ += segment.filter.capacity;
    filter_bits_ += static_cast<double>(segment.filter.capacity) * segment.filter.bits_per_key;
  }
}

LiveTable::~LiveTable() {
  if (registry_ != nullptr) {
    registry_->OnDestroyed(view_);
  }
}

void LiveTable::CountExtraWork(uint64_t bytes_a_run, bool beside_tree) const {
  const uint64_t runs = view_.segments.size() - 1 + (beside_tree ? 1 : 0);
  if (runs == 0) {
    return;
  }
  const uint64_t bytes = bytes_a_run * runs;
  const uint64_t before = paid_bytes_->fetch_add(bytes, std::memory_order_relaxed);
  const uint64_t price = std::max<uint64_t>(valid_bytes_, 1);
  if (before / price != (before + bytes) / price && registry_ != nullptr) {
    registry_->ReadersHavePaid();
  }
}

void LiveTables::ReadersHavePaid() {
  TableObserver* observer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    observer = observer_;
  }
  if (observer != nullptr) {
    observer->OnReadersHavePaid();
  }
}

std::shared_ptr<const LiveTable> LiveTables::Add(TableView view) {
  std::shared_ptr<LiveTable::PaidBytes> paid;
  {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = living_[view.id].try_emplace(view.generation);
    if (!is_new) {
      return nullptr;
    }
    place->second.extents = ExtentsOf(view);
    place->second.segments = view.segments.size();
    // Another segment makes reads dearer still: what was paid before counts on.
    const bool goes_on =
        place != living_[view.id].begin() && std::prev(place)->second.segments < view.segments.size();
    paid = goes_on ? std::prev(place)->second.paid : std::make_shared<LiveTable::PaidBytes>(0);
    place->second.paid = paid;
  }
  return std::make_shared<const LiveTable>(std::move(view), shared_from_this(), std::move(paid));
}

void LiveTables::MarkInstalled(TableId id, Generation generation) {
  const std::lock_guard lock(mutex_);
  const auto table = living_.find(id);
  Check(table != living_.end() && table->second.contains(generation),
        "a table was installed that is not alive");
  bool& installed = table->second[generation].installed;
  // An edit that moves a table installs it again.
  installed_count_ += installed ? 0 : 1;
  installed = true;
}

bool LiveTables::HasOneGeneration(TableId id) const {
  const std::lock_guard lock(mutex_);
  const auto table = living_.find(id);
  return table != living_.end() && table->second.size() == 1;
}

size_t LiveTables::installed_count() const {
  const std::lock_guard lock(mutex_);
  return installed_count_;
}

void LiveTables::StopReporting() {
  const std::lock_guard lock(mutex_);
  observer_ = nullptr;
}

void LiveTables::OnDestroyed(const TableView& view) {
  TableObserver* observer = nullptr;
  std::vector<Extent> unreferenced;
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    const auto table = living_.find(view.id);
    const auto generation = table->second.find(view.generation);
    Generations gone = std::move(generation->second);
    table->second.erase(generation);
    is_last = table->second.empty();
    if (gone.installed) {
      installed_count_--;
      observer = observer_;
      std::vector<Extent> held;
      for (const auto& [number, other] : table->second) {
        held.insert(held.end(), other.extents.begin(), other.extents.end());
      }
      unreferenced = Minus(std::move(gone.extents), std::move(held));
    }
    if (is_last) {
      living_.erase(table);
    }
  }
  if (observer != nullptr) {
    observer->OnTableReleased(view, std::move(unreferenced), is_last);
  }
}

}  // namespace varve
