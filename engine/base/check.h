// Invariants of our own state, checked in release builds too: a failed check ends the process before it can
// write a wrong byte. Never for bytes that come from a device, the kernel or a user: those get an Error.
#pragma once

#include <string_view>

namespace varve {

[[noreturn]] void CheckFailed(std::string_view what, const char* file, int line, const char* function);

// Ends the process with `what` and the caller's place on standard error unless `holds`.
// (The builtins are what std::source_location is made of; clang 14 has them, but not that class.)
inline void Check(bool holds, std::string_view what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
  if (!holds) [[unlikely]] {
    CheckFailed(what, file, line, function);
  }
}

}  // namespace varve
