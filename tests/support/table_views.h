// Views that no table stands behind, and versions of them: for tests of what only looks at views.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/table/table_view.h"
#include "engine/version/live_table.h"
#include "engine/version/version_edit.h"

namespace varve {

struct FakeTable {
  uint64_t id = 1;
  std::string smallest = "a";
  std::string largest = "z";
  uint64_t bytes = 1 * kMiB;
  uint64_t entries = 1000;
  uint64_t tombstones = 0;
  uint64_t hotness = 0;
  // Which share bytes and entries evenly.
  uint64_t segments = 1;
  uint64_t smallest_sequence = 1;
  uint64_t largest_sequence = 1;
  uint64_t generation = 1;
  // Units of the device from here on; 0: a place of its own, by id.
  uint32_t first_unit = 0;
};

inline TableView MakeView(const FakeTable& fake) {
  TableView view;
  view.id = TableId(fake.id);
  view.generation = Generation(fake.generation);
  SegmentDescriptor segment;
  segment.entries = fake.entries / fake.segments;
  segment.tombstones = fake.tombstones / fake.segments;
  segment.hotness = fake.hotness / fake.segments;
  segment.data_blocks = fake.bytes / fake.segments / (4 * kKiB) + 1;
  segment.data_bytes = fake.bytes / fake.segments;
  segment.live_bytes = segment.data_bytes;
  segment.footer = {RoundUp(fake.bytes, 4096), 4096, 1, Generation(fake.generation)};
  segment.meta_bytes = 4096;
  AppendInternalKey(segment.smallest, fake.smallest, SequenceNumber(fake.largest_sequence),
                    RecordKind::kValue);
  AppendInternalKey(segment.largest, fake.largest, SequenceNumber(fake.smallest_sequence),
                    RecordKind::kValue);
  segment.smallest_sequence = SequenceNumber(fake.smallest_sequence);
  segment.largest_sequence = SequenceNumber(fake.largest_sequence);
  view.segments.assign(fake.segments, segment);
  view.used_bytes = RoundUp(fake.bytes, 4096) + 4096 * fake.segments;
  const auto units = static_cast<uint32_t>(CeilDiv(view.used_bytes, kExtentUnitBytes));
  const auto own_place = static_cast<uint32_t>(100 + fake.id * 2048);
  view.extents.push_back({0, Extent{fake.first_unit != 0 ? fake.first_unit : own_place, units}});
  view.smallest = fake.smallest;
  view.largest = fake.largest;
  return view;
}

inline std::shared_ptr<const LiveTable> MakeTable(const FakeTable& fake) {
  return std::make_shared<const LiveTable>(MakeView(fake), nullptr);
}

// A version that a test puts together.
class FakeVersion {
 public:
  // The newest so far.
  void Add(Place place, TableView view) {
    edit_.added_tables.push_back({place, InstallStamp(edit_.added_tables.size() + 1), std::move(view)});
    edit_.next_stamp = InstallStamp(edit_.added_tables.size() + 1);
  }
  Version Build() const {
    Result<Version> version = ApplyVersionEdit(Version(), edit_, *std::make_shared<LiveTables>(nullptr));
    EXPECT_TRUE(version.ok()) << version.ToString();
    return std::move(version).value();
  }

 private:
  VersionEdit edit_;
};

}  // namespace varve
