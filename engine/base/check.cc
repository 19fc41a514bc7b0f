#include "engine/base/check.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace varve {

void CheckFailed(std::string_view what, const std::source_location& where) {
  fmt::print(stderr, "varve: check failed: {} ({}:{}, {})\n", what, where.file_name(), where.line(),
             where.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace varve
