#include "tools/techniques.h"

#include <fmt/core.h>

#include <algorithm>

namespace varve {

Result<Techniques> ParseTechniques(std::string_view text) {
  Techniques chosen = Techniques::None();
  size_t from = 0;
  while (from <= text.size() && text != "none") {
    const size_t to = std::min(text.find_first_of(":+,", from), text.size());
    const std::string_view name = text.substr(from, to - from);
    const auto* const found =
        std::find_if(kTechniqueNames.begin(), kTechniqueNames.end(),
                     [name](const TechniqueName& technique) { return technique.name == name; });
    if (found == kTechniqueNames.end()) {
      return InvalidArgument(fmt::format(
          "techniques={}: \"{}\" is none of block:append:sstlog:buffer:delete:monkey:carry:warmup, nor none",
          text, name));
    }
    chosen.*(found->flag) = true;
    from = to + 1;
  }
  return chosen;
}

}  // namespace varve
