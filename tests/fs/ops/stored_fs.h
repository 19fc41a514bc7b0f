// A filesystem on a real store on a MemoryDevice, for tests of what damage does to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/base/logger.h"
#include "engine/ring/local_executor.h"
#include "engine/store/format_store.h"
#include "engine/store/store.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/path.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_device.h"

namespace varve {

class BytesSource final : public ByteSource {
 public:
  explicit BytesSource(std::string_view bytes) : rest_(bytes) {}
  Result<size_t> Read(std::span<char> into) override {
    const size_t count = rest_.copy(into.data(), into.size());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

class BytesSink final : public ByteSink {
 public:
  Status Write(std::string_view part) override {
    bytes.append(part);
    return OkStatus();
  }
  std::string bytes;
};

class StoredFs {
 public:
  explicit StoredFs(uint64_t device_bytes = 64 * kMiB, StoreOptions options = {})
      : device(MemoryDeviceOptions{.size_bytes = device_bytes}), options_(options) {
    FormatStoreOptions format;
    format.uuid = MakeUuid(1, 2);
    const Result<Superblock> formatted = executor.Run(FormatStore(device, clock, std::move(format)));
    EXPECT_TRUE(formatted.ok()) << formatted.ToString();
  }
  ~StoredFs() { Close(); }

  Status OpenStore(bool read_only = false) {
    StoreOptions options = options_;
    options.read_only = read_only;
    options.outlines = OutlinesOfDirents();
    Result<std::unique_ptr<Store>> opened =
        executor.Run(varve::OpenStore({device, clock, logger, {&executor}, 1}, options));
    if (opened.ok()) {
      store = std::move(*opened);
    }
    return opened.status();
  }
  Status Mount(bool read_only = false) {
    if (store == nullptr) {
      Status opened = OpenStore(read_only);
      if (!opened.ok()) {
        return opened;
      }
    }
    FileSystemOptions options;
    options.read_only = read_only;
    Result<std::unique_ptr<FileSystem>> mounted =
        executor.Run(FileSystem::Mount({*store, clock, logger, executor}, options));
    if (mounted.ok()) {
      fs = std::move(*mounted);
    }
    return mounted.status();
  }
  void Close() {
    if (fs != nullptr) {
      (void)executor.Run(fs->Unmount());
      fs = nullptr;
    }
    if (store != nullptr) {
      (void)executor.Run(store->Close());
      store = nullptr;
    }
  }
  void Put(const std::string& path, const std::string& bytes) {
    BytesSource source(bytes);
    const Status written = executor.Run(WriteWhole(*fs, path, source, WriteWholeOptions()));
    EXPECT_TRUE(written.ok()) << path << ": " << written.ToString();
  }
  Result<std::string> Read(const std::string& path) {
    BytesSink sink;
    const Status read = executor.Run(ReadWhole(*fs, path, sink));
    if (!read.ok()) {
      return read.error();
    }
    return sink.bytes;
  }
  template <typename T>
  T Run(Task<T> task) {
    return executor.Run(std::move(task));
  }

  ManualClock clock;
  NullLogger logger;
  LocalExecutor executor{clock, [this](uint64_t due_nanos) { clock.AdvanceTo(due_nanos); }};
  MemoryDevice device;
  std::unique_ptr<Store> store;
  std::unique_ptr<FileSystem> fs;

 private:
  StoreOptions options_;
};

}  // namespace varve
