// Readers of one directory, by small answers, while its names come and go and the kernel forgets what it
// keeps of it now and then. What is there during a whole pass is shown exactly once, and nothing that was not
// there at any time of it; also behind a place to which a reader has gone back.
//
//   listing_checks DIR DROP_CACHES SEED STEPS
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void Fail(const char* what, const std::string& name) {
  std::printf("%s: %s (errno %s)\n", what, name.c_str(), std::strerror(errno));
  std::exit(1);
}

// A time is the number of steps that were taken before.
struct Lifetime {
  uint64_t made = 0;
  uint64_t removed = UINT64_MAX;
};

class Directory {
 public:
  explicit Directory(std::string path) : path_(std::move(path)) {
    if (mkdir(path_.c_str(), 0755) != 0) {
      Fail("mkdir", path_);
    }
  }

  const std::string& path() const { return path_; }
  const std::map<std::string, Lifetime>& names() const { return names_; }
  size_t live() const { return live_.size(); }

  void Make(uint64_t now, uint64_t random) {
    // In any order, and each once.
    char name[40];
    std::snprintf(name, sizeof(name), "%08lx-%lu", static_cast<unsigned long>(random % 0xffffffff),
                  static_cast<unsigned long>(names_.size()));
    const int file = open((path_ + "/" + name).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (file < 0) {
      Fail("open", name);
    }
    close(file);
    names_[name].made = now;
    live_.emplace_back(name);
  }
  void Remove(uint64_t now, uint64_t random) {
    std::swap(live_[random % live_.size()], live_.back());
    if (unlink((path_ + "/" + live_.back()).c_str()) != 0) {
      Fail("unlink", live_.back());
    }
    names_[live_.back()].removed = now;
    live_.pop_back();
  }

 private:
  std::string path_;
  std::map<std::string, Lifetime> names_;
  std::vector<std::string> live_;
};

class Reader {
 public:
  explicit Reader(const Directory& directory)
      : directory_(directory), file_(open(directory.path().c_str(), O_RDONLY | O_DIRECTORY)) {
    if (file_ < 0) {
      Fail("open", directory.path());
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { close(file_); }

  bool at_end() const { return at_end_; }

  void Rewind() {
    lseek(file_, 0, SEEK_SET);
    shown_.clear();
    begun_ = false;
    at_end_ = false;
  }
  // To a place that was shown in this pass.
  void GoBack(uint64_t random) {
    if (!shown_.empty()) {
      shown_.resize(random % shown_.size() + 1);
      lseek(file_, shown_.back().place, SEEK_SET);
      at_end_ = false;
    }
  }
  void ReadSome(uint64_t now, uint64_t random) {
    if (!begun_) {
      begun_ = true;
      since_ = now;
    }
    alignas(dirent64) std::array<char, 4096> bytes;
    const ssize_t got = getdents64(file_, bytes.data(), 300 + random % (bytes.size() - 300));
    if (got < 0) {
      Fail("getdents64", directory_.path());
    }
    for (ssize_t at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(bytes.data() + at);
      at += entry->d_reclen;
      if (entry->d_name[0] != '.') {
        Note(entry->d_name, entry->d_off);
      }
    }
    if (got == 0) {
      at_end_ = true;
      CheckWhole(now);
    }
  }

 private:
  struct Shown {
    std::string name;
    off64_t place = 0;  // behind it
  };

  void Note(const char* name, off64_t place) {
    const auto found = directory_.names().find(name);
    if (found == directory_.names().end()) {
      Fail("never made", name);
    }
    if (found->second.removed < since_) {
      Fail("was removed before the pass began", name);
    }
    if (!shown_.empty() && shown_.back().name >= name) {
      Fail(("out of order behind " + shown_.back().name).c_str(), name);
    }
    shown_.push_back({name, place});
  }
  // Both are in the order of names.
  void CheckWhole(uint64_t now) const {
    auto shown = shown_.begin();
    for (const auto& [name, lifetime] : directory_.names()) {
      if (shown != shown_.end() && shown->name == name) {
        ++shown;
      } else if (lifetime.made < since_ && lifetime.removed > now) {
        Fail("there all the time and not shown", name);
      }
    }
  }

  const Directory& directory_;
  const int file_;
  bool begun_ = false;
  bool at_end_ = false;
  uint64_t since_ = 0;
  std::vector<Shown> shown_;
};

void DropCaches(const char* file) {
  const int drop = open(file, O_WRONLY);
  if (drop < 0 || write(drop, "1", 1) != 1) {
    Fail("write", file);
  }
  close(drop);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: listing_checks DIR DROP_CACHES SEED STEPS\n");
    return 2;
  }
  std::mt19937_64 random(std::strtoull(argv[3], nullptr, 10));
  const uint64_t steps = std::strtoull(argv[4], nullptr, 10);
  Directory directory(argv[1]);
  const size_t names_wanted = 5 + random() % 500;
  uint64_t now = 0;
  for (size_t i = 0; i < names_wanted; ++i) {
    directory.Make(++now, random());
  }
  std::vector<std::unique_ptr<Reader>> readers(4);
  uint64_t passes = 0;
  // Times of many changes, and times in which the directory stays as it is and the kernel may keep what it
  // was told.
  bool changes = false;
  for (uint64_t step = 0; step < steps; ++step) {
    ++now;
    if (random() % 500 == 0) {
      changes = !changes;
    }
    const uint64_t what = random() % 1000;
    std::unique_ptr<Reader>& reader = readers[random() % readers.size()];
    if (what < 3) {
      DropCaches(argv[2]);
    } else if (what < 5 || (changes && what < 200)) {
      if (directory.live() == 0 || (directory.live() < 2 * names_wanted && random() % 2 == 0)) {
        directory.Make(now, random());
      } else {
        directory.Remove(now, random());
      }
    } else if (reader == nullptr) {
      reader = std::make_unique<Reader>(directory);
    } else if (what < 210) {
      reader.reset();
    } else if (what < 215) {
      reader->Rewind();
    } else if (what < 220) {
      reader->GoBack(random());
    } else if (reader->at_end()) {
      ++passes;
      if (random() % 2 == 0) {
        reader->Rewind();
      } else {
        reader.reset();
      }
    } else {
      reader->ReadSome(now, random());
    }
  }
  std::printf("seed %s: %zu names of which %zu are left, %lu passes\n", argv[3], directory.names().size(),
              directory.live(), static_cast<unsigned long>(passes));
  return passes == 0 ? 1 : 0;
}
