#include "engine/version/manifest_format.h"

#include <cstring>

#include "engine/base/check.h"
#include "engine/base/checksum.h"

namespace varve::manifest_format {

uint64_t Seed(const Uuid& store, uint64_t manifest_number) {
  return Checksum64(std::string_view(reinterpret_cast<const char*>(store.data()), store.size()),
                    manifest_number);
}

namespace {

uint64_t SectorChecksum(uint64_t seed, uint64_t position, std::string_view sector) {
  return Checksum64(sector.substr(kRecordAt), seed + position);
}

}  // namespace

std::string EncodeRecord(uint64_t seed, uint64_t position, uint32_t record, RecordKind kind,
                         std::string_view payload, size_t sector_bytes) {
  Check(payload.size() <= PayloadBytesMax(sector_bytes), "a manifest record is too large");
  std::string content;
  content.reserve(kRecordHeaderBytes + payload.size());
  AppendFixed(content, static_cast<uint32_t>(payload.size()));
  content.push_back(static_cast<char>(kind));
  content.append(3, '\0');
  content.append(payload);

  const size_t content_bytes = sector_bytes - kSectorHeaderBytes;
  const size_t parts = CeilDiv(content.size(), content_bytes);
  std::string sectors(parts * sector_bytes, '\0');
  for (size_t part = 0; part < parts; ++part) {
    char* const sector = sectors.data() + part * sector_bytes;
    StoreFixed(sector + kRecordAt, record);
    StoreFixed(sector + kPartAt, static_cast<uint16_t>(part));
    StoreFixed(sector + kPartsAt, static_cast<uint16_t>(parts));
    content.copy(sector + kSectorHeaderBytes, content_bytes, part * content_bytes);
    StoreFixed(sector + kChecksumAt,
               SectorChecksum(seed, position + part * sector_bytes, {sector, sector_bytes}));
  }
  return sectors;
}

Sector DecodeSector(uint64_t seed, uint64_t position, std::string_view bytes) {
  Sector sector;
  // All zeros: the first byte is, and each equals the one before it.
  if (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0) {
    sector.state = Sector::State::kUnwritten;
    return sector;
  }
  sector.checksum = LoadFixed<uint64_t>(bytes.data() + kChecksumAt);
  sector.record = LoadFixed<uint32_t>(bytes.data() + kRecordAt);
  sector.part = LoadFixed<uint16_t>(bytes.data() + kPartAt);
  sector.parts = LoadFixed<uint16_t>(bytes.data() + kPartsAt);
  sector.content = bytes.substr(kSectorHeaderBytes);
  if (sector.checksum == SectorChecksum(seed, position, bytes) && sector.part < sector.parts) {
    sector.state = Sector::State::kGood;
  }
  return sector;
}

}  // namespace varve::manifest_format
