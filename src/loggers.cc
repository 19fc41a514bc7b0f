#include "src/loggers.h"

#include <fmt/format.h>
#include <syslog.h>

#include <cstdio>
#include <string>

namespace varve {

namespace {

int PriorityOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return LOG_DEBUG;
    case LogLevel::kInfo:
      return LOG_INFO;
    case LogLevel::kWarning:
      return LOG_WARNING;
    case LogLevel::kError:
      return LOG_ERR;
  }
  return LOG_ERR;
}

std::string_view PrefixOf(LogLevel level) {
  return level == LogLevel::kError ? "error: " : (level == LogLevel::kWarning ? "warning: " : "");
}

}  // namespace

void TerminalLogger::Log(LogLevel level, std::string_view message) {
  const std::string line = fmt::format("varve: {}{}\n", PrefixOf(level), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

SyslogLogger::SyslogLogger() {
  openlog("varve", LOG_PID, LOG_DAEMON);
}

SyslogLogger::~SyslogLogger() {
  closelog();
}

void SyslogLogger::Log(LogLevel level, std::string_view message) {
  syslog(PriorityOf(level), "%.*s", static_cast<int>(message.size()), message.data());
}

}  // namespace varve
