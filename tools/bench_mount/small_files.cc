#include "tools/bench_mount/small_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace varve {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Files between two questions whether to stop.
constexpr uint64_t kInterruptionStride = 64;

constexpr std::string_view kPrefix = "file-";
constexpr std::string_view kRenamedPrefix = "renamed-";
constexpr std::string_view kAbsentPrefix = "absent-";
constexpr std::string_view kSyncedPrefix = "synced-";

Error Failure(const std::string& path) {
  return DeviceError(fmt::format("{}: {}", path, std::strerror(errno)));
}

Status Create(const std::string& path, std::string_view content, bool sync) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) {
    return Failure(path);
  }
  const bool written = write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
                       (!sync || fsync(file) == 0);
  return close(file) == 0 && written ? OkStatus() : Failure(path);
}

Status Read(const std::string& path, std::string_view content, std::vector<char>& buffer) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return Failure(path);
  }
  // Until the end, as a program does that does not know the size.
  size_t got = 0;
  ssize_t bytes = 0;
  while (got < buffer.size() && (bytes = read(file, buffer.data() + got, buffer.size() - got)) > 0) {
    got += static_cast<size_t>(bytes);
  }
  close(file);
  if (bytes < 0) {
    return Failure(path);
  }
  return std::string_view(buffer.data(), got) == content
             ? OkStatus()
             : Corruption(fmt::format("{}: other content than was written", path));
}

Status CheckStat(const std::string& path, uint64_t bytes) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    return Failure(path);
  }
  return static_cast<uint64_t>(found.st_size) == bytes
             ? OkStatus()
             : Corruption(fmt::format("{}: other size than was written", path));
}

Status CheckAbsent(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0) {
    return Corruption(fmt::format("{}: there, though nobody made it", path));
  }
  return errno == ENOENT ? OkStatus() : Failure(path);
}

Status List(const std::string& directory, uint64_t files) {
  DIR* const stream = opendir(directory.c_str());
  if (stream == nullptr) {
    return Failure(directory);
  }
  uint64_t seen = 0;
  while (const dirent* const entry = readdir(stream)) {
    seen += std::string_view(entry->d_name).starts_with(kPrefix) ? 1 : 0;
  }
  closedir(stream);
  return seen == files ? OkStatus()
                       : Corruption(fmt::format("{}: {} names instead of {}", directory, seen, files));
}

// Does single operations; what they share is made once.
class Worker {
 public:
  Worker(SmallFileOperation operation, const std::string& directory, size_t bytes)
      : operation_(operation), directory_(directory), content_(bytes, 'v'), buffer_(bytes + 1) {}

  Status Do(uint64_t number) {
    const std::string path = Path(kPrefix, number);
    switch (operation_) {
      case SmallFileOperation::kCreate:
        return Create(path, content_, false);
      case SmallFileOperation::kCreateSynced:
        return Create(Path(kSyncedPrefix, number), content_, true);
      case SmallFileOperation::kStat:
      case SmallFileOperation::kStatAgain:
        return CheckStat(path, content_.size());
      case SmallFileOperation::kRead:
      case SmallFileOperation::kReadAgain:
        return Read(path, content_, buffer_);
      case SmallFileOperation::kLookUpAbsent:
        return CheckAbsent(Path(kAbsentPrefix, number));
      case SmallFileOperation::kRename:
        return rename(path.c_str(), Path(kRenamedPrefix, number).c_str()) == 0 ? OkStatus() : Failure(path);
      case SmallFileOperation::kRemove: {
        const std::string renamed = Path(kRenamedPrefix, number);
        return unlink(renamed.c_str()) == 0 ? OkStatus() : Failure(renamed);
      }
      case SmallFileOperation::kList:
      case SmallFileOperation::kListAgain:
        break;
    }
    return OkStatus();
  }

 private:
  std::string Path(std::string_view prefix, uint64_t number) const {
    return fmt::format("{}/{}{:07}", directory_, prefix, number);
  }

  SmallFileOperation operation_;
  const std::string& directory_;
  std::string content_;
  std::vector<char> buffer_;
};

// One time for each file.
Result<SmallFileTimes> TimeAll(Worker& worker, uint64_t files, Interruption& interruption) {
  SmallFileTimes times;
  times.nanos.reserve(files);
  const auto begin = steady_clock::now();
  auto last = begin;
  for (uint64_t i = 0; i < files; ++i) {
    if (i % kInterruptionStride == 0 && interruption.Requested()) {
      return Cancelled("interrupted");
    }
    if (Status done = worker.Do(i); !done.ok()) {
      return done.error();
    }
    const auto now = steady_clock::now();
    times.nanos.push_back(static_cast<uint64_t>(nanoseconds(now - last).count()));
    last = now;
  }
  times.seconds = std::chrono::duration<double>(last - begin).count();
  return times;
}

Result<SmallFileTimes> TimeList(const std::string& directory, uint64_t files) {
  const auto begin = steady_clock::now();
  if (Status listed = List(directory, files); !listed.ok()) {
    return listed.error();
  }
  SmallFileTimes times;
  times.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  return times;
}

}  // namespace

std::string_view NameOf(SmallFileOperation operation) {
  switch (operation) {
    case SmallFileOperation::kCreate:
      return "create";
    case SmallFileOperation::kStat:
      return "stat";
    case SmallFileOperation::kStatAgain:
      return "stat again";
    case SmallFileOperation::kRead:
      return "open and read";
    case SmallFileOperation::kReadAgain:
      return "open and read again";
    case SmallFileOperation::kLookUpAbsent:
      return "look up absent names";
    case SmallFileOperation::kList:
      return "list";
    case SmallFileOperation::kListAgain:
      return "list again";
    case SmallFileOperation::kRename:
      return "rename";
    case SmallFileOperation::kRemove:
      return "remove";
    case SmallFileOperation::kCreateSynced:
      return "create with fsync";
  }
  return "";
}

Result<SmallFileTimes> RunSmallFiles(SmallFileOperation operation, const std::string& directory,
                                     uint64_t files, size_t bytes, Interruption& interruption) {
  if (operation == SmallFileOperation::kListAgain) {
    if (Result<SmallFileTimes> first = TimeList(directory, files); !first.ok()) {
      return first;
    }
  }
  if (operation == SmallFileOperation::kList || operation == SmallFileOperation::kListAgain) {
    return TimeList(directory, files);
  }
  Worker worker(operation, directory, bytes);
  if (operation == SmallFileOperation::kStatAgain || operation == SmallFileOperation::kReadAgain) {
    if (Result<SmallFileTimes> first = TimeAll(worker, files, interruption); !first.ok()) {
      return first;
    }
  }
  return TimeAll(worker, files, interruption);
}

}  // namespace varve
