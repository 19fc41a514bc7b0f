// varve put DEVICE KEY [VALUE]: stores a value given as an argument, a file, or standard input.
#pragma once

namespace CLI {
class App;
}

namespace varve {

// Adds the subcommand to `app`; running it sets `exit_code`. Both must outlive the parsing.
void AddPutCommand(CLI::App& app, int& exit_code);

}  // namespace varve
