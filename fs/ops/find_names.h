// Where inodes lie in the tree, for messages: paths, found by one walk over all names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

// The directories of a tree. Memory: about 100 bytes each.
class PathIndex {
 public:
  void AddDirectory(InodeNumber directory, InodeNumber parent, std::string_view name);
  // "/a/b". Where the way up is broken the path begins with the inode that it ends at: "(inode 7)/b".
  std::string PathOf(InodeNumber parent, std::string_view name) const;
  std::string PathOfDirectory(InodeNumber directory) const;

  // Those with first <= inode <= last.
  std::vector<InodeNumber> Between(InodeNumber first, InodeNumber last) const;

 private:
  struct Place {
    uint64_t parent;
    std::string name;
  };
  std::map<uint64_t, Place> places_;
};

struct FoundName {
  InodeNumber parent;
  std::string name;
  uint32_t type = 0;  // S_IFMT bits
  bool embedded = false;
};

struct FoundNames {
  PathIndex paths;
  // Of the inodes that were asked for.
  std::map<InodeNumber, std::vector<FoundName>> names;

  // Of the inode's first name; "(inode 7)" where it has none.
  std::string PathOf(InodeNumber inode) const;
};

// All names of the inodes for which `wanted` is true. Passes over what is damaged: names may be missing, or
// be older ones. Errors: kDeviceError.
Task<Result<FoundNames>> FindNames(Store& store, std::function<bool(InodeNumber)> wanted);

}  // namespace varve
