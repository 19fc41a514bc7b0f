#include "tools/fsck_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/fsck.h"
#include "tools/fsck_report.h"
#include "tools/report.h"

namespace varve {

namespace {

struct FsckArguments {
  FsckOptions options;
  // What fsck(8) and its callers pass to every checker.
  bool automatic = false;
  bool without_changes = false;
  bool forced = false;
  bool yes = false;
};

int Run(const FsckArguments& arguments) {
  FsckOptions options = arguments.options;
  options.repair = options.repair || arguments.yes;
  if (arguments.without_changes && (options.repair || arguments.automatic)) {
    PrintComplaint("fsck", "-n changes nothing: it does not go with --repair, -y, -a or -p");
    return kFsckUsage;
  }
  if (options.repair && arguments.automatic) {
    PrintComplaint("fsck", "-a and -p mend what is safe by themselves: they do not go with --repair or -y");
    return kFsckUsage;
  }
  if (arguments.automatic) {
    options.repair = true;
    options.quick = !arguments.forced;
  }
  return RunFsck(options);
}

}  // namespace

void AddFsckCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FsckArguments>();
  CLI::App* command =
      app.add_subcommand("fsck", "Check every structure and checksum of an unmounted store, and mend it");
  command->add_option("DEVICE", arguments->options.device, "Block device or image file")->required();
  command->add_flag("--deep", arguments->options.deep,
                    "Also check that reads find the newest version of every key (reads everything twice)");
  CLI::Option* repair =
      command->add_flag("--repair", arguments->options.repair, "Mend what can be mended without guessing");
  command
      ->add_flag("--cut-log", arguments->options.cut_log,
                 "End a damaged log before the damage; what was written later is lost")
      ->needs(repair);
  command->add_flag("-y", arguments->yes, "As --repair, for fsck(8)");
  command->add_flag("-n", arguments->without_changes, "Change nothing (as without --repair), for fsck(8)");
  command->add_flag("-a,-p", arguments->automatic,
                    "As at boot: check what is quick to check, and mend what is safe to mend");
  command->add_flag("-f", arguments->forced, "With -a or -p: check everything");
  command->footer(
      "Exit codes, added up: 0 clean, 1 problems were mended, 4 problems are left, 8 it could not be "
      "checked, "
      "16 wrong usage (fsck(8)).\n\n"
      "--repair rewrites a bad copy of the superblock; gives files and directories that lost their name one "
      "in "
      "/lost+found; removes names that lead nowhere, bytes that belong to no file and files that had been "
      "deleted; and corrects counts. Where blocks are damaged it says which files they hold parts of, and "
      "mends no names: restore those files, or copy what can be read elsewhere from a mount with -o ro.");
  command->callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace varve
