#include "engine/table/filter_directory.h"

namespace varve {

FilterDirectory::FilterDirectory(const SegmentFooter& footer)
    : geometry_(footer.filter()),
      slots_(std::make_unique<Slot[]>(geometry_.pages)),
      root_entries_(footer.index_levels() > 1 ? footer.root().size() : 0),
      below_root_(root_entries_ > 0 ? std::make_unique<std::atomic<const HeldIndex*>[]>(root_entries_)
                                    : nullptr) {
  for (uint32_t page = 0; page < geometry_.pages; ++page) {
    slots_[page].handle = footer.FilterPage(page);
  }
}

FilterDirectory::~FilterDirectory() {
  delete footer_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < root_entries_; ++i) {
    delete below_root_[i].load(std::memory_order_relaxed);
  }
}

void FilterDirectory::HoldFooter(HeldBlock block, const SegmentFooter& footer) {
  const std::lock_guard lock(mutex_);
  if (footer_.load(std::memory_order_relaxed) == nullptr) {
    held_.push_back(std::move(block));
    footer_.store(new SegmentFooter(footer), std::memory_order_release);
  }
}

void FilterDirectory::HoldIndex(uint32_t i, HeldIndex index) {
  if (i >= root_entries_) {
    return;
  }
  auto held = std::make_unique<const HeldIndex>(std::move(index));
  const HeldIndex* known = nullptr;
  if (below_root_[i].compare_exchange_strong(known, held.get(), std::memory_order_acq_rel)) {
    held.release();
  }
}

void FilterDirectory::Hold(uint64_t hash, HeldBlock page, std::string_view payload) {
  Slot& slot = SlotOf(hash);
  const std::lock_guard lock(mutex_);
  if (slot.payload.load(std::memory_order_relaxed) == nullptr) {
    held_.push_back(std::move(page));
    slot.payload.store(payload.data(), std::memory_order_release);
  }
}

FilterDirectories::~FilterDirectories() {
  for (size_t i = 0; i < segments_; ++i) {
    delete known_[i].load(std::memory_order_relaxed);
  }
}

FilterDirectory& FilterDirectories::Learn(size_t segment, const SegmentFooter& footer) {
  auto directory = std::make_unique<FilterDirectory>(footer);
  FilterDirectory* known = nullptr;
  if (known_[segment].compare_exchange_strong(known, directory.get(), std::memory_order_acq_rel)) {
    known = directory.release();
  }
  return *known;
}

void FilterDirectories::Prefetch(uint64_t hash) const {
  for (size_t i = 0; i < segments_; ++i) {
    __builtin_prefetch(Find(i));
  }
  for (size_t i = 0; i < segments_; ++i) {
    if (const FilterDirectory* const directory = Find(i)) {
      directory->PrefetchSlotOf(hash);
    }
  }
  for (size_t i = 0; i < segments_; ++i) {
    if (const FilterDirectory* const directory = Find(i)) {
      directory->PrefetchPageOf(hash);
    }
  }
}

}  // namespace varve
