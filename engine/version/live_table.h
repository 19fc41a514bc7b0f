// LiveTable: one generation of a table for as long as any Version holds it, and LiveTables: who still holds
// which extents, so that space is given back exactly when the last Version that could read it is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/base/units.h"
#include "engine/space/extent.h"
#include "engine/table/segment_directory.h"
#include "engine/table/table_view.h"

namespace varve {

// Told when a generation of a table that was installed is in no Version any more. Called on whatever thread
// let go of the last one, with no lock of this room held; must not block, and must not pin or install
// versions.
class TableObserver {
 public:
  virtual ~TableObserver() = default;
  // `unreferenced` are those of the view's extents that no other living generation of the table holds: nobody
  // reads them any more, and the edit that took them away is durable. `is_last` when no generation of the
  // table lives on.
  virtual void OnTableReleased(const TableView& view, std::vector<Extent> unreferenced, bool is_last) = 0;
  // Readers have paid for some table what writing it once costs (LiveTable::CountGet), or that much again. On
  // a reader's thread; must not block.
  virtual void OnReadersHavePaid() = 0;
};

class LiveTables;

class LiveTable {
 public:
  using PaidBytes = std::atomic<uint64_t>;

  // Use LiveTables::Add. `registry` may be nullptr for a table that nobody is to be told of. `paid` counts
  // what readers pay; generations may share it.
  LiveTable(TableView view, std::shared_ptr<LiveTables> registry,
            std::shared_ptr<PaidBytes> paid = std::make_shared<PaidBytes>(0));
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;
  ~LiveTable();

  const TableView& view() const { return view_; }
  TableId id() const { return view_.id; }
  Generation generation() const { return view_.generation; }
  // User keys, both held.
  std::string_view smallest_key() const { return view_.smallest; }
  std::string_view largest_key() const { return view_.largest; }
  KeyRangeView range() const { return {smallest_key(), largest_key()}; }
  // Counted once, when the table comes alive: the view adds them up over its segments.
  uint64_t valid_bytes() const { return valid_bytes_; }
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t entries() const { return entries_; }
  uint64_t tombstones() const { return tombstones_; }
  // Of its entries.
  double tombstone_share() const {
    return entries_ == 0 ? 0 : static_cast<double>(tombstones_) / static_cast<double>(entries_);
  }
  uint64_t hotness() const { return hotness_; }
  // Keys that the filters of its segments have room for, and the bits that these take.
  uint64_t filter_capacity() const { return filter_capacity_; }
  double filter_bits() const { return filter_bits_; }
  // What lookups have learnt of the view's segments.
  SegmentDirectories& directories() const { return directories_; }

  // What one more run costs a get and a seek. A get asks a filter more, which takes 0.06 us beside others
  // that are fetched with it, and now and then a block in vain; a seek reads a block more. Both by how many
  // bytes a merge takes up in that time: a read by itself costs device and processor as much as four blocks
  // that are read and written in a row.
  static constexpr uint64_t kGetBytes = 16;
  static constexpr uint64_t kSeekBytes = 16 * kKiB;

  // Readers say what they do with the table. Each segment beyond the first costs them something, in bytes
  // that might have been merged instead. So does a table `beside_tree`: of level 0 or of a Log, each of which
  // is one run more to read. Any thread.
  // `gets`: that many at once. A count is a locked write to a line that is elsewhere as a rule: readers of
  // many tables do well to say it now and then for all.
  void CountGet(bool beside_tree = false, uint64_t gets = 1) const {
    CountExtraWork(gets * kGetBytes, beside_tree);
  }
  void CountSeek(bool beside_tree = false) const { CountExtraWork(kSeekBytes, beside_tree); }
  uint64_t paid_bytes() const { return paid_bytes_->load(std::memory_order_relaxed); }
  // At least half of it: such a table is to get no more segments than it has.
  bool read_much() const { return view_.segments.size() > 1 && 2 * paid_bytes() >= valid_bytes(); }
  bool ReadersHavePaid() const { return view_.segments.size() > 1 && paid_bytes() >= valid_bytes(); }

 private:
  void CountExtraWork(uint64_t bytes_a_run, bool beside_tree) const;

  TableView view_;
  mutable SegmentDirectories directories_;
  uint64_t valid_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  uint64_t entries_ = 0;
  uint64_t tombstones_ = 0;
  uint64_t hotness_ = 0;
  uint64_t filter_capacity_ = 0;
  double filter_bits_ = 0;
  std::shared_ptr<LiveTables> registry_;
  // What readers have paid so far for want of a merge. Its price is valid_bytes_, to be written as one
  // segment.
  std::shared_ptr<PaidBytes> paid_bytes_;
};

// A table in a part that is ordered by time of install.
struct StampedTable {
  InstallStamp stamp;
  std::shared_ptr<const LiveTable> table;

  const LiveTable* operator->() const { return table.get(); }
};

// Threads: all calls from any thread; a mutex is held for a map operation.
class LiveTables : public std::enable_shared_from_this<LiveTables> {
 public:
  // `observer` may be nullptr; it must outlive the last call or StopReporting.
  explicit LiveTables(TableObserver* observer) : observer_(observer) {}

  // nullptr when that generation of the table is alive already.
  std::shared_ptr<const LiveTable> Add(TableView view);
  // The edit that brought the table is durable: from now on its release is reported. Before that its space is
  // its job's.
  void MarkInstalled(TableId id, Generation generation);
  // Whether one generation of the table is alive, and no other.
  bool HasOneGeneration(TableId id) const;
  // How many generations are alive that were installed.
  size_t installed_count() const;
  // From here on nothing is reported: the store is closing, or its last edit's fate is not known.
  void StopReporting();

 private:
  friend class LiveTable;
  void OnDestroyed(const TableView& view);
  void ReadersHavePaid();

  struct Generations {
    bool installed = false;
    std::vector<Extent> extents;
    size_t segments = 0;
    std::shared_ptr<LiveTable::PaidBytes> paid;
  };

  mutable std::mutex mutex_;
  // All under mutex_.
  TableObserver* observer_;
  size_t installed_count_ = 0;
  std::map<TableId, std::map<Generation, Generations>> living_;
};

}  // namespace varve
