// Transport: how requests of one kernel connection reach one reactor, and how answers go back. Reading
// /dev/fuse works on every kernel; fuse-over-io_uring is a peer. One object a reactor, used on its thread
// only.
#pragma once

#include <sys/uio.h>

#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"

namespace varve {

class Channel;

class Transport {
 public:
  virtual ~Transport() = default;

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
