// varve fsck DEVICE: reads everything on an unmounted store and says what is damaged. Exit codes of fsck(8).
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddFsckCommand(CLI::App& app, int& exit_code);

}  // namespace varve
