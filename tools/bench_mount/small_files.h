// The small-file workload: what a program does to many small files in one directory, one after the other in
// the order of their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "tools/bench_mount/interruption.h"

namespace varve {

enum class SmallFileOperation {
  kCreate,  // open, write once, close
  kStat,
  kStatAgain,
  kRead,  // open, read to the end, close
  kReadAgain,
  kLookUpAbsent,  // a stat of a name that is not there
  kList,          // the names, without a stat of each
  kListAgain,
  kRename,
  kRemove,        // of renamed files
  kCreateSynced,  // open, write once, fsync, close
};

// "create"
std::string_view NameOf(SmallFileOperation operation);

// In the order in which they can follow one another on one directory, from kCreate on.
inline constexpr SmallFileOperation kSmallFileOperations[] = {
    SmallFileOperation::kCreate, SmallFileOperation::kStat,        SmallFileOperation::kStatAgain,
    SmallFileOperation::kRead,   SmallFileOperation::kReadAgain,   SmallFileOperation::kLookUpAbsent,
    SmallFileOperation::kList,   SmallFileOperation::kListAgain,   SmallFileOperation::kRename,
    SmallFileOperation::kRemove, SmallFileOperation::kCreateSynced};

struct SmallFileTimes {
  double seconds = 0;
  // Of each file; of listings none.
  std::vector<uint64_t> nanos;
};

// Does `operation` to the files 0 … files - 1 of `bytes` in `directory`, and checks what it finds there
// (names, sizes, content). What is done again is done twice, and the second time counts. kCancelled when
// `interruption` comes.
Result<SmallFileTimes> RunSmallFiles(SmallFileOperation operation, const std::string& directory,
                                     uint64_t files, size_t bytes, Interruption& interruption);

}  // namespace varve
