// What fuse-over-io_uring puts between kernel and daemon: <linux/fuse.h> of kernel 6.14, which Debian 12's
// does not have yet (Documentation/filesystems/fuse-io-uring.rst).
#pragma once

#include <cstddef>
#include <cstdint>

namespace varve::fuse_uring {

// Bit 41 of INIT's flags, FUSE_OVER_IO_URING.
inline constexpr uint32_t kInitFlag2 = uint32_t{1} << (41 - 32);

enum class Command : uint32_t {
  kRegister = 1,
  // Gives the answer of the request that the entry holds, and asks for the next one.
  kCommitAndFetch = 2,
};

// struct fuse_uring_ent_in_out.
struct EntryHeader {
  uint64_t flags;
  // Names the request to the kernel when it is answered.
  uint64_t commit_id;
  // Bytes in the payload: of a request without its header and fixed part, of an answer without its header.
  uint32_t payload_bytes;
  uint32_t padding;
  uint64_t reserved;
};

inline constexpr size_t kInOutBytes = 128;
inline constexpr size_t kFixedPartBytesMax = 128;

// struct fuse_uring_req_header: what an entry has beside its payload.
struct RequestHeader {
  // fuse_in_header, then fuse_out_header.
  char in_out[kInOutBytes];
  // The fixed part of the request, whose length depends on its opcode.
  char fixed_part[kFixedPartBytesMax];
  EntryHeader entry;
};
static_assert(sizeof(RequestHeader) == 288);
static_assert(offsetof(RequestHeader, entry) == 256);

// struct fuse_uring_cmd_req: the command's bytes in a submission queue entry of 128 bytes.
struct CommandRequest {
  uint64_t flags;
  uint64_t commit_id;
  uint16_t queue;
  uint8_t padding[6];
};
static_assert(sizeof(CommandRequest) == 24);

}  // namespace varve::fuse_uring
