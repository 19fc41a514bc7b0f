// Where the filters of a table's segments lie, once somebody has read their footers: a get that a filter
// turns away asks for one block, not for the footer first. That is what most gets do in most segments.
//
// Threads: any, concurrently.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/table/filter.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_view.h"

namespace varve {

// Of one segment with a filter: 24 bytes for each of its pages of 4 KiB.
class FilterDirectory {
 public:
  // Precondition: footer.has_filter().
  explicit FilterDirectory(const SegmentFooter& footer);

  const FilterGeometry& geometry() const { return geometry_; }
  const BlockHandle& PageOf(uint64_t hash) const { return pages_[geometry_.PageOf(hash)]; }

 private:
  FilterGeometry geometry_;
  std::vector<BlockHandle> pages_;
};

// Of one generation of a table; empty at first.
class FilterDirectories {
 public:
  explicit FilterDirectories(size_t segments)
      : known_(std::make_unique<std::atomic<const FilterDirectory*>[]>(segments)), segments_(segments) {}
  FilterDirectories(const FilterDirectories&) = delete;
  FilterDirectories& operator=(const FilterDirectories&) = delete;
  ~FilterDirectories();

  // nullptr until the segment's footer was learnt. Lives as long as this.
  const FilterDirectory* Find(size_t segment) const {
    return known_[segment].load(std::memory_order_acquire);
  }
  // The footer of that segment, which has a filter.
  const FilterDirectory& Learn(size_t segment, const SegmentFooter& footer);

 private:
  // Each is set once and owned.
  std::unique_ptr<std::atomic<const FilterDirectory*>[]> known_;
  size_t segments_;
};

}  // namespace varve
