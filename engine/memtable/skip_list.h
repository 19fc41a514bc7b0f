// SkipList: internal keys in order (Pugh 1990), with insertion by several threads at once and reading without
// locks. Nothing is ever removed, so a node once seen stays where it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/memtable/arena.h"

namespace varve {

class SkipList {
 public:
  // One node in four is a level higher: 4^12 nodes before searches slow down.
  static constexpr int kHeightMax = 12;
  static constexpr int kBranchingBits = 2;
  // A finger helps keys within a few hundred entries of it; others would pay for more levels in vain.
  static constexpr int kFingerLevels = 4;

  // One entry: links, key and value in one piece of memory. The links of levels above 0 lie before the node,
  // so that link, lengths and the front of the key share a cache line.
  class Node {
   public:
    std::string_view UserKey() const { return {bytes(), user_key_bytes_}; }
    std::string_view InternalKey() const { return {bytes(), user_key_bytes_ + kTrailerBytes}; }
    uint64_t Trailer() const { return LoadFixed<uint64_t>(bytes() + user_key_bytes_); }
    std::string_view Value() const { return {bytes() + user_key_bytes_ + kTrailerBytes, value_bytes_}; }
    // nullptr: this is the last.
    const Node* Next() const { return next_.load(std::memory_order_acquire); }

   private:
    friend class SkipList;
    using Link = std::atomic<Node*>;

    const Link& link(int level) const { return *(&next_ - level); }
    Link& link(int level) { return *(&next_ - level); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    char* bytes() { return reinterpret_cast<char*>(this + 1); }

    Link next_{nullptr};
    uint32_t user_key_bytes_ = 0;
    uint32_t value_bytes_ = 0;
  };
  static_assert(sizeof(Node) == 16);

  // Where an insertion was made, as the starting point of the next: neighbours then cost a few comparisons.
  // Belongs to one writer.
  class Finger {
    friend class SkipList;
    // before_[i] < the last key inserted <= after_[i] (nullptr: the end); what level i + 1 has encloses what
    // level i has.
    Node* before_[kHeightMax];
    Node* after_[kHeightMax];
    // The list's height when they were found; 0: they mean nothing.
    int height_ = 0;
  };

  // `arena` must outlive the list. `seed` decides tower heights.
  SkipList(Arena& arena, uint64_t seed);
  SkipList(const SkipList&) = delete;
  SkipList& operator=(const SkipList&) = delete;

  // Precondition: no entry has this user key and trailer.
  void Insert(Finger& finger, std::string_view user_key, uint64_t trailer, std::string_view value);

  // The first entry at or after (user_key, trailer). `same_key` says whether it is of that user key.
  const Node* AtOrAfter(std::string_view user_key, uint64_t trailer, bool& same_key) const;
  const Node* AtOrAfter(std::string_view internal_key) const;
  const Node* AtOrBefore(std::string_view internal_key) const;
  // Each nullptr when there is none.
  const Node* Before(const Node& node) const;
  const Node* First() const { return head_->Next(); }
  const Node* Last() const;

 private:
  struct Target {
    std::string_view user_key;
    uint64_t trailer;
  };

  // What Compare answers for an older version of the target's user key.
  static constexpr int kSameKey = 1;
  static int Compare(const Node& node, const Target& target);
  // The last node before the target; nullptr when there is none.
  const Node* LastBefore(const Target& target) const;
  // Narrows [before, after] to the target's neighbours on `level`.
  static void SearchLevel(const Target& target, int level, Node*& before, Node*& after);
  void FindNeighbours(const Target& target, int height, Finger& finger) const;
  Node* NewNode(int height, std::string_view user_key, uint64_t trailer, std::string_view value);
  int HeightFor(uint64_t trailer) const;
  // The list's height, raised to at least `height`.
  int RaiseHeight(int height);

  Arena& arena_;
  const uint64_t seed_;
  Node* const head_;
  std::atomic<int> height_{1};
};

}  // namespace varve
