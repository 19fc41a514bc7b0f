// varve get DEVICE KEY: the value of a key to standard output.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddGetCommand(CLI::App& app, int& exit_code);

}  // namespace varve
