#include "fs/ops/mend_namespace.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace varve {

namespace {

constexpr size_t kDeletesPerBatch = 1000;

template <typename Count>
void AddTo(Count& count, int change) {
  if (change < 0) {
    count -= std::min<Count>(count, static_cast<Count>(-change));
  } else {
    count += static_cast<Count>(change);
  }
}

}  // namespace

Task<Result<std::string>> NamespaceMender::Apply(NamespaceProblem problem) {
  switch (problem.mend) {
    case Mend::kNothing:
    case Mend::kWithAnother:
      break;
    case Mend::kRemoveRecord:
      co_return co_await RemoveRecord(std::move(problem));
    case Mend::kRemoveChunks:
      co_return co_await RemoveChunks(std::move(problem));
    case Mend::kRemoveNames:
      co_return co_await RemoveNames(problem.inode, InodeNumber(0));
    case Mend::kRemoveOtherNames:
      co_return co_await RemoveOtherNames(std::move(problem));
    case Mend::kMoveName:
      co_return co_await MoveName(std::move(problem));
    case Mend::kSetNameTypes:
      co_return co_await SetNameTypes(std::move(problem));
    case Mend::kAttach:
      co_return co_await Attach(problem.inode);
    case Mend::kDetach:
      co_return co_await Detach(problem.inode);
    case Mend::kRelease:
      co_return co_await Release(problem.inode);
    case Mend::kMakeDirectory:
      co_return co_await MakeDirectory(problem.inode);
    case Mend::kSetLinks:
    case Mend::kSetParent:
    case Mend::kSetDirectoryCounts:
    case Mend::kSetChunkCount:
    case Mend::kSetXattrFlag:
      co_return co_await SetInode(std::move(problem));
    case Mend::kSetCounter:
      co_return co_await SetCounter(std::move(problem));
  }
  co_return std::string();
}

const std::vector<FoundName>& NamespaceMender::NamesOf(InodeNumber inode) const {
  static const std::vector<FoundName> kNone;
  const auto found = names_.names.find(inode);
  return found != names_.names.end() ? found->second : kNone;
}

Task<Result<std::optional<std::string>>> NamespaceMender::Read(std::string key) {
  const Store::Lookup found = co_await store_.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  co_return *found ? std::optional<std::string>((*found)->bytes()) : std::nullopt;
}

Task<Result<std::optional<NamespaceMender::Loaded>>> NamespaceMender::Load(InodeNumber inode) {
  Loaded loaded;
  loaded.key = NamespaceKey::OfInode(inode).view();
  Result<std::optional<std::string>> record = co_await Read(loaded.key);
  if (!record.ok()) {
    co_return record.error();
  }
  if (*record) {
    const Result<InodeRecord> decoded = DecodeInode(**record);
    if (!decoded.ok()) {
      co_return std::optional<Loaded>();
    }
    loaded.inode = decoded->inode;
    loaded.content = decoded->content;
    co_return std::optional(std::move(loaded));
  }
  for (const FoundName& name : NamesOf(inode)) {
    if (!name.embedded) {
      continue;
    }
    loaded.key = NamespaceKey::Dirent(name.parent, name.name).view();
    record = co_await Read(loaded.key);
    if (!record.ok()) {
      co_return record.error();
    }
    const Result<DirentRecord> dirent =
        *record ? DecodeDirent(**record) : Result<DirentRecord>(NotFound("no such name"));
    if (dirent.ok() && dirent->embedded && dirent->inode == inode) {
      loaded.embedded = true;
      loaded.inode = dirent->embedded->inode;
      loaded.content = dirent->embedded->content;
      co_return std::optional(std::move(loaded));
    }
  }
  co_return std::optional<Loaded>();
}

void NamespaceMender::Stage(WriteBatch& batch, const Loaded& loaded) {
  std::string value;
  if (loaded.embedded) {
    AppendEmbeddedDirent(value, loaded.inode, loaded.content);
  } else {
    AppendInode(value, loaded.inode, loaded.content);
  }
  batch.Put(loaded.key, value);
}

Task<Status> NamespaceMender::Write(WriteBatch& batch) {
  // A full device must not keep a tree from being mended.
  batch.MarkFreesSpace();
  co_return co_await store_.Write(batch, Durability::kInterval);
}

Task<Result<std::string>> NamespaceMender::Finish(Status status, WriteBatch& batch, std::string done) {
  if (status.ok()) {
    status = co_await Write(batch);
  }
  if (!status.ok()) {
    co_return status.error();
  }
  co_return done;
}

Task<Status> NamespaceMender::StageCounts(WriteBatch& batch, InodeNumber directory, int entries,
                                          int subdirectories) {
  Result<std::optional<Loaded>> loaded = co_await Load(directory);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (*loaded && (*loaded)->inode.is_directory()) {
    Inode& inode = (*loaded)->inode;
    AddTo(inode.entry_count, entries);
    AddTo(inode.subdirectory_count, subdirectories);
    inode.mtime_nanos = inode.ctime_nanos = now_nanos_;
    Stage(batch, **loaded);
  }
  co_return OkStatus();
}

Task<Result<std::string>> NamespaceMender::RemoveRecord(NamespaceProblem problem) {
  WriteBatch batch;
  batch.Delete(problem.key);
  co_return co_await Finish(OkStatus(), batch, "removed");
}

Task<Result<std::string>> NamespaceMender::RemoveChunks(NamespaceProblem problem) {
  const NamespaceKey lower = NamespaceKey::Chunk(problem.inode, problem.first);
  const NamespaceKey upper = NamespaceKey::Chunk(problem.inode, problem.second);
  const std::unique_ptr<StoreIterator> chunks = store_.NewIterator(lower, upper, {nullptr, false});
  WriteBatch batch;
  uint64_t removed = 0;
  for (Step step = chunks->Seek(lower);; step = chunks->Next()) {
    if (step == Step::kNeedsIo) {
      co_await chunks->Load();
    }
    const bool at_end = !chunks->Valid();
    if (!at_end) {
      batch.Delete(chunks->key());
      ++removed;
    }
    if (batch.count() >= kDeletesPerBatch || (at_end && !batch.empty())) {
      const Status written = co_await Write(batch);
      if (!written.ok()) {
        co_return written.error();
      }
      batch.Clear();
    }
    if (at_end) {
      break;
    }
  }
  if (!chunks->status().ok()) {
    co_return chunks->status().error();
  }
  co_return fmt::format("{} removed", removed);
}

Task<Result<std::string>> NamespaceMender::RemoveNames(InodeNumber inode, InodeNumber but_in) {
  std::string removed;
  for (const FoundName& name : NamesOf(inode)) {
    if (name.embedded || (but_in.value != 0 && name.parent == but_in)) {
      continue;
    }
    WriteBatch batch;
    batch.Delete(NamespaceKey::Dirent(name.parent, name.name));
    Status status = co_await StageCounts(batch, name.parent, -1, S_ISDIR(name.type) ? -1 : 0);
    if (status.ok()) {
      status = co_await Write(batch);
    }
    if (!status.ok()) {
      co_return status.error();
    }
    removed += fmt::format("{}{}", removed.empty() ? "removed the name " : ", ",
                           names_.paths.PathOf(name.parent, name.name));
  }
  co_return removed;
}

Task<Result<std::string>> NamespaceMender::RemoveOtherNames(NamespaceProblem problem) {
  const Result<std::optional<Loaded>> loaded = co_await Load(problem.inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded) {
    co_return std::string();
  }
  co_return co_await RemoveNames(problem.inode, (*loaded)->inode.parent);
}

Task<Result<std::string>> NamespaceMender::MoveName(NamespaceProblem problem) {
  const Result<std::optional<std::string>> value = co_await Read(problem.key);
  if (!value.ok()) {
    co_return value.error();
  }
  const Result<std::optional<InodeNumber>> to = co_await LostAndFound();
  if (!to.ok()) {
    co_return to.error();
  }
  const std::optional<ParsedKey> key = ParseNamespaceKey(problem.key);
  const Result<DirentRecord> dirent =
      *value ? DecodeDirent(**value) : Result<DirentRecord>(NotFound("no such name"));
  if (!key || !dirent.ok() || !*to) {
    co_return std::string();
  }
  const Result<std::string> name = co_await FreeName(**to, dirent->inode);
  if (!name.ok()) {
    co_return name.error();
  }
  const int subdirectories = dirent->type == S_IFDIR ? 1 : 0;
  WriteBatch batch;
  batch.Delete(problem.key);
  batch.Put(NamespaceKey::Dirent(**to, *name), **value);
  Status status;
  if (key->inode != **to) {
    status = co_await StageCounts(batch, key->inode, -1, -subdirectories);
    if (status.ok()) {
      status = co_await StageCounts(batch, **to, 1, subdirectories);
    }
  }
  co_return co_await Finish(status, batch, fmt::format("moved to {}/{}", lost_and_found_path_, *name));
}

Task<Result<std::string>> NamespaceMender::SetNameTypes(NamespaceProblem problem) {
  const Result<std::optional<Loaded>> loaded = co_await Load(problem.inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded || (*loaded)->embedded) {
    co_return std::string();
  }
  WriteBatch batch;
  for (const FoundName& name : NamesOf(problem.inode)) {
    if (!name.embedded) {
      std::string value;
      AppendReferenceDirent(value, problem.inode, (*loaded)->inode.mode);
      batch.Put(NamespaceKey::Dirent(name.parent, name.name), value);
    }
  }
  co_return co_await Finish(OkStatus(), batch, "the name follows the inode");
}

Task<Result<std::string>> NamespaceMender::Attach(InodeNumber inode) {
  Result<std::optional<Loaded>> loaded = co_await Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  const Result<std::optional<InodeNumber>> to = co_await LostAndFound();
  if (!to.ok()) {
    co_return to.error();
  }
  if (!*loaded || (*loaded)->embedded || !*to || **to == inode) {
    co_return std::string();
  }
  const Result<std::string> name = co_await FreeName(**to, inode);
  if (!name.ok()) {
    co_return name.error();
  }
  Inode& attached = (*loaded)->inode;
  attached.nlink = 1;
  if (attached.is_directory()) {
    attached.parent = **to;
  }
  std::string dirent;
  AppendReferenceDirent(dirent, inode, attached.mode);
  WriteBatch batch;
  batch.Put(NamespaceKey::Dirent(**to, *name), dirent);
  Stage(batch, **loaded);
  Status status = co_await StageCounts(batch, **to, 1, attached.is_directory() ? 1 : 0);
  co_return co_await Finish(status, batch, fmt::format("linked as {}/{}", lost_and_found_path_, *name));
}

Task<Result<std::string>> NamespaceMender::Detach(InodeNumber inode) {
  const Result<std::string> removed = co_await RemoveNames(inode, InodeNumber(0));
  if (!removed.ok()) {
    co_return removed;
  }
  co_return co_await Attach(inode);
}

Task<Result<std::string>> NamespaceMender::Release(InodeNumber inode) {
  const Result<std::optional<Loaded>> loaded = co_await Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded || (*loaded)->embedded) {
    co_return std::string();
  }
  WriteBatch batch;
  batch.Delete((*loaded)->key);
  if ((*loaded)->inode.chunked || (*loaded)->inode.has_xattrs) {
    std::string orphan;
    AppendOrphanFile(orphan, (*loaded)->inode, (*loaded)->content);
    batch.Put(NamespaceKey::Orphan(inode), orphan);
  }
  co_return co_await Finish(OkStatus(), batch, "removed: it had been deleted");
}

Task<Result<std::string>> NamespaceMender::SetInode(NamespaceProblem problem) {
  Result<std::optional<Loaded>> loaded = co_await Load(problem.inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded) {
    co_return std::string();
  }
  Inode& inode = (*loaded)->inode;
  const std::vector<FoundName>& names = NamesOf(problem.inode);
  if (problem.mend == Mend::kSetLinks) {
    inode.nlink = static_cast<uint32_t>(std::min<uint64_t>(problem.first, UINT32_MAX));
  } else if (problem.mend == Mend::kSetParent && names.size() == 1) {
    inode.parent = names.front().parent;
  } else if (problem.mend == Mend::kSetDirectoryCounts) {
    inode.entry_count = problem.first;
    inode.subdirectory_count = static_cast<uint32_t>(std::min<uint64_t>(problem.second, UINT32_MAX));
  } else if (problem.mend == Mend::kSetChunkCount) {
    inode.chunk_count = problem.first;
  } else if (problem.mend == Mend::kSetXattrFlag) {
    inode.has_xattrs = problem.first != 0;
  }
  WriteBatch batch;
  Stage(batch, **loaded);
  co_return co_await Finish(OkStatus(), batch, "corrected");
}

Task<Result<std::string>> NamespaceMender::SetCounter(NamespaceProblem problem) {
  std::string value;
  AppendInodeCounter(value, InodeNumber(problem.first));
  WriteBatch batch;
  batch.Put(kInodeCounterKey, value);
  co_return co_await Finish(OkStatus(), batch, "corrected");
}

}  // namespace varve
