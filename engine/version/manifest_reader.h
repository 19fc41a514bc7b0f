// Reads a manifest: for recovery, for fsck and for dumps. Writes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/space/superblock.h"
#include "engine/version/live_table.h"
#include "engine/version/manifest_format.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

// Puts the sectors of a manifest, given in order, together to records, and judges where they end.
class ManifestAssembler {
 public:
  struct Record {
    uint32_t number = 0;
    manifest_format::RecordKind kind = manifest_format::RecordKind::kEdit;
    std::string payload;
  };

  ManifestAssembler(uint64_t seed, size_t sector_bytes) : seed_(seed), sector_bytes_(sector_bytes) {}

  // The next sector. A record that it completes is appended to `records`.
  Status Add(std::string_view sector, std::vector<Record>& records);
  // After the last sector: kCorruption when what follows the last good record was written and acknowledged,
  // or may have been; success when nothing follows, or only a torn record.
  Status Finish();

  // Where the next record goes: behind the last good one.
  uint64_t end() const { return record_start_; }
  uint32_t next_record() const { return next_record_; }
  // Whether everything from end() on was never written: only then may records be appended there.
  bool clean_end() const { return !trash_; }
  // What a checksum of the sectors up to end() covers: their own checksums, in order.
  const std::string& sector_checksums() const { return sector_checksums_; }

 private:
  Status CompleteRecord(std::vector<Record>& records);
  Status AddBehindEnd(const manifest_format::Sector& sector, uint64_t position);

  uint64_t seed_;
  size_t sector_bytes_;
  uint64_t position_ = 0;
  uint64_t record_start_ = 0;
  uint32_t next_record_ = 0;
  // Of the record at record_start_: contents so far, its number of sectors once one of them was seen.
  std::string content_;
  std::string content_checksums_;
  uint64_t parts_ = 0;
  std::string sector_checksums_;
  // No further record can be completed: sectors are only looked at for what they say about the end.
  bool ended_ = false;
  // The nearest such sector at or behind the end, or behind everything.
  uint64_t first_unwritten_ = UINT64_MAX;
  uint64_t first_damaged_ = UINT64_MAX;
  bool trash_ = false;
};

struct ManifestContent {
  Version version;
  // Where the next record goes, its number, and whether it may go there (see ManifestAssembler).
  uint64_t end = 0;
  uint32_t next_record = 0;
  bool clean_end = true;
  uint64_t edits = 0;
  // The payload of the last record, unless that is of the snapshot: it alone may not be durable, since each
  // record is durable before the next is written (ManifestWriter::WriteLastAgain).
  std::optional<std::string> last_edit;
  // That of the last record (VersionEdit::hot_map).
  std::string hot_map;
};

// Reads the manifest that `superblock` names and applies it. New tables come alive in `tables`; none is
// marked installed. `visit`, unless empty, sees every record as it is read (for dumps). Errors: kCorruption,
// kUnsupported, kDeviceError.
using ManifestVisitor = std::function<void(const ManifestAssembler::Record&, const VersionEdit&)>;
Task<Result<ManifestContent>> ReadManifest(BlockDevice& device, const Superblock& superblock,
                                           LiveTables& tables, ManifestVisitor visit);

}  // namespace varve
