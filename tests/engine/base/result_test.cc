#include "engine/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace varve {
namespace {

TEST(Result, ErrorSaysItsKindAndItsCause) {
  const Result<int> result = Corruption("block 7: checksum differs");
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(result.Is(ErrorCode::kCorruption));
  EXPECT_EQ(result.ToString(), "corruption: block 7: checksum differs");
}

TEST(Result, HoldsValuesThatOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 3);
}

TEST(Result, StatusKeepsItsErrorWhenCopied) {
  const Status failed = NoSpace("full");
  const Status copy = failed;  // NOLINT: the copy is what is tested
  EXPECT_TRUE(copy.Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(failed.Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(OkStatus().ok());
}

TEST(Result, EveryCodeHasANameOfItsOwn) {
  for (int code = 1; code <= static_cast<int>(ErrorCode::kStale); code++) {
    EXPECT_NE(ErrorCodeName(static_cast<ErrorCode>(code)), "unknown error") << code;
    for (int other = 1; other < code; other++) {
      EXPECT_NE(ErrorCodeName(static_cast<ErrorCode>(code)), ErrorCodeName(static_cast<ErrorCode>(other)));
    }
  }
}

TEST(ResultDeathTest, ValueOfAnErrorEndsTheProcessWithTheError) {
  const Result<int> result = NotFound("no such key");
  EXPECT_DEATH((void)result.value(), "no such key");
}

}  // namespace
}  // namespace varve
