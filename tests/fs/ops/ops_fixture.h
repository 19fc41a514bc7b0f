// A filesystem over a MemoryStore on the test's own thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/ring/local_executor.h"
#include "fs/ops/filesystem.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_as_mounted.h"

namespace varve {

// What a directory listing gives.
struct ListedEntry {
  std::string name;
  InodeNumber inode;
  uint32_t mode = 0;
  uint64_t next_offset = 0;
  bool counted = false;
};

class CollectingSink final : public DirectorySink {
 public:
  explicit CollectingSink(size_t entries_max) : entries_max_(entries_max) {}
  bool Add(const DirectoryEntry& entry) override {
    if (entries.size() >= entries_max_) {
      return false;
    }
    entries.push_back(
        {std::string(entry.name), entry.inode, entry.mode, entry.next_offset, entry.attributes != nullptr});
    return true;
  }

  std::vector<ListedEntry> entries;

 private:
  size_t entries_max_;
};

class OpsFixture {
 public:
  static FormatParameters SmallFormat() { return {1024, 4096}; }

  explicit OpsFixture(MemoryStoreOptions store_options = {},
                      FileSystemOptions options = {false, false, SmallFormat()})
      : executor(clock, [this](uint64_t due_nanos) { clock.AdvanceTo(due_nanos); }),
        store(std::make_unique<MemoryStore>(store_options)),
        options_(options) {
    Mount();
  }
  ~OpsFixture() {
    if (fs != nullptr) {
      Unmount();
    }
  }

  template <typename T>
  T Run(Task<T> task) {
    return executor.Run(std::move(task));
  }
  void Mount() {
    FileSystemEnvironment environment{*store, clock, logger, executor};
    Result<std::unique_ptr<FileSystem>> mounted = Run(FileSystem::Mount(environment, options_));
    ASSERT_TRUE(mounted.ok()) << mounted.ToString();
    fs = std::move(*mounted);
    recent = RecentFiles();
  }
  void Unmount() {
    const Status ended = Run(fs->Unmount());
    EXPECT_TRUE(ended.ok()) << ended.ToString();
    fs = nullptr;
  }
  // As after a crash of the machine in which every write survived: the kernel and its lookups are gone.
  void Crash() {
    std::unique_ptr<MemoryStore> survived = store->Clone(MemoryStoreOptions{});
    Unmount();
    store = std::move(survived);
    Mount();
  }

  InodeNumber Make(InodeNumber parent, const std::string& name, uint32_t mode = S_IFREG | 0644) {
    const Result<Attributes> made = Run(S_ISDIR(mode) ? fs->MakeDirectory(parent, name, mode, caller)
                                                      : fs->MakeNode(parent, name, mode, 0, caller));
    EXPECT_TRUE(made.ok()) << name << ": " << made.ToString();
    return made.ok() ? made->inode : InodeNumber();
  }
  Result<size_t> Write(InodeNumber inode, uint64_t offset, const std::string& data) {
    return Run(fs->Write(inode, offset, data, WriteFlags{}));
  }
  std::string Read(InodeNumber inode, uint64_t offset = 0, size_t length = 4 << 20) {
    // Kept, and filled anew where it was used: large memory is slow to get, above all with sanitizers.
    room_.resize(std::max(room_.size(), length), '?');
    const std::span<char> into = std::span<char>(room_).first(length);
    const Result<size_t> read = Run(ReadAsMounted(*fs, inode, offset, into, &recent));
    EXPECT_TRUE(read.ok()) << read.ToString();
    const size_t bytes = read.ok() ? *read : 0;
    std::string data = room_.substr(0, bytes);
    room_.replace(0, bytes, bytes, '?');
    return data;
  }
  Attributes Get(InodeNumber inode) {
    const Result<Attributes> attributes = Run(fs->GetAttributes(inode));
    EXPECT_TRUE(attributes.ok()) << attributes.ToString();
    return attributes.ok() ? *attributes : Attributes{};
  }
  Status Truncate(InodeNumber inode, uint64_t size) {
    SetAttributes changes;
    changes.size = size;
    return Run(fs->ChangeAttributes(inode, changes)).status();
  }
  std::vector<ListedEntry> List(InodeNumber directory, bool plus = false, size_t at_a_time = 100) {
    const Result<OpenedDirectory> opened = Run(fs->OpenDirectory(directory));
    EXPECT_TRUE(opened.ok());
    std::vector<ListedEntry> all;
    uint64_t offset = 0;
    while (true) {
      CollectingSink sink(at_a_time);
      const Status listed = plus ? Run(fs->ReadDirectoryPlus(opened->handle, offset, sink))
                                 : Run(fs->ReadDirectory(opened->handle, offset, sink));
      EXPECT_TRUE(listed.ok()) << listed.ToString();
      if (sink.entries.empty()) {
        break;
      }
      offset = sink.entries.back().next_offset;
      all.insert(all.end(), sink.entries.begin(), sink.entries.end());
    }
    fs->ReleaseDirectory(opened->handle);
    return all;
  }
  // How many records of a kind the store holds.
  size_t Records(uint8_t kind) const {
    size_t count = 0;
    for (const auto& [key, value] : store->Dump()) {
      count += static_cast<uint8_t>(key[0]) == kind ? 1 : 0;
    }
    return count;
  }

  ManualClock clock;
  NullLogger logger;
  LocalExecutor executor;
  std::unique_ptr<MemoryStore> store;
  std::unique_ptr<FileSystem> fs;
  RecentFiles recent;
  Caller caller{1000, 100, 1};

 private:
  FileSystemOptions options_;
  std::string room_;
};

}  // namespace varve
