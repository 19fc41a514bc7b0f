#include "fs/ops/check_namespace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/check_links.h"
#include "fs/ops/check_owners.h"

namespace varve {

namespace {

constexpr std::array kKindsAfterNames = {NamespaceKind::kInode,   NamespaceKind::kOrphan,
                                         NamespaceKind::kChunk,   NamespaceKind::kXattr,
                                         NamespaceKind::kCounter, NamespaceKind::kAccess};

class NamespaceChecker {
 public:
  NamespaceChecker(Store& store, NamespaceCheckSink& sink)
      : store_(store), sink_(sink), snapshot_(store.GetSnapshot()), report_(sink, summary_) {}

  Task<Result<NamespaceSummary>> Run() {
    Status parameters = co_await ReadParameters();
    if (!parameters.ok()) {
      co_return parameters.error();
    }
    // Names first, and inodes before what belongs to them: each later pass is held against the earlier ones.
    // Where a pass could not be ended, the rest would be held against half of the truth.
    Status scanned = co_await Scan(NamespaceKind::kDirent);
    links_.EndNames();
    for (const NamespaceKind kind : kKindsAfterNames) {
      if (scanned.ok()) {
        scanned = co_await Scan(kind);
      }
      if (!scanned.ok()) {
        co_return scanned.error();
      }
      if (kind == NamespaceKind::kInode) {
        links_.EndInodes();
        links_.CheckReachability();
      }
      if (kind == NamespaceKind::kOrphan) {
        owners_.EndInodes();
      }
    }
    scanned = co_await ScanUnknownKinds();
    if (!scanned.ok()) {
      co_return scanned.error();
    }
    owners_.End();
    CheckCounter();
    sink_.Progress(records_);
    co_return summary_;
  }

 private:
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
    owners_.SetChunkBytes(parameters->chunk_bytes);
    Store::Lookup counter = co_await store_.Get(kInodeCounterKey, read);
    if (!counter.ok()) {
      co_return counter.error();
    }
    const Result<InodeNumber> next =
        *counter ? DecodeInodeCounter((*counter)->bytes()) : Result<InodeNumber>(NotFound("missing"));
    if (next.ok()) {
      next_inode_ = next->value;
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
      if (kind == NamespaceKind::kAccess) {
        const Status checked = co_await CheckAccess(records->key(), records->value());
        if (!checked.ok()) {
          co_return checked;
        }
      }
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
    const NamespaceKey end = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kAccess) + 1);
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
      report_.Add(0, "there are records of no known kind");
    }
    co_return records->status();
  }

  void CheckRecord(std::string_view key, std::string_view value) {
    const std::optional<ParsedKey> parsed = ParseNamespaceKey(key);
    if (!parsed) {
      report_.Add(0, "a record's key does not decode");
      return;
    }
    largest_inode_ = std::max(largest_inode_, parsed->inode.value);
    switch (parsed->kind) {
      case NamespaceKind::kDirent:
        return CheckDirent(key, *parsed, value);
      case NamespaceKind::kInode:
        return CheckInode(*parsed, value);
      case NamespaceKind::kOrphan:
        return CheckOrphan(key, *parsed, value);
      case NamespaceKind::kChunk:
        ++summary_.chunks;
        return owners_.AddChunk(parsed->inode, parsed->chunk_index, value.size());
      case NamespaceKind::kXattr:
        ++summary_.xattrs;
        return owners_.AddXattr(parsed->inode, key);
      case NamespaceKind::kCounter:
        if (key != kFormatKey && key != kInodeCounterKey) {
          report_.Add(0, "there is a counter of no known name");
        }
        return;
      case NamespaceKind::kAccess:
        return;  // CheckAccess
    }
  }

  void CheckDirent(std::string_view key, const ParsedKey& parsed, std::string_view value) {
    const Result<DirentRecord> dirent = DecodeDirent(value);
    ++summary_.names;
    links_.AddName(parsed.inode, dirent.ok() ? &*dirent : nullptr);
    if (!IsName(parsed.name)) {
      report_.Add({parsed.inode, "the directory holds a name that no file may have",
                   dirent.ok() ? Mend::kMoveName : Mend::kNothing, std::string(key)});
    }
    if (!dirent.ok()) {
      owners_.AddUnreadable();
      report_.Add(parsed.inode.value,
                  fmt::format("the directory's entry \"{}\" does not decode", parsed.name));
      return;
    }
    largest_inode_ = std::max(largest_inode_, dirent->inode.value);
    if (dirent->embedded) {
      AddOwner(dirent->embedded->inode);
      if (dirent->embedded->inode.nlink != 1) {
        report_.Add(dirent->inode.value, "a file with one name counts another number of names",
                    Mend::kSetLinks, 1);
      }
    }
  }

  void AddOwner(const Inode& inode) {
    summary_.files += inode.is_regular() ? 1 : 0;
    summary_.directories += inode.is_directory() ? 1 : 0;
    summary_.others += inode.is_regular() || inode.is_directory() ? 0 : 1;
    owners_.AddInode(inode);
  }

  void CheckInode(const ParsedKey& key, std::string_view value) {
    const Result<InodeRecord> record = DecodeInode(value);
    if (!record.ok() || record->inode.number != key.inode) {
      links_.AddInode(key.inode, nullptr);
      owners_.AddUnreadable();
      report_.Add(key.inode.value, "the inode record does not decode");
      return;
    }
    AddOwner(record->inode);
    links_.AddInode(key.inode, &record->inode);
  }

  void CheckOrphan(std::string_view key, const ParsedKey& parsed, std::string_view value) {
    ++summary_.orphans;
    const Result<OrphanRecord> orphan = DecodeOrphan(value);
    if (!orphan.ok()) {
      // It could only have said what is to be removed.
      report_.Add({parsed.inode, "the orphan record does not decode",
                   orphan.Is(ErrorCode::kCorruption) ? Mend::kRemoveRecord : Mend::kNothing,
                   std::string(key)});
      return;
    }
    if (!orphan->file) {
      owners_.AddTruncation(parsed.inode, orphan->stale_end);
      return;
    }
    if (orphan->file->inode.number != parsed.inode || links_.HasName(parsed.inode) ||
        links_.HasRecord(parsed.inode)) {
      report_.Add(
          {parsed.inode, "an orphan has a name, or another's number", Mend::kRemoveRecord, std::string(key)});
      return;
    }
    owners_.AddOrphan(orphan->file->inode);
  }

  // Against the name that it says: what both point to stays valid meanwhile.
  Task<Status> CheckAccess(std::string_view key, std::string_view value) {
    const std::optional<ParsedKey> parsed = ParseNamespaceKey(key);
    if (!parsed) {
      co_return OkStatus();  // reported already
    }
    const Result<AccessRecord> access = DecodeAccess(value);
    if (!access.ok()) {
      report_.Add({parsed->inode, "the time of an access does not decode",
                   access.Is(ErrorCode::kCorruption) ? Mend::kRemoveRecord : Mend::kNothing,
                   std::string(key)});
      co_return OkStatus();
    }
    const NamespaceKey named = NamespaceKey::Dirent(access->parent, access->name);
    const Store::Lookup found = co_await store_.Get(named, {snapshot_.get(), true});
    if (!found.ok()) {
      co_return found.status();
    }
    const Result<DirentRecord> dirent =
        *found ? DecodeDirent((*found)->bytes()) : Result<DirentRecord>(DirentRecord());
    // A dirent that does not decode is a problem of its own, and may be this file's.
    if (dirent.ok() && (!dirent->embedded || dirent->inode != parsed->inode)) {
      report_.Add(
          {parsed->inode, "the time of an access belongs to no file", Mend::kRemoveRecord, std::string(key)});
    }
    co_return OkStatus();
  }

  // Numbers are given out once: what is in use must lie below the counter.
  void CheckCounter() {
    const bool mendable = largest_inode_ < UINT64_MAX / 2;
    const Mend mend = mendable ? Mend::kSetCounter : Mend::kNothing;
    if (next_inode_ == 0) {
      report_.Add(0, "the counter of inode numbers is missing or damaged", mend, largest_inode_ + 1);
    } else if (largest_inode_ >= next_inode_) {
      report_.Add(largest_inode_, "the inode number has not been given out yet", mend, largest_inode_ + 1);
    }
  }

  Store& store_;
  NamespaceCheckSink& sink_;
  const std::shared_ptr<const Snapshot> snapshot_;
  NamespaceSummary summary_;
  ProblemReport report_;
  LinkCheck links_{report_};
  OwnerCheck owners_{report_};
  uint64_t next_inode_ = 0;  // 0: not known
  uint64_t largest_inode_ = kRootInode.value;
  uint64_t records_ = 0;
};

}  // namespace

Task<Result<NamespaceSummary>> CheckNamespace(Store& store, NamespaceCheckSink& sink) {
  NamespaceChecker checker(store, sink);
  co_return co_await checker.Run();
}

}  // namespace varve
