#include "src/mount_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "src/daemon.h"
#include "src/loggers.h"
#include "src/mount_options.h"
#include "tools/child_process.h"
#include "tools/report.h"

namespace varve {

namespace {

constexpr std::string_view kMounted = "mounted\n";

Result<std::string> AbsolutePath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    const std::string message = fmt::format("{}: {}", path, std::strerror(errno));
    return errno == ENOENT ? NotFound(message) : DeviceError(message);
  }
  return std::string(resolved);
}

Result<MountRequest> RequestOf(const MountArguments& arguments) {
  MountRequest request;
  Result<std::string> device = AbsolutePath(arguments.device);
  if (!device.ok()) {
    return device.error();
  }
  request.device = std::move(*device);
  Result<std::string> directory = AbsolutePath(arguments.directory);
  if (!directory.ok()) {
    return directory.error();
  }
  request.directory = std::move(*directory);
  struct stat stat = {};
  if (::stat(request.directory.c_str(), &stat) != 0 || !S_ISDIR(stat.st_mode)) {
    return InvalidArgument(fmt::format("{} is no directory", request.directory));
  }
  Result<MountOptions> options = ParseMountOptions(arguments.option_lists, geteuid() == 0, arguments.sloppy);
  if (!options.ok()) {
    return options.error();
  }
  request.options = std::move(*options);
  return request;
}

// In the daemon, once the mount answers: the launcher ends, and nothing may hold its terminal or pipes.
void LetGoOfLauncher(int status_descriptor) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      dup2(null, standard);
    }
    close(null);
  }
  if (write(status_descriptor, kMounted.data(), kMounted.size()) < 0) {
    return;  // the launcher was killed: the mount stands all the same
  }
  close(status_descriptor);
}

int Serve(const MountRequest& request, const MountArguments& arguments) {
  const auto fail = [&request](const Status& started) {
    if (!started.ok()) {
      PrintFailure("mount", request.device, request.device, started.error());
    }
  };
  if (arguments.status_descriptor < 0) {
    TerminalLogger logger;
    return RunDaemon(request, logger, fail);
  }
  SyslogLogger logger;
  return RunDaemon(request, logger, [&fail, &arguments](const Status& started) {
    fail(started);
    if (started.ok()) {
      LetGoOfLauncher(arguments.status_descriptor);
    }
  });
}

// Starts the daemon and waits until its mount answers, or it has ended and said why on our standard error.
int Launch(const MountRequest& request, const MountArguments& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    PrintComplaint("mount", fmt::format("no pipe: {}", std::strerror(errno)));
    return kExitFailure;
  }
  // systemd spares processes of root whose name begins with '@' until the last filesystem is unmounted.
  std::vector<std::string> command = {geteuid() == 0 ? "@varve" : "varve",
                                      "mount",
                                      request.device,
                                      request.directory,
                                      "--status-descriptor",
                                      std::to_string(ends[1])};
  for (const std::string& list : arguments.option_lists) {
    command.emplace_back("-o");
    command.push_back(list);
  }
  if (arguments.sloppy) {
    command.emplace_back("--sloppy");
  }
  Result<ChildProcess> daemon = ChildProcess::Start(command, {.new_session = true, .inherit = ends[1]});
  close(ends[1]);
  if (!daemon.ok()) {
    PrintComplaint("mount", daemon.error().message());
    close(ends[0]);
    return kExitFailure;
  }
  char told[kMounted.size()];
  ssize_t bytes = 0;
  do {
    bytes = read(ends[0], told, sizeof(told));
  } while (bytes < 0 && errno == EINTR);
  close(ends[0]);
  if (bytes > 0) {
    return kExitOk;
  }
  const int exit_code = daemon->Wait();
  if (exit_code > 128) {
    PrintComplaint("mount", fmt::format("the daemon was killed by signal {} ({}) before the mount answered",
                                        exit_code - 128, strsignal(exit_code - 128)));
  }
  return kExitFailure;
}

}  // namespace

int RunMount(const MountArguments& arguments) {
  const Result<MountRequest> request = RequestOf(arguments);
  if (!request.ok()) {
    PrintFailure("mount", arguments.device, arguments.device, request.error());
    return request.Is(ErrorCode::kInvalidArgument) ? kExitUsage : kExitFailure;
  }
  if (arguments.foreground || arguments.status_descriptor >= 0) {
    return Serve(*request, arguments);
  }
  const int exit_code = Launch(*request, arguments);
  if (exit_code == kExitOk && arguments.verbose) {
    fmt::print("{} mounted on {}\n", request->device, request->directory);
  }
  return exit_code;
}

void AddMountCommand(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("mount", "Mount a store: its keys become files");
  const auto arguments = std::make_shared<MountArguments>();
  command->add_option("device", arguments->device, "Block device or image file, formatted by varve mkfs")
      ->required();
  command->add_option("directory", arguments->directory, "An existing directory")->required();
  command->add_option("-o,--options", arguments->option_lists, "Options, separated by commas (listed below)")
      ->allow_extra_args(false);
  command->add_flag("-f,--foreground", arguments->foreground,
                    "Stay in the foreground, and log to the terminal");
  command->add_flag("-v,--verbose", arguments->verbose, "Say what was mounted");
  // For the daemon that this command starts.
  command->add_option("--status-descriptor", arguments->status_descriptor)->group("");
  command->add_flag("--sloppy", arguments->sloppy)->group("");
  command->footer(fmt::format("Options of -o:\n{}", MountOptionsHelp()));
  command->callback([arguments, &exit_code] { exit_code = RunMount(*arguments); });
}

int RunMountHelper(int argc, char** argv) {
  constexpr int kUsage = 1;
  constexpr int kMountFailed = 32;
  MountArguments arguments;
  bool fake = false;
  int option = 0;
  while ((option = getopt(argc, argv, "sfnvo:t:N:")) != -1) {
    switch (option) {
      case 's':
        arguments.sloppy = true;
        break;
      case 'f':
        fake = true;
        break;
      case 'v':
        arguments.verbose = true;
        break;
      case 'o':
        arguments.option_lists.emplace_back(optarg);
        break;
      case 'n':  // no /etc/mtab: there is none
      case 't':
        break;
      default:
        PrintComplaint("mount", "usage: mount.varve DEVICE DIR [-sfnv] [-o options]");
        return kUsage;
    }
  }
  if (argc - optind != 2) {
    PrintComplaint("mount", "usage: mount.varve DEVICE DIR [-sfnv] [-o options]");
    return kUsage;
  }
  arguments.device = argv[optind];
  arguments.directory = argv[optind + 1];
  if (fake) {
    return 0;
  }
  const int exit_code = RunMount(arguments);
  return exit_code == kExitOk ? 0 : (exit_code == kExitUsage ? kUsage : kMountFailed);
}

}  // namespace varve
