// What lookups have learnt of a table's segments: where the filters lie, once somebody has read their
// footers, and what is asked again and again of filters, footers and indexes: held in the block cache, and at
// hand without a search in it. Most gets are turned away by most filters; held, one takes two of the
// processor's cache misses in place of nine, and those of all tables that may hold a key are waited for at
// once.
//
// Threads: any, concurrently.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache/block_cache.h"
#include "engine/table/filter.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_view.h"

namespace varve {

struct HeldIndex;

// Those that are held of the index blocks that the entries of another name.
class HeldIndexes {
 public:
  explicit HeldIndexes(uint32_t entries);
  ~HeldIndexes();

  // What entry `i` names; nullptr: it is not held.
  const HeldIndex* At(uint32_t i) const {
    return i < entries_ ? held_[i].load(std::memory_order_acquire) : nullptr;
  }
  // The same from now on, as long as this lives, unless somebody was sooner.
  void Hold(uint32_t i, HeldIndex index);

 private:
  const uint32_t entries_;
  // Each is set once and owned.
  const std::unique_ptr<std::atomic<const HeldIndex*>[]> held_;
};

// A block of an index that is held, read once and for all.
struct HeldIndex {
  HeldBlock block;
  BlockHandle handle;
  IndexBlock index;
  // Of what it names; nullptr: that is data.
  std::unique_ptr<HeldIndexes> below;
};

// Of one segment with a filter: 32 bytes for each of the filter's pages of 4 KiB, 8 for each block of the
// index below its root, 150 more for each of those that is held; the lower ones count from when what names
// them is held.
class SegmentDirectory {
 public:
  // Precondition: footer.has_filter().
  explicit SegmentDirectory(const SegmentFooter& footer);
  ~SegmentDirectory();

  const FilterGeometry& geometry() const { return geometry_; }
  const BlockHandle& PageOf(uint64_t hash) const { return SlotOf(hash).handle; }
  // The payload of that page; nullptr: it is not held.
  const char* HeldPageOf(uint64_t hash) const { return SlotOf(hash).payload.load(std::memory_order_acquire); }
  // From now on the page is held, as long as this lives; false: somebody was sooner. Precondition: `payload`
  // is that of the page that `page` holds, and has geometry().page_bytes() bytes.
  bool Hold(uint64_t hash, HeldBlock page, std::string_view payload);

  // nullptr: it is not held.
  const SegmentFooter* Footer() const { return footer_.load(std::memory_order_acquire); }
  // From now on the footer is held, as long as this lives. Precondition: `footer` is what `block` holds.
  void HoldFooter(HeldBlock block, const SegmentFooter& footer);
  // Of what the footer's root names; nullptr: that is data.
  HeldIndexes* below_root() const { return below_root_.get(); }

  // Fetch into the processor's caches what the calls above need: the slot, then what is held there.
  void PrefetchSlotOf(uint64_t hash) const { __builtin_prefetch(&SlotOf(hash)); }
  void PrefetchPageOf(uint64_t hash) const {
    if (const char* const payload = HeldPageOf(hash)) {
      PrefetchFilterLine(geometry_, payload, hash);
    }
  }

 private:
  struct Slot {
    BlockHandle handle;
    std::atomic<const char*> payload{nullptr};
  };
  Slot& SlotOf(uint64_t hash) const { return slots_[geometry_.PageOf(hash)]; }

  const FilterGeometry geometry_;
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<HeldIndexes> below_root_;
  // Set once and owned.
  std::atomic<const SegmentFooter*> footer_{nullptr};
  std::mutex mutex_;
  std::vector<HeldBlock> held_;  // under mutex_
};

// Of one generation of a table; empty at first.
class SegmentDirectories {
 public:
  explicit SegmentDirectories(size_t segments)
      : known_(std::make_unique<Known[]>(segments)), segments_(segments) {}
  SegmentDirectories(const SegmentDirectories&) = delete;
  SegmentDirectories& operator=(const SegmentDirectories&) = delete;
  ~SegmentDirectories();

  // nullptr until the segment's footer was learnt. Lives as long as this.
  SegmentDirectory* Find(size_t segment) const {
    return known_[segment].directory.load(std::memory_order_acquire);
  }
  // The footer of that segment, which has a filter.
  SegmentDirectory& Learn(size_t segment, const SegmentFooter& footer);
  // As SegmentDirectory::Hold, of one that Find knows.
  void Hold(size_t segment, uint64_t hash, HeldBlock page, std::string_view payload);
  // How many segments, from the newest on, cannot hold a key with this hash: their filters are held and say
  // so.
  size_t TurnedAway(uint64_t hash) const;
  // Fetches what a lookup will need of the held filters of all segments of several tables, all at once.
  static void Prefetch(std::span<const SegmentDirectories* const> tables, uint64_t hash);

 private:
  // Of one segment. Those of a table lie side by side, and most filters of small segments have one page:
  // asked by way of it, they cost a lookup no wait but that for their line.
  struct Known {
    // Set once and owned.
    std::atomic<SegmentDirectory*> directory{nullptr};
    // Where the filter has one page and that is held: its payload, and what `directory` says of the filter.
    std::atomic<const char*> only_page{nullptr};
    FilterGeometry geometry;
  };
  // Calls `visit` for each segment of each table.
  template <typename Visit>
  static void VisitAll(std::span<const SegmentDirectories* const> tables, Visit visit);

  std::unique_ptr<Known[]> known_;
  size_t segments_;
};

}  // namespace varve
