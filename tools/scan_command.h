// varve scan DEVICE [PREFIX]: every key that begins with a prefix, sorted, and values if asked for.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddScanCommand(CLI::App& app, int& exit_code);

}  // namespace varve
