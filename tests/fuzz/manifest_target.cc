// Input: a byte that says how the rest is read: 0: as the manifest's sectors, 1: as records (kind: 1 byte,
// bytes of the payload: 2, payload), which are put into sectors, 2: as one table view.
#include "engine/base/check.h"
#include "engine/base/checksum.h"
#include "engine/space/layout.h"
#include "engine/version/invariants.h"
#include "engine/version/manifest_format.h"
#include "engine/version/manifest_reader.h"
#include "engine/version/version_edit.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_device.h"
#include "tests/support/table_views.h"

namespace varve::fuzz {

namespace {

constexpr size_t kSectorBytes = 512;
constexpr Extent kExtent{1, 1};

enum Form : uint8_t { kSectors = 0, kRecords = 1, kView = 2 };

std::string SectorsOf(std::string_view records) {
  std::string sectors;
  InputReader reader(records);
  for (uint32_t number = 0; !reader.empty(); ++number) {
    const auto kind = static_cast<manifest_format::RecordKind>(reader.Number(1));
    const std::string_view payload = reader.Bytes(reader.Number(2));
    sectors += manifest_format::EncodeRecord(0, sectors.size(), number, kind, payload, kSectorBytes);
  }
  return sectors;
}

// A version that is accepted must be accepted again when it is written as a snapshot.
void CheckSnapshotOf(const Version& version) {
  const auto tables = std::make_shared<LiveTables>(nullptr);
  Version copy;
  for (const VersionEdit& edit : SnapshotOf(version, 2)) {
    const Result<VersionEdit> decoded = DecodeVersionEdit(EncodeVersionEdit(edit));
    Check(decoded.ok() && *decoded == edit, "an edit changes when it is written again");
    Result<Version> applied = ApplyVersionEdit(copy, *decoded, *tables);
    Check(applied.ok(), "a version cannot be written as a snapshot");
    copy = std::move(applied).value();
  }
}

void RunView(std::string_view bytes) {
  const Result<TableView> view = DecodeTableView(bytes);
  if (view.ok()) {
    std::string again;
    AppendTableView(again, *view);
    const Result<TableView> decoded = DecodeTableView(again);
    Check(decoded.ok() && *decoded == *view, "a table view changes when it is written again");
  }
}

std::string Record(manifest_format::RecordKind kind, const VersionEdit& edit) {
  const std::string payload = EncodeVersionEdit(edit);
  std::string record;
  AppendNumber(record, static_cast<uint8_t>(kind), 1);
  AppendNumber(record, payload.size(), 2);
  return record + payload;
}

VersionEdit FirstEdit() {
  VersionEdit edit;
  edit.added_wal_segments = {{1, {4, 65}, RecoveryEpoch(1), Lsn(1)}, {2, {69, 65}, RecoveryEpoch(1), Lsn(1)}};
  edit.log_start = Lsn(1);
  edit.last_sequence = SequenceNumber(20);
  edit.epoch = RecoveryEpoch(1);
  edit.next_table_id = TableId(100);
  edit.next_stamp = InstallStamp(9);
  edit.parameters["name"] = "value";
  edit.added_tables.push_back({{0, Part::kLevel0}, InstallStamp(1), MakeView({.id = 1, .first_unit = 200})});
  edit.added_tables.push_back(
      {{1, Part::kTree}, InstallStamp(2), MakeView({.id = 2, .largest = "k", .first_unit = 300})});
  edit.added_tables.push_back(
      {{1, Part::kTree}, InstallStamp(3), MakeView({.id = 3, .smallest = "l", .first_unit = 400})});
  edit.added_tables.push_back({{1, Part::kLog}, InstallStamp(4), MakeView({.id = 4, .first_unit = 500})});
  return edit;
}

VersionEdit SecondEdit() {
  VersionEdit edit;
  edit.removed_tables.push_back({{0, Part::kLevel0}, {TableId(1), Generation(1), "a"}});
  edit.added_tables.push_back({{2, Part::kTree}, InstallStamp(9), MakeView({.id = 1, .first_unit = 200})});
  edit.released_wal_segments = {1};
  edit.next_stamp = InstallStamp(12);
  edit.clean = true;
  return edit;
}

}  // namespace

void RunManifest(std::string_view input) {
  InputReader reader(input);
  const uint64_t form = reader.Number(1) % 3;
  if (form == kView) {
    return RunView(reader.rest());
  }
  const std::string sectors = form == kRecords ? SectorsOf(reader.rest()) : std::string(reader.rest());
  Machine machine;
  MemoryDevice device(kDeviceBytesMin, kSectorBytes);
  device.Poke(kExtent.offset().value, std::string_view(sectors).substr(0, kExtent.bytes()));
  Superblock superblock;
  superblock.device_bytes = kDeviceBytesMin;
  superblock.sector_bytes = kSectorBytes;
  superblock.manifest = {1, {kExtent}, kSectorBytes, Checksum64(std::string_view())};
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Result<ManifestContent> content = machine.Run(ReadManifest(device, superblock, *tables, nullptr));
  if (content.ok() && CheckVersion(content->version).empty()) {
    CheckSnapshotOf(content->version);
  }
}

std::vector<std::string> ManifestSeeds() {
  using manifest_format::RecordKind;
  const std::string first = Record(RecordKind::kSnapshot, FirstEdit());
  const std::string second = Record(RecordKind::kEdit, SecondEdit());
  std::vector<std::string> seeds;
  for (const std::string& records : {first, first + second}) {
    seeds.push_back(std::string(1, static_cast<char>(kRecords)) + records);
    seeds.push_back(std::string(1, static_cast<char>(kSectors)) + SectorsOf(records));
  }
  std::string view(1, static_cast<char>(kView));
  AppendTableView(view, MakeView({}));
  seeds.push_back(view);
  return seeds;
}

}  // namespace varve::fuzz
