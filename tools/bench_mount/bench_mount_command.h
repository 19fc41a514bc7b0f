// varve bench-mount: a mounted varve beside other filesystems and the raw device.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddBenchMountCommand(CLI::App& app, int& exit_code);

}  // namespace varve
