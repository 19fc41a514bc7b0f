#include "engine/cache/read_pages.h"

#include <utility>

#include "engine/base/units.h"

namespace varve {

ReadPages::~ReadPages() {
  if (page_ != nullptr) {
    page_->Drop();
  }
  if (next_ != nullptr) {
    next_->Drop();
  }
}

bool ReadPages::BeginPreparing() {
  const std::lock_guard lock(mutex_);
  const bool begins = shares_ && next_ == nullptr && !is_preparing_;
  is_preparing_ = is_preparing_ || begins;
  return begins;
}

void ReadPages::Prepare() {
  ReadPage* const page = ReadPage::Make();
  page->Prepare();
  const std::lock_guard lock(mutex_);
  next_ = page;
  is_preparing_ = false;
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
    page_ = next_ != nullptr ? std::exchange(next_, nullptr) : ReadPage::Make();
    used_bytes_ = 0;
  }
  page_->Share();
  const std::span<std::byte> span(page_->data() + used_bytes_, bytes);
  used_bytes_ += taken;
  return {page_, span};
}

}  // namespace varve
