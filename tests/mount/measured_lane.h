// What mounts for measuring share: a plain mount, and the transport of one of its reactors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "fs/fuse/connection.h"
#include "fs/fuse/dev_fuse_transport.h"
#include "fs/fuse/transport.h"
#include "fs/fuse/uring_transport.h"

namespace varve {

inline Result<std::unique_ptr<Connection>> MountToMeasure(const std::string& source,
                                                          const std::string& directory) {
  MountSpecification specification;
  specification.source = source;
  specification.directory = directory;
  specification.options = {"default_permissions", "allow_other"};
  return Connection::Mount(std::move(specification));
}

// Of reactor `number` of `places`. `kind`: uring; or /dev/fuse, where a request wakes "one" or "all".
inline std::unique_ptr<Transport> MakeTransport(int descriptor, uint16_t number, std::string_view kind,
                                                const std::shared_ptr<UringPlaces>& places) {
  if (kind != "uring") {
    return std::make_unique<DevFuseTransport>(descriptor, *places->reactors[number],
                                              kind == "all" ? DevFuseWaking::kAll : DevFuseWaking::kOne);
  }
  UringTransportOptions options;
  for (size_t queue = number; queue < FuseUringQueues(); queue += places->reactors.size()) {
    options.queues.push_back(static_cast<uint16_t>(queue));
  }
  options.serves_forgets = number == 0;
  return std::make_unique<UringTransport>(descriptor, std::move(options), places, number);
}

}  // namespace varve
