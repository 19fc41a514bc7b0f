// Runs side by side: what the rounds of several engines say together.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace varve {

// One table a phase: a row a figure, a column an engine; each figure is the median over the rounds, and
// behind it the median of its ratios to varve's of the same round, or to the first engine's where varve
// itself did not run. `runs` as in the JSON document.
std::string ComparisonTables(const nlohmann::json& runs);

}  // namespace varve
