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

bool SegmentDirectory::Hold(uint64_t hash, HeldBlock page, std::string_view payload) {
  Slot& slot = SlotOf(hash);
  const std::lock_guard lock(mutex_);
  if (slot.payload.load(std::memory_order_relaxed) != nullptr) {
    return false;
  }
  held_.push_back(std::move(page));
  slot.payload.store(payload.data(), std::memory_order_release);
  return true;
}

SegmentDirectories::~SegmentDirectories() {
  for (size_t i = 0; i < segments_; ++i) {
    delete known_[i].directory.load(std::memory_order_relaxed);
  }
}

SegmentDirectory& SegmentDirectories::Learn(size_t segment, const SegmentFooter& footer) {
  auto directory = std::make_unique<SegmentDirectory>(footer);
  SegmentDirectory* known = nullptr;
  if (known_[segment].directory.compare_exchange_strong(known, directory.get(), std::memory_order_acq_rel)) {
    known = directory.release();
  }
  return *known;
}

void SegmentDirectories::Hold(size_t segment, uint64_t hash, HeldBlock page, std::string_view payload) {
  SegmentDirectory& directory = *Find(segment);
  if (directory.Hold(hash, std::move(page), payload) && directory.geometry().pages == 1) {
    known_[segment].geometry = directory.geometry();
    known_[segment].only_page.store(payload.data(), std::memory_order_release);
  }
}

size_t SegmentDirectories::TurnedAway(uint64_t hash) const {
  size_t turned_away = 0;
  for (; turned_away < segments_; ++turned_away) {
    const Known& known = known_[segments_ - 1 - turned_away];
    const char* page = known.only_page.load(std::memory_order_acquire);
    const FilterGeometry* geometry = &known.geometry;
    if (page == nullptr) {
      const SegmentDirectory* const directory = known.directory.load(std::memory_order_acquire);
      page = directory != nullptr ? directory->HeldPageOf(hash) : nullptr;
      if (page == nullptr) {
        break;
      }
      geometry = &directory->geometry();
    }
    if (FilterMayContain(*geometry, {page, geometry->page_bytes()}, hash)) {
      break;
    }
  }
  return turned_away;
}

template <typename Visit>
void SegmentDirectories::VisitAll(std::span<const SegmentDirectories* const> tables, Visit visit) {
  for (const SegmentDirectories* const table : tables) {
    for (size_t i = 0; i < table->segments_; ++i) {
      visit(table->known_[i]);
    }
  }
}

void SegmentDirectories::Prefetch(std::span<const SegmentDirectories* const> tables, uint64_t hash) {
  VisitAll(tables, [](const Known& known) { __builtin_prefetch(&known); });
  bool all_have_one_page = true;
  VisitAll(tables, [&](const Known& known) {
    if (const char* const page = known.only_page.load(std::memory_order_acquire)) {
      PrefetchFilterLine(known.geometry, page, hash);
    } else {
      all_have_one_page = false;
      __builtin_prefetch(known.directory.load(std::memory_order_acquire));
    }
  });
  if (all_have_one_page) {
    return;
  }
  const auto visit_others = [&](auto visit) {
    VisitAll(tables, [&](const Known& known) {
      const SegmentDirectory* const directory = known.directory.load(std::memory_order_acquire);
      if (directory != nullptr && known.only_page.load(std::memory_order_relaxed) == nullptr) {
        visit(*directory);
      }
    });
  };
  visit_others([&](const SegmentDirectory& directory) { directory.PrefetchSlotOf(hash); });
  visit_others([&](const SegmentDirectory& directory) { directory.PrefetchPageOf(hash); });
}

}  // namespace varve
