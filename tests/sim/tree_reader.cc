#include "tests/sim/tree_reader.h"

#include <map>
#include <memory>
#include <span>
#include <utility>

namespace varve::sim {

namespace {

class NameSink final : public DirectorySink {
 public:
  bool Add(const DirectoryEntry& entry) override {
    next_offset = entry.next_offset;
    if (entry.name != "." && entry.name != "..") {
      names.emplace_back(entry.name);
    }
    return true;
  }

  std::vector<std::string> names;
  uint64_t next_offset = 0;
};

}  // namespace

Task<Result<std::vector<std::string>>> NamesIn(FileSystem& fs, InodeNumber directory) {
  const Result<OpenedDirectory> opened = co_await fs.OpenDirectory(directory);
  if (!opened.ok()) {
    co_return opened.error();
  }
  NameSink sink;
  const Status listed = co_await fs.ReadDirectory(opened->handle, 0, sink);
  fs.ReleaseDirectory(opened->handle);
  if (!listed.ok()) {
    co_return listed.error();
  }
  co_return std::move(sink.names);
}

namespace {

// One walk of ReadTree; a file with several names is one node.
class TreeReader {
 public:
  explicit TreeReader(FileSystem& fs) : fs_(fs) {}

  Task<Status> Read(ModelPtr directory) {
    const Result<std::vector<std::string>> names = co_await NamesIn(fs_, directory->inode);
    if (!names.ok()) {
      co_return names.status();
    }
    for (const std::string& name : *names) {
      const Result<Attributes> found = co_await fs_.Lookup(directory->inode, name);
      if (!found.ok()) {
        co_return found.status();
      }
      Status read = co_await ReadNode(directory, name, *found);
      fs_.Forget(found->inode, 1);
      if (!read.ok()) {
        co_return read;
      }
    }
    co_return OkStatus();
  }

 private:
  Task<Status> ReadNode(ModelPtr directory, std::string name, Attributes attributes) {
    ModelPtr& node = nodes_[attributes.inode.value];
    if (node != nullptr) {
      directory->children[name] = node;
      co_return OkStatus();
    }
    node = std::make_shared<ModelNode>();
    directory->children[name] = node;
    const ModelPtr made = node;
    made->inode = attributes.inode;
    made->mode = attributes.mode;
    made->uid = attributes.uid;
    made->gid = attributes.gid;
    made->nlink = attributes.nlink;
    Status read = co_await ReadXattrs(made);
    if (read.ok() && made->is_file()) {
      made->content.resize(attributes.size);
      const Result<size_t> bytes = co_await fs_.Read(made->inode, 0, std::span<char>(made->content));
      read = bytes.status();
      made->content.resize(bytes.ok() ? *bytes : 0);
    } else if (read.ok() && S_ISLNK(made->mode)) {
      Result<std::string> target = co_await fs_.ReadSymlink(made->inode);
      read = target.status();
      made->content = target.ok() ? *target : "";
    } else if (read.ok() && made->is_directory()) {
      made->parent = directory.get();
      read = co_await Read(made);
      if (read.ok() && attributes.nlink != 2 + made->subdirectories()) {
        read = Corruption("a directory has a wrong link count: " + name);
      }
    }
    co_return read;
  }

  Task<Status> ReadXattrs(ModelPtr node) {
    const Result<std::string> names = co_await fs_.ListXattrs(node->inode);
    if (!names.ok()) {
      co_return names.status();
    }
    for (size_t at = 0; at < names->size(); at = names->find('\0', at) + 1) {
      const std::string name = names->c_str() + at;
      const Result<std::string> value = co_await fs_.GetXattr(node->inode, name);
      if (!value.ok()) {
        co_return value.status();
      }
      node->xattrs[name] = *value;
    }
    co_return OkStatus();
  }

  FileSystem& fs_;
  std::map<uint64_t, ModelPtr> nodes_;
};

}  // namespace

Task<Status> ReadTree(FileSystem& fs, ModelPtr root) {
  TreeReader reader(fs);
  co_return co_await reader.Read(root);
}

}  // namespace varve::sim
