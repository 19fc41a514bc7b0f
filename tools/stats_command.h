// varve stats DEVICE|DIR: the figures of a store, mounted or not.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddStatsCommand(CLI::App& app, int& exit_code);

}  // namespace varve
