// One line of `varve ls -l`.
#pragma once

#include <string>
#include <string_view>

#include "fs/ops/filesystem.h"

namespace varve {

// "drwxr-sr-x", as ls(1) shows st_mode.
std::string FormatMode(uint32_t mode);

// Mode, links, owner and group as numbers, size (or major, minor), local time, name: as `ls -ln` does.
std::string FormatListingLine(const Attributes& attributes, std::string_view name);

}  // namespace varve
