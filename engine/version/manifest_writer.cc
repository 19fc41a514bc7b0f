#include "engine/version/manifest_writer.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/checksum.h"
#include "engine/device/aligned_buffer.h"
#include "engine/version/manifest_format.h"

namespace varve {

namespace {

// A roll writes the snapshot once more: with room for edits of three times its size, rolling costs at most a
// third of what the edits cost. The smallest holds some hundred edits.
constexpr uint64_t kManifestBytesMin = 512 * kKiB;
constexpr uint64_t kRoomForEdits = 3;
// Keeps the encoded part of a snapshot below what one record takes, at the largest tables and keys.
constexpr size_t kTablesPerSnapshotRecord = 256;
constexpr size_t kWriteBytes = 256 * kKiB;

}  // namespace

ManifestWriter::ManifestWriter(BlockDevice& device, const Uuid& store, ManifestLocation location,
                               uint64_t end, uint32_t next_record)
    : device_(device),
      seed_(manifest_format::Seed(store, location.number)),
      location_(std::move(location)),
      capacity_(TotalBytes(location_.extents)),
      end_(end),
      next_record_(next_record) {
}

Task<Result<std::unique_ptr<ManifestWriter>>> ManifestWriter::Create(BlockDevice& device,
                                                                     ExtentAllocator& allocator,
                                                                     const Uuid& store, uint64_t number,
                                                                     const Version& version,
                                                                     size_t edit_bytes) {
  const size_t sector_bytes = device.sector_bytes();
  const uint64_t seed = manifest_format::Seed(store, number);
  std::string sectors;
  uint32_t record = 0;
  for (const VersionEdit& part : SnapshotOf(version, kTablesPerSnapshotRecord)) {
    const std::string payload = EncodeVersionEdit(part);
    sectors += manifest_format::EncodeRecord(seed, sectors.size(), record++,
                                             manifest_format::RecordKind::kSnapshot, payload, sector_bytes);
  }
  const uint64_t edit_room = manifest_format::RecordBytes(edit_bytes, sector_bytes);
  const uint64_t bytes =
      std::max({kManifestBytesMin, sectors.size() * (1 + kRoomForEdits), sectors.size() + edit_room});
  Result<SpaceReservation> reservation = allocator.Reserve(bytes, SpaceClass::kInternal);
  if (!reservation.ok()) {
    co_return reservation.error();
  }
  ManifestLocation location;
  location.number = number;
  location.extents = allocator.Take(*reservation, bytes);
  location.bytes = sectors.size();
  std::string checksums;
  for (size_t at = 0; at < sectors.size(); at += sector_bytes) {
    checksums.append(sectors, at + manifest_format::kChecksumAt, sizeof(uint64_t));
  }
  location.checksum = Checksum64(checksums);
  if (location.extents.size() > superblock_format::kExtentsMax) {
    allocator.Release(location.extents);
    co_return NoSpace("free space is in too many pieces for a manifest");
  }
  auto writer = std::make_unique<ManifestWriter>(device, store, std::move(location), sectors.size(), record);
  Status written = co_await writer->WriteSnapshot(sectors);
  if (!written.ok()) {
    allocator.Release(writer->location_.extents);
    co_return written.error();
  }
  co_return std::move(writer);
}

Task<Status> ManifestWriter::WriteSnapshot(std::string_view sectors) {
  Status status = co_await WriteAt(0, sectors, Persistence::kCached);
  // A sector that was never written must be known by its zeros.
  const std::string zeros(kWriteBytes, '\0');
  for (uint64_t at = sectors.size(); status.ok() && at < capacity_; at += kWriteBytes) {
    const std::string_view piece =
        std::string_view(zeros).substr(0, std::min<uint64_t>(kWriteBytes, capacity_ - at));
    status = co_await WriteAt(at, piece, Persistence::kCached);
  }
  if (!status.ok()) {
    co_return status;
  }
  co_return co_await device_.Flush(IoPurpose::kManifest);
}

bool ManifestWriter::Fits(size_t edit_bytes) const {
  return edit_bytes <= manifest_format::PayloadBytesMax(device_.sector_bytes()) &&
         manifest_format::RecordBytes(edit_bytes, device_.sector_bytes()) <= capacity_ - end_;
}

Task<Status> ManifestWriter::Append(std::string_view encoded_edit) {
  Check(Fits(encoded_edit.size()), "an edit was appended to a full manifest");
  Status written = co_await WriteEdit(end_, next_record_, encoded_edit);
  if (!written.ok()) {
    co_return written;
  }
  end_ += manifest_format::RecordBytes(encoded_edit.size(), device_.sector_bytes());
  ++next_record_;
  co_return OkStatus();
}

Task<Status> ManifestWriter::WriteLastAgain(std::string_view encoded_edit) {
  const uint64_t bytes = manifest_format::RecordBytes(encoded_edit.size(), device_.sector_bytes());
  Check(next_record_ > 0 && bytes <= end_, "the last edit of a manifest that has none was written again");
  return WriteEdit(end_ - bytes, next_record_ - 1, encoded_edit);
}

Task<Status> ManifestWriter::WriteEdit(uint64_t position, uint32_t record, std::string_view encoded_edit) {
  const std::string sectors = manifest_format::EncodeRecord(
      seed_, position, record, manifest_format::RecordKind::kEdit, encoded_edit, device_.sector_bytes());
  co_return co_await WriteAt(position, sectors, Persistence::kDurable);
}

Task<Status> ManifestWriter::WriteAt(uint64_t position, std::string_view bytes, Persistence persistence) {
  AlignedBuffer buffer(std::min(bytes.size(), kWriteBytes), device_.sector_bytes());
  while (!bytes.empty()) {
    const std::optional<DevicePiece> piece = PieceAt(location_.extents, position);
    Check(piece.has_value(), "a write beyond the manifest");
    const size_t now = std::min({bytes.size(), buffer.size(), static_cast<size_t>(piece->bytes)});
    buffer.CopyIn(0, bytes.substr(0, now));
    Status written =
        co_await device_.Write(piece->offset, buffer.span().first(now), IoPurpose::kManifest, persistence);
    if (!written.ok()) {
      co_return written;
    }
    position += now;
    bytes.remove_prefix(now);
  }
  co_return OkStatus();
}

Task<Result<ManifestLocation>> CreateManifest(BlockDevice& device, ExtentAllocator& allocator,
                                              const Uuid& store, VersionEdit first) {
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Version nothing;
  Result<Version> version = ApplyVersionEdit(nothing, first, *tables);
  if (!version.ok()) {
    co_return version.error();
  }
  Result<std::unique_ptr<ManifestWriter>> writer =
      co_await ManifestWriter::Create(device, allocator, store, 1, *version, 0);
  if (!writer.ok()) {
    co_return writer.error();
  }
  co_return (*writer)->location();
}

}  // namespace varve
