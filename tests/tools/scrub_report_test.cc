#include "tools/scrub_report.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

TEST(ScrubReport, ComesBackAsItWas) {
  ScrubReport report;
  report.state = ScrubState::kFailed;
  report.run = 3;
  report.done_bytes = 4096;
  report.total_bytes = 8192;
  report.error = "no such\ndevice";
  report.AddProblem("table 7 offset 3: block checksum differs");
  report.AddDamaged("/a b\nc", "bytes 0 to 4095");
  const std::optional<ScrubReport> back = DecodeScrubReport(EncodeScrubReport(report));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->state, ScrubState::kFailed);
  EXPECT_EQ(back->run, 3U);
  EXPECT_EQ(back->done_bytes, 4096U);
  EXPECT_EQ(back->total_bytes, 8192U);
  EXPECT_EQ(back->problems, 1U);
  EXPECT_EQ(back->error, "no such\\ndevice");
  EXPECT_EQ(back->problem_lines, report.problem_lines);
  EXPECT_EQ(back->damaged_lines, std::vector<std::string>{"/a b\\nc: bytes 0 to 4095"});
}

TEST(ScrubReport, StaysSmallEnoughForAnAttributeAndKeepsRoomForNames) {
  ScrubReport report;
  for (int i = 0; i < 10'000; ++i) {
    report.AddProblem("table 1 offset " + std::to_string(i) + ": block checksum differs");
  }
  const size_t problems = report.problem_lines.size();
  for (int i = 0; i < 10'000; ++i) {
    report.AddDamaged("/some/path/" + std::to_string(i), "bytes 0 to 4095");
  }
  EXPECT_GT(problems, 100U);
  EXPECT_GT(report.damaged_lines.size(), 100U);
  EXPECT_EQ(report.problems, 10'000U);
  EXPECT_EQ(report.lines_left_out, 20'000 - problems - report.damaged_lines.size());
  EXPECT_LT(EncodeScrubReport(report).size(), 64U * 1024);
}

TEST(ScrubReport, WhatIsNoneIsRefused) {
  EXPECT_FALSE(DecodeScrubReport("").has_value());
  EXPECT_FALSE(DecodeScrubReport("{}").has_value());
  EXPECT_FALSE(DecodeScrubReport("state dancing\n").has_value());
  EXPECT_FALSE(DecodeScrubReport("state running\nbytes some\n").has_value());
}

}  // namespace
}  // namespace varve
