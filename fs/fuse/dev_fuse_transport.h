// Requests by reading /dev/fuse: what every kernel offers.
#pragma once

#include <cstdint>

#include "engine/ring/reactor.h"
#include "fs/fuse/message_pool.h"
#include "fs/fuse/transport.h"

namespace varve {

// Whom a request wakes while every reactor of the connection sleeps. None of them spins: that takes the CPU
// from callers, and where all of them wake it gains nothing (docs/design/fuse.md has the figures).
enum class DevFuseWaking : uint8_t {
  // All. With one reactor pinned to each CPU, the one where the caller is runs as soon as the caller sleeps,
  // which is several times faster than waking a thread on another CPU; the others find nothing and sleep
  // again.
  kAll,
  // The one that has slept longest, wherever it is.
  kOne,
  // The one, with FORGETs and INTERRUPTs alone, while requests come another way: nobody waits for these, so
  // they gather for a moment, and many of them make one wake-up.
  kForgets,
};

// Waits on `reactor`, which is running it, for a connection's first request, which is INIT and comes this way
// whatever the transport, and answers its length. Errors: kBusy when another mount of the device has the
// connection.
Task<Result<size_t>> ReceiveInit(int descriptor, Reactor& reactor, MessageLease into);

class DevFuseTransport final : public Transport {
 public:
  // `reactor` must outlive it. `descriptor` is a connection's, nonblocking.
  DevFuseTransport(int descriptor, Reactor& reactor, DevFuseWaking waking);

  Task<Status> Register(RequestSink&) override { co_return OkStatus(); }
  Task<Status> Serve(RequestSink& sink) override;
  int Send(const iovec* parts, int count) override;
  std::string_view name() const override { return "/dev/fuse"; }

 private:
  Task<void> LetForgetsGather();

  int descriptor_;
  Reactor& reactor_;
  DevFuseWaking waking_;
};

}  // namespace varve
