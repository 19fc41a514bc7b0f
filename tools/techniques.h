// What people call the techniques in options.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/store/store.h"

namespace varve {

struct TechniqueName {
  std::string_view name;
  bool Techniques::*flag;
};

inline constexpr std::array<TechniqueName, 8> kTechniqueNames = {{
    {"block", &Techniques::block_merge},
    {"append", &Techniques::append_merge},
    {"sstlog", &Techniques::sst_log},
    {"buffer", &Techniques::compaction_buffer},
    {"delete", &Techniques::delete_aware},
    {"monkey", &Techniques::monkey},
    {"carry", &Techniques::carry},
    {"warmup", &Techniques::warm_up},
}};

// "block:append", or "none". Names are separated by ':' or '+', since ',' separates options (a quoted comma
// works too). kInvalidArgument: a name is not known.
Result<Techniques> ParseTechniques(std::string_view text);

}  // namespace varve
