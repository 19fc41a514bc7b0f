#include "fs/ops/check_links.h"

#include <fmt/core.h>

#include <algorithm>

#include "fs/ops/find_by_inode.h"

namespace varve {

void LinkCheck::AddName(InodeNumber directory, const DirentRecord* dirent) {
  if (entries_.empty() || entries_.back().inode != directory.value) {
    entries_.push_back({directory.value});
  }
  ++entries_.back().entries;
  if (dirent != nullptr) {
    entries_.back().subdirectories += dirent->type == S_IFDIR ? 1 : 0;
    names_.push_back({dirent->inode.value, directory.value, dirent->type, dirent->embedded.has_value()});
  }
}

void LinkCheck::EndNames() {
  SortByInode(names_);
}

std::pair<size_t, size_t> LinkCheck::NamesOf(uint64_t inode) const {
  const auto first = std::lower_bound(names_.begin(), names_.end(), inode,
                                      [](const Name& name, uint64_t wanted) { return name.inode < wanted; });
  auto last = first;
  while (last != names_.end() && last->inode == inode) {
    ++last;
  }
  return {static_cast<size_t>(first - names_.begin()), static_cast<size_t>(last - names_.begin())};
}

const LinkCheck::Entries* LinkCheck::EntriesOf(uint64_t directory) const {
  return FindByInode(entries_, directory);
}

bool LinkCheck::HasName(InodeNumber inode) const {
  const auto [first, last] = NamesOf(inode.value);
  return first != last;
}

bool LinkCheck::HasRecord(InodeNumber inode) const {
  return std::binary_search(records_seen_.begin(), records_seen_.end(), inode.value);
}

void LinkCheck::AddInode(InodeNumber number, const Inode* inode) {
  records_seen_.push_back(number.value);
  if (inode == nullptr) {
    return;
  }
  const auto [first, last] = NamesOf(number.value);
  const bool differs = std::any_of(names_.begin() + static_cast<ptrdiff_t>(first),
                                   names_.begin() + static_cast<ptrdiff_t>(last),
                                   [&](const Name& name) { return name.type != (inode->mode & S_IFMT); });
  if (differs) {
    report_.Add(number.value, "a name and its inode disagree about what it is", Mend::kSetNameTypes);
  }
  if (inode->is_directory()) {
    CheckDirectory(*inode, first, last);
  } else {
    CheckFile(*inode, last - first);
  }
}

void LinkCheck::CheckFile(const Inode& inode, size_t names) {
  if (names == 0) {
    const bool removed = inode.nlink == 0;
    report_.Add(inode.number.value, "the inode has no name", removed ? Mend::kRelease : Mend::kAttach);
  } else if (names != inode.nlink) {
    report_.Add(inode.number.value, fmt::format("the inode counts {} names and has {}", inode.nlink, names),
                Mend::kSetLinks, names);
  }
}

void LinkCheck::CheckDirectoryNames(const Inode& inode, size_t first_name, size_t last_name) {
  const uint64_t number = inode.number.value;
  const size_t names = last_name - first_name;
  if (inode.number == kRootInode) {
    if (names != 0) {
      report_.Add(number, fmt::format("the directory has {} names", names), Mend::kRemoveNames);
    }
    return;
  }
  size_t in_parent = 0;
  for (size_t i = first_name; i < last_name; ++i) {
    in_parent += names_[i].parent == inode.parent.value ? 1 : 0;
  }
  if (names == 0) {
    const bool empty = EntriesOf(number) == nullptr;
    report_.Add(number, "the directory has 0 names",
                empty && inode.nlink == 0 ? Mend::kRelease : Mend::kAttach);
  } else if (names > 1) {
    report_.Add(number, fmt::format("the directory has {} names", names),
                in_parent == 1 ? Mend::kRemoveOtherNames : Mend::kNothing);
  } else if (in_parent == 0) {
    report_.Add(number, "the directory names another parent than the one it lies in", Mend::kSetParent);
  }
}

void LinkCheck::CheckDirectory(const Inode& inode, size_t first_name, size_t last_name) {
  const uint64_t number = inode.number.value;
  links_.push_back({number, inode.parent.value});
  CheckDirectoryNames(inode, first_name, last_name);
  const Entries* found = EntriesOf(number);
  const uint64_t entries = found != nullptr ? found->entries : 0;
  const uint64_t subdirectories = found != nullptr ? found->subdirectories : 0;
  if (entries != inode.entry_count || subdirectories != inode.subdirectory_count) {
    report_.Add(number,
                fmt::format("the directory counts {} entries and {} subdirectories, and has {} and {}",
                            inode.entry_count, inode.subdirectory_count, entries, subdirectories),
                Mend::kSetDirectoryCounts, entries, subdirectories);
  }
}

void LinkCheck::EndInodes() {
  for (size_t i = 0; i < names_.size();) {
    const uint64_t inode = names_[i].inode;
    const bool has_record = HasRecord(InodeNumber(inode));
    size_t embedded = 0;
    size_t references = 0;
    for (; i < names_.size() && names_[i].inode == inode; ++i) {
      ++(names_[i].embedded ? embedded : references);
    }
    if (embedded + (has_record ? 1 : 0) > 1) {
      report_.Add(inode, "the inode number is used more than once");
    } else if (references > 0 && !has_record) {
      // What lies below a lost directory is still there.
      const bool has_entries = embedded == 0 && EntriesOf(inode) != nullptr;
      report_.Add(inode, "a name refers to an inode that does not exist",
                  has_entries ? Mend::kWithAnother : Mend::kRemoveNames);
    }
  }
  for (const Entries& entries : entries_) {
    if (FindByInode(links_, entries.inode) == nullptr) {
      const auto [first, last] = NamesOf(entries.inode);
      const bool taken = HasRecord(InodeNumber(entries.inode)) ||
                         std::any_of(names_.begin() + static_cast<ptrdiff_t>(first),
                                     names_.begin() + static_cast<ptrdiff_t>(last),
                                     [](const Name& name) { return name.embedded; });
      report_.Add(entries.inode,
                  fmt::format("{} names lie in a directory that does not exist", entries.entries),
                  taken ? Mend::kNothing : Mend::kMakeDirectory);
    }
  }
  if (FindByInode(links_, kRootInode.value) == nullptr) {
    const bool others = EntriesOf(kRootInode.value) != nullptr;
    const bool taken = HasRecord(kRootInode) || HasName(kRootInode);
    report_.Add(kRootInode.value, "the root directory is missing",
                taken    ? Mend::kNothing
                : others ? Mend::kWithAnother
                         : Mend::kMakeDirectory);
  }
}

void LinkCheck::CheckReachability() {
  // Where names and parents disagree, this is not yet the tree that it will be.
  const bool links_are_sound = report_.problems() == 0;
  for (DirectoryLink& start : links_) {
    DirectoryLink* at = &start;
    std::vector<DirectoryLink*> way;
    while (at != nullptr && at->state == DirectoryLink::kUnknown && at->inode != kRootInode.value) {
      at->state = DirectoryLink::kOnTheWay;
      way.push_back(at);
      at = FindByInode(links_, at->parent);
    }
    const bool reaches =
        at != nullptr && (at->inode == kRootInode.value || at->state == DirectoryLink::kReachesRoot);
    const bool circle = at != nullptr && at->state == DirectoryLink::kOnTheWay;
    for (DirectoryLink* passed : way) {
      passed->state = reaches ? DirectoryLink::kReachesRoot : DirectoryLink::kLost;
    }
    if (!way.empty() && !reaches) {
      const bool cut_here = circle && links_are_sound;
      report_.Add(cut_here ? at->inode : start.inode, "the directory cannot be reached from the root",
                  cut_here ? Mend::kDetach : Mend::kWithAnother);
    }
  }
}

}  // namespace varve
