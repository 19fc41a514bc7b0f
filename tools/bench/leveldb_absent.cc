// In place of leveldb_engine.cc where libleveldb is not installed.
#include "tools/bench/engine.h"

namespace varve {

std::unique_ptr<Engine> MakeLeveldbEngine(const EngineSettings&) {
  return nullptr;
}

}  // namespace varve
