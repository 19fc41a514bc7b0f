#include "engine/base/check.h"

#include <fmt/core.h>
#include <syslog.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace varve {

void CheckFailed(std::string_view what, const char* file, int line, const char* function) {
  const std::string message = fmt::format("check failed: {} ({}:{}, {})", what, file, line, function);
  fmt::print(stderr, "varve: {}\n", message);
  std::fflush(stderr);
  // A daemon has no terminal: the last words must be found all the same.
  syslog(LOG_CRIT | LOG_DAEMON, "%s", message.c_str());
  std::abort();
}

}  // namespace varve
