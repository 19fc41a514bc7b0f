// varve dump DEVICE WHAT: a structure of the device in readable form.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddDumpCommand(CLI::App& app, int& exit_code);

}  // namespace varve
