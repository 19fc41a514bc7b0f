#include "fs/ops/find_names.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>

namespace varve {

void PathIndex::AddDirectory(InodeNumber directory, InodeNumber parent, std::string_view name) {
  places_.try_emplace(directory.value, Place{parent.value, std::string(name)});
}

std::string PathIndex::PathOf(InodeNumber parent, std::string_view name) const {
  std::string path = PathOfDirectory(parent);
  if (!path.ends_with('/')) {
    path += '/';
  }
  return path.append(name);
}

std::string PathIndex::PathOfDirectory(InodeNumber directory) const {
  std::string path;
  uint64_t at = directory.value;
  // A circle ends after as many steps as there are directories.
  for (size_t steps = 0; at != kRootInode.value; ++steps) {
    const auto place = places_.find(at);
    if (place == places_.end() || steps > places_.size()) {
      return fmt::format("(inode {}){}", at, path);
    }
    path = fmt::format("/{}{}", place->second.name, path);
    at = place->second.parent;
  }
  return path.empty() ? "/" : path;
}

std::vector<InodeNumber> PathIndex::Between(InodeNumber first, InodeNumber last) const {
  std::vector<InodeNumber> found;
  for (auto place = places_.lower_bound(first.value); place != places_.end() && place->first <= last.value;
       ++place) {
    found.emplace_back(place->first);
  }
  return found;
}

std::string FoundNames::PathOf(InodeNumber inode) const {
  if (inode == kRootInode) {
    return "/";
  }
  const auto found = names.find(inode);
  if (found == names.end()) {
    return fmt::format("(inode {})", inode.value);
  }
  return paths.PathOf(found->second.front().parent, found->second.front().name);
}

Task<Result<FoundNames>> FindNames(Store& store, std::function<bool(InodeNumber)> wanted) {
  const auto kind = static_cast<uint8_t>(NamespaceKind::kDirent);
  const NamespaceKey lower = NamespaceKey::KindStart(kind);
  const NamespaceKey upper = NamespaceKey::KindStart(static_cast<uint8_t>(kind + 1));
  ReadOptions read;
  read.fill_cache = false;
  read.pass_over_damage = true;
  const std::unique_ptr<StoreIterator> records = store.NewIterator(lower, upper, read);
  FoundNames found;
  for (Step step = records->Seek(lower);; step = records->Next()) {
    if (step == Step::kNeedsIo) {
      co_await records->Load();
    }
    if (!records->Valid()) {
      break;
    }
    const std::optional<ParsedKey> key = ParseNamespaceKey(records->key());
    const Result<DirentSummary> dirent = DecodeDirentSummary(records->value());
    if (!key || !dirent.ok()) {
      continue;
    }
    if (S_ISDIR(dirent->type)) {
      found.paths.AddDirectory(dirent->inode, key->inode, key->name);
    }
    if (wanted(dirent->inode)) {
      const Result<DirentRecord> whole = DecodeDirent(records->value());
      found.names[dirent->inode].push_back(
          {key->inode, std::string(key->name), dirent->type, whole.ok() && whole->embedded.has_value()});
    }
  }
  if (!records->status().ok()) {
    co_return records->status().error();
  }
  co_return found;
}

}  // namespace varve
