#include "engine/cache/read_pages.h"

#include <algorithm>

#include "engine/base/units.h"

namespace varve {

ReadPages::ReadPages(uint64_t cache_bytes)
    : shares_(cache_bytes >= kCacheBytesMin),
      prepared_pages_max_(std::min(cache_bytes / kPreparedShare, kPreparedBytesMax) / ReadPage::kBytes) {
}

ReadPages::~ReadPages() {
  if (page_ != nullptr) {
    page_->Drop();
  }
  for (ReadPage* const page : prepared_) {
    page->Drop();
  }
}

bool ReadPages::PrepareOne() {
  if (!shares_) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (pages_ >= prepared_pages_max_) {
      return false;
    }
    ++pages_;
  }
  ReadPage* const page = ReadPage::Make();
  page->Prepare();
  const std::lock_guard lock(mutex_);
  prepared_.push_back(page);
  return true;
}

ReadPage* ReadPages::NextPage() {
  if (prepared_.empty()) {
    ++pages_;
    return ReadPage::Make();
  }
  ReadPage* const page = prepared_.back();
  prepared_.pop_back();
  return page;
}

ReadRun ReadPages::Take(size_t bytes) {
  const size_t taken = RoundUp(bytes, AlignedBuffer::kAlignment);
  if (!shares_ || taken > ReadPage::kBytes) {
    return ReadRun(AlignedBuffer(bytes));
  }
  const std::lock_guard lock(mutex_);
  if (page_ == nullptr || ReadPage::kBytes - used_bytes_ < taken) {
    if (page_ != nullptr) {
      page_->Drop();
    }
    page_ = NextPage();
    used_bytes_ = 0;
  }
  page_->Share();
  const std::span<std::byte> span(page_->data() + used_bytes_, bytes);
  used_bytes_ += taken;
  return {page_, span};
}

}  // namespace varve
