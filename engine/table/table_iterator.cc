#include <memory>
#include <utility>
#include <vector>

#include "engine/table/merging_iterator.h"
#include "engine/table/segment_iterator.h"
#include "engine/table/table_reader.h"

namespace varve {

std::unique_ptr<InternalIterator> NewTableIterator(const TableEnvironment& environment, const TableView& view,
                                                   TableIteratorOptions options) {
  std::vector<std::unique_ptr<InternalIterator>> segments;
  segments.reserve(view.segments.size());
  for (const SegmentDescriptor& segment : view.segments) {
    segments.push_back(std::make_unique<SegmentIterator>(environment, view, segment, options));
  }
  return NewMergingIterator(std::move(segments));
}

}  // namespace varve
