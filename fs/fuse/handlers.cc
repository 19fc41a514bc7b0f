#include "fs/fuse/handlers.h"

#include "fs/fuse/capabilities.h"

namespace varve {

namespace {

void Init(void*, fuse_conn_info* connection) {
  ChooseCapabilities(*connection);
}

}  // namespace

// What has no handler is answered ENOSYS by libfuse, which the kernel remembers: FLUSH (nothing is lost:
// writes are not delayed), ACCESS (default_permissions), locks (the kernel does them), IOCTL, POLL, BMAP.
// RELEASE (after O_TMPFILE only) is answered with success.
fuse_lowlevel_ops FuseOperations() {
  fuse_lowlevel_ops operations = {};
  operations.init = Init;
  AddNameHandlers(operations);
  AddFileHandlers(operations);
  AddDirectoryHandlers(operations);
  AddXattrHandlers(operations);
  return operations;
}

}  // namespace varve
