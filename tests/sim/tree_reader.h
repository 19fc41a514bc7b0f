// Reading what a filesystem holds into the plain objects of its model.
#pragma once

#include <string>
#include <vector>

#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"
#include "tests/fs/ops/model_fs.h"

namespace varve::sim {

// In the order of the listing, without "." and "..".
Task<Result<std::vector<std::string>>> NamesIn(FileSystem& fs, InodeNumber directory);

// Everything below `root`, whose inode is named and looked up; `root` is filled. An error ends it.
Task<Status> ReadTree(FileSystem& fs, ModelPtr root);

}  // namespace varve::sim
