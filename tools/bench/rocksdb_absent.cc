// In place of rocksdb_engine.cc where librocksdb is not installed.
#include "tools/bench/engine.h"

namespace varve {

std::unique_ptr<Engine> MakeRocksdbEngine(const EngineSettings&) {
  return nullptr;
}

}  // namespace varve
