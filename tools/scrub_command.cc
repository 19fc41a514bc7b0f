#include "tools/scrub_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <string>

#include "engine/base/clock.h"
#include "fs/fuse/live_attributes.h"
#include "tools/fsck_report.h"
#include "tools/live_attribute.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/scrub_report.h"
#include "tools/sizes.h"

namespace varve {

namespace {

constexpr useconds_t kPollMicros = 100'000;

volatile std::sig_atomic_t interrupted = 0;

// What the daemon that serves `directory` answers.
Result<ScrubReport> Ask(const std::string& directory, std::string_view attribute) {
  const Result<std::string> text =
      ReadLiveAttribute(directory, attribute, "; one that is not mounted: varve fsck");
  if (!text.ok()) {
    return text.error();
  }
  const std::optional<ScrubReport> report = DecodeScrubReport(*text);
  return report ? Result<ScrubReport>(*report) : Unsupported("its daemon answers in another way");
}

int Fail(const std::string& directory, std::string_view message) {
  PrintComplaint("scrub", fmt::format("{}: {}", directory, message));
  return kFsckOperational;
}

// Follows the run until it is over.
Result<ScrubReport> Follow(const std::string& directory, ScrubReport report) {
  const SystemClock clock;
  Progress progress = Progress::OnStandardError("scrubbing", clock);
  const uint64_t run = report.run;
  bool asked_to_stop = false;
  while (report.state == ScrubState::kRunning && report.run == run) {
    const bool stop = interrupted != 0 && !asked_to_stop;
    asked_to_stop = asked_to_stop || stop;
    Result<ScrubReport> next = Ask(directory, stop ? kScrubStopAttribute : kScrubReportAttribute);
    if (!next.ok()) {
      return next;
    }
    report = std::move(*next);
    progress.Update(report.done_bytes, report.total_bytes);
    usleep(kPollMicros);
  }
  return report;
}

int Conclude(const std::string& directory, const ScrubReport& report) {
  for (const std::string& line : report.problem_lines) {
    fmt::print("{}\n", line);
  }
  if (!report.damaged_lines.empty()) {
    fmt::print("What cannot be read:\n");
  }
  for (const std::string& line : report.damaged_lines) {
    fmt::print("  {}\n", line);
  }
  if (report.lines_left_out != 0) {
    fmt::print("and {} more\n", report.lines_left_out);
  }
  const int damaged = report.problems != 0 ? kFsckDamaged : kFsckClean;
  if (report.state == ScrubState::kFailed) {
    return Fail(directory, report.error) | damaged;
  }
  if (report.state != ScrubState::kFinished) {
    return Fail(directory, "stopped before the end") | damaged;
  }
  fmt::print("{}: {} read, {}\n", directory, FormatSize(report.done_bytes),
             report.problems == 0
                 ? "clean"
                 : fmt::format("{} problem{}", report.problems, report.problems == 1 ? "" : "s"));
  return damaged;
}

int RunScrub(const std::string& directory) {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  Result<ScrubReport> report = Ask(directory, kScrubStartAttribute);
  if (report.ok()) {
    report = Follow(directory, *std::move(report));
  }
  return report.ok() ? Conclude(directory, *report) : Fail(directory, report.error().message());
}

}  // namespace

void AddScrubCommand(CLI::App& app, int& exit_code) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "scrub", "Read everything that a mounted store has on its device, and say what is damaged");
  command->add_option("DIR", *directory, "Where it is mounted")->required();
  command->footer(
      "The daemon reads in the background and gives way to all else: quickly while nobody uses the store, "
      "slowly while somebody does. Interrupting this command ends it. Exit codes, added up: 0 clean, 4 "
      "damaged, 8 it could not be finished, 16 wrong usage (fsck(8)).");
  command->callback([directory, &exit_code] { exit_code = RunScrub(*directory); });
}

}  // namespace varve
