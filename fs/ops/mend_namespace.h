// One mend at a time (namespace_problem.h): reads the records concerned and writes them as they should be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/find_names.h"
#include "fs/ops/namespace_problem.h"

namespace varve {

// Used by one coroutine at a time. Batches are not durable before the store's next Sync.
class NamespaceMender {
 public:
  // `names` has those of every inode whose problems are to be mended. `now_nanos`: the time that new inodes
  // get. While `counter_is_wrong` no inode number is given out.
  NamespaceMender(Store& store, const FoundNames& names, int64_t now_nanos, bool counter_is_wrong)
      : store_(store), names_(names), now_nanos_(now_nanos), counter_is_wrong_(counter_is_wrong) {}

  // What was done, in words; empty when the problem is left as it is: because it cannot be mended, or not
  // before something else is.
  Task<Result<std::string>> Apply(NamespaceProblem problem);

 private:
  // An inode and where it lies.
  struct Loaded {
    std::string key;
    bool embedded = false;
    Inode inode;
    std::string content;
  };

  const std::vector<FoundName>& NamesOf(InodeNumber inode) const;
  Task<Result<std::optional<std::string>>> Read(std::string key);
  // From its record, or from a name that embeds it.
  Task<Result<std::optional<Loaded>>> Load(InodeNumber inode);
  static void Stage(WriteBatch& batch, const Loaded& loaded);
  Task<Status> Write(WriteBatch& batch);
  // `done`, once the batch is written; nothing is written when `status`, of staging it, is an error.
  Task<Result<std::string>> Finish(Status status, WriteBatch& batch, std::string done);
  // Adds to the directory's counts, where it has a record.
  Task<Status> StageCounts(WriteBatch& batch, InodeNumber directory, int entries, int subdirectories);

  Task<Result<std::string>> RemoveRecord(NamespaceProblem problem);
  Task<Result<std::string>> RemoveChunks(NamespaceProblem problem);
  // The names that refer to the inode; all but those in `but_in` when that is not 0.
  Task<Result<std::string>> RemoveNames(InodeNumber inode, InodeNumber but_in);
  Task<Result<std::string>> RemoveOtherNames(NamespaceProblem problem);
  Task<Result<std::string>> MoveName(NamespaceProblem problem);
  Task<Result<std::string>> SetNameTypes(NamespaceProblem problem);
  Task<Result<std::string>> Attach(InodeNumber inode);
  Task<Result<std::string>> Detach(InodeNumber inode);
  Task<Result<std::string>> Release(InodeNumber inode);
  Task<Result<std::string>> MakeDirectory(InodeNumber inode);
  Task<Result<std::string>> SetInode(NamespaceProblem problem);
  Task<Result<std::string>> SetCounter(NamespaceProblem problem);

  // The directory that takes what has no name, made when it is first needed; nullopt while there is no root
  // or no counter of inode numbers.
  Task<Result<std::optional<InodeNumber>>> LostAndFound();
  Task<Result<std::optional<InodeNumber>>> MakeLostAndFound(std::string name);
  // A name in lost+found that is free: the inode's number, with a suffix where that is taken.
  Task<Result<std::string>> FreeName(InodeNumber directory, InodeNumber inode);
  Inode NewDirectory(InodeNumber number, InodeNumber parent) const;

  Store& store_;
  const FoundNames& names_;
  const int64_t now_nanos_;
  const bool counter_is_wrong_;
  std::optional<InodeNumber> lost_and_found_;
  std::string lost_and_found_path_;
};

}  // namespace varve
