// Random operations on one file, compared with what memory says it should hold: what fsx does, and what it
// cannot: O_DIRECT, ranges that are zeroed, SEEK_DATA and SEEK_HOLE.
//
//   file_exerciser FILE OPERATIONS SEED cached|direct|mixed
//
// direct: reads and writes go past the page cache, in multiples of 512 bytes. mixed: through either, on two
// descriptors of one file, and through mappings. The same seed does the same.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace {

constexpr size_t kFileBytesMax = size_t{3} << 20;
constexpr size_t kOperationBytesMax = size_t{200} << 10;
constexpr size_t kSector = 512;
constexpr size_t kPage = 4096;

class Exerciser {
 public:
  Exerciser(const std::string& path, uint64_t seed, bool cached, bool direct)
      : random_(seed), buffer_(static_cast<char*>(std::aligned_alloc(kPage, kFileBytesMax + kPage))) {
    cached_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    direct_ = open(path.c_str(), O_RDWR | O_DIRECT);
    Require(cached_ >= 0 && direct_ >= 0 && buffer_ != nullptr, "open");
    uses_cached_ = cached;
    uses_direct_ = direct;
  }

  void Run(uint64_t operations) {
    for (number_ = 0; number_ < operations; ++number_) {
      Step();
      if (number_ % 64 == 63) {
        CheckAll();
      }
    }
    CheckAll();
  }

 private:
  void Require(bool holds, const char* what) {
    if (!holds) {
      std::printf("operation %llu (%s): %s at %zu, %zu bytes, file of %zu: %s\n",
                  static_cast<unsigned long long>(number_), operation_, what, offset_, bytes_,
                  expected_.size(), std::strerror(errno));
      std::exit(1);
    }
  }

  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  void Step() {
    using Operation = void (Exerciser::*)();
    struct Named {
      const char* name;
      Operation run;
    };
    static constexpr std::array kOperations = {
        Named{"read", &Exerciser::Read},         Named{"read", &Exerciser::Read},
        Named{"write", &Exerciser::Write},       Named{"write", &Exerciser::Write},
        Named{"write", &Exerciser::Write},       Named{"truncate", &Exerciser::Truncate},
        Named{"punch", &Exerciser::Punch},       Named{"zero", &Exerciser::Zero},
        Named{"allocate", &Exerciser::Allocate}, Named{"copy", &Exerciser::Copy},
        Named{"seek", &Exerciser::Seek},         Named{"sync", &Exerciser::Sync},
        Named{"map", &Exerciser::Map},
    };
    is_direct_ = uses_direct_ && (!uses_cached_ || Below(2) == 0);
    offset_ = Below(kFileBytesMax - kOperationBytesMax);
    bytes_ = 1 + Below(kOperationBytesMax);
    if (Below(4) == 0) {
      offset_ = Below(16 * kPage);
      bytes_ = 1 + Below(2 * kPage);
    }
    const Named& chosen = kOperations[Below(kOperations.size())];
    operation_ = chosen.name;
    (this->*chosen.run)();
  }

  int File() const { return is_direct_ ? direct_ : cached_; }
  void Align() {
    if (is_direct_) {
      offset_ = offset_ / kSector * kSector;
      bytes_ = (bytes_ + kSector - 1) / kSector * kSector;
    }
  }
  void Grow(size_t end) { expected_.resize(std::max(expected_.size(), end), '\0'); }
  // What of the range lies in the file.
  size_t Inside() const {
    return offset_ >= expected_.size() ? 0 : std::min(bytes_, expected_.size() - offset_);
  }

  void Read() {
    Align();
    const ssize_t got = pread(File(), buffer_, bytes_, static_cast<off_t>(offset_));
    Require(got == static_cast<ssize_t>(Inside()), "read another length");
    Require(std::memcmp(buffer_, expected_.data() + (got > 0 ? offset_ : 0), static_cast<size_t>(got)) == 0,
            "read other bytes");
  }

  void Write() {
    Align();
    for (size_t i = 0; i < bytes_; ++i) {
      buffer_[i] = static_cast<char>(random_());
    }
    Require(pwrite(File(), buffer_, bytes_, static_cast<off_t>(offset_)) == static_cast<ssize_t>(bytes_),
            "write");
    Grow(offset_ + bytes_);
    std::memcpy(expected_.data() + offset_, buffer_, bytes_);
  }

  void Truncate() {
    offset_ = Below(4) == 0 ? 0 : offset_;
    Require(ftruncate(File(), static_cast<off_t>(offset_)) == 0, "truncate");
    expected_.resize(offset_, '\0');
  }

  void Fallocate(int mode) {
    Require(fallocate(File(), mode, static_cast<off_t>(offset_), static_cast<off_t>(bytes_)) == 0,
            "fallocate");
    if ((mode & FALLOC_FL_KEEP_SIZE) == 0) {
      Grow(offset_ + bytes_);
    }
    if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) {
      std::fill_n(expected_.begin() + static_cast<std::ptrdiff_t>(std::min(offset_, expected_.size())),
                  Inside(), '\0');
    }
  }
  void Punch() { Fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE); }
  void Zero() { Fallocate(FALLOC_FL_ZERO_RANGE | (Below(2) == 0 ? FALLOC_FL_KEEP_SIZE : 0)); }
  void Allocate() { Fallocate(Below(2) == 0 ? FALLOC_FL_KEEP_SIZE : 0); }

  void Copy() {
    const size_t length = Inside();
    size_t to = Below(kFileBytesMax - kOperationBytesMax);
    // Ranges of one file must not overlap.
    if (length == 0 || (to < offset_ + length && offset_ < to + length)) {
      return;
    }
    const std::string copied = expected_.substr(offset_, length);
    size_t done = 0;
    while (done < length) {
      auto from_at = static_cast<off_t>(offset_ + done);
      auto to_at = static_cast<off_t>(to + done);
      const ssize_t moved = copy_file_range(cached_, &from_at, cached_, &to_at, length - done, 0);
      Require(moved > 0, "copy_file_range");
      done += static_cast<size_t>(moved);
    }
    Grow(to + length);
    std::memcpy(expected_.data() + to, copied.data(), length);
  }

  // What is told to be a hole must read as zeros, and SEEK_DATA must end beyond the last byte that is none.
  void Seek() {
    Require(fdatasync(cached_) == 0, "fdatasync");
    size_t at = 0;
    while (at < expected_.size()) {
      const off_t data = lseek(cached_, static_cast<off_t>(at), SEEK_DATA);
      Require(data >= 0 || errno == ENXIO, "SEEK_DATA");
      const size_t end = data < 0 ? expected_.size() : static_cast<size_t>(data);
      Require(end >= at && end <= expected_.size(), "SEEK_DATA leads astray");
      Require(expected_.find_first_not_of('\0', at) >= end, "what is told to be a hole is none");
      if (data < 0) {
        break;
      }
      const off_t hole = lseek(cached_, data, SEEK_HOLE);
      Require(hole > data, "SEEK_HOLE leads astray");
      at = static_cast<size_t>(hole);
    }
  }

  void Sync() { Require((Below(2) == 0 ? fsync(File()) : fdatasync(File())) == 0, "sync"); }

  void Map() {
    const size_t length = Inside();
    if (!uses_cached_ || length == 0) {
      return;
    }
    const size_t start = offset_ / kPage * kPage;
    const size_t mapped = offset_ + length - start;
    auto* const address = static_cast<char*>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, cached_, static_cast<off_t>(start)));
    Require(address != MAP_FAILED, "mmap");
    Require(std::memcmp(address + (offset_ - start), expected_.data() + offset_, length) == 0,
            "mapped other bytes");
    for (size_t i = offset_ - start; i < mapped; ++i) {
      address[i] = static_cast<char>(random_());
    }
    std::memcpy(expected_.data() + offset_, address + (offset_ - start), length);
    Require(msync(address, mapped, MS_SYNC) == 0 && munmap(address, mapped) == 0, "msync");
  }

  void CheckAll() {
    operation_ = "check";
    is_direct_ = uses_direct_ && !uses_cached_;
    struct stat stat = {};
    Require(fstat(cached_, &stat) == 0 && static_cast<size_t>(stat.st_size) == expected_.size(),
            "another size");
    offset_ = 0;
    bytes_ = kFileBytesMax;
    Read();
  }

  std::mt19937_64 random_;
  char* buffer_;
  int cached_ = -1;
  int direct_ = -1;
  bool uses_cached_ = true;
  bool uses_direct_ = false;
  std::string expected_;
  uint64_t number_ = 0;
  const char* operation_ = "";
  size_t offset_ = 0;
  size_t bytes_ = 0;
  bool is_direct_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: file_exerciser FILE OPERATIONS SEED cached|direct|mixed\n");
    return 2;
  }
  const std::string_view way = argv[4];
  Exerciser exerciser(argv[1], std::strtoull(argv[3], nullptr, 10), way != "direct", way != "cached");
  exerciser.Run(std::strtoull(argv[2], nullptr, 10));
  return 0;
}
