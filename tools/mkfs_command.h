// varve mkfs DEVICE: formats a block device, or an image file that --size makes.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddMkfsCommand(CLI::App& app, int& exit_code);

}  // namespace varve
