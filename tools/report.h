// How every command tells what went wrong, and what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/logger.h"
#include "engine/base/result.h"

namespace varve {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// What a person can do about `error` on `device`; empty when there is nothing to say beyond the message.
std::string NextStep(const Error& error, std::string_view device);

// "varve COMMAND: SUBJECT: message" and the next step, to standard error. `subject` is a key, or the device.
void PrintFailure(std::string_view command, std::string_view device, std::string_view subject,
                  const Error& error);
// "varve COMMAND: message" to standard error.
void PrintComplaint(std::string_view command, std::string_view message);

// Warnings and errors of the engine, to standard error.
class StandardErrorLogger final : public Logger {
 public:
  void Log(LogLevel level, std::string_view message) override;
};

}  // namespace varve
