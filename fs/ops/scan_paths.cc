// The walk of a tree in the order of whole paths.
//
// Names in a directory come in bytewise order, but that is not the order of the paths below it: "a.b" sorts
// after "a" and before "a/x", because '.' < '/'. So a directory is not entered where its name stands, but
// when the walk of its parent comes to a name that sorts after the directory's name with a '/'. Until then it
// waits; those that wait at one time are prefixes of each other, so there are few.
#include <map>
#include <string>
#include <utility>

#include "fs/ops/directory_pages.h"
#include "fs/ops/path.h"

namespace varve {

namespace {

class PathScan {
 public:
  PathScan(FileSystem& fs, std::string_view prefix, PathVisitor& visitor)
      : fs_(fs), prefix_(prefix), visitor_(visitor) {}

  // Everything below `directory`, whose path with a '/' at the end is `base`. False: the visitor has had
  // enough.
  Task<Result<bool>> Walk(InodeNumber directory, std::string base) {
    std::map<std::string, NodeReference> waiting;  // name with a '/' → the directory
    DirectoryPages pages(fs_);
    Status opened = co_await pages.Open(directory, DirectoryPages::Want::kAttributes);
    if (!opened.ok()) {
      co_return opened.error();
    }
    while (true) {
      Result<DirectoryPages::Entry*> next = co_await pages.Next();
      if (!next.ok()) {
        co_return next.error();
      }
      DirectoryPages::Entry* entry = *next;
      while (!waiting.empty() && (entry == nullptr || waiting.begin()->first < entry->name)) {
        Result<bool> more = co_await Enter(waiting, base);
        if (!more.ok() || !*more) {
          co_return more;
        }
      }
      if (entry == nullptr) {
        co_return true;
      }
      const std::string path = base + entry->name;
      if (path.starts_with(prefix_)) {
        const bool more = co_await visitor_.Visit(path, entry->node.attributes());
        if (!more) {
          co_return false;
        }
      }
      if (S_ISDIR(entry->node.attributes().mode) && MayHold(path + "/")) {
        waiting.emplace(entry->name + "/", std::move(entry->node));
      }
    }
  }

 private:
  Task<Result<bool>> Enter(std::map<std::string, NodeReference>& waiting, const std::string& base) {
    auto first = waiting.extract(waiting.begin());
    const NodeReference directory = std::move(first.mapped());
    std::string below = base + first.key();
    Result<bool> more = co_await Walk(directory.inode(), std::move(below));
    if (more.Is(ErrorCode::kNotFound) || more.Is(ErrorCode::kStale)) {
      co_return true;  // removed meanwhile
    }
    co_return more;
  }
  // Whether a path that begins with `base` can begin with the prefix.
  bool MayHold(std::string_view base) const { return base.starts_with(prefix_) || prefix_.starts_with(base); }

  FileSystem& fs_;
  const std::string_view prefix_;
  PathVisitor& visitor_;
};

}  // namespace

Task<Status> ScanPaths(FileSystem& fs, std::string_view prefix, PathVisitor& visitor) {
  while (prefix.starts_with('/')) {
    prefix.remove_prefix(1);
  }
  PathScan scan(fs, prefix, visitor);
  Result<bool> walked = co_await scan.Walk(kRootInode, std::string());
  co_return walked.status();
}

}  // namespace varve
