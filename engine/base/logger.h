// Where messages for the operator go: the terminal, syslog, or a test's buffer.
#pragma once

#include <string_view>

namespace varve {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class Logger {
 public:
  virtual ~Logger() = default;
  // One line, without a newline. Any thread; must not block for long.
  virtual void Log(LogLevel level, std::string_view message) = 0;
};

class NullLogger final : public Logger {
 public:
  void Log(LogLevel, std::string_view) override {}
};

}  // namespace varve
