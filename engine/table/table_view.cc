#include "engine/table/table_view.h"

#include <algorithm>
#include <cmath>

namespace varve {

uint64_t TableView::entries() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.entries;
  }
  return sum;
}

uint64_t TableView::tombstones() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.tombstones;
  }
  return sum;
}

uint64_t TableView::data_bytes() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.data_bytes;
  }
  return sum;
}

uint64_t TableView::live_bytes() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.live_bytes;
  }
  return sum;
}

uint64_t TableView::meta_bytes() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.meta_bytes;
  }
  return sum;
}

uint64_t TableView::hotness() const {
  uint64_t sum = 0;
  for (const SegmentDescriptor& segment : segments) {
    sum += segment.hotness;
  }
  return sum;
}

uint64_t TableView::allocated_bytes() const {
  uint64_t sum = 0;
  for (const TableExtent& part : extents) {
    sum += part.extent.bytes();
  }
  return sum;
}

uint64_t TableView::extents_end() const {
  return extents.empty() ? 0 : extents.back().table_offset + extents.back().extent.bytes();
}

uint64_t TableView::held_bytes() const {
  const uint64_t end = extents_end();
  const uint64_t unused = end > used_bytes ? end - used_bytes : 0;
  const uint64_t allocated = allocated_bytes();
  return allocated > unused ? allocated - unused : 0;
}

SequenceNumber TableView::smallest_sequence() const {
  SequenceNumber smallest_of_all = kSequenceNumberMax;
  for (const SegmentDescriptor& segment : segments) {
    smallest_of_all = std::min(smallest_of_all, segment.smallest_sequence);
  }
  return smallest_of_all;
}

SequenceNumber TableView::largest_sequence() const {
  SequenceNumber largest_of_all;
  for (const SegmentDescriptor& segment : segments) {
    largest_of_all = std::max(largest_of_all, segment.largest_sequence);
  }
  return largest_of_all;
}

}  // namespace varve
