// varve bench: engine workloads, side by side with RocksDB and LevelDB where they are installed.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace varve {

// Adds the subcommand; when it is chosen, `exit_code` is set to what the process should exit with.
void AddBenchCommand(CLI::App& app, int& exit_code, const char* version);

}  // namespace varve
