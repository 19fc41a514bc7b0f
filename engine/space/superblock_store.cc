#include "engine/space/superblock_store.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "engine/device/aligned_buffer.h"
#include "engine/space/foreign_content.h"

namespace varve {

namespace format = superblock_format;

Task<void> SuperblockStore::ReadCopy(uint32_t copy, DeviceOffset offset,
                                     std::optional<Result<Superblock>>& into) {
  AlignedBuffer buffer(format::kBytes);
  Status status = co_await device_.Read(offset, buffer.span(), IoPurpose::kSuperblock);
  if (status.ok()) {
    into.emplace(DecodeSuperblock(buffer.view(), copy));
  } else {
    into.emplace(status.error());
  }
}

Error SuperblockStore::NothingFound(const std::array<Copy, kSuperblockCopies>& copies) const {
  // What says most: a store of another version, then damage, then an error of the device.
  for (const ErrorCode code : {ErrorCode::kUnsupported, ErrorCode::kCorruption, ErrorCode::kDeviceError}) {
    for (const Copy& copy : copies) {
      if (copy.read && copy.read->Is(code)) {
        const std::string both =
            code == ErrorCode::kCorruption
                ? "; no copy of the superblock is usable: restore the device, or make a new "
                  "store with mkfs.varve --force, which destroys what is there"
                : "";
        return {code, fmt::format("{}: {}{}", device_.name(), copy.read->error().message(), both)};
      }
    }
  }
  const Result<std::optional<ForeignContent>> foreign = ProbeForeignContent(device_.name());
  if (foreign.ok() && foreign->has_value()) {
    return NotFound(fmt::format("{}: no varve store here, but {}", device_.name(), (*foreign)->Describe()));
  }
  return NotFound(
      fmt::format("{}: no varve store here; make one with mkfs.varve {}", device_.name(), device_.name()));
}

Status SuperblockStore::Adopt(const Superblock& chosen) {
  if (device_.size_bytes() < chosen.device_bytes) {
    return Corruption(
        fmt::format("{}: the store was made for {} bytes, but the device holds {}: it has shrunk, or the "
                    "image was copied in part",
                    device_.name(), chosen.device_bytes, device_.size_bytes()));
  }
  if (device_.sector_bytes() > chosen.sector_bytes) {
    return Unsupported(fmt::format(
        "{}: the store was made for sectors of {} bytes, but this device has sectors of {}: move it to a "
        "device with smaller sectors",
        device_.name(), chosen.sector_bytes, device_.sector_bytes()));
  }
  if (device_.sector_bytes() < chosen.sector_bytes) {
    device_.UseLargerSectors(chosen.sector_bytes);
  }
  return OkStatus();
}

Task<Result<Superblock>> SuperblockStore::Load() {
  problems_.clear();
  Result<Layout> layout = Layout::ForDevice(device_.size_bytes());
  if (!layout.ok()) {
    co_return Error(layout.error().code(), device_.name() + ": " + layout.error().message());
  }
  std::array<Copy, kSuperblockCopies> copies;
  copies[0].offset = layout->superblock_offsets()[0];
  co_await ReadCopy(0, copies[0].offset, copies[0].read);
  // A device that has grown since mkfs keeps its second copy where its end was.
  copies[1].offset = layout->superblock_offsets()[1];
  if (copies[0].read->ok()) {
    const Result<Layout> made_for = Layout::ForDevice((*copies[0].read)->device_bytes);
    copies[1].offset = made_for->superblock_offsets()[1];
  }
  if (copies[1].offset.value + format::kBytes <= device_.size_bytes()) {
    co_await ReadCopy(1, copies[1].offset, copies[1].read);
  } else {
    copies[1].read.emplace(Corruption("superblock: the copy's place lies beyond the device"));
  }
  const bool first_is_good = copies[0].read->ok();
  const bool second_is_good = copies[1].read->ok();
  if (!first_is_good && !second_is_good) {
    co_return NothingFound(copies);
  }
  // A newer version's superblock beside an older one: the store has been upgraded, and must not be used as it
  // was.
  for (const Copy& copy : copies) {
    if (copy.read->Is(ErrorCode::kUnsupported)) {
      co_return NothingFound(copies);
    }
  }
  worse_copy_ = first_is_good ? 1 : 0;
  may_not_be_durable_ = false;
  if (first_is_good && second_is_good) {
    if ((*copies[0].read)->uuid != (*copies[1].read)->uuid) {
      problems_.push_back(fmt::format("superblock copy 1 at byte {} belongs to another store ({})",
                                      copies[1].offset.value, FormatUuid((*copies[1].read)->uuid)));
    } else {
      const uint64_t first_generation = (*copies[0].read)->generation;
      const uint64_t second_generation = (*copies[1].read)->generation;
      worse_copy_ = first_generation < second_generation ? 0 : 1;
      may_not_be_durable_ = first_generation != second_generation;
    }
  }
  const Copy& worse = copies[worse_copy_];
  if (!worse.read->ok()) {
    problems_.push_back(fmt::format("superblock copy {} at byte {}: {}", worse_copy_, worse.offset.value,
                                    worse.read->error().message()));
  }
  const Superblock& chosen = **copies[1 - worse_copy_].read;
  Status adopted = Adopt(chosen);
  if (!adopted.ok()) {
    co_return adopted.error();
  }
  current_ = chosen;
  co_return chosen;
}

Task<Status> SuperblockStore::WriteCopy(uint32_t copy, const Superblock& superblock) {
  const Result<Layout> layout = Layout::ForDevice(superblock.device_bytes);
  if (!layout.ok()) {
    co_return layout.error();
  }
  AlignedBuffer buffer(format::kBytes);
  buffer.CopyIn(0, EncodeSuperblock(superblock, copy));
  Status status =
      co_await device_.Write(layout->superblock_offsets()[copy], buffer.span(), IoPurpose::kSuperblock);
  if (status.ok()) {
    status = co_await device_.Flush(IoPurpose::kSuperblock);
  }
  co_return status;
}

Task<Status> SuperblockStore::Format(Superblock superblock) {
  Check(superblock.device_bytes <= device_.size_bytes() && superblock.sector_bytes == device_.sector_bytes(),
        "a superblock was made for another device");
  if (superblock.label.size() > format::kLabelBytesMax || superblock.label.find('\0') != std::string::npos) {
    co_return InvalidArgument(
        fmt::format("a label has at most {} bytes, none of them zero", format::kLabelBytesMax));
  }
  superblock.generation = 1;
  for (uint32_t copy = 0; copy < kSuperblockCopies; ++copy) {
    Status status = co_await WriteCopy(copy, superblock);
    if (!status.ok()) {
      co_return status;
    }
  }
  current_ = std::move(superblock);
  worse_copy_ = 1;
  co_return OkStatus();
}

Task<Status> SuperblockStore::MakeDurable() {
  Check(current_.has_value(), "a superblock was made durable before it was loaded");
  if (!may_not_be_durable_) {
    co_return OkStatus();
  }
  Status status = co_await WriteCopy(1 - worse_copy_, *current_);
  if (status.ok()) {
    may_not_be_durable_ = false;
  }
  co_return status;
}

Task<Status> SuperblockStore::MendBadCopy() {
  Check(current_.has_value(), "a superblock was mended before it was loaded");
  if (problems_.empty()) {
    co_return OkStatus();
  }
  Status status = co_await WriteCopy(worse_copy_, *current_);
  if (status.ok()) {
    problems_.clear();
  }
  co_return status;
}

Task<Status> SuperblockStore::Update(Superblock next) {
  Check(current_.has_value(), "a superblock was updated before it was loaded");
  next.generation = current_->generation + 1;
  const uint32_t first = worse_copy_;
  Status status = co_await WriteCopy(first, next);
  if (!status.ok()) {
    co_return status;
  }
  status = co_await WriteCopy(1 - first, next);
  if (!status.ok()) {
    co_return status;
  }
  current_ = std::move(next);
  worse_copy_ = 1;
  may_not_be_durable_ = false;
  problems_.clear();
  co_return OkStatus();
}

}  // namespace varve
