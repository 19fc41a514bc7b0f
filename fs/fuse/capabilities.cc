#include "fs/fuse/capabilities.h"

#include <algorithm>
#include <cstring>

#include "fs/fuse/fuse_library.h"
#include "fs/fuse/message_pool.h"

namespace varve {

namespace {

// Background requests (read-ahead, asynchronous direct I/O) that the kernel keeps under way at once. Its
// default of 12 starves a queue depth of 16; more than a device queue gains nothing.
constexpr unsigned kBackgroundRequestsMax = 128;

// Bit 38 of INIT's flags, which the header of Debian 12 does not name yet: no file handles for NFS.
constexpr uint32_t kNoExportSupportFlag2 = uint32_t{1} << (38 - 32);

fuse_init_in RequestOf(std::span<const char> init_message) {
  fuse_init_in request = {};
  const std::span<const char> body = init_message.subspan(sizeof(fuse_in_header));
  std::memcpy(&request, body.data(), std::min(body.size(), sizeof(request)));
  return request;
}

}  // namespace

void ChooseCapabilities(fuse_conn_info& connection) {
  const auto want = [&connection](unsigned capability, bool wanted) {
    connection.want &= ~capability;
    if (wanted) {
      connection.want |= connection.capable & capability;
    }
  };
  // With it, and no OPEN, the truncation of open(O_TRUNC) would be lost.
  want(FUSE_CAP_ATOMIC_O_TRUNC, false);
  // Every change goes through this mount: the kernel never needs to guess that its cache is old.
  want(FUSE_CAP_AUTO_INVAL_DATA, false);
  want(FUSE_CAP_EXPLICIT_INVAL_DATA, true);
  want(FUSE_CAP_CACHE_SYMLINKS, true);
  want(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO, true);
  want(FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO, true);
  // It reorders data after renames and holds it beyond the commit interval.
  want(FUSE_CAP_WRITEBACK_CACHE, false);
  // The kernel does locks right by itself, OFD locks included.
  want(FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS, false);
  want(FUSE_CAP_EXPORT_SUPPORT, false);
  // The kernel checks by the lists that we keep, and leaves the umask to us: whether it applies is for the
  // directory's default list to say.
  want(FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK, true);
  // The second version of it, in AmendInitReply, says when to clear.
  want(FUSE_CAP_HANDLE_KILLPRIV, false);
  want(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
  connection.max_write = kPayloadBytesMax;
  connection.max_background = kBackgroundRequestsMax;
  connection.congestion_threshold = kBackgroundRequestsMax * 3 / 4;
}

uint32_t OfferedFlags2(std::span<const char> init_message) {
  const fuse_init_in request = RequestOf(init_message);
  return (request.flags & FUSE_INIT_EXT) != 0 ? request.flags2 : 0;
}

void AmendInitReply(std::span<const char> init_message, uint32_t flags2, fuse_init_out& reply) {
  const fuse_init_in request = RequestOf(init_message);
  reply.flags |= request.flags & (FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV_V2 | FUSE_SETXATTR_EXT);
  if ((request.flags & FUSE_INIT_EXT) != 0) {
    reply.flags |= FUSE_INIT_EXT;
    reply.flags2 |= request.flags2 & (kNoExportSupportFlag2 | flags2);
  }
}

bool OffersLongSetXattr(std::span<const char> init_message) {
  return (RequestOf(init_message).flags & FUSE_SETXATTR_EXT) != 0;
}

}  // namespace varve
