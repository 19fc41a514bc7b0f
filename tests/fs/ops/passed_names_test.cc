#include "fs/ops/passed_names.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace varve {
namespace {

std::string NameOf(uint64_t ordinal) {
  return fmt::format("{:020}", ordinal);
}

PassedNames Passed(uint64_t names) {
  PassedNames passed;
  for (uint64_t i = 0; i < names; ++i) {
    passed.Append(NameOf(i));
  }
  return passed;
}

TEST(PassedNames, EveryPlaceIsKnownWhileItsNameIsRemembered) {
  const PassedNames passed = Passed(3000);
  EXPECT_EQ(passed.Nearest(0).passed, 0u);
  EXPECT_EQ(passed.Nearest(0).last, "");
  for (const uint64_t place : {1u, 2u, 1024u, 1025u, 3000u}) {
    EXPECT_EQ(passed.Nearest(place).passed, place);
    EXPECT_EQ(passed.Nearest(place).last, NameOf(place - 1));
  }
  EXPECT_EQ(passed.Nearest(5000).passed, 3000u);
}

TEST(PassedNames, TooManyAreTrimmedToTheNewestAndEvery1024th) {
  PassedNames passed = Passed(50'000);
  passed.Trim(50'000);
  EXPECT_GT(passed.first(), 40'000u);
  EXPECT_EQ(passed.At(passed.first()), NameOf(passed.first()));
  EXPECT_EQ(passed.At(49'999), NameOf(49'999));
  EXPECT_EQ(passed.Nearest(50'000).last, NameOf(49'999));
  EXPECT_EQ(passed.Nearest(2'500).passed, 2'049u);
  EXPECT_EQ(passed.Nearest(2'500).last, NameOf(2'048));
}

TEST(PassedNames, NothingIsTrimmedThatMustBeKept) {
  PassedNames passed = Passed(50'000);
  passed.Trim(100);
  EXPECT_EQ(passed.first(), 100u);
  passed.Trim(50);
  EXPECT_EQ(passed.first(), 100u);
}

TEST(PassedNames, NumberingGoesOnFromAForgottenPlace) {
  PassedNames passed = Passed(50'000);
  passed.Forget(2'049);
  EXPECT_EQ(passed.end(), 2'049u);
  for (uint64_t i = 2'049; i < 4'000; ++i) {
    passed.Append(NameOf(i) + "b");
  }
  EXPECT_EQ(passed.Nearest(3'000).last, NameOf(2'999) + "b");
  EXPECT_EQ(passed.Nearest(2'049).last, NameOf(2'048));
  EXPECT_EQ(passed.Nearest(1'025).last, NameOf(1'024));
}

}  // namespace
}  // namespace varve
