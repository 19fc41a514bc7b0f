#include "engine/space/superblock.h"

#include <gtest/gtest.h>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/space/layout.h"

namespace varve {
namespace {

namespace format = superblock_format;

Superblock Sample() {
  Superblock superblock;
  superblock.uuid = MakeUuid(0x0123456789abcdef, 0xfedcba9876543210);
  superblock.label = "photos";
  superblock.device_bytes = 64 * kMiB;
  superblock.sector_bytes = 4096;
  superblock.created_wall_nanos = -5;
  superblock.generation = 77;
  superblock.parameters.data_block_bytes = 8192;
  superblock.manifest = {3, {{10, 2}, {900, 1}}, 100'000, 0xabcdef};
  return superblock;
}

// The checksum made right again after an edit of the bytes.
std::string Resealed(std::string block, uint32_t copy) {
  StoreFixed(block.data() + format::kChecksumAt,
             Checksum64(std::string_view(block).substr(format::kFormatVersionAt), copy));
  return block;
}

TEST(SuperblockTest, DecodesToWhatWasEncoded) {
  const std::string block = EncodeSuperblock(Sample(), 1);
  ASSERT_EQ(block.size(), format::kBytes);
  const Result<Superblock> decoded = DecodeSuperblock(block, 1);
  ASSERT_TRUE(decoded.ok()) << decoded.ToString();
  EXPECT_EQ(*decoded, Sample());
}

TEST(SuperblockTest, EveryDamagedByteIsNoticed) {
  const std::string block = EncodeSuperblock(Sample(), 0);
  for (size_t at = 0; at < block.size(); ++at) {
    std::string damaged = block;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const Result<Superblock> decoded = DecodeSuperblock(damaged, 0);
    ASSERT_FALSE(decoded.ok()) << at;
    EXPECT_TRUE(decoded.Is(at < format::kChecksumAt ? ErrorCode::kNotFound : ErrorCode::kCorruption)) << at;
  }
}

TEST(SuperblockTest, OneCopysBytesInTheOthersPlaceAreCorruption) {
  EXPECT_TRUE(DecodeSuperblock(EncodeSuperblock(Sample(), 0), 1).Is(ErrorCode::kCorruption));
}

TEST(SuperblockTest, AnOtherFormatOrUnknownIncompatibleFeatureIsUnsupported) {
  Superblock newer = Sample();
  newer.format_version = format::kFormatVersion + 1;
  EXPECT_TRUE(DecodeSuperblock(EncodeSuperblock(newer, 0), 0).Is(ErrorCode::kUnsupported));
  Superblock strange = Sample();
  strange.incompat_features = uint64_t{1} << 63;
  EXPECT_TRUE(DecodeSuperblock(EncodeSuperblock(strange, 0), 0).Is(ErrorCode::kUnsupported));
}

TEST(SuperblockTest, OfTheFormatsBeforeItIsKnown) {
  Superblock older = Sample();
  for (const uint32_t version : {format::kFormatVersionOfWholeKeys, format::kFormatVersionWithoutOutlines}) {
    older.format_version = version;
    const Result<Superblock> read = DecodeSuperblock(EncodeSuperblock(older, 0), 0);
    ASSERT_TRUE(read.ok()) << read.ToString();
    EXPECT_EQ(read->format_version, older.format_version) << "an update writes what it found";
  }
  older.format_version = format::kFormatVersionOfWholeKeys - 1;
  EXPECT_TRUE(DecodeSuperblock(EncodeSuperblock(older, 0), 0).Is(ErrorCode::kUnsupported));
}

TEST(SuperblockTest, UnknownReadOnlyFeaturesForbidOnlyWriting) {
  Superblock superblock = Sample();
  EXPECT_TRUE(CheckWritable(superblock).ok());
  superblock.read_only_features = uint64_t{1} << 62;
  superblock.compat_features = uint64_t{1} << 62;
  EXPECT_TRUE(DecodeSuperblock(EncodeSuperblock(superblock, 0), 0).ok());
  EXPECT_TRUE(CheckWritable(superblock).Is(ErrorCode::kUnsupported));
}

TEST(SuperblockTest, ImpossibleFieldsUnderARightChecksumAreCorruption) {
  const std::string good = EncodeSuperblock(Sample(), 0);
  const auto with = [&good](size_t at, auto value) {
    std::string block = good;
    StoreFixed(block.data() + at, value);
    return DecodeSuperblock(Resealed(std::move(block), 0), 0);
  };
  EXPECT_TRUE(with(format::kSectorBytesAt, uint32_t{4096}).ok());
  EXPECT_TRUE(with(format::kSectorBytesAt, uint32_t{1000}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kSectorBytesAt, uint32_t{8192}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kDeviceBytesAt, uint64_t{5}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kManifestExtentsAt, uint32_t{257}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kManifestBytesAt, uint64_t{1} << 40).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kExtentTableAt, uint32_t{5000}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(with(format::kExtentTableAt, uint32_t{0}).Is(ErrorCode::kCorruption));
}

TEST(SuperblockTest, UuidsAreRandomVersionFour) {
  const std::string text = FormatUuid(MakeUuid(~uint64_t{0}, 0));
  EXPECT_EQ(text, "ffffffff-ffff-4fff-8000-000000000000");
}

TEST(LayoutTest, CopiesLieAtBothEndsOutsideTheExtents) {
  for (const uint64_t bytes : {kDeviceBytesMin, kDeviceBytesMin + 12345 * 512, 10 * kTiB}) {
    const Result<Layout> layout = Layout::ForDevice(bytes);
    ASSERT_TRUE(layout.ok());
    const auto offsets = layout->superblock_offsets();
    EXPECT_LE(offsets[0].value + format::kBytes, layout->first_unit() * kExtentUnitBytes);
    EXPECT_GE(offsets[1].value, layout->end_unit() * kExtentUnitBytes);
    EXPECT_LE(offsets[1].value + kExtentUnitBytes, bytes);
    EXPECT_EQ(offsets[1].value % 4096, 0u);
  }
  EXPECT_FALSE(Layout::ForDevice(kDeviceBytesMin - 1).ok());
  EXPECT_FALSE(Layout::ForDevice(kDeviceBytesMax + 1).ok());
}

TEST(ExtentTest, ListsDecodeToWhatWasEncodedAndRefuseWhatCannotBe) {
  const std::vector<Extent> extents{{1, 1}, {70'000, 300}, {0xfffffffe, 1}};
  std::string bytes;
  AppendExtents(bytes, extents);
  Decoder decoder(bytes);
  EXPECT_EQ(DecodeExtents(decoder), extents);
  EXPECT_TRUE(decoder.empty());
  for (size_t length = 0; length < bytes.size(); ++length) {
    Decoder cut(std::string_view(bytes).substr(0, length));
    EXPECT_EQ(DecodeExtents(cut), std::nullopt);
  }
  const auto decode_pair = [](uint64_t first, uint64_t units) {
    std::string pair;
    AppendVarint(pair, 1);
    AppendVarint(pair, first);
    AppendVarint(pair, units);
    Decoder from(pair);
    return DecodeExtents(from);
  };
  EXPECT_TRUE(decode_pair(5, 1).has_value());
  EXPECT_FALSE(decode_pair(5, 0).has_value());
  EXPECT_FALSE(decode_pair(uint64_t{1} << 32, 1).has_value());
  EXPECT_FALSE(decode_pair(0xffffffff, 2).has_value());
  EXPECT_FALSE(decode_pair(0, uint64_t{1} << 32).has_value());
  EXPECT_FALSE(decode_pair(1, ~uint64_t{0}).has_value());
}

TEST(ExtentTest, PieceAtFindsThePlaceOfAPosition) {
  const std::vector<Extent> extents{{10, 1}, {5, 2}};
  EXPECT_EQ(PieceAt(extents, 100)->offset.value, 10 * kExtentUnitBytes + 100);
  EXPECT_EQ(PieceAt(extents, 100)->bytes, kExtentUnitBytes - 100);
  EXPECT_EQ(PieceAt(extents, kExtentUnitBytes)->offset.value, 5 * kExtentUnitBytes);
  EXPECT_EQ(PieceAt(extents, kExtentUnitBytes)->bytes, 2 * kExtentUnitBytes);
  EXPECT_FALSE(PieceAt(extents, 3 * kExtentUnitBytes).has_value());
}

}  // namespace
}  // namespace varve
