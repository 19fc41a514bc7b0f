// The varve executable. Under other names (links) it is mkfs.varve, mount.varve and fsck.varve, as mkfs(8),
// mount(8) and fsck(8) look for them.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/mount_command.h"
#include "src/umount_command.h"
#include "tools/bench/bench_command.h"
#include "tools/bench_mount/bench_mount_command.h"
#include "tools/dump_command.h"
#include "tools/fsck_command.h"
#include "tools/fsck_report.h"
#include "tools/get_command.h"
#include "tools/label_command.h"
#include "tools/ls_command.h"
#include "tools/mkfs_command.h"
#include "tools/put_command.h"
#include "tools/report.h"
#include "tools/rm_command.h"
#include "tools/scan_command.h"
#include "tools/scrub_command.h"
#include "tools/stats_command.h"

namespace {

std::string_view BaseName(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

int RunCommand(const std::vector<std::string>& arguments) {
  int exit_code = varve::kExitOk;
  CLI::App app("varve: a filesystem of keys on a raw device", "varve");
  app.require_subcommand(1);
  app.set_version_flag("--version", VARVE_VERSION);
  varve::AddMkfsCommand(app, exit_code);
  varve::AddMountCommand(app, exit_code);
  varve::AddUmountCommand(app, exit_code);
  varve::AddFsckCommand(app, exit_code);
  varve::AddGetCommand(app, exit_code);
  varve::AddPutCommand(app, exit_code);
  varve::AddRmCommand(app, exit_code);
  varve::AddLsCommand(app, exit_code);
  varve::AddScanCommand(app, exit_code);
  varve::AddScrubCommand(app, exit_code);
  varve::AddStatsCommand(app, exit_code);
  varve::AddLabelCommand(app, exit_code);
  varve::AddDumpCommand(app, exit_code);
  varve::AddBenchMountCommand(app, exit_code);
  varve::AddBenchCommand(app, exit_code, VARVE_VERSION);
  // CLI11 takes them off the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) {
      return varve::kExitOk;
    }
    // Callers of fsck(8) know another number.
    const bool checks = !arguments.empty() && (arguments[0] == "fsck" || arguments[0] == "scrub");
    return checks ? varve::kFsckUsage : varve::kExitUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 0 ? BaseName(argv[0]) : "varve";
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == "mount.varve") {
    return varve::RunMountHelper(argc, argv);
  }
  if (name == "mkfs.varve") {
    arguments.insert(arguments.begin(), "mkfs");
  } else if (name == "fsck.varve") {
    arguments.insert(arguments.begin(), "fsck");
  }
  return RunCommand(arguments);
}
