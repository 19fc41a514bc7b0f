// A directory's entries one after another, for callers without a buffer of their own.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"

namespace varve {

// One counted lookup, given back when it ends.
class NodeReference {
 public:
  NodeReference() = default;
  // Takes over the lookup that `attributes` was answered with.
  NodeReference(FileSystem& fs, const Attributes& attributes) : fs_(&fs), attributes_(attributes) {}
  NodeReference(NodeReference&& other) noexcept
      : fs_(std::exchange(other.fs_, nullptr)), attributes_(other.attributes_) {}
  NodeReference& operator=(NodeReference&& other) noexcept {
    if (this != &other) {
      Release();
      fs_ = std::exchange(other.fs_, nullptr);
      attributes_ = other.attributes_;
    }
    return *this;
  }
  ~NodeReference() { Release(); }

  InodeNumber inode() const { return attributes_.inode; }
  // As they were at the lookup.
  const Attributes& attributes() const { return attributes_; }

 private:
  void Release() {
    if (fs_ != nullptr) {
      fs_->Forget(attributes_.inode, 1);
      fs_ = nullptr;
    }
  }

  FileSystem* fs_ = nullptr;
  Attributes attributes_;
};

// One user at a time. "." and ".." are left out.
class DirectoryPages {
 public:
  enum class Want : uint8_t {
    kNames,
    kAttributes,  // names that vanish meanwhile are left out
  };
  struct Entry {
    std::string name;
    NodeReference node;  // with kAttributes; may be taken over
  };

  explicit DirectoryPages(FileSystem& fs) : fs_(fs) {}
  DirectoryPages(const DirectoryPages&) = delete;
  DirectoryPages& operator=(const DirectoryPages&) = delete;
  ~DirectoryPages();

  Task<Status> Open(InodeNumber directory, Want want);
  // nullptr at the end. Valid until the next call.
  Task<Result<Entry*>> Next();

 private:
  static constexpr size_t kEntriesPerPage = 128;
  class Sink;

  FileSystem& fs_;
  Want want_ = Want::kNames;
  DirectoryHandle handle_;
  uint64_t offset_ = 0;
  std::vector<Entry> page_;
  size_t next_ = 0;
};

}  // namespace varve
