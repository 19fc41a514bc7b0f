#include "fs/namespace/namespace_format.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/base/prng.h"

namespace varve {
namespace {

Inode SampleFile() {
  Inode inode;
  inode.number = InodeNumber(4711);
  inode.mode = S_IFREG | 0640;
  inode.uid = 1000;
  inode.gid = 100;
  inode.size = 5;
  inode.mtime_nanos = 1'700'000'000'123'456'789;
  inode.atime_nanos = inode.ctime_nanos = inode.btime_nanos = inode.mtime_nanos;
  return inode;
}

void ExpectEqual(const Inode& a, const Inode& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.nlink, b.nlink);
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.gid, b.gid);
  EXPECT_EQ(a.rdev, b.rdev);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.atime_nanos, b.atime_nanos);
  EXPECT_EQ(a.mtime_nanos, b.mtime_nanos);
  EXPECT_EQ(a.ctime_nanos, b.ctime_nanos);
  EXPECT_EQ(a.btime_nanos, b.btime_nanos);
  EXPECT_EQ(a.chunked, b.chunked);
  EXPECT_EQ(a.chunk_count, b.chunk_count);
  EXPECT_EQ(a.has_xattrs, b.has_xattrs);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.entry_count, b.entry_count);
  EXPECT_EQ(a.subdirectory_count, b.subdirectory_count);
}

TEST(NamespaceFormat, EveryFieldOfAnInodeComesBack) {
  Inode inode = SampleFile();
  inode.nlink = 3;
  inode.atime_nanos = std::numeric_limits<int64_t>::min();
  inode.ctime_nanos = std::numeric_limits<int64_t>::max();
  inode.btime_nanos = -1;
  inode.size = uint64_t{1} << 62;
  inode.chunked = true;
  inode.chunk_count = 77;
  inode.has_xattrs = true;
  std::string value;
  AppendInode(value, inode, {});
  const Result<InodeRecord> decoded = DecodeInode(value);
  ASSERT_TRUE(decoded.ok()) << decoded.ToString();
  ExpectEqual(decoded->inode, inode);
}

TEST(NamespaceFormat, ADirectoryKeepsItsParentAndCounts) {
  Inode inode = SampleFile();
  inode.mode = S_IFDIR | 01777;
  inode.size = 0;
  inode.parent = kRootInode;
  inode.entry_count = 1'000'000;
  inode.subdirectory_count = 12;
  std::string value;
  AppendInode(value, inode, {});
  const Result<InodeRecord> decoded = DecodeInode(value);
  ASSERT_TRUE(decoded.ok());
  ExpectEqual(decoded->inode, inode);
}

TEST(NamespaceFormat, ASmallFileCostsFewBytesMoreThanItsContent) {
  std::string value;
  AppendEmbeddedDirent(value, SampleFile(), "hello");
  EXPECT_LE(value.size(), 5u + 22u);
  const Result<DirentRecord> dirent = DecodeDirent(value);
  ASSERT_TRUE(dirent.ok());
  ASSERT_TRUE(dirent->embedded.has_value());
  EXPECT_EQ(dirent->embedded->content, "hello");
  const Result<DirentSummary> summary = DecodeDirentSummary(value);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->inode, InodeNumber(4711));
  EXPECT_EQ(summary->type, uint32_t{S_IFREG});
}

// A listing may see no more of a value than that.
TEST(NamespaceFormat, TheBeginningOfADirentIsItsSummary) {
  Inode longest = SampleFile();
  longest.number = InodeNumber(UINT64_MAX / 2);
  longest.nlink = 2;
  longest.rdev = 1;
  longest.has_xattrs = true;
  longest.chunked = true;
  longest.chunk_count = 1;
  longest.size = 8192;
  longest.atime_nanos = longest.ctime_nanos = longest.btime_nanos = longest.mtime_nanos + 1;
  for (const Inode& inode : {SampleFile(), longest}) {
    std::string value;
    AppendEmbeddedDirent(value, inode, inode.chunked ? "" : "hello");
    const Result<DirentSummary> summary =
        DecodeDirentSummary(std::string_view(value).substr(0, kDirentSummaryBytesMax));
    ASSERT_TRUE(summary.ok()) << summary.ToString();
    EXPECT_EQ(summary->inode, inode.number);
    EXPECT_EQ(summary->type, uint32_t{S_IFREG});
  }
  std::string reference;
  AppendReferenceDirent(reference, longest.number, S_IFREG);
  EXPECT_LE(reference.size(), kDirentSummaryBytesMax);
}

TEST(NamespaceFormat, NoPrefixOfARecordDecodes) {
  std::string value;
  AppendEmbeddedDirent(value, SampleFile(), "hello");
  for (size_t length = 0; length < value.size(); ++length) {
    EXPECT_FALSE(DecodeDirent(std::string_view(value).substr(0, length)).ok()) << length;
  }
}

TEST(NamespaceFormat, WhatALaterVersionWroteIsUnsupportedAndNotCorrupt) {
  std::string value;
  AppendInode(value, SampleFile(), "hello");
  std::string later = value;
  later[0] = 2;
  EXPECT_TRUE(DecodeInode(later).Is(ErrorCode::kUnsupported));
  // The field mask is the varint after the version.
  std::string with_field = value;
  with_field.replace(1, 1, std::string("\x80\x02", 2));
  EXPECT_TRUE(DecodeInode(with_field).Is(ErrorCode::kUnsupported));
}

TEST(NamespaceFormat, InlineContentOfTheWrongSizeIsCorruption) {
  std::string value;
  AppendInode(value, SampleFile(), "hell");
  EXPECT_TRUE(DecodeInode(value).Is(ErrorCode::kCorruption));
}

TEST(NamespaceFormat, AnEmbeddedDirectoryIsCorruption) {
  Inode inode = SampleFile();
  inode.mode = S_IFDIR | 0755;
  inode.size = 0;
  std::string value;
  AppendEmbeddedDirent(value, inode, {});
  EXPECT_TRUE(DecodeDirent(value).Is(ErrorCode::kCorruption));
}

TEST(NamespaceFormat, RandomBytesNeverDecodeIntoSomethingInconsistent) {
  Prng prng(7);
  std::string seed;
  AppendEmbeddedDirent(seed, SampleFile(), "hello");
  for (int i = 0; i < 200'000; ++i) {
    std::string value = seed;
    for (uint64_t flips = 1 + prng.Below(4); flips > 0; --flips) {
      value[prng.Below(value.size())] = static_cast<char>(prng.Next());
    }
    const Result<DirentRecord> dirent = DecodeDirent(value);
    if (dirent.ok() && dirent->embedded && dirent->embedded->inode.is_regular() &&
        !dirent->embedded->inode.chunked) {
      EXPECT_EQ(dirent->embedded->content.size(), dirent->embedded->inode.size);
    }
    (void)DecodeDirentSummary(value).ok();
    (void)DecodeOrphan(value).ok();
    (void)DecodeAccess(value).ok();
    (void)ParseNamespaceKey(value);
  }
}

TEST(NamespaceFormat, OrphansOfBothFormsComeBack) {
  std::string file;
  AppendOrphanFile(file, SampleFile(), "hello");
  const Result<OrphanRecord> orphan = DecodeOrphan(file);
  ASSERT_TRUE(orphan.ok() && orphan->file.has_value());
  EXPECT_EQ(orphan->file->content, "hello");
  std::string truncation;
  AppendOrphanTruncation(truncation, 3, 900);
  const Result<OrphanRecord> stale = DecodeOrphan(truncation);
  ASSERT_TRUE(stale.ok() && !stale->file.has_value());
  EXPECT_EQ(stale->stale_from, 3u);
  EXPECT_EQ(stale->stale_end, 900u);
  std::string reversed;
  AppendOrphanTruncation(reversed, 900, 3);
  EXPECT_TRUE(DecodeOrphan(reversed).Is(ErrorCode::kCorruption));
}

TEST(NamespaceFormat, TimesOfAccessesComeBack) {
  std::string value;
  AppendAccess(value, {-5, InodeNumber(300), "name"});
  const Result<AccessRecord> access = DecodeAccess(value);
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->atime_nanos, -5);
  EXPECT_EQ(access->parent, InodeNumber(300));
  EXPECT_EQ(access->name, "name");
  for (size_t bytes = 0; bytes <= value.size() - 4; ++bytes) {
    EXPECT_TRUE(DecodeAccess(value.substr(0, bytes)).Is(ErrorCode::kCorruption)) << bytes;
  }
  EXPECT_TRUE(DecodeAccess(value + "/").Is(ErrorCode::kCorruption));
  value[0] = 2;
  EXPECT_TRUE(DecodeAccess(value).Is(ErrorCode::kUnsupported));
  const std::optional<ParsedKey> key = ParseNamespaceKey(NamespaceKey::Access(InodeNumber(300)));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->inode, InodeNumber(300));
}

TEST(NamespaceFormat, KeysSortByParentThenNameAndByChunkIndex) {
  EXPECT_LT(NamespaceKey::Dirent(InodeNumber(1), "z").view(),
            NamespaceKey::Dirent(InodeNumber(2), "a").view());
  EXPECT_LT(NamespaceKey::Dirent(InodeNumber(255), "z").view(),
            NamespaceKey::Dirent(InodeNumber(256), "a").view());
  EXPECT_LT(NamespaceKey::Chunk(InodeNumber(9), 255).view(), NamespaceKey::Chunk(InodeNumber(9), 256).view());
  EXPECT_LT(NamespaceKey::Chunk(InodeNumber(9), UINT64_MAX).view(),
            NamespaceKey::End(NamespaceKind::kChunk, InodeNumber(9)).view());
  const NamespaceKey dirent = NamespaceKey::Dirent(InodeNumber(300), "name");
  const std::optional<ParsedKey> parsed = ParseNamespaceKey(dirent);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->inode, InodeNumber(300));
  EXPECT_EQ(parsed->name, "name");
}

TEST(NamespaceFormat, NamesThatNoFileMayHaveAreRefused) {
  for (const std::string_view bad : {std::string_view(""), std::string_view("."), std::string_view(".."),
                                     std::string_view("a/b"), std::string_view("a\0b", 3)}) {
    EXPECT_TRUE(CheckName(bad).Is(ErrorCode::kInvalidArgument)) << bad;
  }
  EXPECT_TRUE(CheckName(std::string(256, 'x')).Is(ErrorCode::kNameTooLong));
  EXPECT_TRUE(CheckName(std::string(255, 'x')).ok());
  EXPECT_TRUE(CheckName("...").ok());
  for (size_t length = 1; length <= 20; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string name(length, at % 2 == 0 ? '0' : '.' + char(2));
      name[at] = '\x81';
      EXPECT_TRUE(IsName(name)) << length << " " << at;
      name[at] = '/';
      EXPECT_FALSE(IsName(name)) << length << " " << at;
      name[at] = '\0';
      EXPECT_FALSE(IsName(name)) << length << " " << at;
    }
  }
}

TEST(NamespaceFormat, FormatParametersOutsideTheLimitsAreRefused) {
  for (const FormatParameters bad : {FormatParameters{8192, 3000}, FormatParameters{8192, 2048},
                                     FormatParameters{8192, 512 * 1024}, FormatParameters{100'000, 4096}}) {
    EXPECT_FALSE(ValidateFormat(bad).ok());
    std::string value;
    AppendFormat(value, bad);
    EXPECT_TRUE(DecodeFormat(value).Is(ErrorCode::kCorruption));
  }
}

}  // namespace
}  // namespace varve
