// Channel: one reactor's end of a mounted connection. It decodes requests with a libfuse session of its own
// (never mounted: it only decodes and encodes), so reactors share no lock and a handler finds its reactor's
// state through the session's userdata.
//
// libfuse 3.14 does not know every request and drops some flags; the channel reads those from the raw header
// before it hands the bytes on: SYNCFS, TMPFILE, the set-user-id flags of SETATTR and WRITE, the long form of
// SETXATTR, DESTROY (whose answer must wait for the store), INTERRUPT (answered ENOSYS once: no operation
// here can be cut short).
//
// One thread: its reactor, except Create and Initialise, which come before Serve, and `statistics`.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "engine/ring/executor.h"
#include "fs/fuse/control_directory.h"
#include "fs/fuse/message_pool.h"
#include "fs/fuse/mount_owner.h"
#include "fs/fuse/transport.h"
#include "fs/ops/filesystem.h"

struct fuse_session;

namespace varve {

struct ChannelStatistics {
  static constexpr size_t kOpcodes = 64;
  std::array<std::atomic<uint64_t>, kOpcodes> requests{};
  std::atomic<uint64_t> replies_unwanted{0};  // the caller had gone
  std::atomic<uint64_t> sleeps{0};            // times the reactor waited for the kernel
};

// Memory for an answer of up to kPayloadBytesMax, its header apart.
struct AnswerRoom {
  MessageLease lease;
  std::span<char> bytes;
};

class Channel final : public RequestSink {
 public:
  struct Environment {
    FileSystem& filesystem;
    MountOwner& owner;
    Transport& transport;
    Executor& executor;
    Logger& logger;
    // One for all channels of the connection.
    ControlDirectory& control;
  };

  static Result<std::unique_ptr<Channel>> Create(Environment environment);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The INIT request of the connection goes to every channel; exactly one of them answers the kernel.
  Status Initialise(std::span<char> init_message, bool answer);

  void Process(const MessageLease& message, size_t bytes) override;

  // From now on every request is refused, and this ends when those under way have been answered. Any
  // executor.
  Task<void> Quiesce();

  MessagePool& pool() override { return pool_; }
  size_t in_flight() const override { return in_flight_; }
  void TransportSleeps() override { statistics_.sleeps.fetch_add(1, std::memory_order_relaxed); }
  ChannelStatistics& statistics() { return statistics_; }
  const ChannelStatistics& statistics() const { return statistics_; }

  // For handlers.
  FileSystem& filesystem() { return environment_.filesystem; }
  MountOwner& owner() { return environment_.owner; }
  ControlDirectory& control() { return environment_.control; }
  const MessageLease& current_message() const { return current_; }
  std::span<char> current_bytes() const { return current_.bytes().first(current_size_); }
  bool current_is_temporary_file() const { return current_is_temporary_file_; }
  // FUSE_SETXATTR_ACL_KILL_SGID, of a SETXATTR.
  uint32_t current_setxattr_flags() const { return current_setxattr_flags_; }
  RecentFiles& recent_files() { return recent_files_; }
  // Where to make the current request's answer of at most `bytes_max`, at once or later.
  AnswerRoom TakeAnswerRoom(size_t bytes_max);
  void RequestBegins() { ++in_flight_; }
  void RequestEnds() { --in_flight_; }

 private:
  explicit Channel(Environment environment);

  static ssize_t WriteFromLibrary(int fd, iovec* parts, int count, void* userdata);
  static ssize_t ReadForLibrary(int fd, void* buffer, size_t bytes, void* userdata);
  int SendInitReply(const iovec* parts, int count);
  void Decode(const MessageLease& message, size_t bytes);
  void DecodeLongSetXattr(const MessageLease& message, size_t bytes);
  void ReplyRaw(uint64_t unique, int error);
  void ReplyControl(uint64_t unique, ControlDirectory::Answer answer);
  Task<void> AnswerSync(uint64_t unique);
  Task<void> AnswerDestroy(uint64_t unique);

  Environment environment_;
  fuse_session* session_ = nullptr;
  MessagePool pool_;
  MessageLease current_;
  size_t current_size_ = 0;
  bool current_is_temporary_file_ = false;
  uint32_t current_setxattr_flags_ = 0;
  size_t in_flight_ = 0;
  RecentFiles recent_files_;
  bool closed_ = false;
  // Only during Initialise.
  std::span<char> init_message_;
  bool answer_init_ = false;
  // What was agreed with the kernel.
  bool setxattr_is_long_ = false;
  ChannelStatistics statistics_;
};

}  // namespace varve
