// A filesystem as a tree of plain objects: what FileSystem is held against.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/base/result.h"
#include "fs/ops/filesystem.h"

namespace varve {

struct ModelNode {
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t rdev = 0;
  uint32_t nlink = 1;  // of files
  int64_t mtime = 0;
  int64_t ctime = 0;
  std::string content;  // or the target of a symbolic link
  std::map<std::string, std::string> xattrs;
  std::map<std::string, std::shared_ptr<ModelNode>> children;
  ModelNode* parent = nullptr;  // of directories; nullptr once removed
  // What the "kernel" of the test knows of it.
  InodeNumber inode;
  uint64_t lookups = 0;

  bool is_directory() const { return S_ISDIR(mode); }
  bool is_file() const { return S_ISREG(mode); }
  uint32_t subdirectories() const {
    uint32_t count = 0;
    for (const auto& [name, child] : children) {
      count += child->is_directory() ? 1 : 0;
    }
    return count;
  }
};
using ModelPtr = std::shared_ptr<ModelNode>;

// Each operation answers nullopt, or the code that the real one must answer.
class ModelFs {
 public:
  using Outcome = std::optional<ErrorCode>;

  ModelFs() : root_(std::make_shared<ModelNode>()) {
    root_->mode = S_IFDIR | 0755;
    root_->parent = root_.get();
    root_->inode = kRootInode;
  }
  const ModelPtr& root() const { return root_; }

  static Outcome Make(const ModelPtr& parent, const std::string& name, const ModelPtr& node, int64_t now) {
    if (!parent->is_directory()) {
      return ErrorCode::kNotDirectory;
    }
    if (parent->parent == nullptr) {
      return ErrorCode::kNotFound;
    }
    if (parent->children.count(name) != 0) {
      return ErrorCode::kExists;
    }
    node->mtime = node->ctime = now;
    if (parent->mode & S_ISGID) {
      node->gid = parent->gid;
      node->mode |= node->is_directory() ? S_ISGID : 0;
    }
    node->parent = node->is_directory() ? parent.get() : nullptr;
    parent->children[name] = node;
    parent->mtime = parent->ctime = now;
    return {};
  }

  static Outcome Link(const ModelPtr& node, const ModelPtr& parent, const std::string& name, int64_t now) {
    if (node->is_directory()) {
      return ErrorCode::kPermission;
    }
    if (!parent->is_directory()) {
      return ErrorCode::kNotDirectory;
    }
    if (parent->parent == nullptr) {
      return ErrorCode::kNotFound;
    }
    if (parent->children.count(name) != 0) {
      return ErrorCode::kExists;
    }
    ++node->nlink;
    node->ctime = now;
    parent->children[name] = node;
    parent->mtime = parent->ctime = now;
    return {};
  }

  static void LoseName(const ModelPtr& node, int64_t now) {
    node->ctime = now;
    node->nlink -= node->is_directory() ? 0 : 1;
    if (node->is_directory()) {
      node->parent = nullptr;
    }
  }

  static Outcome Remove(const ModelPtr& parent, const std::string& name, bool directory, int64_t now) {
    const auto found = parent->children.find(name);
    if (found == parent->children.end()) {
      return ErrorCode::kNotFound;
    }
    const ModelPtr node = found->second;
    if (directory && !node->is_directory()) {
      return ErrorCode::kNotDirectory;
    }
    if (!directory && node->is_directory()) {
      return ErrorCode::kIsDirectory;
    }
    if (directory && !node->children.empty()) {
      return ErrorCode::kNotEmpty;
    }
    parent->children.erase(found);
    LoseName(node, now);
    parent->mtime = parent->ctime = now;
    return {};
  }

  static bool IsWithin(const ModelNode* directory, const ModelNode* ancestor) {
    while (directory != nullptr) {
      if (directory == ancestor) {
        return true;
      }
      if (directory->parent == directory) {
        return false;
      }
      directory = directory->parent;
    }
    return false;
  }

  static Outcome Rename(const ModelPtr& parent, const std::string& name, const ModelPtr& new_parent,
                        const std::string& new_name, bool no_replace, bool exchange, int64_t now) {
    const auto found = parent->children.find(name);
    if (found == parent->children.end()) {
      return ErrorCode::kNotFound;
    }
    const ModelPtr source = found->second;
    const auto existing = new_parent->children.find(new_name);
    const ModelPtr target = existing == new_parent->children.end() ? nullptr : existing->second;
    if (target == nullptr && exchange) {
      return ErrorCode::kNotFound;
    }
    if (target != nullptr) {
      if (no_replace) {
        return ErrorCode::kExists;
      }
      if (!exchange && source->is_directory() != target->is_directory()) {
        return source->is_directory() ? ErrorCode::kNotDirectory : ErrorCode::kIsDirectory;
      }
      if (source == target) {
        return {};
      }
    }
    if (new_parent->parent == nullptr) {
      return ErrorCode::kNotFound;
    }
    if (parent != new_parent &&
        ((source->is_directory() && IsWithin(new_parent.get(), source.get())) ||
         (exchange && target->is_directory() && IsWithin(parent.get(), target.get())))) {
      return ErrorCode::kInvalidArgument;
    }
    if (target != nullptr && !exchange && target->is_directory() && !target->children.empty()) {
      return ErrorCode::kNotEmpty;
    }
    parent->children.erase(name);
    if (target != nullptr && !exchange) {
      LoseName(target, now);
    }
    new_parent->children[new_name] = source;
    Place(source, new_parent, now);
    if (exchange) {
      parent->children[name] = target;
      Place(target, parent, now);
    }
    parent->mtime = parent->ctime = now;
    new_parent->mtime = new_parent->ctime = now;
    return {};
  }

 private:
  static void Place(const ModelPtr& node, const ModelPtr& parent, int64_t now) {
    node->ctime = now;
    if (node->is_directory()) {
      node->parent = parent.get();
    }
  }

  ModelPtr root_;
};

}  // namespace varve
