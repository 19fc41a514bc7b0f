// ControlDirectory: what the daemon has to say, as files. `.varve` in the mount's root exists only while it
// is mounted and is never listed, so that copies do not take it along. Whoever looks up one of its files gets
// that file as it is at that moment, under a number of its own: its size is right, it reads the same from
// beginning to end, and nothing of it stays in the kernel's cache for the next one.
//
// Any thread. The requests are answered here in the kernel's own terms: libfuse would have to be told of them
// one by one.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/fuse/fuse_library.h"
#include "fs/fuse/mount_owner.h"

namespace varve {

inline constexpr std::string_view kControlDirectoryName = ".varve";

class ControlDirectory {
 public:
  struct Answer {
    int error = 0;
    std::string body;
    bool wanted = true;  // false: the kernel waits for none
  };

  // `owner` must outlive it.
  explicit ControlDirectory(const MountOwner& owner) : owner_(owner) {}

  // Numbers of files in the store are far below.
  static bool IsNode(uint64_t node) { return node >= kDirectoryNode; }
  // Whether `name` in the directory `parent` is taken.
  static bool IsName(uint64_t parent, std::string_view name);
  // Whether the request (header included) is for this directory or one of its files.
  static bool Concerns(std::span<const char> request);

  Answer Handle(std::span<const char> request);
  void Forget(uint64_t node, uint64_t lookups);
  // Files that the kernel remembers.
  size_t nodes() const;

 private:
  static constexpr uint64_t kDirectoryNode = uint64_t{1} << 63;

  struct File {
    std::string content;
    uint64_t lookups = 1;
  };
  using Contents = std::vector<std::pair<std::string, std::string>>;

  // Every file there is, by name.
  Contents Make() const;
  Answer Lookup(uint64_t parent, std::string_view name);
  Answer Attributes(uint64_t node) const;
  Answer Read(uint64_t node, const fuse_read_in& read) const;
  Answer List(const fuse_read_in& read, bool plus) const;
  fuse_attr AttributesOf(uint64_t node, uint64_t size) const;

  const MountOwner& owner_;
  mutable std::mutex mutex_;  // for the rest; held for a copy at most
  std::map<uint64_t, File> files_;
  uint64_t next_node_ = kDirectoryNode + 1;
};

// The members of a JSON object, each with its value as it stands. Empty for anything else.
std::vector<std::pair<std::string, std::string>> MembersOfJson(std::string_view object);

}  // namespace varve
