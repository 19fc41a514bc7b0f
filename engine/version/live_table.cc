#include "engine/version/live_table.h"

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

namespace {

// The parts of `extent` that none of `others` holds. Generations share whole extents as a rule, but a later
// one may have given a part back.
std::vector<Extent> Minus(const Extent& extent, const std::vector<Extent>& others) {
  std::vector<Extent> rest{extent};
  for (const Extent& other : others) {
    std::vector<Extent> next;
    for (const Extent& piece : rest) {
      const uint64_t begin = piece.first_unit;
      const uint64_t end = piece.end_unit();
      const uint64_t held_begin = std::clamp<uint64_t>(other.first_unit, begin, end);
      const uint64_t held_end = std::clamp<uint64_t>(other.end_unit(), begin, end);
      if (held_begin >= held_end) {
        next.push_back(piece);
        continue;
      }
      if (begin < held_begin) {
        next.push_back({piece.first_unit, static_cast<uint32_t>(held_begin - begin)});
      }
      if (held_end < end) {
        next.push_back({static_cast<uint32_t>(held_end), static_cast<uint32_t>(end - held_end)});
      }
    }
    rest = std::move(next);
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

LiveTable::LiveTable(TableView view, std::shared_ptr<LiveTables> registry)
    : view_(std::move(view)),
      valid_bytes_(view_.live_bytes()),
      total_bytes_(view_.allocated_bytes()),
      entries_(view_.entries()),
      tombstones_(view_.tombstones()),
      registry_(std::move(registry)) {
}

LiveTable::~LiveTable() {
  if (registry_ != nullptr) {
    registry_->OnDestroyed(view_);
  }
}

std::shared_ptr<const LiveTable> LiveTables::Add(TableView view) {
  {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = living_[view.id].try_emplace(view.generation);
    if (!is_new) {
      return nullptr;
    }
    place->second.extents = ExtentsOf(view);
  }
  return std::make_shared<const LiveTable>(std::move(view), shared_from_this());
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

size_t LiveTables::installed_count() const {
  const std::lock_guard lock(mutex_);
  return installed_count_;
}

void LiveTables::StopReporting() {
  const std::lock_guard lock(mutex_);
  observer_ = nullptr;
}

void LiveTables::OnDestroyed(const TableView& view) {
  TableReleaseObserver* observer = nullptr;
  std::vector<Extent> unreferenced;
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    const auto table = living_.find(view.id);
    const auto generation = table->second.find(view.generation);
    const Generations gone = std::move(generation->second);
    table->second.erase(generation);
    is_last = table->second.empty();
    if (gone.installed) {
      installed_count_--;
      observer = observer_;
      std::vector<Extent> held;
      for (const auto& [number, other] : table->second) {
        held.insert(held.end(), other.extents.begin(), other.extents.end());
      }
      for (const Extent& extent : gone.extents) {
        const std::vector<Extent> rest = Minus(extent, held);
        unreferenced.insert(unreferenced.end(), rest.begin(), rest.end());
      }
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
