#include "tools/device_content.h"

#include <fmt/core.h>

#include <optional>
#include <string>

#include "engine/space/foreign_content.h"
#include "engine/space/superblock_store.h"

namespace varve {

namespace {

Status CheckNothingForeign(const std::string& path, std::string_view own_label) {
  const Result<std::optional<ForeignContent>> found = ProbeForeignContent(path);
  if (!found.ok()) {
    return found.error();
  }
  if (!found->has_value() || (!own_label.empty() && (*found)->label == own_label)) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format("holds {}; to overwrite it, add --force", (*found)->Describe()));
}

// libblkid does not know varve.
Status CheckNoStore(OpenedDevice& opened, std::string_view own_label) {
  SuperblockStore superblocks(opened.device());
  const Result<Superblock> present = opened.Run(superblocks.Load());
  if (present.ok()) {
    const std::string& label = present->label;
    if (!own_label.empty() && label == own_label) {
      return OkStatus();
    }
    return InvalidArgument(fmt::format("holds a varve store{}; to overwrite it, add --force",
                                       label.empty() ? "" : fmt::format(" labelled \"{}\"", label)));
  }
  if (present.Is(ErrorCode::kDeviceError)) {
    return present.error();
  }
  if (present.Is(ErrorCode::kCorruption) || present.Is(ErrorCode::kUnsupported)) {
    return InvalidArgument(
        fmt::format("holds what seems to be a varve store ({}); to overwrite it, add --force",
                    present.error().message()));
  }
  return OkStatus();
}

}  // namespace

Status CheckHoldsNothing(OpenedDevice& opened, std::string_view own_label) {
  if (Status foreign = CheckNothingForeign(opened.device().name(), own_label); !foreign.ok()) {
    return foreign;
  }
  return CheckNoStore(opened, own_label);
}

}  // namespace varve
