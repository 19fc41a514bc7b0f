// varve rm DEVICE KEY...: removes keys.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddRmCommand(CLI::App& app, int& exit_code);

}  // namespace varve
