#include "fs/fuse/dev_fuse_transport.h"

#include <fmt/format.h>
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace varve {

namespace {

// Requests handled in a row before the reactor looks at completions and timers again.
constexpr int kRequestsPerTurn = 16;
// How long FORGETs gather: with a call every few microseconds, hundreds of them.
constexpr long kForgetsGatherNanos = 1'000'000;

}  // namespace

Task<Result<size_t>> ReceiveInit(int descriptor, Reactor& reactor, MessageLease into) {
  for (;;) {
    const ssize_t bytes = read(descriptor, into.bytes().data(), into.bytes().size());
    if (bytes > 0) {
      co_return static_cast<size_t>(bytes);
    }
    if (errno == EAGAIN || errno == EINTR) {
      co_await reactor.Poll(descriptor, POLLIN);
      continue;
    }
    if (errno == EPERM) {
      co_return Busy("the device is mounted already: see /proc/mounts, and unmount it first");
    }
    co_return DeviceError(
        fmt::format("the kernel ended the mount before it began: {}", std::strerror(errno)));
  }
}

DevFuseTransport::DevFuseTransport(int descriptor, Reactor& reactor, DevFuseWaking waking)
    : descriptor_(descriptor), reactor_(reactor), waking_(waking) {
}

Task<Status> DevFuseTransport::Serve(RequestSink& sink) {
  const uint32_t awaited = waking_ == DevFuseWaking::kAll ? POLLIN : POLLIN | EPOLLEXCLUSIVE;
  int in_a_row = 0;
  for (;;) {
    const MessageLease message = sink.pool().Take();
    const ssize_t bytes = read(descriptor_, message.bytes().data(), message.bytes().size());
    if (bytes > 0) {
      message.ExpectBytes(static_cast<size_t>(bytes));
      sink.Process(message, static_cast<size_t>(bytes));
      if (++in_a_row == kRequestsPerTurn || sink.in_flight() > 0) {
        in_a_row = 0;
        co_await reactor_.Yield();
      }
      continue;
    }
    const int error = errno;
    if (error == EAGAIN) {
      in_a_row = 0;
      sink.TransportSleeps();
      co_await reactor_.Poll(descriptor_, awaited);
      if (waking_ == DevFuseWaking::kForgets) {
        co_await LetForgetsGather();
      }
    } else if (error == ENODEV) {
      co_return OkStatus();
    } else if (error != EINTR && error != ENOENT) {  // ENOENT: the request was taken back
      co_return DeviceError(fmt::format("reading /dev/fuse: {}", std::strerror(error)));
    }
  }
}

Task<void> DevFuseTransport::LetForgetsGather() {
  // One entry of the ring, and no timer of the reactor: with one of those, each wait for the next request
  // sets the CPU's timer and takes it back, which costs a virtual machine more than the request.
  const __kernel_timespec pause = {.tv_sec = 0, .tv_nsec = kForgetsGatherNanos};
  co_await reactor_.Submit({.opcode = IORING_OP_TIMEOUT, .address = &pause, .length = 1});
}

int DevFuseTransport::Send(const iovec* parts, int count) {
  while (writev(descriptor_, parts, count) < 0) {
    if (errno != EINTR && errno != EAGAIN) {
      return errno;
    }
  }
  return 0;
}

}  // namespace varve
