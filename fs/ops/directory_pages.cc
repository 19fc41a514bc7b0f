#include "fs/ops/directory_pages.h"

namespace varve {

class DirectoryPages::Sink final : public DirectorySink {
 public:
  explicit Sink(DirectoryPages& pages) : pages_(pages) {}

  bool Add(const DirectoryEntry& entry) override {
    if (added_ == kEntriesPerPage) {
      return false;
    }
    ++added_;
    pages_.offset_ = entry.next_offset;
    if (entry.name == "." || entry.name == "..") {
      return true;
    }
    if (entry.attributes != nullptr) {
      pages_.page_.push_back({std::string(entry.name), NodeReference(pages_.fs_, *entry.attributes)});
    } else if (pages_.want_ == Want::kNames) {
      pages_.page_.push_back({std::string(entry.name), NodeReference()});
    }
    return true;
  }
  bool added_nothing() const { return added_ == 0; }

 private:
  DirectoryPages& pages_;
  size_t added_ = 0;
};

DirectoryPages::~DirectoryPages() {
  if (handle_.value != 0) {
    fs_.ReleaseDirectory(handle_);
  }
}

Task<Status> DirectoryPages::Open(InodeNumber directory, Want want) {
  want_ = want;
  const Result<OpenedDirectory> opened = co_await fs_.OpenDirectory(directory);
  if (!opened.ok()) {
    co_return opened.error();
  }
  handle_ = opened->handle;
  co_return Status();
}

Task<Result<DirectoryPages::Entry*>> DirectoryPages::Next() {
  while (next_ == page_.size()) {
    page_.clear();
    next_ = 0;
    Sink sink(*this);
    Status listed;
    if (want_ == Want::kAttributes) {
      listed = co_await fs_.ReadDirectoryPlus(handle_, offset_, sink);
    } else {
      listed = co_await fs_.ReadDirectory(handle_, offset_, sink);
    }
    if (!listed.ok()) {
      co_return listed.error();
    }
    if (sink.added_nothing()) {
      co_return nullptr;
    }
  }
  co_return &page_[next_++];
}

}  // namespace varve
