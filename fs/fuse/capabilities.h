// What is agreed with the kernel when a connection begins, and why (docs/design/fuse.md).
#pragma once

#include <cstdint>
#include <span>

struct fuse_conn_info;
struct fuse_init_out;

namespace varve {

// What libfuse can ask for: called while it decodes INIT.
void ChooseCapabilities(fuse_conn_info& connection);

// What libfuse 3.14 cannot ask for, set in its answer where the kernel's request offers it; `flags2` as well
// (bits 32 to 63 of INIT's flags), which a transport may want.
void AmendInitReply(std::span<const char> init_message, uint32_t flags2, fuse_init_out& reply);

// Bits of INIT's flags above 31 that the kernel offers.
uint32_t OfferedFlags2(std::span<const char> init_message);

// Whether AmendInitReply has agreed to the long form of SETXATTR, which says what a new access list does to
// the mode.
bool OffersLongSetXattr(std::span<const char> init_message);

}  // namespace varve
