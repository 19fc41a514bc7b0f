#include "engine/table/segment_directory.h"

namespace varve {

HeldIndexes::HeldIndexes(uint32_t entries)
    : entries_(entries), held_(std::make_unique<std::atomic<const HeldIndex*>[]>(entries)) {
}

HeldIndexes::~HeldIndexes() {
  for (uint32_t i = 0; i < entries_; ++i) {
    delete held_[i].load(std::memory_order_relaxed);
  }
}

void HeldIndexes::Hold(uint32_t i, HeldIndex index) {
  if (i >= entries_) {
    return;
  }
  auto held = std::make_unique<const HeldIndex>(std::move(index));
  const HeldIndex* known = nullptr;
  if (held_[i].compare_exchange_strong(known, held.get(), std::memory_order_acq_rel)) {
    held.release();
  }
}

SegmentDirectory::SegmentDirectory(const SegmentFooter& footer)
    : geometry_(footer.filter()),
      slots_(std::make_unique<Slot[]>(geometry_.pages)),
      below_root_(footer.index_levels() > 1 ? std::make_unique<HeldIndexes>(footer.root().size()) : nullptr) {
  for (uint32_t page = 0; page < geometry_.pages; ++page) {
    slots_[page].handle = footer.FilterPage(page);
  }
}

SegmentDirectory::~SegmentDirectory() {
  delete footer_.load(std::memory_order_relaxed);
}

void SegmentDirectory::HoldFooter(HeldBlock block, const SegmentFooter& footer) {
  const std::lock_guard lock(mutex_);
  if (footer_.load(std::memory_order_relaxed) == nullptr) {
    held_.push_back(std::move(block));
    footer_.store(new SegmentFooter(footer), std::memory_order_release);
  }
}

void SegmentDirectory::Hold(uint64_t hash, HeldBlock page, std::string_view payload) {
  Slot& slot = SlotOf(hash);
  const std::lock_guard lock(mutex_);
  if (slot.payload.load(std::memory_order_relaxed) == nullptr) {
    held_.push_back(std::move(page));
    slot.payload.store(payload.data(), std::memory_order_release);
  }
}

SegmentDirectories::~SegmentDirectories() {
  for (size_t i = 0; i < segments_; ++i) {
    delete known_[i].load(std::memory_order_relaxed);
  }
}

SegmentDirectory& SegmentDirectories::Learn(size_t segment, const SegmentFooter& footer) {
  auto directory = std::make_unique<SegmentDirectory>(footer);
  SegmentDirectory* known = nullptr;
  if (known_[segment].compare_exchange_strong(known, directory.get(), std::memory_order_acq_rel)) {
    known = directory.release();
  }
  return *known;
}

void SegmentDirectories::Prefetch(uint64_t hash) const {
  for (size_t i = 0; i < segments_; ++i) {
    __builtin_prefetch(Find(i));
  }
  for (size_t i = 0; i < segments_; ++i) {
    if (const SegmentDirectory* const directory = Find(i)) {
      directory->PrefetchSlotOf(hash);
    }
  }
  for (size_t i = 0; i < segments_; ++i) {
    if (const SegmentDirectory* const directory = Find(i)) {
      directory->PrefetchPageOf(hash);
    }
  }
}

}  // namespace varve
