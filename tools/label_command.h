// varve label DEVICE [LABEL]: shows or changes a store's label.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddLabelCommand(CLI::App& app, int& exit_code);

}  // namespace varve
