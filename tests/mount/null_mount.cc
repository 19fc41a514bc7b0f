// A filesystem that does nothing: it knows no name but one, from memory, and reads that one by one read of a
// device into the answer; without a device, it answers with whatever lies there. Files can be made, written,
// renamed and removed: it says that this was done, and forgets it. What a request costs here is
// what kernel, transport and reactor cost, and what a real filesystem has more is its own doing. Large
// answers lie in huge pages, as the daemon's do.
//
//   null_mount DIR uring|devfuse|libfuse [DEVICE]
//
// uring, devfuse: the mount's own transports. libfuse: libfuse's own loop with its threads, for comparison.
// Serves until it is unmounted.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "fs/fuse/capabilities.h"
#include "fs/fuse/dev_fuse_transport.h"
#include "fs/fuse/fuse_library.h"
#include "fs/fuse/message_pool.h"
#include "fs/fuse/transport.h"
#include "tests/mount/measured_lane.h"
#include "tools/reactor_thread.h"

namespace varve {
namespace {

constexpr uint64_t kFileNode = 2;
constexpr char kFileName[] = "file";
constexpr uint64_t kForeverSeconds = 365 * 24 * 3600;
constexpr uint64_t kFileBytes = 512 * kMiB;

fuse_attr AttributesOf(uint64_t node) {
  fuse_attr attributes = {};
  attributes.ino = node;
  attributes.mode = node != FUSE_ROOT_ID ? S_IFREG | 0644 : S_IFDIR | 0755;
  attributes.size = node == kFileNode ? kFileBytes : 0;
  attributes.nlink = 1;
  attributes.blksize = 4096;
  return attributes;
}

class NullSink final : public RequestSink {
 public:
  NullSink(Transport& transport, Reactor& reactor, int device)
      : transport_(transport), reactor_(reactor), device_(device) {}

  void Process(const MessageLease& message, size_t bytes) override {
    fuse_in_header in;
    std::memcpy(&in, message.bytes().data(), sizeof(in));
    const char* const body = message.bytes().data() + sizeof(in);
    switch (in.opcode) {
      case FUSE_INIT:
        return ReplyInit(in, message.bytes().first(bytes));
      case FUSE_LOOKUP:
        return ReplyLookup(in, body);
      case FUSE_GETATTR: {
        fuse_attr_out out = {};
        out.attr_valid = kForeverSeconds;
        out.attr = AttributesOf(in.nodeid);
        return Reply(in.unique, &out, sizeof(out));
      }
      case FUSE_READ: {
        fuse_read_in read;
        std::memcpy(&read, body, sizeof(read));
        Spawn(AnswerRead(message, in.unique, read.offset, read.size));
        return;
      }
      case FUSE_MKNOD:
        return ReplyMade(in);
      case FUSE_WRITE: {
        fuse_write_in write;
        std::memcpy(&write, body, sizeof(write));
        const fuse_write_out out = {write.size, 0};
        return Reply(in.unique, &out, sizeof(out));
      }
      case FUSE_GETXATTR:
        return ReplyError(in.unique, ENODATA);
      case FUSE_UNLINK:
      case FUSE_RENAME:
      case FUSE_RENAME2:
      case FUSE_DESTROY:
        return Reply(in.unique, nullptr, 0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
        return;
      default:
        return ReplyError(in.unique, ENOSYS);
    }
  }
  MessagePool& pool() override { return pool_; }
  size_t in_flight() const override { return in_flight_; }
  void TransportSleeps() override {}

 private:
  void ReplyInit(const fuse_in_header& in, std::span<const char> message) {
    fuse_init_out out = {};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = FUSE_KERNEL_MINOR_VERSION;
    out.max_readahead = 128 * kKiB;
    out.flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_NO_OPEN_SUPPORT | FUSE_ASYNC_DIO;
    out.max_background = 128;
    out.congestion_threshold = 96;
    out.max_write = kPayloadBytesMax;
    out.max_pages = kPayloadBytesMax / 4096;
    out.time_gran = 1;
    AmendInitReply(message, transport_.init_flags2(), out);
    Reply(in.unique, &out, sizeof(out));
  }

  void ReplyLookup(const fuse_in_header& in, const char* name) {
    fuse_entry_out out = {};
    out.entry_valid = kForeverSeconds;
    if (std::strcmp(name, kFileName) == 0) {
      out.nodeid = kFileNode;
      out.attr_valid = kForeverSeconds;
      out.attr = AttributesOf(kFileNode);
    }
    Reply(in.unique, &out, sizeof(out));
  }

  void ReplyMade(const fuse_in_header& in) {
    static std::atomic<uint64_t> next{kFileNode + 1};
    fuse_entry_out out = {};
    out.entry_valid = kForeverSeconds;
    out.attr_valid = kForeverSeconds;
    out.nodeid = next.fetch_add(1);
    out.attr = AttributesOf(out.nodeid);
    Reply(in.unique, &out, sizeof(out));
  }

  Task<void> AnswerRead(MessageLease message, uint64_t unique, uint64_t offset, uint32_t bytes) {
    const MessageLease lease = message.answer().empty() ? pool_.Take() : message;
    lease.ExpectBytes(bytes);
    // A page's start: the device wants its memory aligned.
    char* const into = message.answer().empty() ? lease.bytes().data() : message.answer().data();
    if (device_ < 0) {
      Reply(unique, into, offset < kFileBytes ? std::min<uint64_t>(bytes, kFileBytes - offset) : 0);
      co_return;
    }
    ++in_flight_;
    const int32_t read = co_await reactor_.Read(device_, into, bytes, offset);
    if (read < 0) {
      ReplyError(unique, -read);
    } else {
      Reply(unique, into, static_cast<size_t>(read));
    }
    --in_flight_;
  }

  void Reply(uint64_t unique, const void* body, size_t bytes) {
    fuse_out_header header = {};
    header.len = static_cast<uint32_t>(sizeof(header) + bytes);
    header.unique = unique;
    const iovec parts[] = {{&header, sizeof(header)}, {const_cast<void*>(body), bytes}};
    transport_.Send(parts, bytes > 0 ? 2 : 1);
  }
  void ReplyError(uint64_t unique, int error) {
    fuse_out_header header = {};
    header.len = sizeof(header);
    header.error = -error;
    header.unique = unique;
    const iovec part = {&header, sizeof(header)};
    transport_.Send(&part, 1);
  }

  Transport& transport_;
  Reactor& reactor_;
  const int device_;
  MessagePool pool_;
  size_t in_flight_ = 0;
};

struct Lane {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<NullSink> sink;
  std::unique_ptr<ReactorThread> thread;
};

Task<Status> AnswerInit(int descriptor, Lane& lane) {
  MessagePool pool;
  const MessageLease init = pool.Take();
  const Result<size_t> received = co_await ReceiveInit(descriptor, lane.thread->reactor(), init);
  if (!received.ok()) {
    co_return received.error();
  }
  lane.sink->Process(init, *received);
  co_return OkStatus();
}

Task<void> Serve(Lane& lane, std::counting_semaphore<>& ended) {
  co_await lane.thread->reactor().Switch();
  const Status served = co_await lane.transport->Serve(*lane.sink);
  if (!served.ok()) {
    std::fprintf(stderr, "%s\n", served.ToString().c_str());
  }
  ended.release();
}

int RunOurs(const std::string& directory, bool uring, int device) {
  const SystemClock clock;
  Result<std::unique_ptr<Connection>> connection = MountToMeasure("null", directory);
  if (!connection.ok()) {
    std::fprintf(stderr, "%s\n", connection.ToString().c_str());
    return 1;
  }
  const int descriptor = (*connection)->descriptor();
  const auto reactors = std::thread::hardware_concurrency();
  std::vector<Lane> lanes(reactors);
  std::vector<Reactor*> of_all;
  for (unsigned i = 0; i < reactors; ++i) {
    lanes[i].thread = *ReactorThread::Start(
        {"null-" + std::to_string(i), 0, static_cast<int>(i), {.wide_entries = uring}}, clock);
    of_all.push_back(&lanes[i].thread->reactor());
  }
  const auto places = std::make_shared<UringPlaces>(std::move(of_all));
  for (uint16_t i = 0; i < reactors; ++i) {
    Lane& lane = lanes[i];
    lane.transport = MakeTransport(descriptor, i, uring ? "uring" : "all", places);
    lane.sink = std::make_unique<NullSink>(*lane.transport, lane.thread->reactor(), device);
  }
  Lane& first = lanes.front();
  Status status = CallOn(first.thread->reactor(), AnswerInit(descriptor, first));
  for (Lane& lane : lanes) {
    if (status.ok()) {
      status = CallOn(lane.thread->reactor(), lane.transport->Register(*lane.sink));
    }
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::counting_semaphore<> ended(0);
  for (Lane& lane : lanes) {
    Spawn(Serve(lane, ended));
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    ended.acquire();
  }
  return 0;
}

void LookupByLibrary(fuse_req_t request, fuse_ino_t, const char* name) {
  fuse_entry_param entry = {};
  entry.entry_timeout = static_cast<double>(kForeverSeconds);
  entry.attr_timeout = entry.entry_timeout;
  if (std::strcmp(name, kFileName) == 0) {
    entry.ino = kFileNode;
    entry.attr.st_ino = kFileNode;
    entry.attr.st_mode = S_IFREG | 0644;
    entry.attr.st_size = kFileBytes;
    entry.attr.st_nlink = 1;
  }
  fuse_reply_entry(request, &entry);
}

void GetAttributesByLibrary(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  struct stat stat = {};
  stat.st_ino = node;
  stat.st_mode = node == kFileNode ? S_IFREG | 0644 : S_IFDIR | 0755;
  stat.st_size = node == kFileNode ? kFileBytes : 0;
  stat.st_nlink = 1;
  fuse_reply_attr(request, &stat, static_cast<double>(kForeverSeconds));
}

void OpenByLibrary(fuse_req_t request, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(request, ENOSYS);
}

void ReadByLibrary(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  static thread_local MessagePool pool;
  const int device = *static_cast<const int*>(fuse_req_userdata(request));
  const MessageLease into = pool.Take();
  into.ExpectBytes(size);
  const ssize_t read =
      device < 0 ? static_cast<ssize_t>(size) : pread(device, into.bytes().data(), size, offset);
  if (read < 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_buf(request, into.bytes().data(), static_cast<size_t>(read));
  }
}

int RunLibrary(const std::string& directory, int device) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "null");
  fuse_opt_add_arg(&arguments, "-ofsname=null,default_permissions,allow_other");
  fuse_lowlevel_ops operations = {};
  operations.lookup = LookupByLibrary;
  operations.getattr = GetAttributesByLibrary;
  operations.open = OpenByLibrary;
  operations.read = ReadByLibrary;
  fuse_session* const session = fuse_session_new(&arguments, &operations, sizeof(operations), &device);
  fuse_opt_free_args(&arguments);
  if (session == nullptr || fuse_session_mount(session, directory.c_str()) != 0) {
    return 1;
  }
  fuse_loop_config* const config = fuse_loop_cfg_create();
  const int ended = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return ended == 0 ? 0 : 1;
}

}  // namespace
}  // namespace varve

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: null_mount DIR uring|devfuse|libfuse [DEVICE]\n");
    return 2;
  }
  int device = -1;
  if (argc == 4) {
    device = open(argv[3], O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (device < 0) {
      std::perror(argv[3]);
      return 1;
    }
  }
  const std::string_view kind = argv[2];
  return kind == "libfuse" ? varve::RunLibrary(argv[1], device)
                           : varve::RunOurs(argv[1], kind == "uring", device);
}
