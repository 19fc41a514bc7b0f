#include "tools/report.h"

#include <fmt/core.h>

#include <cstdio>

namespace varve {

std::string NextStep(const Error& error, std::string_view device) {
  switch (error.code()) {
    case ErrorCode::kCorruption:
      return fmt::format("see what is damaged with: varve fsck {}", device);
    case ErrorCode::kNoSpace:
      return fmt::format("make room with: varve rm {} KEY", device);
    case ErrorCode::kUnsupported:
      return "it may have been made by a newer varve: use that version";
    case ErrorCode::kDeviceError:
      return "look for the device's own messages with: dmesg";
    default:
      return {};
  }
}

void PrintFailure(std::string_view command, std::string_view device, std::string_view subject,
                  const Error& error) {
  // Messages about a device name it already.
  if (error.message().starts_with(subject)) {
    PrintComplaint(command, error.message());
  } else {
    PrintComplaint(command, fmt::format("{}: {}", subject, error.message()));
  }
  const std::string next_step = NextStep(error, device);
  if (!next_step.empty()) {
    fmt::print(stderr, "  {}\n", next_step);
  }
}

void PrintComplaint(std::string_view command, std::string_view message) {
  fmt::print(stderr, "varve {}: {}\n", command, message);
}

void StandardErrorLogger::Log(LogLevel level, std::string_view message) {
  if (level >= LogLevel::kWarning) {
    fmt::print(stderr, "{}: {}\n", level == LogLevel::kError ? "error" : "warning", message);
  }
}

}  // namespace varve
