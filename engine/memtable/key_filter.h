// KeyFilter: says of most keys that a memtable does not hold them, for one cache line instead of a search:
// nearly every lookup in a large store asks the memtable for a key that lies deeper.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace varve {

// A Bloom filter whose four bits of a key share one 64-bit word (Putze, Sanders and Singler 2007: blocked
// Bloom filters). Any thread may add and ask at once: bits only appear.
class KeyFilter {
 public:
  // One byte of filter for 32 of memtable: 25 bits a key of 100-byte entries, false positives below 1%;
  // entries of 40 bytes still get 10 bits.
  explicit KeyFilter(size_t memtable_bytes)
      : words_count_(std::bit_floor(memtable_bytes / 32 / sizeof(uint64_t) | size_t{64})),
        words_(new std::atomic<uint64_t>[words_count_]()) {}

  void Add(uint64_t hash) {
    std::atomic<uint64_t>& word = words_[WordOf(hash)];
    const uint64_t bits = BitsOf(hash);
    // A key that is written again, as counters are, does not dirty the line.
    if ((word.load(std::memory_order_relaxed) & bits) != bits) {
      word.fetch_or(bits, std::memory_order_relaxed);
    }
  }
  bool MayContain(uint64_t hash) const {
    const uint64_t bits = BitsOf(hash);
    return (words_[WordOf(hash)].load(std::memory_order_relaxed) & bits) == bits;
  }
  size_t memory_bytes() const { return words_count_ * sizeof(uint64_t); }

 private:
  size_t WordOf(uint64_t hash) const { return static_cast<size_t>(hash >> 32) & (words_count_ - 1); }
  static uint64_t BitsOf(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63) | uint64_t{1} << (hash >> 12 & 63) |
           uint64_t{1} << (hash >> 18 & 63);
  }

  const size_t words_count_;
  const std::unique_ptr<std::atomic<uint64_t>[]> words_;
};

}  // namespace varve
