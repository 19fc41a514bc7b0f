#include "engine/space/foreign_content.h"

#include <blkid.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/device/aligned_buffer.h"

namespace varve {

namespace {

std::string ValueOf(blkid_probe probe, const char* name) {
  const char* value = nullptr;
  if (blkid_probe_lookup_value(probe, name, &value, nullptr) != 0 || value == nullptr) {
    return {};
  }
  return value;
}

std::string KindOf(std::string_view usage) {
  if (usage == "raid") {
    return "RAID or volume group member";
  }
  if (usage == "crypto") {
    return "encrypted volume";
  }
  return usage == "other" ? "content" : "filesystem";
}

}  // namespace

std::string ForeignContent::Describe() const {
  const bool vowel = !type.empty() && std::strchr("aeiouAEIOU", type.front()) != nullptr;
  std::string text = fmt::format("{} {} {}", vowel ? "an" : "a", type, kind);
  if (!label.empty()) {
    text += fmt::format(" labelled \"{}\"", label);
  }
  return text;
}

Result<std::optional<ForeignContent>> ProbeForeignContent(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return DeviceError(fmt::format("{}: {}", path, strerror(errno)));
  }
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  const std::unique_ptr<blkid_struct_probe, decltype(&blkid_free_probe)> probe(blkid_new_probe(),
                                                                               &blkid_free_probe);
  if (probe == nullptr || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return DeviceError(path + ": libblkid cannot read it");
  }
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(
      probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC);
  blkid_probe_enable_partitions(probe.get(), 1);
  const int found = blkid_do_fullprobe(probe.get());
  if (found < 0) {
    return DeviceError(path + ": libblkid cannot read it");
  }
  if (found == 1) {
    return std::optional<ForeignContent>();
  }
  ForeignContent content;
  content.type = ValueOf(probe.get(), "TYPE");
  content.label = ValueOf(probe.get(), "LABEL");
  content.kind = KindOf(ValueOf(probe.get(), "USAGE"));
  if (content.type.empty()) {
    content.type = ValueOf(probe.get(), "PTTYPE");
    content.kind = "partition table";
  }
  return std::optional<ForeignContent>(std::move(content));
}

Task<Status> WipeForeignContent(BlockDevice& device) {
  const uint64_t size = device.size_bytes();
  const auto bytes = std::min<uint64_t>(kMiB, RoundDown(size / 2, device.sector_bytes()));
  const AlignedBuffer zeros = AlignedBuffer::Zeroed(bytes, device.sector_bytes());
  const std::array<uint64_t, 2> places{0, size - bytes};
  for (const uint64_t place : places) {
    Status status = co_await device.Write(DeviceOffset(place), zeros.span(), IoPurpose::kSuperblock);
    if (!status.ok()) {
      co_return status;
    }
  }
  Status status = co_await device.Flush(IoPurpose::kSuperblock);
  co_return status;
}

}  // namespace varve
