// What is agreed with the kernel when a connection begins, and why (docs/design/fuse.md).
#pragma once

#include <span>

struct fuse_conn_info;
struct fuse_init_out;

namespace varve {

// What libfuse can ask for: called while it decodes INIT.
void ChooseCapabilities(fuse_conn_info& connection);

// What libfuse 3.14 cannot ask for, set in its answer where the kernel's request offers it.
void AmendInitReply(std::span<const char> init_message, fuse_init_out& reply);

// Whether AmendInitReply has agreed to the long form of SETXATTR, which says what a new access list does to
// the mode.
bool OffersLongSetXattr(std::span<const char> init_message);

}  // namespace varve
