#include "engine/memtable/skip_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace varve {

namespace {

// As memcmp, for the short keys that are usual here without a call.
int CompareBytes(const char* a, const char* b, size_t count) {
  const auto by_value = [](auto x, auto y) { return x < y ? -1 : 1; };
  if (count >= 8) {
    size_t i = 0;
    do {
      const auto x = LoadFixed<uint64_t>(a + i);
      const auto y = LoadFixed<uint64_t>(b + i);
      if (x != y) {
        return by_value(__builtin_bswap64(x), __builtin_bswap64(y));
      }
      i += 8;
    } while (i + 8 <= count);
    if (i == count) {
      return 0;
    }
    // The last eight bytes: those that are read again are equal.
    const uint64_t x = __builtin_bswap64(LoadFixed<uint64_t>(a + count - 8));
    const uint64_t y = __builtin_bswap64(LoadFixed<uint64_t>(b + count - 8));
    return x == y ? 0 : by_value(x, y);
  }
  for (size_t i = 0; i < count; i++) {
    if (a[i] != b[i]) {
      return by_value(static_cast<uint8_t>(a[i]), static_cast<uint8_t>(b[i]));
    }
  }
  return 0;
}

}  // namespace

SkipList::SkipList(Arena& arena, uint64_t seed)
    : arena_(arena), seed_(seed), head_(NewNode(kHeightMax, {}, 0, {})) {
}

// Negative: the node is before the target. 0 and kSameKey: at it, or a later (older) version of its user key.
// More: of a larger user key.
inline int SkipList::Compare(const Node& node, const Target& target) {
  const size_t node_bytes = node.user_key_bytes_;
  const size_t target_bytes = target.user_key.size();
  const int by_bytes = CompareBytes(node.bytes(), target.user_key.data(), std::min(node_bytes, target_bytes));
  if (by_bytes != 0) {
    return 2 * by_bytes;
  }
  if (node_bytes != target_bytes) {
    return node_bytes < target_bytes ? -2 : 2;
  }
  const uint64_t node_trailer = node.Trailer();
  return node_trailer > target.trailer ? -kSameKey : (node_trailer < target.trailer ? kSameKey : 0);
}

SkipList::Node* SkipList::NewNode(int height, std::string_view user_key, uint64_t trailer,
                                  std::string_view value) {
  const size_t links_bytes = static_cast<size_t>(height - 1) * sizeof(Node::Link);
  const size_t bytes = links_bytes + sizeof(Node) + user_key.size() + kTrailerBytes + value.size();
  char* const memory = arena_.Allocate(bytes);
  for (size_t at = 0; at < links_bytes; at += sizeof(Node::Link)) {
    new (memory + at) Node::Link(nullptr);
  }
  Node* const node = new (memory + links_bytes) Node;
  node->user_key_bytes_ = static_cast<uint32_t>(user_key.size());
  node->value_bytes_ = static_cast<uint32_t>(value.size());
  char* to = node->bytes();
  if (!user_key.empty()) {
    std::memcpy(to, user_key.data(), user_key.size());
  }
  to += user_key.size();
  StoreFixed(to, trailer);
  if (!value.empty()) {
    std::memcpy(to + kTrailerBytes, value.data(), value.size());
  }
  return node;
}

// From the sequence number: random enough, without state that writers would share, and the same in every run.
int SkipList::HeightFor(uint64_t trailer) const {
  uint64_t mixed = (trailer ^ seed_) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93U;
  mixed ^= mixed >> 32;
  const int height = 1 + std::countr_zero(mixed) / kBranchingBits;
  return std::min(height, kHeightMax);
}

int SkipList::RaiseHeight(int height) {
  int now = height_.load(std::memory_order_relaxed);
  while (now < height && !height_.compare_exchange_weak(now, height, std::memory_order_relaxed)) {
  }
  return std::max(now, height);
}

inline void SkipList::SearchLevel(const Target& target, int level, Node*& before, Node*& after) {
  for (;;) {
    Node* const next = before->link(level).load(std::memory_order_acquire);
    // The node that ended the search one level up need not be compared again.
    if (next == after) {
      return;
    }
    if (next == nullptr || Compare(*next, target) >= 0) {
      after = next;
      return;
    }
    before = next;
  }
}

void SkipList::FindNeighbours(const Target& target, int height, Finger& finger) const {
  Node* before = head_;
  Node* after = nullptr;
  int top = height - 1;
  // The lowest level whose neighbours still enclose the key: those above it enclose it too, and stay.
  for (int i = 0; finger.height_ == height && i < std::min(height, kFingerLevels); i++) {
    if ((finger.before_[i] == head_ || Compare(*finger.before_[i], target) < 0) &&
        (finger.after_[i] == nullptr || Compare(*finger.after_[i], target) >= 0)) {
      before = finger.before_[i];
      after = finger.after_[i];
      top = i;
      break;
    }
  }
  finger.height_ = height;
  for (int i = top; i >= 0; i--) {
    SearchLevel(target, i, before, after);
    finger.before_[i] = before;
    finger.after_[i] = after;
  }
}

void SkipList::Insert(Finger& finger, std::string_view user_key, uint64_t trailer, std::string_view value) {
  const int height = HeightFor(trailer);
  Node* const node = NewNode(height, user_key, trailer, value);
  const Target target{user_key, trailer};
  FindNeighbours(target, RaiseHeight(height), finger);
  // From the bottom: who finds the node on a level finds it on all below.
  for (int i = 0; i < height; i++) {
    for (;;) {
      Node* after = finger.after_[i];
      node->link(i).store(after, std::memory_order_relaxed);
      if (finger.before_[i]->link(i).compare_exchange_strong(after, node, std::memory_order_release,
                                                             std::memory_order_relaxed)) {
        break;
      }
      // Somebody inserted here since the search: go on from where it was. What is found now may lie within
      // what was found on the level below, so the finger is of no further use.
      finger.after_[i] = nullptr;
      SearchLevel(target, i, finger.before_[i], finger.after_[i]);
      finger.height_ = 0;
    }
    finger.before_[i] = node;
  }
}

const SkipList::Node* SkipList::AtOrAfter(std::string_view user_key, uint64_t trailer, bool& same_key) const {
  const Target target{user_key, trailer};
  const Node* before = head_;
  const Node* after = nullptr;
  int after_order = kSameKey + 1;
  for (int i = height_.load(std::memory_order_relaxed) - 1; i >= 0; i--) {
    for (;;) {
      const Node* const next = before->link(i).load(std::memory_order_acquire);
      if (next == after) {
        break;
      }
      const int order = Compare(*next, target);
      if (order >= 0) {
        after = next;
        after_order = order;
        break;
      }
      before = next;
    }
  }
  same_key = after_order <= kSameKey;
  return after;
}

const SkipList::Node* SkipList::AtOrAfter(std::string_view internal_key) const {
  bool same_key = false;
  return AtOrAfter(UserKeyOf(internal_key), TrailerOf(internal_key), same_key);
}

const SkipList::Node* SkipList::LastBefore(const Target& target) const {
  Node* before = head_;
  Node* after = nullptr;
  for (int i = height_.load(std::memory_order_relaxed) - 1; i >= 0; i--) {
    SearchLevel(target, i, before, after);
  }
  return before == head_ ? nullptr : before;
}

const SkipList::Node* SkipList::AtOrBefore(std::string_view internal_key) const {
  const Target target{UserKeyOf(internal_key), TrailerOf(internal_key)};
  const Node* const before = LastBefore(target);
  const Node* const at = (before == nullptr ? head_ : before)->Next();
  return at != nullptr && Compare(*at, target) == 0 ? at : before;
}

const SkipList::Node* SkipList::Before(const Node& node) const {
  return LastBefore({node.UserKey(), node.Trailer()});
}

const SkipList::Node* SkipList::Last() const {
  const Node* last = head_;
  for (int i = height_.load(std::memory_order_relaxed) - 1; i >= 0; i--) {
    while (const Node* const next = last->link(i).load(std::memory_order_acquire)) {
      last = next;
    }
  }
  return last == head_ ? nullptr : last;
}

}  // namespace varve
