// Invariants of our own state, checked in release builds too: a failed check ends the process before it can
// write a wrong byte. Never for bytes that come from a device, the kernel or a user: those get an Error.
#pragma once

#include <source_location>
#include <string_view>

namespace varve {

[[noreturn]] void CheckFailed(std::string_view what, const std::source_location& where);

// Ends the process with `what` and the caller's place on standard error unless `holds`.
inline void Check(bool holds, std::string_view what,
                  const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]] {
    CheckFailed(what, where);
  }
}

}  // namespace varve
