// Checking and mending a store that is not mounted: `varve fsck` (docs/design/fsck.md).
#pragma once

#include <string>

namespace varve {

struct FsckOptions {
  std::string device;
  // Mend what can be mended without guessing.
  bool repair = false;
  // With repair: end the log before what is damaged in it. What was written later is lost.
  bool cut_log = false;
  // Also whether reads find the newest version of every key.
  bool deep = false;
  // As at boot: only what is quick however large the store is.
  bool quick = false;
};

// Tells what it finds on standard output, and how far it is on standard error. The exit code of fsck(8).
int RunFsck(const FsckOptions& options);

}  // namespace varve
