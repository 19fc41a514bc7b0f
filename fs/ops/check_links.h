// Names against inodes: the part of the namespace check that knows the shape of the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/namespace_problem.h"

namespace varve {

// Told every dirent, then every inode record, each in key order. About 80 bytes a name and 56 a directory.
class LinkCheck {
 public:
  explicit LinkCheck(ProblemReport& report) : report_(report) {}

  // A name in `directory`; `dirent` is nullptr where its value does not decode.
  void AddName(InodeNumber directory, const DirentRecord* dirent);
  void EndNames();
  // `inode` is nullptr where the record does not decode.
  void AddInode(InodeNumber number, const Inode* inode);
  // Each inode lies in one place only, and each reference leads somewhere.
  void EndInodes();

  bool HasName(InodeNumber inode) const;
  bool HasRecord(InodeNumber inode) const;
  // Directories whose way up does not end at the root form circles of their own, or hang below one.
  void CheckReachability();

 private:
  // One dirent.
  struct Name {
    uint64_t inode;
    uint64_t parent;
    uint32_t type;
    bool embedded;
  };
  // The entries that a directory really has.
  struct Entries {
    uint64_t inode;  // the directory
    uint64_t entries = 0;
    uint64_t subdirectories = 0;
  };
  struct DirectoryLink {
    uint64_t inode;
    uint64_t parent;
    enum : uint8_t { kUnknown, kOnTheWay, kReachesRoot, kLost } state = kUnknown;
  };

  // The names of one inode: [first, second) of names_.
  std::pair<size_t, size_t> NamesOf(uint64_t inode) const;
  const Entries* EntriesOf(uint64_t directory) const;
  void CheckFile(const Inode& inode, size_t names);
  void CheckDirectory(const Inode& inode, size_t first_name, size_t last_name);
  void CheckDirectoryNames(const Inode& inode, size_t first_name, size_t last_name);

  ProblemReport& report_;
  std::vector<Name> names_;             // by inode, once all are there
  std::vector<Entries> entries_;        // by directory
  std::vector<uint64_t> records_seen_;  // inode records, ascending
  std::vector<DirectoryLink> links_;    // by inode
};

}  // namespace varve
