#include "fs/fuse/channel.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "fs/fuse/capabilities.h"
#include "fs/fuse/fuse_library.h"
#include "fs/fuse/handlers.h"
#include "fs/ops/errno_map.h"

namespace varve {

namespace {

constexpr uint64_t kQuiescePollNanos = 1'000'000;

fuse_in_header HeaderOf(std::span<const char> message) {
  fuse_in_header header;
  std::memcpy(&header, message.data(), sizeof(header));
  return header;
}

}  // namespace

Channel::Channel(Environment environment) : environment_(environment) {
}

Channel::~Channel() {
  if (session_ != nullptr) {
    fuse_session_destroy(session_);
  }
}

Result<std::unique_ptr<Channel>> Channel::Create(Environment environment) {
  std::unique_ptr<Channel> channel(new Channel(environment));
  char name[] = "varve";
  char* arguments[] = {name, nullptr};
  fuse_args args = {1, arguments, 0};
  const fuse_lowlevel_ops operations = FuseOperations();
  channel->session_ = fuse_session_new(&args, &operations, sizeof(operations), channel.get());
  // The library has made a copy of its own.
  fuse_opt_free_args(&args);
  if (channel->session_ == nullptr) {
    return DeviceError("libfuse refuses to make a session");
  }
  const fuse_custom_io io = {&Channel::WriteFromLibrary, &Channel::ReadForLibrary, nullptr, nullptr};
  // Any descriptor that is open will do: it is handed back to WriteFromLibrary, and closed with the session.
  const int placeholder = dup(STDERR_FILENO);
  if (placeholder < 0 || fuse_session_custom_io(channel->session_, &io, placeholder) != 0) {
    return DeviceError("libfuse refuses a custom transport");
  }
  return channel;
}

ssize_t Channel::ReadForLibrary(int, void*, size_t, void*) {
  errno = ENOSYS;  // transports read; the library is only handed what they have read
  return -1;
}

ssize_t Channel::WriteFromLibrary(int, iovec* parts, int count, void* userdata) {
  Channel& channel = *static_cast<Channel*>(userdata);
  const int error = channel.init_message_.empty() ? channel.environment_.transport.Send(parts, count)
                                                  : channel.SendInitReply(parts, count);
  if (error != 0) {
    channel.statistics_.replies_unwanted.fetch_add(1, std::memory_order_relaxed);
    // libfuse is silent about this one error, and hands it to the handler.
    errno = ENOENT;
    return -1;
  }
  ssize_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<ssize_t>(parts[i].iov_len);
  }
  return bytes;
}

int Channel::SendInitReply(const iovec* parts, int count) {
  if (!answer_init_) {
    return 0;
  }
  fuse_out_header header;
  fuse_init_out body = {};
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if (count != 2 || header.error != 0) {
    return environment_.transport.Send(parts, count);
  }
  std::memcpy(&body, parts[1].iov_base, std::min(parts[1].iov_len, sizeof(body)));
  AmendInitReply(init_message_, environment_.transport.init_flags2(), body);
  const iovec amended[] = {{&header, sizeof(header)}, {&body, parts[1].iov_len}};
  return environment_.transport.Send(amended, 2);
}

Status Channel::Initialise(std::span<char> init_message, bool answer) {
  init_message_ = init_message;
  answer_init_ = answer;
  fuse_buf buffer = {};
  buffer.mem = init_message.data();
  buffer.size = init_message.size();
  fuse_session_process_buf(session_, &buffer);
  init_message_ = {};
  setxattr_is_long_ = OffersLongSetXattr(init_message);
  if (fuse_session_exited(session_) != 0) {
    return Unsupported("the kernel's FUSE protocol is too old");
  }
  return OkStatus();
}

void Channel::Process(const MessageLease& message, size_t bytes) {
  if (bytes < sizeof(fuse_in_header)) {
    environment_.logger.Log(LogLevel::kError, "the kernel sent a request shorter than its header");
    return;
  }
  const fuse_in_header header = HeaderOf(message.bytes());
  if (header.opcode < ChannelStatistics::kOpcodes) {
    statistics_.requests[header.opcode].fetch_add(1, std::memory_order_relaxed);
  }
  if (closed_) {
    if (header.opcode != FUSE_FORGET && header.opcode != FUSE_BATCH_FORGET) {
      ReplyRaw(header.unique, EIO);
    }
    return;
  }
  if (ControlDirectory::Concerns(message.bytes().first(bytes))) {
    ReplyControl(header.unique, control().Handle(message.bytes().first(bytes)));
    return;
  }
  switch (header.opcode) {
    case FUSE_SYNCFS:
      Spawn(AnswerSync(header.unique));
      return;
    case FUSE_DESTROY:
      Spawn(AnswerDestroy(header.unique));
      return;
    case FUSE_INTERRUPT:
      ReplyRaw(header.unique, ENOSYS);
      return;
    case FUSE_TMPFILE: {
      // The same request as CREATE but for the name, and so is the answer.
      fuse_in_header as_create = header;
      as_create.opcode = FUSE_CREATE;
      std::memcpy(message.bytes().data(), &as_create, sizeof(as_create));
      current_is_temporary_file_ = true;
      Decode(message, bytes);
      current_is_temporary_file_ = false;
      return;
    }
    case FUSE_SETXATTR:
      if (setxattr_is_long_) {
        DecodeLongSetXattr(message, bytes);
        return;
      }
      break;
    default:
      break;
  }
  Decode(message, bytes);
}

// The library knows the short form only: what the long one has more is taken out.
void Channel::DecodeLongSetXattr(const MessageLease& message, size_t bytes) {
  constexpr size_t kShortEnd = sizeof(fuse_in_header) + FUSE_COMPAT_SETXATTR_IN_SIZE;
  constexpr size_t kLongEnd = sizeof(fuse_in_header) + sizeof(fuse_setxattr_in);
  if (bytes < kLongEnd) {
    ReplyRaw(HeaderOf(message.bytes()).unique, EINVAL);
    return;
  }
  char* const from = message.bytes().data();
  fuse_setxattr_in body;
  std::memcpy(&body, from + sizeof(fuse_in_header), sizeof(body));
  std::memmove(from + kShortEnd, from + kLongEnd, bytes - kLongEnd);
  fuse_in_header header = HeaderOf(message.bytes());
  header.len -= uint32_t{kLongEnd - kShortEnd};
  std::memcpy(from, &header, sizeof(header));
  current_setxattr_flags_ = body.setxattr_flags;
  Decode(message, header.len);
  current_setxattr_flags_ = 0;
}

void Channel::Decode(const MessageLease& message, size_t bytes) {
  current_ = message;
  current_size_ = bytes;
  fuse_buf buffer = {};
  buffer.mem = message.bytes().data();
  buffer.size = bytes;
  fuse_session_process_buf(session_, &buffer);
  current_ = MessageLease();
}

void Channel::ReplyRaw(uint64_t unique, int error) {
  fuse_out_header reply = {};
  reply.len = sizeof(reply);
  reply.error = -error;
  reply.unique = unique;
  const iovec part = {&reply, sizeof(reply)};
  environment_.transport.Send(&part, 1);
}

void Channel::ReplyControl(uint64_t unique, ControlDirectory::Answer answer) {
  if (!answer.wanted) {
    return;
  }
  if (answer.error != 0) {
    ReplyRaw(unique, answer.error);
    return;
  }
  fuse_out_header reply = {};
  reply.len = static_cast<uint32_t>(sizeof(reply) + answer.body.size());
  reply.unique = unique;
  const iovec parts[] = {{&reply, sizeof(reply)}, {answer.body.data(), answer.body.size()}};
  environment_.transport.Send(parts, answer.body.empty() ? 1 : 2);
}

AnswerRoom Channel::TakeAnswerRoom(size_t bytes_max) {
  const bool is_own = !current_.answer().empty();
  MessageLease lease = is_own ? current_ : pool_.Take();
  lease.ExpectBytes(bytes_max);
  const std::span<char> room = is_own ? lease.answer() : lease.bytes();
  return {std::move(lease), room.first(std::min(bytes_max, kPayloadBytesMax))};
}

Task<void> Channel::AnswerSync(uint64_t unique) {
  RequestBegins();
  const Status synced = co_await filesystem().Sync();
  ReplyRaw(unique, synced.ok() ? 0 : ErrnoOf(synced.error().code()));
  RequestEnds();
}

Task<void> Channel::AnswerDestroy(uint64_t unique) {
  // umount waits for this answer: it says that everything is on the device. Not counted as under way, since
  // Close waits for what is.
  const Status closed = co_await owner().Close();
  ReplyRaw(unique, closed.ok() ? 0 : ErrnoOf(closed.error().code()));
}

Task<void> Channel::Quiesce() {
  Executor& home = Executor::Current();
  co_await environment_.executor.Switch();
  closed_ = true;
  while (in_flight_ > 0) {
    co_await environment_.executor.Sleep(kQuiescePollNanos);
  }
  co_await home.Switch();
}

}  // namespace varve
