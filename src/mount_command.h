// varve mount DEVICE DIR: starts a daemon and waits until its mount answers.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace varve {

struct MountArguments {
  std::string device;
  std::string directory;
  std::vector<std::string> option_lists;
  bool foreground = false;
  // Unknown options are ignored, as mount(8) -s asks.
  bool sloppy = false;
  bool verbose = false;
  // Where a daemon tells its launcher how it went; -1: nobody waits.
  int status_descriptor = -1;
};

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddMountCommand(CLI::App& app, int& exit_code);

// Returns the exit code: 0 mounted, 1 not (the reason is on standard error), 2 wrong usage.
int RunMount(const MountArguments& arguments);

// mount.varve DEVICE DIR [-sfnv] [-o options], as mount(8) calls it. Exit codes as of mount(8).
int RunMountHelper(int argc, char** argv);

}  // namespace varve
