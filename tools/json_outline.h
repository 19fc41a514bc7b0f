// A JSON document as indented lines for people: one member a line, sizes and times with their units.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace varve {

// Members whose name ends in _bytes or _nanos or that lie in an
// object whose name does, get a readable figure in place of the number. Arrays of plain
// values stay on one line. nullopt when `json` is no JSON document (or nested deeper than 64).
std::optional<std::string> OutlineOfJson(std::string_view json);

}  // namespace varve
