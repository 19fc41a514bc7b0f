#include "tools/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/sizes.h"

namespace varve {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// Work that ends sooner shows nothing.
constexpr uint64_t kPatienceNanos = kSecond / 2;
constexpr uint64_t kRedrawNanos = kSecond / 10;
// Lines end up in logs.
constexpr uint64_t kLineNanos = 10 * kSecond;
constexpr size_t kBarWidth = 30;

std::string FormatAmount(uint64_t amount, ProgressUnit unit) {
  return unit == ProgressUnit::kBytes ? FormatSize(amount) : std::to_string(amount);
}

}  // namespace

Progress::Progress(std::string title, bool terminal, const Clock& clock, Write write, ProgressUnit unit)
    : title_(std::move(title)),
      terminal_(terminal),
      clock_(clock),
      write_(std::move(write)),
      unit_(unit),
      started_nanos_(clock.MonotonicNanos()),
      shown_nanos_(started_nanos_) {
}

Progress::~Progress() {
  Finish();
}

Progress Progress::OnStandardError(std::string title, const Clock& clock, ProgressUnit unit) {
  return Progress(
      std::move(title), isatty(STDERR_FILENO) == 1, clock,
      [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }, unit);
}

void Progress::Update(uint64_t done, uint64_t total) {
  const uint64_t now = clock_.MonotonicNanos();
  const uint64_t pause = terminal_ ? (shown_ ? kRedrawNanos : kPatienceNanos) : kLineNanos;
  if (now - shown_nanos_ < pause) {
    return;
  }
  shown_nanos_ = now;
  shown_ = true;
  const double share =
      total == 0 ? 0.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double seconds = static_cast<double>(now - started_nanos_) / static_cast<double>(kSecond);
  const auto rate = static_cast<uint64_t>(static_cast<double>(done) / std::max(seconds, 0.001));
  const std::string figures = fmt::format("{:3.0f}%  {} of {}  {}/s", share * 100, FormatAmount(done, unit_),
                                          FormatAmount(total, unit_), FormatAmount(rate, unit_));
  if (!terminal_) {
    write_(fmt::format("{}: {}\n", title_, figures));
    return;
  }
  const auto filled = static_cast<size_t>(share * kBarWidth);
  // \x1b[K clears what a longer line before left behind.
  write_(fmt::format("\r{} [{}{}] {}\x1b[K", title_, std::string(filled, '#'),
                     std::string(kBarWidth - filled, '.'), figures));
}

void Progress::Finish() {
  if (terminal_ && shown_) {
    write_("\r\x1b[K");
    shown_ = false;
  }
}

}  // namespace varve
