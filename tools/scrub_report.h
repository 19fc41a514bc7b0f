// How a scrub goes, as the daemon tells it and `varve scrub` reads it: lines of a word, a blank and the rest.
//
//   state never|running|finished|stopped|failed    failed: "error MESSAGE" follows
//   run N                                          counts the scrubs of this mount
//   bytes DONE TOTAL
//   problems N                                     all of them; the first ones each have a line:
//   problem WHAT
//   damaged PATH: PART                             when the walk is over
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace varve {

enum class ScrubState : uint8_t { kNever, kRunning, kFinished, kStopped, kFailed };

struct ScrubReport {
  ScrubState state = ScrubState::kNever;
  uint64_t run = 0;
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t problems = 0;
  std::string error;
  // Escaped: one line each.
  std::vector<std::string> problem_lines;
  std::vector<std::string> damaged_lines;
  // That found no place.
  uint64_t lines_left_out = 0;

  // Adds an escaped line, while the whole stays small enough for an attribute.
  void AddProblem(std::string_view what);
  void AddDamaged(std::string_view path, std::string_view part);

 private:
  void Add(std::vector<std::string>& lines, std::string_view text);
  size_t line_bytes_ = 0;
};

std::string EncodeScrubReport(const ScrubReport& report);
// nullopt: no report.
std::optional<ScrubReport> DecodeScrubReport(std::string_view text);

}  // namespace varve
