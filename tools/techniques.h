// What people call the techniques in options.
#pragma once

#include <array>
#include <string_view>

#include "engine/store/store.h"

namespace varve {

struct TechniqueName {
  std::string_view name;
  bool Techniques::*flag;
};

inline constexpr std::array<TechniqueName, 6> kTechniqueNames = {{
    {"block", &Techniques::block_merge},
    {"append", &Techniques::append_merge},
    {"sstlog", &Techniques::sst_log},
    {"buffer", &Techniques::compaction_buffer},
    {"delete", &Techniques::delete_aware},
    {"monkey", &Techniques::monkey},
}};

}  // namespace varve
