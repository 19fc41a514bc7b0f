// Transport: how requests of one kernel connection reach one reactor, and how answers go back. Reading
// /dev/fuse works on every kernel (dev_fuse_transport.h); fuse-over-io_uring answers on the CPU that asked
// (uring_transport.h). One object a reactor, used on its thread only.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"

namespace varve {

class Channel;

class Transport {
 public:
  virtual ~Transport() = default;

  // Bits 32 to 63 of INIT's flags that the kernel has to be told for this transport.
  virtual uint32_t init_flags2() const { return 0; }

  // Once, after INIT has been answered and before Serve: the kernel learns where requests are to go. Requests
  // may reach `channel` from here on. An error says what to do; the connection is of no use then.
  virtual Task<Status> Register(Channel& channel) = 0;

  // Hands every request that arrives to `channel`, on the calling reactor, until the connection has ended
  // (unmounted or aborted): then success. An error says why requests can no longer be read.
  virtual Task<Status> Serve(Channel& channel) = 0;

  // Sends one reply or notification, header included. 0, or a positive errno: ENOENT when the kernel no
  // longer waits for it (what the reply would have counted, as lookups, is then not counted). Copies what it
  // needs.
  virtual int Send(const iovec* parts, int count) = 0;

  // For the log and the statistics.
  virtual std::string_view name() const = 0;
};

}  // namespace varve
