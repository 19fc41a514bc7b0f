// varve ls DEVICE [KEY]: the names in a directory.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddLsCommand(CLI::App& app, int& exit_code);

}  // namespace varve
