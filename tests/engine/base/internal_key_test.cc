#include "engine/base/internal_key.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

std::string Key(std::string_view user_key, uint64_t sequence, RecordKind kind = RecordKind::kValue) {
  std::string key;
  AppendInternalKey(key, user_key, SequenceNumber(sequence), kind);
  return key;
}

TEST(InternalKey, NewestVersionOfAKeyComesFirst) {
  EXPECT_LT(CompareInternalKeys(Key("a", 9), Key("a", 8)), 0);
  EXPECT_GT(CompareInternalKeys(Key("a", 8), Key("a", 9)), 0);
  EXPECT_EQ(CompareInternalKeys(Key("a", 8), Key("a", 8)), 0);
}

TEST(InternalKey, UserKeysDecideBeforeSequenceNumbers) {
  EXPECT_LT(CompareInternalKeys(Key("a", 1), Key("b", 9)), 0);
  // A key that is a prefix of another sorts first, whatever bytes its trailer has.
  EXPECT_LT(CompareInternalKeys(Key("a", uint64_t{0xff} << 40), Key(std::string("a\0", 2), 1)), 0);
}

TEST(InternalKey, SeekKeyStandsBeforeTheVersionOfItsSnapshotAndAfterNewerOnes) {
  EXPECT_LE(CompareInternalKeys(SeekKey("k", SequenceNumber(5)), Key("k", 5)), 0);
  EXPECT_LE(CompareInternalKeys(SeekKey("k", SequenceNumber(5)), Key("k", 5, RecordKind::kTombstone)), 0);
  EXPECT_GT(CompareInternalKeys(SeekKey("k", SequenceNumber(5)), Key("k", 6)), 0);
}

TEST(InternalKey, PartsComeBack) {
  const std::string key = Key("user", 0x1234567890, RecordKind::kTombstone);
  EXPECT_EQ(UserKeyOf(key), "user");
  EXPECT_EQ(SequenceOf(key), SequenceNumber(0x1234567890));
  EXPECT_EQ(KindOf(key), RecordKind::kTombstone);
  EXPECT_EQ(SequenceOf(Key("", kSequenceNumberMax.value)), kSequenceNumberMax);
}

}  // namespace
}  // namespace varve
