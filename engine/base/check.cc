#include "engine/base/check.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace varve {

void CheckFailed(std::string_view what, const char* file, int line, const char* function) {
  fmt::print(stderr, "varve: check failed: {} ({}:{}, {})\n", what, file, line, function);
  std::fflush(stderr);
  std::abort();
}

}  // namespace varve
