#include "tests/fuzz/filesystem_walk.h"

#include <fcntl.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "fs/content/content.h"

namespace varve::fuzz {

namespace {

constexpr Caller kCaller{.uid = 1, .gid = 1, .pid = 1};

struct FoundName {
  InodeNumber directory;
  std::string name;
};

class NameSink final : public DirectorySink {
 public:
  bool Add(const DirectoryEntry& entry) override {
    if (names.size() == kNamesMax) {
      return false;
    }
    names.emplace_back(entry.name);
    if (entry.attributes != nullptr) {
      counted.push_back(entry.inode);
    }
    return true;
  }

  static constexpr size_t kNamesMax = 64;
  std::vector<std::string> names;
  std::vector<InodeNumber> counted;
};

Task<std::vector<std::string>> NamesIn(FileSystem& fs, InodeNumber directory) {
  NameSink sink;
  const Result<OpenedDirectory> opened = co_await fs.OpenDirectory(directory);
  if (!opened.ok()) {
    co_return sink.names;
  }
  (void)co_await fs.ReadDirectory(opened->handle, 0, sink);
  NameSink plus;
  (void)co_await fs.ReadDirectoryPlus(opened->handle, 0, plus);
  for (const InodeNumber inode : plus.counted) {
    fs.Forget(inode, 1);
  }
  (void)co_await fs.ReadDirectory(opened->handle, UINT64_MAX / 2, plus);
  fs.ReleaseDirectory(opened->handle);
  co_return sink.names;
}

Task<void> LookAt(FileSystem& fs, const Attributes& file) {
  const InodeNumber inode = file.inode;
  (void)co_await fs.GetAttributes(inode);
  const Result<std::string> xattrs = co_await fs.ListXattrs(inode);
  if (xattrs.ok()) {
    const std::string first = xattrs->c_str();
    (void)co_await fs.GetXattr(inode, first);
  }
  (void)co_await fs.GetXattr(inode, "user.a");
  (void)co_await fs.ReadSymlink(inode);
  std::vector<char> bytes(10'000);
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{5'000}, file.size / 2, file.size - 100, file.size, UINT64_MAX - 10}) {
    std::unique_ptr<UnfinishedRead> rest;
    if (!fs.BeginRead(inode, offset, bytes, rest) && rest != nullptr) {
      (void)co_await rest->Finish();
    }
    (void)co_await fs.Read(inode, offset, bytes);
  }
  for (const uint64_t offset : {uint64_t{0}, file.size / 2, UINT64_MAX / 2}) {
    (void)co_await fs.Seek(inode, offset, SEEK_DATA);
    (void)co_await fs.Seek(inode, offset, SEEK_HOLE);
  }
}

Task<std::vector<FoundName>> Visit(FileSystem& fs, size_t nodes_max, bool look) {
  std::vector<FoundName> found;
  std::set<uint64_t> visited;
  std::vector<InodeNumber> directories{kRootInode};
  std::vector<InodeNumber> counted;
  while (!directories.empty()) {
    const InodeNumber directory = directories.back();
    directories.pop_back();
    if (!visited.insert(directory.value).second) {
      continue;
    }
    (void)co_await fs.Lookup(directory, "..");
    for (const std::string& name : co_await NamesIn(fs, directory)) {
      if (found.size() == nodes_max || name == "." || name == "..") {
        continue;
      }
      found.push_back({directory, name});
      const Result<Attributes> attributes = co_await fs.Lookup(directory, name);
      if (!attributes.ok()) {
        continue;
      }
      counted.push_back(attributes->inode);
      if (S_ISDIR(attributes->mode)) {
        directories.push_back(attributes->inode);
      }
      if (look) {
        co_await LookAt(fs, *attributes);
      }
    }
  }
  for (const InodeNumber inode : counted) {
    fs.Forget(inode, 1);
  }
  co_return found;
}

Task<void> ChangeFile(FileSystem& fs, InodeNumber inode, size_t turn) {
  (void)co_await fs.Write(inode, turn % 2 == 0 ? 0 : 9'000, "written", {});
  SetAttributes changes;
  changes.size = turn % 3 == 0 ? 0 : 3'000;
  (void)co_await fs.ChangeAttributes(inode, changes);
  changes.size = kFileBytesMax;
  (void)co_await fs.ChangeAttributes(inode, changes);
  (void)co_await fs.Allocate(inode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 9'000);
  (void)co_await fs.CopyRange(inode, 0, inode, 20'000, 5'000, {});
  (void)co_await fs.SetXattr(inode, "user.a", "value", {});
  (void)co_await fs.RemoveXattr(inode, "user.a");
}

Task<void> ChangeName(FileSystem& fs, FoundName at, const FoundName& other, size_t turn) {
  const Result<Attributes> directory = co_await fs.GetAttributes(at.directory);
  const Result<Attributes> attributes = co_await fs.Lookup(at.directory, at.name);
  if (attributes.ok()) {
    co_await ChangeFile(fs, attributes->inode, turn);
    const Result<Attributes> linked = co_await fs.Link(attributes->inode, at.directory, "link");
    if (linked.ok()) {
      fs.Forget(linked->inode, 1);
      (void)co_await fs.Unlink(at.directory, "link");
    }
  }
  const uint32_t flags = turn % 2 == 0 ? 0 : RENAME_EXCHANGE;
  (void)co_await fs.Rename(at.directory, at.name, other.directory, other.name, flags);
  (void)co_await fs.Rename(at.directory, at.name, kRootInode, "moved", 0);
  (void)co_await fs.Unlink(at.directory, at.name);
  (void)co_await fs.RemoveDirectory(at.directory, at.name);
  if (attributes.ok()) {
    (void)co_await fs.GetAttributes(attributes->inode);
    fs.Forget(attributes->inode, 1);
  }
}

// Everything in a directory's own records is named by its inode number: the numbers are looked up from the
// root, so that they may be passed.
Task<void> MakeFiles(FileSystem& fs) {
  for (const std::string name : {"made", "made too"}) {
    Result<Attributes> file = co_await fs.MakeNode(kRootInode, name, S_IFREG | 0644, 0, kCaller);
    if (file.ok()) {
      (void)co_await fs.Write(file->inode, 0, std::string(9'000, 'm'), {});
      fs.Forget(file->inode, 1);
    }
  }
  const Result<Attributes> directory = co_await fs.MakeDirectory(kRootInode, "directory", 0755, kCaller);
  if (directory.ok()) {
    fs.Forget(directory->inode, 1);
  }
  const Result<Attributes> link = co_await fs.MakeSymlink(kRootInode, "symlink", "target", kCaller);
  if (link.ok()) {
    fs.Forget(link->inode, 1);
  }
}

}  // namespace

Task<void> LookAtAll(FileSystem& fs, size_t nodes_max) {
  (void)co_await Visit(fs, nodes_max, true);
  (void)fs.Usage();
  (void)fs.Statistics();
}

Task<void> ChangeAll(FileSystem& fs, size_t nodes_max) {
  co_await MakeFiles(fs);
  const std::vector<FoundName> names = co_await Visit(fs, nodes_max, false);
  // Directories are used below only while somebody counts them.
  std::vector<InodeNumber> counted;
  for (const FoundName& at : names) {
    const Result<Attributes> found = co_await fs.Lookup(at.directory, at.name);
    if (found.ok()) {
      counted.push_back(found->inode);
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    co_await ChangeName(fs, names[i], names[(i * 7 + 3) % names.size()], i);
  }
  for (const InodeNumber inode : counted) {
    fs.Forget(inode, 1);
  }
  (void)co_await fs.FinishRemovals();
  (void)co_await fs.Sync();
}

}  // namespace varve::fuzz
