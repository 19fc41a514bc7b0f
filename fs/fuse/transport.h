// Transport: how requests of one kernel connection reach one reactor, and how answers go back. Reading
// /dev/fuse works on every kernel (dev_fuse_transport.h); fuse-over-io_uring answers on the CPU that asked
// (uring_transport.h). One object a reactor, used on its thread only.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"

namespace varve {

class MessageLease;
class MessagePool;

// Who answers requests: a mount's Channel. On the transport's thread only.
class RequestSink {
 public:
  // Handles the request in the first `bytes` of `message`. It has been answered when this returns if nothing
  // had to be waited for; else it is answered later, on this thread.
  virtual void Process(const MessageLease& message, size_t bytes) = 0;
  // Memory for requests whose transport has none of its own.
  virtual MessagePool& pool() = 0;
  // Requests that wait for something.
  virtual size_t in_flight() const = 0;
  // The transport has nothing to do, and waits for the kernel.
  virtual void TransportSleeps() = 0;

 protected:
  ~RequestSink() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Bits 32 to 63 of INIT's flags that the kernel has to be told for this transport.
  virtual uint32_t init_flags2() const { return 0; }

  // Once, after INIT has been answered and before Serve: the kernel learns where requests are to go. Requests
  // may reach `sink` from here on. An error says what to do; the connection is of no use then.
  virtual Task<Status> Register(RequestSink& sink) = 0;

  // Hands every request that arrives to `sink`, on the calling reactor, until the connection has ended
  // (unmounted or aborted): then success. An error says why requests can no longer be read.
  virtual Task<Status> Serve(RequestSink& sink) = 0;

  // Sends one reply or notification, header included. 0, or a positive errno: ENOENT when the kernel no
  // longer waits for it (what the reply would have counted, as lookups, is then not counted). Copies what it
  // needs.
  virtual int Send(const iovec* parts, int count) = 0;

  // For the log and the statistics.
  virtual std::string_view name() const = 0;
  // Answers for which other CPUs were woken, so that the client stays on its own. Any thread.
  virtual uint64_t clients_kept() const { return 0; }
  // Requests that were given to another reactor because many were under way. Any thread.
  virtual uint64_t requests_passed() const { return 0; }
};

}  // namespace varve
