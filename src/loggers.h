// Where a daemon's messages go.
#pragma once

#include <string_view>

#include "engine/base/logger.h"

namespace varve {

// Lines on standard error: "varve: …".
class TerminalLogger final : public Logger {
 public:
  void Log(LogLevel level, std::string_view message) override;
};

// syslog(3), facility daemon, under the name "varve". At most one at a time.
class SyslogLogger final : public Logger {
 public:
  SyslogLogger();
  ~SyslogLogger() override;
  void Log(LogLevel level, std::string_view message) override;
};

}  // namespace varve
