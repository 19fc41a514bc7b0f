// Extended attributes as records, for operations that change them along with the inode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

// nullopt when the file has none of that name.
Task<Result<std::optional<std::string>>> ReadXattr(FileSystemCore& core, const Inode& inode,
                                                   std::string_view name);
// The names of all, each followed by a NUL.
Task<Result<std::string>> ListXattrNames(FileSystemCore& core, const Inode& inode);

// The next three stage records and set the inode's flag; the caller holds the inode's lock and stages the
// inode.
void StageXattr(Change& change, Inode& inode, std::string_view name, std::string_view value);
// False, and nothing staged, when there is none.
Task<Result<bool>> StageXattrRemoval(FileSystemCore& core, Change& change, Inode& inode,
                                     std::string_view name);
// What a change of the mode by chmod(2) means for the file's access list.
Task<Status> StageModeInAcl(FileSystemCore& core, Change& change, Inode& inode);

// What something made in `parent` by `mode` gets from the directory's default list: restricts inode.mode and
// stages the lists; without a default list takes `umask` off. The caller holds the parent's lock.
Task<Status> StageInheritedAcl(FileSystemCore& core, Change& change, const Inode& parent, uint32_t umask,
                               Inode& inode);

}  // namespace varve
