// Input: a byte that says what the rest is: 0: one value for every decoder, 1: records (key bytes: 1, value
// bytes: 2, key, value) that are put over an empty namespace, which is then mounted, used and checked; 2: the
// same, read only.
#include <array>

#include "engine/base/check.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/check_namespace.h"
#include "tests/fuzz/filesystem_walk.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_store.h"

namespace varve::fuzz {

namespace {

enum Form : uint8_t { kValue = 0, kRecords = 1, kReadOnlyRecords = 2 };

constexpr size_t kNamesMax = 40;

class IgnoreProblems final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& /*problem*/) override {}
  void Progress(uint64_t /*records*/) override {}
};

void RunValue(std::string_view value) {
  (void)ParseNamespaceKey(value);
  (void)DecodeFormat(value);
  (void)DecodeInodeCounter(value);
  (void)DecodeOrphan(value);
  (void)DecodeAccess(value);
  (void)DecodeDirentSummary(value);
  (void)CheckName(value);
  const Result<DirentRecord> dirent = DecodeDirent(value);
  if (dirent.ok()) {
    const Result<DirentSummary> summary = DecodeDirentSummary(value);
    Check(summary.ok() && summary->inode == dirent->inode && summary->type == dirent->type,
          "a listing and a lookup see different entries");
  }
  const Result<InodeRecord> inode = DecodeInode(value);
  if (inode.ok()) {
    std::string again;
    AppendInode(again, inode->inode, inode->content);
    const Result<InodeRecord> decoded = DecodeInode(again);
    Check(decoded.ok() && decoded->inode.size == inode->inode.size && decoded->content == inode->content,
          "an inode changes when it is written again");
  }
}

void RunRecords(std::string_view records, bool read_only) {
  Machine machine;
  MemoryStore store;
  NullLogger logger;
  Check(machine.Run(FormatNamespace(store, machine.clock, {64, 4096}, 0, 0)).ok(),
        "no namespace could be made");
  WriteBatch batch;
  InputReader reader(records);
  while (!reader.empty() && batch.within_limits()) {
    const uint64_t key_bytes = reader.Number(1);
    const uint64_t value_bytes = reader.Number(2);
    const std::string_view key = reader.Bytes(key_bytes);
    const std::string_view value = reader.Bytes(value_bytes);
    if (!key.empty()) {
      batch.Put(key, value);
    }
  }
  if (!batch.within_limits() || !machine.Run(store.Write(batch, Durability::kInterval)).ok()) {
    return;
  }
  IgnoreProblems sink;
  (void)machine.Run(CheckNamespace(store, sink));
  const FileSystemEnvironment environment{store, machine.clock, logger, machine.executor};
  FileSystemOptions options;
  options.read_only = read_only;
  const Result<std::unique_ptr<FileSystem>> mounted = machine.Run(FileSystem::Mount(environment, options));
  if (!mounted.ok()) {
    return;
  }
  machine.Run(LookAtAll(**mounted, kNamesMax));
  machine.Run(ChangeAll(**mounted, kNamesMax));
  (void)machine.Run((*mounted)->Unmount());
  (void)machine.Run(CheckNamespace(store, sink));
}

void AppendRecord(std::string& to, std::string_view key, std::string_view value) {
  AppendNumber(to, key.size(), 1);
  AppendNumber(to, value.size(), 2);
  to.append(key).append(value);
}

// A file of each kind, made by the filesystem, as its records.
std::string WrittenRecords() {
  Machine machine;
  MemoryStore store;
  NullLogger logger;
  FileSystemOptions options;
  options.format = {64, 4096};
  const FileSystemEnvironment environment{store, machine.clock, logger, machine.executor};
  Result<std::unique_ptr<FileSystem>> mounted = machine.Run(FileSystem::Mount(environment, options));
  Check(mounted.ok(), "a seed's namespace cannot be mounted");
  FileSystem& fs = **mounted;
  const Caller caller;
  const auto make = [&](InodeNumber parent, std::string_view name, size_t bytes) {
    const Result<Attributes> file = machine.Run(fs.MakeNode(parent, name, S_IFREG | 0644, 0, caller));
    (void)machine.Run(fs.Write(file->inode, 0, std::string(bytes, 'b'), {}));
    return file->inode;
  };
  const Result<Attributes> directory = machine.Run(fs.MakeDirectory(kRootInode, "dir", 0755, caller));
  const Result<Attributes> below = machine.Run(fs.MakeDirectory(directory->inode, "below", 0755, caller));
  make(kRootInode, "small", 20);
  const InodeNumber large = make(directory->inode, "large", 9'000);
  (void)machine.Run(fs.Link(large, below->inode, "second name"));
  (void)machine.Run(fs.SetXattr(large, "user.a", "value", {}));
  (void)machine.Run(fs.MakeSymlink(kRootInode, "link", "dir/large", caller));
  (void)machine.Run(fs.MakeNode(kRootInode, "fifo", S_IFIFO | 0600, 0, caller));
  // Unlinked and in use: an orphan.
  make(kRootInode, "gone", 5'000);
  (void)machine.Run(fs.Unlink(kRootInode, "gone"));
  std::string records;
  for (const auto& [key, value] : store.Dump()) {
    AppendRecord(records, key, value);
  }
  (void)machine.Run(fs.Unmount());
  return records;
}

}  // namespace

void RunNamespace(std::string_view input) {
  InputReader reader(input);
  switch (reader.Number(1) % 3) {
    case kValue:
      return RunValue(reader.rest());
    case kRecords:
      return RunRecords(reader.rest(), false);
    default:
      return RunRecords(reader.rest(), true);
  }
}

std::vector<std::string> NamespaceSeeds() {
  std::vector<std::string> seeds;
  const std::string records = WrittenRecords();
  seeds.push_back(std::string(1, static_cast<char>(kRecords)) + records);
  seeds.push_back(std::string(1, static_cast<char>(kReadOnlyRecords)) + records);
  InputReader reader(records);
  while (!reader.empty()) {
    const uint64_t key_bytes = reader.Number(1);
    const uint64_t value_bytes = reader.Number(2);
    const std::string_view key = reader.Bytes(key_bytes);
    const std::string_view value = reader.Bytes(value_bytes).substr(0, 200);
    seeds.push_back(std::string(1, static_cast<char>(kValue)) + std::string(key));
    seeds.push_back(std::string(1, static_cast<char>(kValue)) + std::string(value));
    std::string alone(1, static_cast<char>(kRecords));
    AppendRecord(alone, key, value);
    seeds.push_back(alone);
  }
  return seeds;
}

}  // namespace varve::fuzz
