#include "tools/scrub_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "tools/streams.h"

namespace varve {

namespace {

// An attribute holds 64 KiB (xattr(7)).
constexpr size_t kLineBytesMax = 48 * 1024;

constexpr std::array<std::string_view, 5> kStates = {"never", "running", "finished", "stopped", "failed"};

// Takes the first word off `line`.
std::string_view TakeWord(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool TakeNumber(std::string_view& line, uint64_t& into) {
  const std::string_view word = TakeWord(line);
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), into);
  return parsed.ec == std::errc() && parsed.ptr == word.data() + word.size();
}

bool ParseState(std::string_view word, ScrubState& into) {
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == word) {
      into = static_cast<ScrubState>(i);
      return true;
    }
  }
  return false;
}

bool ParseLine(std::string_view line, ScrubReport& report) {
  const std::string_view word = TakeWord(line);
  if (word == "state") {
    return ParseState(line, report.state);
  }
  if (word == "run") {
    return TakeNumber(line, report.run);
  }
  if (word == "bytes") {
    return TakeNumber(line, report.done_bytes) && TakeNumber(line, report.total_bytes);
  }
  if (word == "problems") {
    return TakeNumber(line, report.problems);
  }
  if (word == "left-out") {
    return TakeNumber(line, report.lines_left_out);
  }
  if (word == "error") {
    report.error = line;
  } else if (word == "problem") {
    report.problem_lines.emplace_back(line);
  } else if (word == "damaged") {
    report.damaged_lines.emplace_back(line);
  }
  // A later version may say more.
  return true;
}

}  // namespace

void ScrubReport::Add(std::vector<std::string>& lines, std::string_view text) {
  std::string line;
  AppendEscaped(line, text);
  if (line_bytes_ + line.size() > kLineBytesMax) {
    ++lines_left_out;
    return;
  }
  line_bytes_ += line.size() + sizeof("problem \n");
  lines.push_back(std::move(line));
}

void ScrubReport::AddProblem(std::string_view what) {
  ++problems;
  // Half of the room is for names.
  if (line_bytes_ > kLineBytesMax / 2) {
    ++lines_left_out;
  } else {
    Add(problem_lines, what);
  }
}

void ScrubReport::AddDamaged(std::string_view path, std::string_view part) {
  Add(damaged_lines, fmt::format("{}: {}", path, part));
}

std::string EncodeScrubReport(const ScrubReport& report) {
  std::string text = fmt::format("state {}\nrun {}\nbytes {} {}\nproblems {}\nleft-out {}\n",
                                 kStates[static_cast<size_t>(report.state)], report.run, report.done_bytes,
                                 report.total_bytes, report.problems, report.lines_left_out);
  if (!report.error.empty()) {
    text += "error ";
    AppendEscaped(text, report.error);
    text += '\n';
  }
  for (const std::string& line : report.problem_lines) {
    text += fmt::format("problem {}\n", line);
  }
  for (const std::string& line : report.damaged_lines) {
    text += fmt::format("damaged {}\n", line);
  }
  return text;
}

std::optional<ScrubReport> DecodeScrubReport(std::string_view text) {
  ScrubReport report;
  if (!text.starts_with("state ")) {
    return std::nullopt;
  }
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!ParseLine(text.substr(0, end), report)) {
      return std::nullopt;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return report;
}

}  // namespace varve
