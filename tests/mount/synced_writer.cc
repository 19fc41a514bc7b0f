// Shows whether what an acknowledged fsync promised is there after a crash. `write` works as programs do that
// care (appends to a log, pages of a database, files replaced by rename, names made and removed), several
// writers at once, until it is killed or a call fails; after each fsync that was acknowledged it notes in
// RECORD, which lies elsewhere, what must be there from now on. `check` holds the directory to the record.
//
//   synced_writer write DIR RECORD SEED WRITERS
//   synced_writer check DIR RECORD SEED LEAST     exit code 0 when all is there and LEAST fsyncs are on
//   record
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/prng.h"

namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint64_t kPages = 256;
constexpr uint64_t kLogBytesMax = 4 << 20;
constexpr uint64_t kNamesMax = 50;

// Which bytes belong where: no two places share a stream, so that bytes of another place are noticed.
struct Stream {
  uint64_t seed, writer, kind, number;

  uint64_t WordAt(uint64_t index) const {
    uint64_t x = seed;
    for (const uint64_t part : {writer, kind, number, index}) {
      x = (x ^ part) * 0x9e3779b97f4a7c15U;
      x ^= x >> 29;
    }
    return x;
  }
  std::string Bytes(uint64_t begin, uint64_t end) const {
    std::string bytes;
    bytes.reserve(end - begin);
    for (uint64_t at = begin; at < end; ++at) {
      bytes += static_cast<char>(WordAt(at / 8) >> (at % 8 * 8));
    }
    return bytes;
  }
};
constexpr uint64_t kLog = 1, kPage = 2, kReplaced = 3;

// A page, and a replaced file, begin with their version in a line of this size.
constexpr size_t kHeadBytes = 32;
std::string Head(uint64_t version) {
  return fmt::format("{:<31}\n", version);
}
std::optional<uint64_t> VersionIn(const std::string& content) {
  if (content.size() < kHeadBytes || content[kHeadBytes - 1] != '\n') {
    return std::nullopt;
  }
  return std::strtoull(content.c_str(), nullptr, 10);
}
std::string PageContent(uint64_t seed, uint64_t writer, uint64_t page, uint64_t version) {
  const Stream stream{seed, writer, kPage, page * 1'000'000'000 + version};
  return Head(version) + stream.Bytes(0, kPageBytes - kHeadBytes);
}
std::string ReplacedContent(uint64_t seed, uint64_t writer, uint64_t version) {
  const Stream stream{seed, writer, kReplaced, version};
  return Head(version) + stream.Bytes(0, stream.WordAt(0) % 40'000);
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }
  bool WriteAll(const std::string& bytes, uint64_t offset) const {
    return pwrite(number_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool Sync() const { return fsync(number_) == 0; }

 private:
  int number_;
};

// One line a call; whole also when several threads note and when the process is killed.
class Record {
 public:
  explicit Record(const std::string& path) : file_(path, O_WRONLY | O_CREAT | O_APPEND) {}
  bool Note(const std::string& line) const {
    return write(file_.number(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  }

 private:
  Descriptor file_;
};

// One of those who write, each in a directory of its own. Every step answers false when a call failed.
class Writer {
 public:
  Writer(const std::string& root, const Record& record, uint64_t seed, uint64_t number)
      : folder_(fmt::format("{}/{}", root, number)),
        record_(record),
        seed_(seed),
        number_(number),
        prng_(seed * 1000 + number) {}

  void Run() {
    if (mkdir(folder_.c_str(), 0755) != 0) {
      return;
    }
    while (Step()) {
    }
  }

 private:
  bool Step() {
    switch (prng_.Below(4)) {
      case 0:
        return AppendToLog();
      case 1:
        return WritePages();
      case 2:
        return Replace();
      default:
        return MakeAndRemoveNames();
    }
  }

  bool SyncFolder() const {
    const Descriptor folder(folder_, O_RDONLY | O_DIRECTORY);
    return folder.ok() && folder.Sync();
  }

  bool AppendToLog() {
    if (log_bytes_ > kLogBytesMax) {
      ++log_;
      log_bytes_ = 0;
    }
    const Descriptor file(fmt::format("{}/log.{}", folder_, log_), O_WRONLY | O_CREAT | O_APPEND);
    if (!file.ok()) {
      return false;
    }
    for (uint64_t i = prng_.Between(1, 6); i > 0; --i) {
      const uint64_t end =
          log_bytes_ + (prng_.OneIn(10) ? prng_.Between(1, 100'000) : prng_.Between(1, 5000));
      if (!file.WriteAll(Stream{seed_, number_, kLog, log_}.Bytes(log_bytes_, end), log_bytes_)) {
        return false;
      }
      log_bytes_ = end;
    }
    return file.Sync() && SyncFolder() &&
           record_.Note(fmt::format("log {} {} {}\n", number_, log_, log_bytes_));
  }

  bool WritePages() {
    const Descriptor file(folder_ + "/pages", O_WRONLY | O_CREAT);
    if (!file.ok()) {
      return false;
    }
    std::string notes;
    for (uint64_t i = prng_.Between(1, 8); i > 0; --i) {
      const uint64_t page = prng_.Below(kPages);
      const uint64_t version = ++page_versions_[page];
      if (!file.WriteAll(PageContent(seed_, number_, page, version), page * kPageBytes)) {
        return false;
      }
      notes += fmt::format("page {} {} {}\n", number_, page, version);
    }
    return file.Sync() && SyncFolder() && record_.Note(notes);
  }

  bool Replace() {
    const std::string fresh = folder_ + "/fresh";
    const uint64_t version = ++replaced_;
    {
      const Descriptor file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
      if (!file.ok() || !file.WriteAll(ReplacedContent(seed_, number_, version), 0) || !file.Sync()) {
        return false;
      }
    }
    return rename(fresh.c_str(), (folder_ + "/replaced").c_str()) == 0 && SyncFolder() &&
           record_.Note(fmt::format("replaced {} {}\n", number_, version));
  }

  bool MakeAndRemoveNames() {
    const uint64_t name = next_name_++;
    {
      const Descriptor file(NamePath(name), O_WRONLY | O_CREAT | O_EXCL);
      if (!file.ok()) {
        return false;
      }
    }
    if (!SyncFolder() || !record_.Note(fmt::format("made {} {}\n", number_, name))) {
      return false;
    }
    if (name < kNamesMax) {
      return true;
    }
    const uint64_t old = name - kNamesMax;
    return record_.Note(fmt::format("removing {} {}\n", number_, old)) &&
           unlink(NamePath(old).c_str()) == 0 && SyncFolder() &&
           record_.Note(fmt::format("removed {} {}\n", number_, old));
  }
  std::string NamePath(uint64_t name) const { return fmt::format("{}/name.{}", folder_, name); }

  const std::string folder_;
  const Record& record_;
  const uint64_t seed_;
  const uint64_t number_;
  varve::Prng prng_;
  uint64_t log_ = 0, log_bytes_ = 0;
  std::array<uint64_t, kPages> page_versions_{};
  uint64_t replaced_ = 0;
  uint64_t next_name_ = 0;
};

int Write(const std::string& root, const std::string& record_path, uint64_t seed, uint64_t writers) {
  if (mkdir(root.c_str(), 0755) != 0) {
    std::perror(root.c_str());
    return 1;
  }
  const Record record(record_path);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < writers; ++i) {
    threads.emplace_back([&, i] { Writer(root, record, seed, i).Run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}

// What the record says must be there, of one writer.
struct Promises {
  std::map<uint64_t, uint64_t> log_bytes;  // by number
  std::map<uint64_t, uint64_t> page_versions;
  uint64_t replaced = 0;
  std::set<uint64_t> made, removing, removed;
};

class Check {
 public:
  Check(std::string root, uint64_t seed) : root_(std::move(root)), seed_(seed) {}

  bool ReadRecord(const std::string& path) {
    std::ifstream record(path);
    std::string line;
    while (std::getline(record, line)) {
      std::istringstream words(line);
      std::string what;
      uint64_t writer = 0, first = 0, second = 0;
      words >> what >> writer >> first >> second;
      Promises& promises = promises_[writer];
      if (what == "log") {
        promises.log_bytes[first] = second;
      } else if (what == "page") {
        promises.page_versions[first] = second;
      } else if (what == "replaced") {
        promises.replaced = first;
      } else if (what == "made") {
        promises.made.insert(first);
      } else if (what == "removing") {
        promises.removing.insert(first);
      } else if (what == "removed") {
        promises.removed.insert(first);
      } else {
        std::printf("a line of the record is none: %s\n", line.c_str());
        return false;
      }
      syncs_ += what == "removing" ? 0 : 1;
    }
    return true;
  }

  uint64_t Run() {
    for (const auto& [writer, promises] : promises_) {
      const std::string folder = fmt::format("{}/{}", root_, writer);
      CheckLogs(folder, writer, promises);
      CheckPages(folder, writer, promises);
      CheckReplaced(folder, writer, promises);
      CheckNames(folder, promises);
    }
    return faults_;
  }
  uint64_t syncs() const { return syncs_; }

 private:
  void Fault(const std::string& what) {
    ++faults_;
    std::printf("%s\n", what.c_str());
  }
  std::optional<std::string> Content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      Fault(fmt::format("{}: {}", path, std::strerror(errno)));
      return std::nullopt;
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  void CheckLogs(const std::string& folder, uint64_t writer, const Promises& promises) {
    for (const auto& [number, bytes] : promises.log_bytes) {
      const std::string path = fmt::format("{}/log.{}", folder, number);
      const std::optional<std::string> content = Content(path);
      if (!content) {
        continue;
      }
      if (content->size() < bytes) {
        Fault(fmt::format("{}: {} bytes, {} were made durable", path, content->size(), bytes));
      } else if (*content != Stream{seed_, writer, kLog, number}.Bytes(0, content->size())) {
        Fault(fmt::format("{}: wrong bytes", path));
      }
    }
  }

  void CheckPages(const std::string& folder, uint64_t writer, const Promises& promises) {
    if (promises.page_versions.empty()) {
      return;
    }
    const std::string path = folder + "/pages";
    const std::optional<std::string> content = Content(path);
    for (uint64_t page = 0; content && page < kPages; ++page) {
      const auto promised = promises.page_versions.find(page);
      const uint64_t least = promised == promises.page_versions.end() ? 0 : promised->second;
      const std::string found =
          page * kPageBytes < content->size() ? content->substr(page * kPageBytes, kPageBytes) : "";
      if (least == 0 && found.find_first_not_of('\0') == std::string::npos) {
        continue;
      }
      const std::optional<uint64_t> version = VersionIn(found);
      if (!version || found != PageContent(seed_, writer, page, *version)) {
        Fault(fmt::format("{}: page {} holds what was never written", path, page));
      } else if (*version < least) {
        Fault(fmt::format("{}: page {} is of version {}, {} was made durable", path, page, *version, least));
      }
    }
  }

  void CheckReplaced(const std::string& folder, uint64_t writer, const Promises& promises) {
    if (promises.replaced == 0) {
      return;
    }
    const std::string path = folder + "/replaced";
    const std::optional<std::string> content = Content(path);
    if (!content) {
      return;
    }
    const std::optional<uint64_t> version = VersionIn(*content);
    if (!version || *content != ReplacedContent(seed_, writer, *version)) {
      Fault(fmt::format("{}: {} bytes that were never written so", path, content->size()));
    } else if (*version < promises.replaced) {
      Fault(fmt::format("{}: version {}, {} was made durable", path, *version, promises.replaced));
    }
  }

  void CheckNames(const std::string& folder, const Promises& promises) {
    for (const uint64_t name : promises.made) {
      const std::string path = fmt::format("{}/name.{}", folder, name);
      const bool there = access(path.c_str(), F_OK) == 0;
      if (!there && !promises.removing.contains(name)) {
        Fault(fmt::format("{} is gone", path));
      }
      if (there && promises.removed.contains(name)) {
        Fault(fmt::format("{} is there again", path));
      }
    }
  }

  const std::string root_;
  const uint64_t seed_;
  std::map<uint64_t, Promises> promises_;
  uint64_t syncs_ = 0;
  uint64_t faults_ = 0;
};

int CheckRecord(const std::string& root, const std::string& record, uint64_t seed, uint64_t least) {
  Check check(root, seed);
  if (!check.ReadRecord(record)) {
    return 1;
  }
  const uint64_t faults = check.Run();
  std::printf("%llu promises on record, %llu broken\n", static_cast<unsigned long long>(check.syncs()),
              static_cast<unsigned long long>(faults));
  if (check.syncs() < least) {
    std::printf("%llu are too few to say something\n", static_cast<unsigned long long>(check.syncs()));
    return 1;
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [argv](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (mode == "write" && argc == 6) {
    return Write(argv[2], argv[3], number(4), number(5));
  }
  if (mode == "check" && argc == 6) {
    return CheckRecord(argv[2], argv[3], number(4), number(5));
  }
  std::fprintf(stderr,
               "usage: synced_writer write DIR RECORD SEED WRITERS\n"
               "       synced_writer check DIR RECORD SEED LEAST\n");
  return 2;
}
