#include "tools/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

class HandClock final : public Clock {
 public:
  uint64_t MonotonicNanos() const override { return nanos; }
  int64_t WallNanos() const override { return 0; }
  uint64_t nanos = 5'000'000'000;
};

struct Shown {
  std::string text;
  Progress::Write Writer() {
    return [this](std::string_view more) { text.append(more); };
  }
};

TEST(Progress, QuickWorkShowsNothing) {
  HandClock clock;
  Shown shown;
  Progress progress("checking", true, clock, shown.Writer());
  clock.nanos += 400'000'000;
  progress.Update(10, 10);
  progress.Finish();
  EXPECT_EQ(shown.text, "");
}

TEST(Progress, TerminalGetsABarThatIsTakenAwayAtTheEnd) {
  HandClock clock;
  Shown shown;
  {
    Progress progress("checking", true, clock, shown.Writer());
    clock.nanos += 1'000'000'000;
    progress.Update(512, 1024);
    EXPECT_EQ(shown.text,
              "\rchecking [###############...............]  50%  512 B of 1.00 KiB  512 B/s\x1b[K");
    shown.text.clear();
  }
  EXPECT_EQ(shown.text, "\r\x1b[K");
}

TEST(Progress, TerminalIsRedrawnAtMostTenTimesASecond) {
  HandClock clock;
  Shown shown;
  Progress progress("checking", true, clock, shown.Writer());
  clock.nanos += 1'000'000'000;
  progress.Update(1, 100);
  const size_t once = shown.text.size();
  clock.nanos += 50'000'000;
  progress.Update(2, 100);
  EXPECT_EQ(shown.text.size(), once);
  clock.nanos += 50'000'000;
  progress.Update(3, 100);
  EXPECT_GT(shown.text.size(), once);
}

TEST(Progress, LogsGetALineEveryTenSecondsWithoutControlCharacters) {
  HandClock clock;
  Shown shown;
  Progress progress("checking", false, clock, shown.Writer());
  clock.nanos += 9'000'000'000;
  progress.Update(1, 4);
  EXPECT_EQ(shown.text, "");
  clock.nanos += 1'000'000'000;
  progress.Update(1024, 4096);
  progress.Finish();
  EXPECT_EQ(shown.text, "checking:  25%  1.00 KiB of 4.00 KiB  102 B/s\n");
}

TEST(Progress, AnUnknownTotalIsNoDivisionByZero) {
  HandClock clock;
  Shown shown;
  Progress progress("checking", false, clock, shown.Writer());
  clock.nanos += 10'000'000'000;
  progress.Update(0, 0);
  EXPECT_EQ(shown.text, "checking:   0%  0 B of 0 B  0 B/s\n");
}

}  // namespace
}  // namespace varve
