#include "fs/ops/node_table.h"

#include <cstdlib>
#include <new>

#include "engine/base/check.h"

namespace varve {

NodeLocation NodeLocation::Embedded(InodeNumber parent, std::string_view name) {
  Check(name.size() <= 255, "a name longer than a node can hold");
  NodeLocation location(NodePlace::kEmbedded);
  location.parent_ = parent;
  location.name_bytes_ = static_cast<uint8_t>(name.size());
  char* to = location.short_name_;
  if (name.size() > kShortNameBytes) {
    location.long_name_ = std::make_unique<char[]>(name.size());
    to = location.long_name_.get();
  }
  std::memcpy(to, name.data(), name.size());
  return location;
}

NodeLocation& NodeLocation::operator=(const NodeLocation& other) {
  if (this != &other) {
    if (other.place_ == NodePlace::kEmbedded) {
      *this = Embedded(other.parent_, other.name());
    } else {
      *this = NodeLocation(other.place_);
    }
  }
  return *this;
}

NodeTable::~NodeTable() {
  for (Shard& shard : shards_) {
    for (Node* node : shard.slots) {
      if (node != nullptr) {
        FreeNode(shard, node);
      }
    }
  }
}

// Inode numbers are consecutive: the finalizer of SplitMix64 spreads them over shards (high bits) and slots.
uint64_t NodeTable::Hash(uint64_t inode) {
  inode = (inode ^ inode >> 30) * 0xbf58476d1ce4e5b9;
  inode = (inode ^ inode >> 27) * 0x94d049bb133111eb;
  return inode ^ inode >> 31;
}

size_t NodeTable::TailBytes(const NodeLocation& location) {
  switch (location.place()) {
    case NodePlace::kEmbedded:
      return location.name().size();
    case NodePlace::kOrphanMemory:
      return sizeof(std::string*);
    case NodePlace::kRecord:
    case NodePlace::kOrphanRecord:
      break;
  }
  return 0;
}

NodeTable::Node* NodeTable::NewNode(InodeNumber inode, uint64_t lookups, const NodeLocation& location) {
  static_assert(offsetof(Node, name_bytes) + 1 == kHeaderBytes);
  // Never less than the struct itself, which the compiler pads.
  void* memory = ::operator new(std::max(sizeof(Node), kHeaderBytes + TailBytes(location)));
  Node* node = new (memory) Node{inode.value, 0, lookups, location.place(), 0};
  if (location.place() == NodePlace::kEmbedded) {
    node->parent = location.parent().value;
    node->name_bytes = static_cast<uint8_t>(location.name().size());
    std::memcpy(node->tail(), location.name().data(), location.name().size());
  }
  return node;
}

size_t NodeTable::BytesOf(const Node& node) {
  const size_t tail = node.place == NodePlace::kOrphanMemory ? sizeof(std::string*) : node.name_bytes;
  // What malloc adds and rounds to.
  return RoundUp(std::max(sizeof(Node), kHeaderBytes + tail) + 8, 16);
}

std::string* NodeTable::OrphanOf(const Node& node) {
  std::string* orphan;
  std::memcpy(&orphan, node.tail(), sizeof(orphan));
  return orphan;
}

void NodeTable::FreeNode(Shard& shard, Node* node) {
  if (node->place == NodePlace::kOrphanMemory) {
    std::string* orphan = OrphanOf(*node);
    orphan_bytes_.fetch_sub(orphan->size(), std::memory_order_relaxed);
    delete orphan;
  }
  shard.node_bytes -= BytesOf(*node);
  ::operator delete(node);
}

size_t NodeTable::SlotOf(const Shard& shard, uint64_t inode) {
  const size_t mask = shard.slots.size() - 1;
  size_t slot = Hash(inode) & mask;
  while (shard.slots[slot] != nullptr && shard.slots[slot]->inode != inode) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

NodeTable::Node* NodeTable::FindNode(const Shard& shard, InodeNumber inode) {
  return shard.slots.empty() ? nullptr : shard.slots[SlotOf(shard, inode.value)];
}

void NodeTable::Resize(Shard& shard, size_t slots) {
  std::vector<Node*> old(slots, nullptr);
  old.swap(shard.slots);
  for (Node* node : old) {
    if (node != nullptr) {
      shard.slots[SlotOf(shard, node->inode)] = node;
    }
  }
}

void NodeTable::RemoveSlot(Shard& shard, size_t slot) {
  const size_t mask = shard.slots.size() - 1;
  size_t hole = slot;
  // Moves back whatever probed past the hole, so that no search ends there early.
  for (size_t next = (hole + 1) & mask; shard.slots[next] != nullptr; next = (next + 1) & mask) {
    const size_t home = Hash(shard.slots[next]->inode) & mask;
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      shard.slots[hole] = shard.slots[next];
      hole = next;
    }
  }
  shard.slots[hole] = nullptr;
  --shard.used;
  if (shard.used == 0) {
    std::vector<Node*>().swap(shard.slots);
  } else if (shard.slots.size() > kSlotsMin && shard.used < shard.slots.size() / 8) {
    Resize(shard, shard.slots.size() / 2);
  }
}

void NodeTable::AcquireLocked(Shard& shard, InodeNumber inode, const NodeLocation& location) {
  if (Node* node = FindNode(shard, inode)) {
    ++node->lookups;
    return;
  }
  if ((shard.used + 1) * 4 > shard.slots.size() * 3) {
    Resize(shard, std::max(kSlotsMin, shard.slots.size() * 2));
  }
  Node* node = NewNode(inode, 1, location);
  shard.slots[SlotOf(shard, inode.value)] = node;
  ++shard.used;
  shard.node_bytes += BytesOf(*node);
  const size_t nodes = nodes_.fetch_add(1, std::memory_order_relaxed) + 1;
  // Two threads at once may leave it a little low.
  if (nodes > most_nodes_.load(std::memory_order_relaxed)) {
    most_nodes_.store(nodes, std::memory_order_relaxed);
  }
}

std::optional<NodeLocation> NodeTable::Find(InodeNumber inode) const {
  const Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  const Node* node = FindNode(shard, inode);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (node->place == NodePlace::kEmbedded) {
    return NodeLocation::Embedded(InodeNumber(node->parent), {node->tail(), node->name_bytes});
  }
  return NodeLocation(node->place);
}

bool NodeTable::Contains(InodeNumber inode) const {
  const Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  return FindNode(shard, inode) != nullptr;
}

bool NodeTable::Replace(InodeNumber inode, const NodeLocation& location, std::string* orphan) {
  Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  Node* old = FindNode(shard, inode);
  if (old == nullptr) {
    return false;
  }
  Node* node = NewNode(inode, old->lookups, location);
  if (orphan != nullptr) {
    std::memcpy(node->tail(), &orphan, sizeof(orphan));
    orphan_bytes_.fetch_add(orphan->size(), std::memory_order_relaxed);
  }
  shard.slots[SlotOf(shard, inode.value)] = node;
  shard.node_bytes += BytesOf(*node);
  FreeNode(shard, old);
  return true;
}

bool NodeTable::SetLocation(InodeNumber inode, const NodeLocation& location) {
  Check(location.place() != NodePlace::kOrphanMemory, "a memory orphan needs its record");
  return Replace(inode, location, nullptr);
}

bool NodeTable::SetMemoryOrphan(InodeNumber inode, std::string record) {
  auto orphan = std::make_unique<std::string>(std::move(record));
  if (!Replace(inode, NodeLocation(NodePlace::kOrphanMemory), orphan.get())) {
    return false;
  }
  orphan.release();
  return true;
}

std::optional<std::string> NodeTable::MemoryOrphan(InodeNumber inode) const {
  const Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  const Node* node = FindNode(shard, inode);
  if (node == nullptr || node->place != NodePlace::kOrphanMemory) {
    return std::nullopt;
  }
  return *OrphanOf(*node);
}

std::optional<NodePlace> NodeTable::Forget(InodeNumber inode, uint64_t lookups) {
  Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  if (shard.slots.empty()) {
    return std::nullopt;
  }
  const size_t slot = SlotOf(shard, inode.value);
  Node* node = shard.slots[slot];
  if (node == nullptr) {
    return std::nullopt;
  }
  node->lookups -= std::min(node->lookups, lookups);
  if (node->lookups > 0) {
    return std::nullopt;
  }
  const NodePlace place = node->place;
  RemoveSlot(shard, slot);
  FreeNode(shard, node);
  nodes_.fetch_sub(1, std::memory_order_relaxed);
  return place;
}

bool NodeTable::TakeManyForgotten() {
  size_t most = most_nodes_.load(std::memory_order_relaxed);
  const size_t nodes = nodes_.load(std::memory_order_relaxed);
  return most >= kManyNodes && nodes < most / 4 &&
         most_nodes_.compare_exchange_strong(most, nodes, std::memory_order_relaxed);
}

uint64_t NodeTable::size() const {
  return nodes_.load(std::memory_order_relaxed);
}

uint64_t NodeTable::memory_bytes() const {
  uint64_t bytes = orphan_bytes_.load(std::memory_order_relaxed);
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    bytes += shard.node_bytes + shard.slots.size() * sizeof(Node*);
  }
  return bytes;
}

}  // namespace varve
