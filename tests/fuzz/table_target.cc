// Input: a byte that says what the rest is: 0: a table (bytes of its view: 2, the view, then what lies from
// the first unit on), 1: a data block's payload, 2: an index block's, 3: a footer's.
#include <array>

#include "engine/base/check.h"
#include "engine/base/internal_key.h"
#include "engine/space/layout.h"
#include "engine/table/data_block.h"
#include "engine/table/index_block.h"
#include "engine/table/segment_builder.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_builder.h"
#include "engine/table/table_format.h"
#include "engine/table/table_reader.h"
#include "tests/engine/table/hand_made_table.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_device.h"
#include "tests/support/table_get.h"

namespace varve::fuzz {

namespace {

enum Form : uint8_t { kTable = 0, kData = 1, kIndex = 2, kFooter = 3 };

constexpr uint32_t kFirstUnit = 1;

// Hands out the device from its first unit on.
class FrontOfDevice final : public ExtentSource {
 public:
  Result<std::vector<Extent>> Take(uint64_t bytes_wanted) override {
    const auto units = static_cast<uint32_t>(CeilDiv(bytes_wanted, kExtentUnitBytes));
    next_unit_ += units;
    return std::vector<Extent>{{next_unit_ - units, units}};
  }
  void GiveBack(Extent /*extent*/) override {}

 private:
  uint32_t next_unit_ = kFirstUnit;
};

std::string KeyOf(uint64_t n) {
  return "key" + std::to_string(1000 + n);
}

std::string Internal(std::string_view user_key, uint64_t sequence) {
  std::string key;
  AppendInternalKey(key, user_key, SequenceNumber(sequence), kSeekKind);
  return key;
}

void RunDataBlock(std::string_view payload) {
  const std::string own_key(payload.substr(0, 8));
  for (const std::string& key : {std::string(), KeyOf(1), KeyOf(40), own_key}) {
    (void)FindInDataBlock(payload, key, SequenceNumber(5));
    DataBlockCursor cursor;
    cursor.Reset(payload);
    cursor.Seek(Internal(key, 5));
    if (cursor.Valid()) {
      cursor.Prev();
    }
  }
  DataBlockCursor cursor;
  cursor.Reset(payload);
  for (cursor.SeekToFirst(); cursor.Valid();) {
    cursor.Next();
  }
  cursor.Reset(payload);
  // Backwards a block may be walked in circles only as often as it has bytes.
  size_t steps = 0;
  for (cursor.SeekToLast(); cursor.Valid() && steps <= payload.size(); ++steps) {
    cursor.Prev();
  }
}

void RunIndexBlock(std::string_view payload) {
  const std::optional<IndexBlock> block = IndexBlock::Parse(payload);
  if (!block) {
    return;
  }
  const std::string own_key(payload.substr(0, 8));
  for (const std::string& key : {std::string(), KeyOf(1), KeyOf(40), own_key}) {
    const std::optional<uint32_t> found = block->LowerBound(key);
    if (found && *found < block->size()) {
      const std::optional<IndexBlock::Entry> entry = block->At(*found);
      if (entry) {
        (void)block->StartsAfter(*entry, key);
        (void)block->Copy(*entry);
      }
    }
  }
}

void RunFooter(std::string_view payload) {
  const std::optional<SegmentFooter> footer = SegmentFooter::Parse(payload);
  if (!footer) {
    return;
  }
  (void)footer->DifferenceTo(StoreUuid{}, TableId(1), 0, SegmentDescriptor());
  if (footer->has_filter()) {
    (void)footer->FilterPage(footer->filter().pages - 1);
    for (const uint64_t hash : {uint64_t{0}, UINT64_MAX, uint64_t{0x123456789abcdef}}) {
      const uint32_t page = footer->filter().PageOf(hash);
      const std::string bits(footer->filter().page_bytes(), '\1');
      if (page < footer->filter().pages) {
        (void)FilterMayContain(footer->filter(), bits, hash);
      }
    }
  }
}

Task<void> Walk(const TableEnvironment& environment, const TableView& view, bool fill_cache) {
  TableIteratorOptions options;
  options.fill_cache = fill_cache;
  options.sequential = !fill_cache;
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(environment, view, options);
  if (iterator->SeekToFirst() == Step::kNeedsIo) {
    co_await iterator->Load();
  }
  while (iterator->Valid()) {
    if (iterator->Next() == Step::kNeedsIo) {
      co_await iterator->Load();
    }
  }
  if (iterator->SeekToLast() == Step::kNeedsIo) {
    co_await iterator->Load();
  }
  while (iterator->Valid()) {
    if (iterator->Prev() == Step::kNeedsIo) {
      co_await iterator->Load();
    }
  }
  for (const std::string& key : {Internal(view.smallest, 1), Internal(KeyOf(30), 9), Internal("zz", 1)}) {
    if (iterator->Seek(key) == Step::kNeedsIo) {
      co_await iterator->Load();
    }
    if (iterator->Valid() && iterator->Prev() == Step::kNeedsIo) {
      co_await iterator->Load();
    }
    if (iterator->SeekForPrev(key) == Step::kNeedsIo) {
      co_await iterator->Load();
    }
    if (iterator->Valid() && iterator->Next() == Step::kNeedsIo) {
      co_await iterator->Load();
    }
  }
}

class IgnoreFaults final : public TableVerifierObserver {
 public:
  void OnFault(TableFault /*fault*/) override {}
  Task<Status> BeforeRead(uint64_t /*bytes*/) override { co_return OkStatus(); }
};

Task<void> UseTable(const TableEnvironment& environment, const TableView& view) {
  co_await Walk(environment, view, false);
  for (const std::string& key : {view.smallest, view.largest, KeyOf(0), KeyOf(33), std::string("zz")}) {
    const PointQuery query(key, SequenceNumber(100));
    (void)co_await GetFromTable(environment, view, query, true);
    (void)TryGetFromTable(environment, view, query);
  }
  co_await Walk(environment, view, true);
  IgnoreFaults ignore;
  (void)co_await VerifyTable(environment, view, ignore);
}

void RunWholeTable(InputReader& reader) {
  const Result<TableView> view = DecodeTableView(reader.Bytes(reader.Number(2)));
  if (!view.ok()) {
    return;
  }
  Machine machine;
  MemoryDevice device(kDeviceBytesMin, 512);
  device.Poke(uint64_t{kFirstUnit} * kExtentUnitBytes, reader.rest().substr(0, kDeviceBytesMin / 2));
  BlockCache cache(256 * kKiB);
  const TableEnvironment environment{device, cache, StoreUuid{}};
  machine.Run(UseTable(environment, *view));
}

struct SeedTable {
  SegmentOptions segment;
  uint64_t keys = 0;
  size_t value_bytes = 0;
  size_t key_padding = 0;
};

Task<Result<TableView>> Build(TableBuilder& builder, SeedTable seed) {
  for (uint64_t i = 0; i < seed.keys; ++i) {
    for (uint64_t version = i % 3 + 1; version > 0; --version) {
      std::string key;
      const RecordKind kind = (i + version) % 5 == 0 ? RecordKind::kTombstone : RecordKind::kValue;
      AppendInternalKey(key, KeyOf(i) + std::string(seed.key_padding, 'k'), SequenceNumber(version), kind);
      builder.Add(key, kind == RecordKind::kValue ? std::string(seed.value_bytes, 'v') : std::string());
    }
  }
  co_return co_await builder.Finish();
}

std::string TableInput(const TableView& view, MemoryDevice& device) {
  std::string encoded;
  AppendTableView(encoded, view);
  std::string input(1, static_cast<char>(kTable));
  AppendNumber(input, encoded.size(), 2);
  return input + encoded + device.Peek(uint64_t{kFirstUnit} * kExtentUnitBytes, view.used_bytes);
}

std::string TableSeed(SeedTable seed) {
  Machine machine;
  MemoryDevice device(kDeviceBytesMin, 512);
  BlockCache cache(kMiB);
  const TableEnvironment environment{device, cache, StoreUuid{}};
  FrontOfDevice source;
  TableBuilderOptions options;
  options.id = TableId(1);
  options.segment = seed.segment;
  options.expected_bytes = kMiB;
  TableBuilder builder(environment, source, options);
  const Result<TableView> view = machine.Run(Build(builder, seed));
  Check(view.ok(), "a seed's table cannot be built");
  return TableInput(*view, device);
}

// A block of which three spans are left.
std::string SpansSeed() {
  MemoryDevice device(kDeviceBytesMin, 512);
  HandMadeTable table(device, StoreUuid{}, TableId(1), Extent{kFirstUnit, 1});
  std::vector<std::pair<std::string, std::string>> records;
  for (uint64_t i = 0; i < 20; ++i) {
    records.emplace_back(Internal(KeyOf(i), 1), std::string(100, 'v'));
  }
  const BlockHandle block = table.AddData(records);
  const TableView view = table.Finish({{KeyOf(0), KeyOf(4), block, 5, true},
                                       {KeyOf(6), KeyOf(6), block, 1, true},
                                       {KeyOf(9), KeyOf(19), block, 11, true}},
                                      1, KeyOf(0), KeyOf(19));
  return TableInput(view, device);
}

std::string DataBlockSeed() {
  BlockBuilder builder;
  for (uint64_t i = 0; i < 40; ++i) {
    builder.Add(Internal(KeyOf(i), 7), std::string(i * 5, 'v'));
  }
  return std::string(1, static_cast<char>(kData)) + builder.Finish();
}

std::string IndexBlockSeed(char form) {
  std::vector<IndexEntry> entries;
  for (uint64_t i = 0; i < 10; ++i) {
    entries.push_back({KeyOf(10 * i), KeyOf(10 * i + 9), {4000 * i, 4000, 7, Generation(1)}, 10});
  }
  return (form == 0 ? std::string() : std::string(1, form)) + EncodeIndexBlock(entries);
}

std::string FooterSeed() {
  SegmentDescriptor descriptor;
  descriptor.smallest = Internal(KeyOf(0), 1);
  descriptor.largest = Internal(KeyOf(99), 1);
  std::string footer(1, static_cast<char>(kFooter));
  AppendFooter(footer, StoreUuid{}, TableId(1), Generation(1), 0, descriptor, FilterGeometry{2, 3, 6},
               {{0, 201, 1, Generation(1)}, {201, 201, 1, Generation(1)}}, IndexBlockSeed(0), 1);
  return footer;
}

}  // namespace

void RunTable(std::string_view input) {
  InputReader reader(input);
  switch (reader.Number(1) % 4) {
    case kTable:
      return RunWholeTable(reader);
    case kData:
      return RunDataBlock(reader.rest());
    case kIndex:
      return RunIndexBlock(reader.rest());
    default:
      return RunFooter(reader.rest());
  }
}

std::vector<std::string> TableSeeds() {
  return {
      TableSeed({.segment = {.block_bytes = 256}, .keys = 30, .value_bytes = 20}),
      TableSeed({.segment = {.block_bytes = 4096, .bits_per_key = 0}, .keys = 8, .value_bytes = 100}),
      // Large keys: an index of two levels.
      TableSeed({.segment = {.block_bytes = 256}, .keys = 45, .value_bytes = 1, .key_padding = 900}),
      SpansSeed(),
      DataBlockSeed(),
      IndexBlockSeed(static_cast<char>(kIndex)),
      FooterSeed(),
  };
}

}  // namespace varve::fuzz
