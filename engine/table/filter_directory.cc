#include "engine/table/filter_directory.h"

namespace varve {

FilterDirectory::FilterDirectory(const SegmentFooter& footer)
    : geometry_(footer.filter()), slots_(std::make_unique<Slot[]>(geometry_.pages)) {
  for (uint32_t page = 0; page < geometry_.pages; ++page) {
    slots_[page].handle = footer.FilterPage(page);
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
