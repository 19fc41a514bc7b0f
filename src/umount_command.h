// varve umount DIR: unmounts, and waits until the daemon has written everything out and is gone.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddUmountCommand(CLI::App& app, int& exit_code);

}  // namespace varve
