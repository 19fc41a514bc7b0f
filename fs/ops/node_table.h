// The nodes that the kernel remembers: how often each was looked up, and where its inode lies in the store.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/namespace/inode.h"

namespace varve {

enum class NodePlace : uint8_t {
  kEmbedded,      // in the dirent (parent, name): a file that has had one name only
  kRecord,        // in an inode record
  kOrphanRecord,  // without a name, in an orphan record: there is something to remove when it is forgotten
  kOrphanMemory,  // without a name, and only in this table: a crash may forget it, for nothing of it is in
                  // the store
};

// Where an inode lies. Small, because the frames of all operations hold some: long names are on the heap.
class NodeLocation {
 public:
  NodeLocation() = default;
  explicit NodeLocation(NodePlace place) : place_(place) {}
  // Precondition: name.size() <= 255.
  static NodeLocation Embedded(InodeNumber parent, std::string_view name);
  NodeLocation(const NodeLocation& other) { *this = other; }
  NodeLocation& operator=(const NodeLocation& other);
  NodeLocation(NodeLocation&&) noexcept = default;
  NodeLocation& operator=(NodeLocation&&) noexcept = default;
  ~NodeLocation() = default;

  NodePlace place() const { return place_; }
  // The next two: only of embedded inodes.
  InodeNumber parent() const { return parent_; }
  std::string_view name() const { return {long_name_ ? long_name_.get() : short_name_, name_bytes_}; }
  bool has_name() const { return place_ == NodePlace::kEmbedded || place_ == NodePlace::kRecord; }

 private:
  // Most names on most filesystems are shorter.
  static constexpr size_t kShortNameBytes = 46;

  InodeNumber parent_;
  std::unique_ptr<char[]> long_name_;
  NodePlace place_ = NodePlace::kRecord;
  uint8_t name_bytes_ = 0;
  char short_name_[kShortNameBytes];
};

// Any thread; each call locks one shard for a few dozen instructions. Who changes a location holds the
// inode's lock.
//
// Memory: a node costs 26 bytes and its name in one allocation (an embedded file; others have no name here)
// and 8 to 24 bytes of the shard's hash table, which shrinks again as nodes are forgotten: about 64 bytes and
// the name.
class NodeTable {
 public:
  NodeTable() = default;
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;
  ~NodeTable();

  // Counts one lookup. `location` is used when the node is new; else the node knows better.
  void Acquire(InodeNumber inode, const NodeLocation& location) {
    AcquireIf(inode, location, [] { return true; });
  }
  // The same unless `still_true()` says that `location` may be out of date; then false. It is asked under the
  // shard's lock: whoever makes it untrue afterwards finds the node and mends it.
  template <typename Predicate>
  bool AcquireIf(InodeNumber inode, const NodeLocation& location, Predicate still_true) {
    Shard& shard = ShardOf(inode);
    const std::lock_guard lock(shard.mutex);
    if (!still_true()) {
      return false;
    }
    AcquireLocked(shard, inode, location);
    return true;
  }
  std::optional<NodeLocation> Find(InodeNumber inode) const;
  bool Contains(InodeNumber inode) const;
  // False, and without effect, when the kernel does not know the node.
  bool SetLocation(InodeNumber inode, const NodeLocation& location);

  // Places the node in memory: `record` is the encoded inode with its inline content. False as above.
  bool SetMemoryOrphan(InodeNumber inode, std::string record);
  // The record of a node whose place is kOrphanMemory.
  std::optional<std::string> MemoryOrphan(InodeNumber inode) const;
  // What all memory orphans take.
  size_t memory_orphan_bytes() const { return orphan_bytes_.load(std::memory_order_relaxed); }

  // Where the inode lay when its last lookup was given back; nothing while some are left. A count never goes
  // below 0: the kernel is believed, but not so far.
  std::optional<NodePlace> Forget(InodeNumber inode, uint64_t lookups);

  // True once after most of many nodes have gone: what they leave to malloc in small pieces is worth giving
  // back to the system.
  bool TakeManyForgotten();

  uint64_t size() const;
  // Heap memory of all nodes and tables.
  uint64_t memory_bytes() const;

 private:
  // Followed in memory by `name_bytes` bytes of name, or for a memory orphan by a std::string*.
  struct Node {
    uint64_t inode;
    uint64_t parent;
    uint64_t lookups;
    NodePlace place;
    uint8_t name_bytes;

    char* tail() { return reinterpret_cast<char*>(this) + kHeaderBytes; }
    const char* tail() const { return reinterpret_cast<const char*>(this) + kHeaderBytes; }
  };
  static constexpr size_t kHeaderBytes = 26;
  static constexpr size_t kShards = 64;
  static constexpr size_t kSlotsMin = 16;
  // Fewer take less than 8 MiB or so.
  static constexpr size_t kManyNodes = 64 * 1024;

  // An open hash table with linear probing; `slots` is a power of two, at most 3/4 full.
  struct Shard {
    mutable std::mutex mutex;
    std::vector<Node*> slots;
    size_t used = 0;
    size_t node_bytes = 0;
  };

  static uint64_t Hash(uint64_t inode);
  void AcquireLocked(Shard& shard, InodeNumber inode, const NodeLocation& location);
  Shard& ShardOf(InodeNumber inode) const { return shards_[Hash(inode.value) >> 58]; }
  static size_t TailBytes(const NodeLocation& location);
  static Node* NewNode(InodeNumber inode, uint64_t lookups, const NodeLocation& location);
  static size_t BytesOf(const Node& node);
  void FreeNode(Shard& shard, Node* node);
  static std::string* OrphanOf(const Node& node);
  // The slot that holds the inode, or the empty one where it belongs.
  static size_t SlotOf(const Shard& shard, uint64_t inode);
  static Node* FindNode(const Shard& shard, InodeNumber inode);
  static void Resize(Shard& shard, size_t slots);
  static void RemoveSlot(Shard& shard, size_t slot);
  bool Replace(InodeNumber inode, const NodeLocation& location, std::string* orphan);

  mutable std::array<Shard, kShards> shards_;
  std::atomic<size_t> orphan_bytes_{0};
  std::atomic<size_t> nodes_{0};
  std::atomic<size_t> most_nodes_{0};  // since TakeManyForgotten was true
};

}  // namespace varve
