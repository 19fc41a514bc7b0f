#include "fs/ops/path.h"

#include <utility>

#include "fs/ops/directory_pages.h"

namespace varve {

namespace {

// A directory by path and, of the last component, the name that is left to be looked up (empty: the root
// itself).
struct Place {
  NodeReference parent;
  std::string_view name;
};

std::string_view NextComponent(std::string_view& path) {
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  return component;
}

Task<Result<NodeReference>> Descend(FileSystem& fs, InodeNumber directory, std::string_view name, bool make,
                                    Caller caller) {
  Result<Attributes> found = co_await fs.Lookup(directory, name);
  if (make && found.Is(ErrorCode::kNotFound)) {
    found = co_await fs.MakeDirectory(directory, name, 0755, caller);
  }
  if (!found.ok()) {
    co_return found.error();
  }
  NodeReference node(fs, *found);
  if (!S_ISDIR(found->mode)) {
    co_return Error(ErrorCode::kNotDirectory, "a component of the path is not a directory");
  }
  co_return node;
}

Status CheckComponents(std::string_view path) {
  while (!path.empty()) {
    const std::string_view component = NextComponent(path);
    if (component == "." || component == "..") {
      return InvalidArgument("\".\" and \"..\" in a path");
    }
  }
  return {};
}

// `make`: missing directories on the way.
Task<Result<Place>> FindPlace(FileSystem& fs, std::string_view path, bool make, Caller caller) {
  Status valid = CheckComponents(path);
  if (!valid.ok()) {
    co_return valid.error();
  }
  Place place;
  Result<Attributes> root = co_await fs.GetAttributes(kRootInode);
  if (!root.ok()) {
    co_return root.error();
  }
  place.parent = NodeReference(fs, *root);
  place.name = NextComponent(path);
  while (!path.empty()) {
    Result<NodeReference> below = co_await Descend(fs, place.parent.inode(), place.name, make, caller);
    if (!below.ok()) {
      co_return below.error();
    }
    place.parent = std::move(*below);
    place.name = NextComponent(path);
  }
  co_return place;
}

Task<Result<NodeReference>> Resolve(FileSystem& fs, std::string_view path) {
  Result<Place> place = co_await FindPlace(fs, path, false, Caller{});
  if (!place.ok()) {
    co_return place.error();
  }
  if (place->name.empty()) {
    co_return std::move(place->parent);
  }
  Result<Attributes> found = co_await fs.Lookup(place->parent.inode(), place->name);
  if (!found.ok()) {
    co_return found.error();
  }
  co_return NodeReference(fs, *found);
}

Task<Status> RemoveTree(FileSystem& fs, InodeNumber parent, std::string_view name) {
  Result<Attributes> found = co_await fs.Lookup(parent, name);
  if (!found.ok()) {
    co_return found.error();
  }
  const NodeReference node(fs, *found);
  if (!S_ISDIR(found->mode)) {
    co_return co_await fs.Unlink(parent, name);
  }
  DirectoryPages pages(fs);
  Status opened = co_await pages.Open(node.inode(), DirectoryPages::Want::kNames);
  if (!opened.ok()) {
    co_return opened;
  }
  while (true) {
    Result<DirectoryPages::Entry*> entry = co_await pages.Next();
    if (!entry.ok()) {
      co_return entry.error();
    }
    if (*entry == nullptr) {
      break;
    }
    Status removed = co_await RemoveTree(fs, node.inode(), (*entry)->name);
    if (!removed.ok()) {
      co_return removed;
    }
  }
  co_return co_await fs.RemoveDirectory(parent, name);
}

// Appends all that `from` gives to a file.
Task<Status> Fill(FileSystem& fs, InodeNumber file, ByteSource& from) {
  std::string piece(kWriteBytesMax, '\0');
  uint64_t offset = 0;
  while (true) {
    size_t filled = 0;
    while (filled < piece.size()) {
      Result<size_t> read = from.Read(std::span<char>(piece).subspan(filled));
      if (!read.ok()) {
        co_return read.error();
      }
      if (*read == 0) {
        break;
      }
      filled += *read;
    }
    const std::string_view bytes = std::string_view(piece).substr(0, filled);
    Result<size_t> written = co_await fs.Write(file, offset, bytes, WriteFlags{});
    if (!written.ok()) {
      co_return written.error();
    }
    offset += filled;
    if (filled < piece.size()) {
      co_return Status();
    }
  }
}

}  // namespace

Task<Result<Attributes>> StatPath(FileSystem& fs, std::string_view path) {
  Result<NodeReference> node = co_await Resolve(fs, path);
  if (!node.ok()) {
    co_return node.error();
  }
  co_return node->attributes();
}

Task<Status> ReadWhole(FileSystem& fs, std::string_view path, ByteSink& to) {
  Result<NodeReference> node = co_await Resolve(fs, path);
  if (!node.ok()) {
    co_return node.error();
  }
  if (S_ISLNK(node->attributes().mode)) {
    Result<std::string> target = co_await fs.ReadSymlink(node->inode());
    if (!target.ok()) {
      co_return target.error();
    }
    co_return to.Write(*target);
  }
  std::string piece(kWriteBytesMax, '\0');
  for (uint64_t offset = 0;;) {
    Result<size_t> read = co_await fs.Read(node->inode(), offset, std::span<char>(piece));
    if (!read.ok()) {
      co_return read.error();
    }
    if (*read == 0) {
      co_return Status();
    }
    Status taken = to.Write(std::string_view(piece).substr(0, *read));
    if (!taken.ok()) {
      co_return taken;
    }
    offset += *read;
  }
}

Task<Status> WriteWhole(FileSystem& fs, std::string_view path, ByteSource& from, WriteWholeOptions options) {
  Result<Place> place = co_await FindPlace(fs, path, options.make_parents, options.caller);
  if (!place.ok()) {
    co_return place.error();
  }
  if (place->name.empty()) {
    co_return Error(ErrorCode::kIsDirectory, "is a directory");
  }
  const InodeNumber parent = place->parent.inode();
  NodeReference old;
  Result<Attributes> found = co_await fs.Lookup(parent, place->name);
  if (found.ok()) {
    old = NodeReference(fs, *found);
    if (options.fail_if_exists) {
      co_return Error(ErrorCode::kExists, "the path exists");
    }
    if (!S_ISREG(found->mode)) {
      co_return S_ISDIR(found->mode) ? Error(ErrorCode::kIsDirectory, "is a directory")
                                     : InvalidArgument("not a regular file");
    }
    // Who replaces the content of a file does not change whose it is.
    options.mode = found->mode & 07777;
    options.caller.uid = found->uid;
    options.caller.gid = found->gid;
  } else if (!found.Is(ErrorCode::kNotFound)) {
    co_return found.error();
  }
  Result<Attributes> made = co_await fs.MakeTemporary(parent, options.mode, options.caller);
  if (!made.ok()) {
    co_return made.error();
  }
  const NodeReference file(fs, *made);
  Status filled = co_await Fill(fs, file.inode(), from);
  if (!filled.ok()) {
    co_return filled;
  }
  co_return co_await fs.Replace(file.inode(), parent, place->name);
}

Task<Status> RemovePath(FileSystem& fs, std::string_view path, bool recursive) {
  Result<Place> place = co_await FindPlace(fs, path, false, Caller{});
  if (!place.ok()) {
    co_return place.error();
  }
  const InodeNumber parent = place->parent.inode();
  if (place->name.empty()) {
    co_return InvalidArgument("the root cannot be removed");
  }
  if (recursive) {
    co_return co_await RemoveTree(fs, parent, place->name);
  }
  Status removed = co_await fs.Unlink(parent, place->name);
  if (removed.Is(ErrorCode::kIsDirectory)) {
    co_return co_await fs.RemoveDirectory(parent, place->name);
  }
  co_return removed;
}

Task<Status> ListPath(FileSystem& fs, std::string_view path, PathVisitor& visitor) {
  Result<NodeReference> node = co_await Resolve(fs, path);
  if (!node.ok()) {
    co_return node.error();
  }
  if (!S_ISDIR(node->attributes().mode)) {
    std::string_view name;
    for (std::string_view rest = path; !rest.empty();) {
      name = NextComponent(rest);
    }
    co_await visitor.Visit(name, node->attributes());
    co_return Status();
  }
  DirectoryPages pages(fs);
  Status opened = co_await pages.Open(node->inode(), DirectoryPages::Want::kAttributes);
  if (!opened.ok()) {
    co_return opened;
  }
  while (true) {
    Result<DirectoryPages::Entry*> entry = co_await pages.Next();
    if (!entry.ok()) {
      co_return entry.error();
    }
    if (*entry == nullptr) {
      co_return Status();
    }
    const bool more = co_await visitor.Visit((*entry)->name, (*entry)->node.attributes());
    if (!more) {
      co_return Status();
    }
  }
}

}  // namespace varve
