#include "engine/version/manifest_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/base/checksum.h"
#include "engine/device/aligned_buffer.h"

namespace varve {

using manifest_format::Sector;

Status ManifestAssembler::Add(std::string_view bytes, std::vector<Record>& records) {
  const uint64_t position = position_;
  position_ += sector_bytes_;
  const Sector sector = manifest_format::DecodeSector(seed_, position, bytes);
  const uint64_t part = (position - record_start_) / sector_bytes_;
  const bool continues = !ended_ && sector.state == Sector::State::kGood && sector.record == next_record_ &&
                         sector.part == part && (part == 0 || sector.parts == parts_);
  if (!continues) {
    ended_ = true;
    return AddBehindEnd(sector, position);
  }
  parts_ = sector.parts;
  content_.append(sector.content);
  AppendFixed(content_checksums_, sector.checksum);
  return part + 1 == parts_ ? CompleteRecord(records) : OkStatus();
}

Status ManifestAssembler::CompleteRecord(std::vector<Record>& records) {
  const auto payload_bytes = LoadFixed<uint32_t>(content_.data() + manifest_format::kPayloadBytesAt);
  const auto kind = static_cast<uint8_t>(content_[manifest_format::kKindAt]);
  if (manifest_format::RecordBytes(payload_bytes, sector_bytes_) != parts_ * sector_bytes_) {
    return Corruption(fmt::format("record {} of the manifest has an impossible length", next_record_));
  }
  if (kind != static_cast<uint8_t>(manifest_format::RecordKind::kSnapshot) &&
      kind != static_cast<uint8_t>(manifest_format::RecordKind::kEdit)) {
    return Unsupported(fmt::format("record {} of the manifest is of a kind of a later version of varve ({})",
                                   next_record_, kind));
  }
  records.push_back({next_record_, static_cast<manifest_format::RecordKind>(kind),
                     content_.substr(manifest_format::kRecordHeaderBytes, payload_bytes)});
  sector_checksums_ += content_checksums_;
  content_.clear();
  content_checksums_.clear();
  parts_ = 0;
  record_start_ = position_;
  ++next_record_;
  return {};
}

Status ManifestAssembler::AddBehindEnd(const Sector& sector, uint64_t position) {
  switch (sector.state) {
    case Sector::State::kUnwritten:
      first_unwritten_ = std::min(first_unwritten_, position);
      return {};
    case Sector::State::kDamaged:
      first_damaged_ = std::min(first_damaged_, position);
      trash_ = true;
      return {};
    case Sector::State::kGood:
      break;
  }
  trash_ = true;
  const bool is_torn_part = sector.record == next_record_ && (parts_ == 0 || sector.parts == parts_) &&
                            position == record_start_ + sector.part * sector_bytes_;
  if (!is_torn_part) {
    // Records are written one after the other, each when the one before it is durable.
    return Corruption(
        fmt::format("record {} of the manifest, at byte {}, is missing or damaged, but record {} follows",
                    next_record_, record_start_, sector.record));
  }
  parts_ = sector.parts;
  return {};
}

Status ManifestAssembler::Finish() {
  if (!ended_) {
    return content_.empty()
               ? OkStatus()
               : Corruption(fmt::format("record {} of the manifest reaches beyond its end", next_record_));
  }
  trash_ = trash_ || !content_.empty();
  // A torn record lacks a sector. One that has them all, but some of them damaged, may have been
  // acknowledged.
  const uint64_t record_end = record_start_ + std::max<uint64_t>(parts_, 1) * sector_bytes_;
  if (first_unwritten_ >= record_end && first_damaged_ < record_end) {
    return Corruption(
        fmt::format("record {} of the manifest is damaged at byte {}", next_record_, first_damaged_));
  }
  return {};
}

namespace {

constexpr size_t kReadBytes = 256 * kKiB;

// Applies records as they come.
class Replay {
 public:
  Replay(LiveTables& tables, ManifestVisitor visit) : tables_(tables), visit_(std::move(visit)) {}

  Status Apply(const ManifestAssembler::Record& record) {
    Result<VersionEdit> edit = DecodeVersionEdit(record.payload);
    if (!edit.ok()) {
      return Error(edit.error().code(),
                   fmt::format("record {} of the manifest: {}", record.number, edit.error().message()));
    }
    if (record.kind == manifest_format::RecordKind::kEdit) {
      ++edits_;
      last_edit_ = record.payload;
    } else if (edits_ > 0) {
      return Corruption(
          fmt::format("record {} of the manifest is of a snapshot, behind edits", record.number));
    }
    if (visit_ != nullptr) {
      visit_(record, *edit);
    }
    // Nobody reads what has been, and who will reads sees all of it.
    edit->readers = {kSequenceNumberMax};
    Result<Version> next = ApplyVersionEdit(version_, *edit, tables_);
    if (!next.ok()) {
      return Error(next.error().code(),
                   fmt::format("record {} of the manifest: {}", record.number, next.error().message()));
    }
    version_ = std::move(next).value();
    hot_map_ = std::move(edit->hot_map);
    return {};
  }

  Version& version() { return version_; }
  uint64_t edits() const { return edits_; }
  std::optional<std::string>& last_edit() { return last_edit_; }
  std::string& hot_map() { return hot_map_; }

 private:
  LiveTables& tables_;
  ManifestVisitor visit_;
  Version version_;
  uint64_t edits_ = 0;
  std::optional<std::string> last_edit_;
  std::string hot_map_;
};

// The snapshot was durable before the superblock named it: it must all be there, byte for byte.
Status CheckSnapshot(const ManifestAssembler& assembler, const ManifestLocation& location,
                     size_t sector_bytes) {
  const size_t checksum_bytes = location.bytes / sector_bytes * sizeof(uint64_t);
  const std::string_view checksums = assembler.sector_checksums();
  if (location.bytes % sector_bytes != 0 || location.bytes == 0 || checksums.size() < checksum_bytes ||
      Checksum64(checksums.substr(0, checksum_bytes)) != location.checksum) {
    return Corruption("the manifest's snapshot is not the one that the superblock names");
  }
  return {};
}

}  // namespace

Task<Result<ManifestContent>> ReadManifest(BlockDevice& device, const Superblock& superblock,
                                           LiveTables& tables, ManifestVisitor visit) {
  const ManifestLocation& location = superblock.manifest;
  const size_t sector_bytes = device.sector_bytes();
  ManifestAssembler assembler(manifest_format::Seed(superblock.uuid, location.number), sector_bytes);
  Replay replay(tables, std::move(visit));
  std::vector<ManifestAssembler::Record> records;
  AlignedBuffer buffer(kReadBytes);
  for (const Extent& extent : location.extents) {
    for (uint64_t at = 0; at < extent.bytes(); at += kReadBytes) {
      const std::span<std::byte> piece =
          buffer.span().first(std::min<uint64_t>(kReadBytes, extent.bytes() - at));
      Status read = co_await device.Read(extent.offset() + at, piece, IoPurpose::kManifest);
      if (!read.ok()) {
        co_return read.error();
      }
      for (size_t sector = 0; sector < piece.size(); sector += sector_bytes) {
        Status added = assembler.Add(buffer.view().substr(sector, sector_bytes), records);
        if (!added.ok()) {
          co_return added.error();
        }
      }
      for (const ManifestAssembler::Record& record : records) {
        Status applied = replay.Apply(record);
        if (!applied.ok()) {
          co_return applied.error();
        }
      }
      records.clear();
    }
  }
  Status finished = assembler.Finish();
  if (finished.ok()) {
    finished = CheckSnapshot(assembler, location, sector_bytes);
  }
  if (!finished.ok()) {
    co_return finished.error();
  }
  ManifestContent content;
  content.version = std::move(replay.version());
  content.end = assembler.end();
  content.next_record = assembler.next_record();
  content.clean_end = assembler.clean_end();
  content.edits = replay.edits();
  content.last_edit = std::move(replay.last_edit());
  content.hot_map = std::move(replay.hot_map());
  co_return content;
}

}  // namespace varve
