// Requests by reading /dev/fuse: what every kernel offers.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/logger.h"
#include "engine/ring/reactor.h"
#include "fs/fuse/message_pool.h"
#include "fs/fuse/transport.h"

namespace varve {

// How the reactors of one connection wait. Shared by them; any thread.
struct DevFuseWaiting {
  // How long one reactor goes on asking for the next request before it sleeps. Waking a thread on another CPU
  // costs the caller tens of microseconds, asking costs a CPU: docs/design/fuse.md has the figures.
  uint64_t spin_nanos = 0;
  // At most one reactor spins at a time: the others would take the CPU of the caller.
  std::atomic<bool> somebody_spins{false};
};

class DevFuseTransport final : public Transport {
 public:
  // All must outlive it. `descriptor` is a connection's, nonblocking.
  DevFuseTransport(int descriptor, Reactor& reactor, DevFuseWaiting& waiting, Logger& logger);

  // Waits for the first request, which is INIT, and answers its length. Errors: kBusy when another mount of
  // the device has the connection.
  Task<Result<size_t>> ReceiveInit(MessageLease into);

  Task<Status> Serve(Channel& channel) override;
  int Send(const iovec* parts, int count) override;
  std::string_view name() const override { return "/dev/fuse"; }

 private:
  Task<void> WaitForRequest(Channel& channel);

  int descriptor_;
  Reactor& reactor_;
  DevFuseWaiting& waiting_;
  Logger& logger_;
};

}  // namespace varve
