// varve scrub: reads everything that a mounted store has on its device.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`. Its exit code goes to `exit_code`, which must outlive `app`.
void AddScrubCommand(CLI::App& app, int& exit_code);

}  // namespace varve
