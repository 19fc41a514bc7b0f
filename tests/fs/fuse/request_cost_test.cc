// What requests cost that the daemon answers from memory, on a store as a mount has it: nothing is allocated
// on the heap but what libfuse needs for a request, and what is read is copied once, into the answer.
//
// Instructions from request to answer, all of libfuse's included, for 20,000 requests of a kind (the answer
// to INIT is one more): with VARVE_REQUESTS=20000,
//   valgrind --tool=callgrind '--toggle-collect=varve::Channel::Process(*' fuse_adapter_test
//   and --gtest_filter=RequestCost.Lookup behind it.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "fs/fuse/channel.h"
#include "fs/fuse/fuse_library.h"
#include "tests/fs/ops/stored_fs.h"

namespace {

// Of this thread, since it began.
thread_local uint64_t allocations = 0;

}  // namespace

// Not inlined: where one of a pair is and the other is not, gcc takes them for mismatched.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const size_t to = static_cast<size_t>(alignment);
  void* const memory = std::aligned_alloc(to, (bytes + to - 1) / to * to);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace varve {
namespace {

class NoOwner final : public MountOwner {
 public:
  Task<Status> Close() override { co_return OkStatus(); }
  std::string StatisticsJson() const override { return "{}"; }
  std::string source() const override { return "memory"; }
  std::string ScrubReport() const override { return ""; }
  std::string StartScrub() override { return ""; }
  std::string StopScrub() override { return ""; }
};

// Keeps the last answer, and where its payload lies.
class LastAnswer final : public Transport {
 public:
  Task<Status> Register(RequestSink&) override { co_return OkStatus(); }
  Task<Status> Serve(RequestSink&) override { co_return OkStatus(); }
  int Send(const iovec* parts, int count) override {
    ++answers;
    std::memcpy(&header, parts[0].iov_base, sizeof(header));
    payload = count > 1 ? parts[1].iov_base : nullptr;
    payload_bytes = count > 1 ? parts[1].iov_len : 0;
    if (payload_bytes <= sizeof(copy)) {
      std::memcpy(copy, payload_bytes > 0 ? payload : copy, payload_bytes);
    }
    return 0;
  }
  std::string_view name() const override { return "test"; }

  uint64_t answers = 0;
  fuse_out_header header = {};
  const void* payload = nullptr;
  size_t payload_bytes = 0;
  char copy[256] = {};
};

class RequestCost : public testing::Test {
 protected:
  RequestCost() : control_(owner_), fs_(64 * kMiB) {}

  void SetUp() override {
    ASSERT_TRUE(fs_.Mount().ok());
    fs_.Put("/small", kSmall);
    fs_.Put("/large", kLarge);
    Serve();
  }
  void Serve() {
    Result<std::unique_ptr<Channel>> made =
        Channel::Create({*fs_.fs, owner_, transport_, fs_.executor, logger_, control_});
    ASSERT_TRUE(made.ok());
    channel_ = std::move(*made);
    message_.bytes = {message_memory_.get() + 0, kMessageHeaderBytesMax + kPayload};
    message_.answer = message_.bytes.subspan(kMessageHeaderBytesMax);
    fuse_init_in init = {};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 38;
    init.max_readahead = 1 * kMiB;
    init.flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ASYNC_READ;
    const size_t bytes = Make(FUSE_INIT, 0, &init, sizeof(init));
    ASSERT_TRUE(channel_->Initialise(message_.bytes.first(bytes), true).ok());
  }
  void TearDown() override {
    channel_.reset();
    fs_.Close();
  }

  size_t Make(uint32_t opcode, uint64_t node, const void* body, size_t body_bytes) {
    fuse_in_header header = {};
    header.len = static_cast<uint32_t>(sizeof(header) + body_bytes);
    header.opcode = opcode;
    header.nodeid = node;
    header.unique = ++unique_;
    std::memcpy(message_.bytes.data(), &header, sizeof(header));
    std::memcpy(message_.bytes.data() + sizeof(header), body, body_bytes);
    return header.len;
  }
  // The error in the answer.
  int Ask(uint32_t opcode, uint64_t node, const void* body, size_t body_bytes) {
    const size_t bytes = Make(opcode, node, body, body_bytes);
    const uint64_t answers = transport_.answers;
    Answer(bytes);
    EXPECT_EQ(transport_.answers, answers + 1);
    return -transport_.header.error;
  }
  // The request in message_, until it has its answer.
  [[gnu::noinline]] void Answer(size_t bytes) {
    const uint64_t answers = transport_.answers;
    channel_->Process(MessageLease(message_), bytes);
    while (transport_.answers == answers) {
      EXPECT_TRUE(fs_.executor.Run(Wait()).ok());
    }
  }
  static Task<Status> Wait() {
    co_await Executor::Current().Yield();
    co_return OkStatus();
  }
  int Lookup(const std::string& name) {
    return Ask(FUSE_LOOKUP, FUSE_ROOT_ID, name.c_str(), name.size() + 1);
  }
  uint64_t NodeOf(const std::string& name) {
    EXPECT_EQ(Lookup(name), 0);
    fuse_entry_out entry = {};
    std::memcpy(&entry, transport_.copy, sizeof(entry));
    return entry.nodeid;
  }
  int GetAttributes(uint64_t node) {
    const fuse_getattr_in body = {};
    return Ask(FUSE_GETATTR, node, &body, sizeof(body));
  }
  // How many names one pass through an open directory shows.
  [[gnu::noinline]] int ListedIn(uint64_t node) {
    const fuse_open_in opened = {};
    EXPECT_EQ(Ask(FUSE_OPENDIR, node, &opened, sizeof(opened)), 0);
    fuse_open_out handle = {};
    std::memcpy(&handle, transport_.copy, sizeof(handle));
    fuse_read_in body = {};
    body.fh = handle.fh;
    body.size = kPayload;
    int names = 0;
    do {
      EXPECT_EQ(Ask(FUSE_READDIR, node, &body, sizeof(body)), 0);
      const auto* const answer = static_cast<const char*>(transport_.payload);
      for (size_t at = 0; at < transport_.payload_bytes; ++names) {
        fuse_dirent entry = {};
        std::memcpy(&entry, answer + at, FUSE_NAME_OFFSET);
        body.offset = entry.off;
        at += FUSE_DIRENT_SIZE(&entry);
      }
    } while (transport_.payload_bytes > 0);
    fuse_release_in released = {};
    released.fh = handle.fh;
    EXPECT_EQ(Ask(FUSE_RELEASEDIR, node, &released, sizeof(released)), 0);
    return names;
  }
  int Read(uint64_t node, uint32_t bytes, uint64_t offset = 0) {
    fuse_read_in body = {};
    body.offset = offset;
    body.size = bytes;
    return Ask(FUSE_READ, node, &body, sizeof(body));
  }
  template <typename Fixed>
  static std::string BodyOf(const Fixed& fixed, std::string_view rest) {
    std::string body(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
    return body.append(rest);
  }
  // As a program makes a small file, in three requests. Its node.
  uint64_t MakeFile(const std::string& name) {
    EXPECT_EQ(Lookup(name), 0);
    fuse_mknod_in made = {};
    made.mode = S_IFREG | 0644;
    const std::string mknod = BodyOf(made, std::string_view(name.c_str(), name.size() + 1));
    EXPECT_EQ(Ask(FUSE_MKNOD, FUSE_ROOT_ID, mknod.data(), mknod.size()), 0);
    fuse_entry_out entry = {};
    std::memcpy(&entry, transport_.copy, sizeof(entry));
    fuse_write_in written = {};
    written.size = static_cast<uint32_t>(kSmall.size());
    const std::string write = BodyOf(written, kSmall);
    EXPECT_EQ(Ask(FUSE_WRITE, entry.nodeid, write.data(), write.size()), 0);
    return entry.nodeid;
  }
  void RenameFile(const std::string& from, const std::string& to) {
    fuse_rename_in renamed = {};
    renamed.newdir = FUSE_ROOT_ID;
    const std::string names = from + '\0' + to + '\0';
    const std::string body = BodyOf(renamed, names);
    EXPECT_EQ(Ask(FUSE_RENAME, FUSE_ROOT_ID, body.data(), body.size()), 0);
  }
  void RemoveFile(const std::string& name, uint64_t node) {
    EXPECT_EQ(Ask(FUSE_UNLINK, FUSE_ROOT_ID, name.c_str(), name.size() + 1), 0);
    fuse_forget_in forgotten = {};
    forgotten.nlookup = 1;
    const size_t bytes = Make(FUSE_FORGET, node, &forgotten, sizeof(forgotten));
    channel_->Process(MessageLease(message_), bytes);
  }
  // What `ask` allocates each time, once it has been asked before.
  template <typename Asking>
  uint64_t AllocationsOf(Asking ask) {
    const char* const asked = std::getenv("VARVE_REQUESTS");
    const int count = asked != nullptr ? std::atoi(asked) : 100;
    for (uint64_t i = 0; i < kAskedBefore; ++i) {
      ask();
    }
    const uint64_t before = allocations;
    EXPECT_GT(before, 0U);  // it is counted here
    for (int i = 0; i < count; ++i) {
      ask();
    }
    return allocations - before;
  }

  static constexpr size_t kPayload = 64 * kKiB;
  static constexpr uint64_t kAskedBefore = 20;
  static constexpr uint64_t kAllocationsOfAMiss = 2;
  static constexpr uint64_t kAllocationsOfAListing = 400;
  static constexpr uint64_t kAllocationsOfAFirstListing = 200;
  static constexpr uint64_t kAllocationsOfAMaking = 14;
  static constexpr uint64_t kAllocationsOfARename = 12;
  static constexpr uint64_t kAllocationsOfARemoval = 9;
  const std::string kSmall = std::string(1000, 's');
  const std::string kLarge = std::string(16 * kKiB, 'l');

  NoOwner owner_;
  NullLogger logger_;
  LastAnswer transport_;
  ControlDirectory control_;
  StoredFs fs_;
  std::unique_ptr<char[]> message_memory_ = std::make_unique<char[]>(kMessageHeaderBytesMax + kPayload);
  MessageBuffer message_;
  std::unique_ptr<Channel> channel_;
  uint64_t unique_ = 0;
};

TEST_F(RequestCost, Lookup) {
  EXPECT_EQ(AllocationsOf([&] { EXPECT_EQ(Lookup("small"), 0); }), 0U);
}

TEST_F(RequestCost, LookupOfAnAbsentName) {
  EXPECT_EQ(AllocationsOf([&] { (void)Lookup("absent"); }), 0U);
}

TEST_F(RequestCost, GetAttributes) {
  const uint64_t node = NodeOf("small");
  EXPECT_EQ(AllocationsOf([&] { EXPECT_EQ(GetAttributes(node), 0); }), 0U);
}

TEST_F(RequestCost, ReadOfASmallFile) {
  const uint64_t node = NodeOf("small");
  EXPECT_EQ(AllocationsOf([&] { EXPECT_EQ(Read(node, 4096), 0); }), 0U);
  EXPECT_EQ(transport_.payload, message_.answer.data());
  EXPECT_EQ(transport_.payload_bytes, kSmall.size());
}

TEST_F(RequestCost, ReadOfAChunk) {
  const uint64_t node = NodeOf("large");
  EXPECT_EQ(AllocationsOf([&] { EXPECT_EQ(Read(node, 4096), 0); }), 0U);
  // Copied once: into the memory that the transport sends from.
  EXPECT_EQ(transport_.payload, message_.answer.data());
  EXPECT_EQ(transport_.payload_bytes, 4096U);
  EXPECT_EQ(std::memcmp(message_.answer.data(), kLarge.data(), 4096), 0);
}

// What stays is allocated: memtables, nodes. And what is to be written is put together, in one piece.
TEST_F(RequestCost, MakingASmallFile) {
  uint64_t files = 0;
  const uint64_t allocated = AllocationsOf([&] { MakeFile(fmt::format("made-{:06}", files++)); });
  EXPECT_LE(allocated, kAllocationsOfAMaking * (files - kAskedBefore));
}

TEST_F(RequestCost, RenamingASmallFile) {
  MakeFile("there");
  uint64_t renames = 0;
  const uint64_t allocated = AllocationsOf([&] {
    renames += 2;
    RenameFile("there", "elsewhere");
    RenameFile("elsewhere", "there");
  });
  EXPECT_LE(allocated, kAllocationsOfARename * (renames - 2 * kAskedBefore));
}

TEST_F(RequestCost, MakingAndRemovingASmallFile) {
  uint64_t files = 0;
  const uint64_t allocated = AllocationsOf([&] {
    const std::string name = fmt::format("gone-{:06}", files++);
    RemoveFile(name, MakeFile(name));
  });
  EXPECT_LE(allocated, (kAllocationsOfAMaking + kAllocationsOfARemoval) * (files - kAskedBefore));
}

// Of small files, whose content lies with their names: by the outlines in the indexes.
TEST_F(RequestCost, ListingOfADirectory) {
  constexpr int kFiles = 2000;
  channel_.reset();
  for (int i = 0; i < kFiles; ++i) {
    fs_.Put(fmt::format("/names/file-{:06}", i), kSmall);
  }
  fs_.Close();
  ASSERT_TRUE(fs_.Mount().ok());
  Serve();
  const uint64_t node = NodeOf("names");
  uint64_t requests = 0;
  const uint64_t allocated = AllocationsOf([&] {
    ++requests;
    EXPECT_EQ(ListedIn(node), kFiles + 2);
  });
  // Each of the answers makes an iterator, and what it remembers of the names grows.
  EXPECT_LE(allocated, kAllocationsOfAListing * (requests - kAskedBefore));
}

// Of one that nothing is remembered of: by way of the tables, which are cached.
TEST_F(RequestCost, FirstListingOfADirectory) {
  constexpr int kFiles = 2000;
  for (int i = 0; i < kFiles; ++i) {
    fs_.Put(fmt::format("/names/file-{:06}", i), kSmall);
  }
  const char* const asked = std::getenv("VARVE_REQUESTS");
  const int listings = asked != nullptr ? std::atoi(asked) : 2;
  for (int i = 0; i < listings; ++i) {
    channel_.reset();
    fs_.Close();
    ASSERT_TRUE(fs_.Mount().ok());
    Serve();
    const uint64_t node = NodeOf("names");
    const uint64_t before = allocations;
    EXPECT_EQ(ListedIn(node), kFiles + 2);
    EXPECT_LE(allocations - before, kAllocationsOfAFirstListing);
  }
}

// From the device, as reads with O_DIRECT of a file that is larger than the cache: what is on the heap is
// what waits for the device, and the block.
TEST_F(RequestCost, ReadOfAChunkOnTheDevice) {
  constexpr uint64_t kChunks = 4096;
  channel_.reset();
  fs_.Put("/device", std::string(kChunks * 4096, 'd'));
  fs_.Close();
  ASSERT_TRUE(fs_.Mount().ok());
  Serve();
  const uint64_t node = NodeOf("device");
  const auto reads = [&] { return fs_.device.counters().of(IoPurpose::kUserRead).reads.load(); };
  uint64_t next = 0;
  const auto read_next = [&] {
    next = (next + 1237) % kChunks;  // in no order that is read ahead
    EXPECT_EQ(Read(node, 4096, next * 4096), 0);
  };
  for (uint64_t i = 0; i < kChunks; ++i) {
    read_next();  // indexes and filters are held now
  }
  const uint64_t before = reads();
  uint64_t asked = 0;
  const uint64_t allocated = AllocationsOf([&] {
    ++asked;
    read_next();
  });
  EXPECT_EQ(reads() - before, asked);
  EXPECT_LE(allocated, kAllocationsOfAMiss * (asked - kAskedBefore));
  EXPECT_EQ(transport_.payload, message_.answer.data());
  EXPECT_EQ(std::string_view(message_.answer.data(), 4096), std::string(4096, 'd'));
}

}  // namespace
}  // namespace varve
