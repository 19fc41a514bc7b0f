#include "fs/ops/check_namespace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// One dirent.
struct Name {
  uint64_t inode;
  uint64_t parent;
  uint32_t type;
  bool embedded;
};
// The entries that a directory really has.
struct Entries {
  uint64_t directory;
  uint64_t entries = 0;
  uint64_t subdirectories = 0;
};
// What an inode says of its bytes and attributes.
struct Owner {
  uint64_t inode;
  uint64_t chunk_count;
  uint64_t chunk_end;  // chunks spanned by the size
  bool has_xattrs;
  uint64_t stale_end = 0;  // a truncation still has to remove chunks below
  uint64_t chunks_found = 0;
  uint64_t xattrs_found = 0;
};
struct DirectoryLink {
  uint64_t inode;
  uint64_t parent;
  enum : uint8_t { kUnknown, kOnTheWay, kReachesRoot, kLost } state = kUnknown;
};

template <typename Item>
Item* FindByInode(std::vector<Item>& sorted, uint64_t inode) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), inode,
                                      [](const Item& item, uint64_t wanted) { return item.inode < wanted; });
  return found != sorted.end() && found->inode == inode ? &*found : nullptr;
}

template <typename Item>
void SortByInode(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.inode < b.inode; });
}

constexpr std::array kKindsAfterNames = {NamespaceKind::kInode, NamespaceKind::kOrphan, NamespaceKind::kChunk,
                                         NamespaceKind::kXattr, NamespaceKind::kCounter};

class NamespaceChecker {
 public:
  NamespaceChecker(Store& store, NamespaceCheckSink& sink)
      : store_(store), sink_(sink), snapshot_(store.GetSnapshot()) {}

  Task<Result<NamespaceSummary>> Run() {
    Status parameters = co_await ReadParameters();
    if (!parameters.ok()) {
      co_return parameters.error();
    }
    // Names first, and inodes before what belongs to them: each later pass is held against the earlier ones.
    // Where a pass could not be ended, the rest would be held against half of the truth.
    Status scanned = co_await Scan(NamespaceKind::kDirent);
    SortByInode(names_);
    for (const NamespaceKind kind : kKindsAfterNames) {
      if (scanned.ok()) {
        scanned = co_await Scan(kind);
      }
      if (!scanned.ok()) {
        co_return scanned.error();
      }
      if (kind == NamespaceKind::kInode) {
        CheckNames();
      }
      if (kind == NamespaceKind::kOrphan) {
        SortByInode(owners_);
        CheckTruncations();
      }
    }
    scanned = co_await ScanUnknownKinds();
    if (!scanned.ok()) {
      co_return scanned.error();
    }
    CheckReachability();
    CheckOwners();
    sink_.Progress(records_);
    co_return summary_;
  }

 private:
  void Problem(uint64_t inode, std::string_view what) {
    ++summary_.problems;
    sink_.Problem(InodeNumber(inode), what);
  }

  Task<Status> ReadParameters() {
    const ReadOptions read{snapshot_.get(), true};
    Store::Lookup format = co_await store_.Get(kFormatKey, read);
    if (!format.ok()) {
      co_return format.error();
    }
    if (!*format) {
      co_return NotFound("the store holds no filesystem");
    }
    const Result<FormatParameters> parameters = DecodeFormat((*format)->bytes());
    if (!parameters.ok()) {
      co_return parameters.error();
    }
    format_ = *parameters;
    Store::Lookup counter = co_await store_.Get(kInodeCounterKey, read);
    if (!counter.ok()) {
      co_return counter.error();
    }
    const Result<InodeNumber> next =
        *counter ? DecodeInodeCounter((*counter)->bytes()) : Result<InodeNumber>(NotFound("missing"));
    if (next.ok()) {
      next_inode_ = next->value;
    } else {
      Problem(0, "the counter of inode numbers is missing or damaged");
    }
    co_return Status();
  }

  Task<Status> Scan(NamespaceKind kind) {
    const uint8_t byte = static_cast<uint8_t>(kind);
    const NamespaceKey lower = NamespaceKey::KindStart(byte);
    const NamespaceKey upper = NamespaceKey::KindStart(static_cast<uint8_t>(byte + 1));
    const ReadOptions read{snapshot_.get(), false};
    const std::unique_ptr<StoreIterator> records = store_.NewIterator(lower, upper, read);
    if (records->Seek(lower) == Step::kNeedsIo) {
      co_await records->Load();
    }
    while (records->Valid()) {
      CheckRecord(records->key(), records->value());
      if (++records_ % 4096 == 0) {
        sink_.Progress(records_);
      }
      if (records->Next() == Step::kNeedsIo) {
        co_await records->Load();
      }
    }
    co_return records->status();
  }

  // Keys of no known kind, below and above.
  Task<Status> ScanUnknownKinds() {
    const NamespaceKey first = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kDirent));
    const NamespaceKey end = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kCounter) + 1);
    const ReadOptions read{snapshot_.get(), false};
    const std::unique_ptr<StoreIterator> records = store_.NewIterator({}, {}, read);
    if (records->Seek(std::string_view()) == Step::kNeedsIo) {
      co_await records->Load();
    }
    const bool below = records->Valid() && records->key() < first.view();
    if (records->status().ok() && records->Seek(end) == Step::kNeedsIo) {
      co_await records->Load();
    }
    if (below || records->Valid()) {
      Problem(0, "there are records of no known kind");
    }
    co_return records->status();
  }

  void CheckRecord(std::string_view key, std::string_view value) {
    const std::optional<ParsedKey> parsed = ParseNamespaceKey(key);
    if (!parsed) {
      Problem(0, "a record's key does not decode");
      return;
    }
    if (parsed->inode.value >= next_inode_ && next_inode_ != 0) {
      Problem(parsed->inode.value, "the inode number has not been given out yet");
    }
    switch (parsed->kind) {
      case NamespaceKind::kDirent:
        return CheckDirent(*parsed, value);
      case NamespaceKind::kInode:
        return CheckInode(*parsed, value);
      case NamespaceKind::kOrphan:
        return CheckOrphan(*parsed, value);
      case NamespaceKind::kChunk:
        return CheckChunk(*parsed, value);
      case NamespaceKind::kXattr:
        return CheckXattr(*parsed, value);
      case NamespaceKind::kCounter:
        if (key != kFormatKey && key != kInodeCounterKey) {
          Problem(0, "there is a counter of no known name");
        }
        return;
    }
  }

  void CheckDirent(const ParsedKey& key, std::string_view value) {
    const Result<DirentRecord> dirent = DecodeDirent(value);
    if (!CheckName(key.name).ok()) {
      Problem(key.inode.value, "the directory holds a name that no file may have");
    }
    if (entries_.empty() || entries_.back().directory != key.inode.value) {
      entries_.push_back({key.inode.value});
    }
    ++entries_.back().entries;
    ++summary_.names;
    if (!dirent.ok()) {
      Problem(key.inode.value, fmt::format("the directory's entry \"{}\" does not decode", key.name));
      return;
    }
    entries_.back().subdirectories += dirent->type == S_IFDIR ? 1 : 0;
    names_.push_back({dirent->inode.value, key.inode.value, dirent->type, dirent->embedded.has_value()});
    if (dirent->embedded) {
      AddOwner(dirent->embedded->inode);
      if (dirent->embedded->inode.nlink != 1) {
        Problem(dirent->inode.value, "a file with one name counts more");
      }
    }
  }

  void AddOwner(const Inode& inode) {
    summary_.files += inode.is_regular() ? 1 : 0;
    summary_.directories += inode.is_directory() ? 1 : 0;
    summary_.others += inode.is_regular() || inode.is_directory() ? 0 : 1;
    const uint64_t end = inode.chunked ? CeilDiv(inode.size, format_.chunk_bytes) : 0;
    owners_.push_back({inode.number.value, inode.chunk_count, end, inode.has_xattrs});
  }

  // The names of one inode; empty when there are none.
  std::pair<size_t, size_t> NamesOf(uint64_t inode) const {
    const auto first =
        std::lower_bound(names_.begin(), names_.end(), inode,
                         [](const Name& name, uint64_t wanted) { return name.inode < wanted; });
    auto last = first;
    while (last != names_.end() && last->inode == inode) {
      ++last;
    }
    return {static_cast<size_t>(first - names_.begin()), static_cast<size_t>(last - names_.begin())};
  }

  void CheckInode(const ParsedKey& key, std::string_view value) {
    const uint64_t number = key.inode.value;
    const Result<InodeRecord> record = DecodeInode(value);
    records_seen_.push_back(number);
    if (!record.ok() || record->inode.number != key.inode) {
      Problem(number, "the inode record does not decode");
      return;
    }
    const Inode& inode = record->inode;
    AddOwner(inode);
    const auto [first, last] = NamesOf(number);
    const size_t names = last - first;
    for (size_t i = first; i < last; ++i) {
      if (names_[i].type != (inode.mode & S_IFMT)) {
        Problem(number, "a name and its inode disagree about what it is");
      }
    }
    if (!inode.is_directory()) {
      if (names == 0) {
        Problem(number, "the inode has no name");
      } else if (names != inode.nlink) {
        Problem(number, fmt::format("the inode counts {} names and has {}", inode.nlink, names));
      }
      return;
    }
    CheckDirectory(inode, first, names);
  }

  void CheckDirectory(const Inode& inode, size_t first_name, size_t names) {
    const uint64_t number = inode.number.value;
    links_.push_back({number, inode.parent.value});
    if (inode.number == kRootInode ? names != 0 : names != 1) {
      Problem(number, fmt::format("the directory has {} names", names));
    } else if (names == 1 && names_[first_name].parent != inode.parent.value) {
      Problem(number, "the directory names another parent than the one it lies in");
    }
    const auto found =
        std::lower_bound(entries_.begin(), entries_.end(), number,
                         [](const Entries& entries, uint64_t wanted) { return entries.directory < wanted; });
    const bool has_entries = found != entries_.end() && found->directory == number;
    const uint64_t entries = has_entries ? found->entries : 0;
    const uint64_t subdirectories = has_entries ? found->subdirectories : 0;
    if (entries != inode.entry_count || subdirectories != inode.subdirectory_count) {
      Problem(number, fmt::format("the directory counts {} entries and {} subdirectories, and has {} and {}",
                                  inode.entry_count, inode.subdirectory_count, entries, subdirectories));
    }
  }

  // Each inode lies in one place only, and each reference leads somewhere.
  void CheckNames() {
    for (size_t i = 0; i < names_.size();) {
      const uint64_t inode = names_[i].inode;
      const bool has_record = std::binary_search(records_seen_.begin(), records_seen_.end(), inode);
      size_t embedded = 0;
      size_t references = 0;
      for (; i < names_.size() && names_[i].inode == inode; ++i) {
        ++(names_[i].embedded ? embedded : references);
      }
      if (embedded + (has_record ? 1 : 0) > 1) {
        Problem(inode, "the inode number is used more than once");
      } else if (references > 0 && !has_record) {
        Problem(inode, "a name refers to an inode that does not exist");
      }
    }
    for (const Entries& entries : entries_) {
      if (FindByInode(links_, entries.directory) == nullptr) {
        Problem(entries.directory,
                fmt::format("{} names lie in a directory that does not exist", entries.entries));
      }
    }
    if (FindByInode(links_, kRootInode.value) == nullptr) {
      Problem(kRootInode.value, "the root directory is missing");
    }
  }

  void CheckOrphan(const ParsedKey& key, std::string_view value) {
    ++summary_.orphans;
    const uint64_t number = key.inode.value;
    const Result<OrphanRecord> orphan = DecodeOrphan(value);
    if (!orphan.ok()) {
      Problem(number, "the orphan record does not decode");
      return;
    }
    if (!orphan->file) {
      truncations_.push_back({number, orphan->stale_end});
      return;
    }
    const auto [first, last] = NamesOf(number);
    if (orphan->file->inode.number != key.inode || first != last ||
        std::binary_search(records_seen_.begin(), records_seen_.end(), number)) {
      Problem(number, "an orphan has a name, or another's number");
    }
    // It is being removed: any of its chunks may be gone, and none is out of place.
    owners_.push_back({number, 0, 0, orphan->file->inode.has_xattrs, UINT64_MAX});
  }

  void CheckTruncations() {
    for (const auto& [inode, stale_end] : truncations_) {
      Owner* owner = FindByInode(owners_, inode);
      if (owner == nullptr) {
        Problem(inode, "a truncation is unfinished on a file that does not exist");
      } else {
        owner->stale_end = stale_end;
      }
    }
  }

  void CheckChunk(const ParsedKey& key, std::string_view value) {
    ++summary_.chunks;
    Owner* owner = FindByInode(owners_, key.inode.value);
    if (owner == nullptr) {
      Problem(key.inode.value, fmt::format("chunk {} belongs to no file", key.chunk_index));
      return;
    }
    if (value.empty() || value.size() > format_.chunk_bytes) {
      Problem(key.inode.value, fmt::format("chunk {} has {} bytes", key.chunk_index, value.size()));
    }
    if (key.chunk_index < owner->chunk_end) {
      ++owner->chunks_found;
    } else if (key.chunk_index >= owner->stale_end) {
      Problem(key.inode.value, fmt::format("chunk {} lies beyond the end of the file", key.chunk_index));
    }
  }

  void CheckXattr(const ParsedKey& key, std::string_view) {
    ++summary_.xattrs;
    Owner* owner = FindByInode(owners_, key.inode.value);
    if (owner == nullptr) {
      Problem(key.inode.value, "an extended attribute belongs to no file");
      return;
    }
    ++owner->xattrs_found;
  }

  void CheckOwners() {
    for (const Owner& owner : owners_) {
      const bool being_removed = owner.stale_end == UINT64_MAX;
      if (owner.chunks_found != owner.chunk_count && !being_removed) {
        Problem(owner.inode,
                fmt::format("the file counts {} chunks and has {}", owner.chunk_count, owner.chunks_found));
      }
      if (owner.has_xattrs != (owner.xattrs_found > 0) && !being_removed) {
        Problem(owner.inode, "the inode is wrong about having extended attributes");
      }
    }
  }

  // Directories whose way up does not end at the root form circles of their own, or hang below one.
  void CheckReachability() {
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
      for (DirectoryLink* passed : way) {
        passed->state = reaches ? DirectoryLink::kReachesRoot : DirectoryLink::kLost;
      }
      if (!way.empty() && !reaches) {
        Problem(start.inode, "the directory cannot be reached from the root");
      }
    }
  }

  Store& store_;
  NamespaceCheckSink& sink_;
  const std::shared_ptr<const Snapshot> snapshot_;
  FormatParameters format_;
  uint64_t next_inode_ = 0;
  uint64_t records_ = 0;
  NamespaceSummary summary_;
  std::vector<Name> names_;             // by inode, once all are there
  std::vector<Entries> entries_;        // by directory
  std::vector<uint64_t> records_seen_;  // inode records, ascending
  std::vector<DirectoryLink> links_;    // by inode
  std::vector<Owner> owners_;           // by inode, once the orphans are there
  std::vector<std::pair<uint64_t, uint64_t>> truncations_;
};

}  // namespace

Task<Result<NamespaceSummary>> CheckNamespace(Store& store, NamespaceCheckSink& sink) {
  NamespaceChecker checker(store, sink);
  co_return co_await checker.Run();
}

}  // namespace varve
