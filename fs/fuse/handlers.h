// The requests of FUSE as calls of FileSystem: each handler converts arguments, calls and replies. A handler
// whose operation need not wait has replied when it returns.
#pragma once

#include "fs/fuse/fuse_library.h"

namespace varve {

// The table that libfuse dispatches by. The session's userdata must be a Channel.
fuse_lowlevel_ops FuseOperations();

// Its parts, one file each.
void AddNameHandlers(fuse_lowlevel_ops& operations);
void AddFileHandlers(fuse_lowlevel_ops& operations);
void AddDirectoryHandlers(fuse_lowlevel_ops& operations);
void AddXattrHandlers(fuse_lowlevel_ops& operations);

}  // namespace varve
