#include "engine/table/filter_directory.h"

namespace varve {

FilterDirectory::FilterDirectory(const SegmentFooter& footer)
    : geometry_(footer.filter()), pages_(footer.FilterPages()) {
}

FilterDirectories::~FilterDirectories() {
  for (size_t i = 0; i < segments_; ++i) {
    delete known_[i].load(std::memory_order_relaxed);
  }
}

const FilterDirectory& FilterDirectories::Learn(size_t segment, const SegmentFooter& footer) {
  auto directory = std::make_unique<const FilterDirectory>(footer);
  const FilterDirectory* known = nullptr;
  if (known_[segment].compare_exchange_strong(known, directory.get(), std::memory_order_acq_rel)) {
    known = directory.release();
  }
  return *known;
}

}  // namespace varve
