// What libFuzzer calls. VARVE_FUZZ_TARGET names the target; VARVE_FUZZ_SEEDS names a folder into which its
// seeds are written first.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace {

const varve::fuzz::FuzzTarget* target = nullptr;

void WriteSeeds(const std::string& folder) {
  size_t number = 0;
  for (const std::string& seed : target->seeds()) {
    std::ofstream(folder + "/seed" + std::to_string(number++), std::ios::binary) << seed;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("VARVE_FUZZ_TARGET");
  target = varve::fuzz::FindTarget(name == nullptr ? "" : name);
  if (target == nullptr) {
    std::fprintf(stderr, "VARVE_FUZZ_TARGET must be one of:");
    for (const varve::fuzz::FuzzTarget& known : varve::fuzz::AllTargets()) {
      std::fprintf(stderr, " %s", std::string(known.name).c_str());
    }
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  if (const char* const folder = std::getenv("VARVE_FUZZ_SEEDS")) {
    WriteSeeds(folder);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target->run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
