// StoreStatistics: what the store counts as it works. StatisticsJson (store.h) prints them with what the
// other rooms count; docs/operations.md names the fields.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/histogram.h"
#include "engine/base/thread_shard.h"
#include "engine/compaction/merge_choice.h"
#include "engine/version/version.h"

namespace varve {

// Counters that the hit path adds to: spread over cache lines by thread, so that two reactors do not share
// one. Any thread.
class HotCounters {
 public:
  struct alignas(64) Line {
    std::atomic<uint64_t> gets{0}, gets_found{0}, gets_from_device{0};
    std::atomic<uint64_t> batches{0}, records{0}, range_deletes{0}, user_bytes{0};
    // Filters that gets asked, and those that said "maybe" of a key that was not there, by level.
    std::array<std::atomic<uint64_t>, kLevels> filters_asked{}, filters_misled{};
    // Gets by where their version was found, tombstones included: in level 0 or a Tree, a Log, a buffer; and
    // the tables of buffers that they asked.
    std::array<std::atomic<uint64_t>, kLevels> answered{}, answered_by_log{}, answered_by_buffer{};
    std::array<std::atomic<uint64_t>, kLevels> buffered_asked{};
  };

  Line& mine() { return lines_[ThreadShard()]; }
  uint64_t Sum(std::atomic<uint64_t> Line::*counter) const {
    uint64_t sum = 0;
    for (const Line& line : lines_) {
      sum += (line.*counter).load(std::memory_order_relaxed);
    }
    return sum;
  }
  uint64_t Sum(std::array<std::atomic<uint64_t>, kLevels> Line::*by_level, size_t level) const {
    uint64_t sum = 0;
    for (const Line& line : lines_) {
      sum += (line.*by_level)[level].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  std::array<Line, kThreadShards> lines_;
};

enum class CompactionKind : uint8_t {
  kFlush,
  kMerge,
  kTrivialMove,
  kPseudoCompaction,
  kAggregatedCompaction
};
inline constexpr size_t kCompactionKinds = 5;

struct StoreStatistics {
  // One operation in this many is timed where reading the clock twice would be a good part of its cost.
  static constexpr uint64_t kTimedOneIn = 32;

  HotCounters hot;
  // Nanoseconds. Reads answered from memory and batches that did not wait are sampled one in kTimedOneIn; the
  // others are all timed, their waits included.
  Histogram get_from_memory, get_from_device, write, write_waited, sync;
  std::atomic<uint64_t> iterators{0}, snapshots{0};

  // How often, and for how long in all, writers were held back.
  std::atomic<uint64_t> throttled{0}, throttled_nanos{0}, stopped{0}, stopped_nanos{0};
  std::atomic<uint64_t> refused_no_space{0};

  struct OfKind {
    // Tables: those that jobs took, children among them.
    std::atomic<uint64_t> jobs{0}, failed{0}, tables{0}, read_bytes{0}, written_bytes{0}, nanos{0};
  };
  std::array<OfKind, kCompactionKinds> by_kind;
  OfKind& of(CompactionKind kind) { return by_kind[static_cast<size_t>(kind)]; }
  // Bytes that flushes and merges moved, by the level that took their output.
  struct OfLevel {
    std::atomic<uint64_t> read_bytes{0}, written_bytes{0};
  };
  std::array<OfLevel, kLevels> by_level;

  // Merges that deletes made due, beside others in by_kind; and the records that they left out.
  OfKind for_deletes;
  std::atomic<uint64_t> purged_records{0};
  // By flushes and merges, though the ranges of tables below covered their keys.
  std::atomic<uint64_t> tombstones_removed_early{0};

  // Records that flushes and merges left out for them; and how many have left the Version.
  std::atomic<uint64_t> hidden_by_ranges{0}, range_tombstones_retired{0};

  // Child tables of merges by what was made of them (ChildMerge).
  std::array<std::atomic<uint64_t>, kChildMerges> children_by{};

  std::atomic<uint64_t> reclaimed_bytes{0};
  // Views that came into compaction buffers, and those that a trim took something from.
  std::atomic<uint64_t> buffered_views{0}, trimmed_views{0};
  // Merges that put nothing into the cache, since nobody had read for long (ReaderMeter).
  std::atomic<uint64_t> unread_merges{0};
};

// "{"count":..,"mean":..,"p50":..,"p90":..,"p99":..,"p999":..,"max":..}", in nanoseconds.
std::string HistogramJson(const Histogram& histogram);
std::string JsonString(std::string_view text);

}  // namespace varve
