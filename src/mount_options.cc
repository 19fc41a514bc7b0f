#include "src/mount_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "tools/sizes.h"
#include "tools/techniques.h"

namespace varve {

namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;
// Longer than this, "at most the last interval is lost" is no promise that anybody wants.
constexpr double kCommitSecondsMax = 300;
constexpr size_t kMemtableBytesMin = 1 * kMiB;
constexpr size_t kCacheBytesMin = 1 * kMiB;

// What the kernel is told as it stands.
constexpr std::array<std::string_view, 8> kKernelOptions = {
    "exec", "noexec", "async", "dirsync", "atime", "noatime", "allow_other", "auto_unmount",
};
// What libfuse would refuse to hand on, and need not: the kernel leaves these to us.
constexpr std::array<std::string_view, 7> kOwnOptions = {
    "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "silent",
};
// What belongs to mount(8), systemd and the like.
constexpr std::array<std::string_view, 15> kForeignOptions = {
    "defaults", "auto",    "noauto", "nofail", "user",  "nouser", "users",  "owner",
    "group",    "_netdev", "loud",   "rw",     "quiet", "mand",   "nomand",
};

constexpr std::array<std::pair<std::string_view, TransportChoice>, 3> kTransports = {{
    {"auto", TransportChoice::kAuto},
    {"uring", TransportChoice::kUring},
    {"devfuse", TransportChoice::kDevFuse},
}};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "a,b=c:d" by commas; a backslash takes the next character as it is, as libfuse and util-linux do.
std::vector<std::string> SplitList(std::string_view list) {
  std::vector<std::string> options(1);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size()) {
      options.back() += list[++i];
    } else if (list[i] == ',') {
      options.emplace_back();
    } else {
      options.back() += list[i];
    }
  }
  std::erase(options, "");
  return options;
}

class Parser {
 public:
  Parser(MountOptions& options, bool sloppy) : options_(options), sloppy_(sloppy) {}

  Status Take(const std::string& option) {
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    if (equals != std::string::npos) {
      return TakeValue(name, option.substr(equals + 1), option);
    }
    return TakeFlag(name);
  }

 private:
  Status TakeFlag(const std::string& name) {
    if (name == "ro") {
      options_.read_only = true;
    } else if (name == "rw") {
      options_.read_only = false;
    } else if (name == "sync") {
      options_.sync = true;
    } else if (name == "async") {
      options_.sync = false;
    } else if (name == "suid" || name == "nosuid") {
      Replace("suid", "nosuid", name);
    } else if (name == "dev" || name == "nodev") {
      Replace("dev", "nodev", name);
    } else if (name == "default_permissions") {
      // Always on: the filesystem leaves permissions to the kernel.
    } else if (Contains(kKernelOptions, name)) {
      TakeAccessTimes(name);
      Add(name);
    } else if (Contains(kOwnOptions, name)) {
      TakeAccessTimes(name);
    } else if (!Contains(kForeignOptions, name) && !IsComment(name)) {
      return Unknown(name);
    }
    return OkStatus();
  }

  // The kernel leaves the times of accesses to us.
  void TakeAccessTimes(const std::string& name) {
    if (name == "noatime") {
      options_.access_times = AccessTimes::kNever;
    } else if (name == "strictatime") {
      options_.access_times = AccessTimes::kAlways;
    } else if (name == "atime" || name == "relatime" || name == "norelatime" || name == "nostrictatime") {
      options_.access_times = AccessTimes::kRelative;
    } else if (name == "diratime" || name == "nodiratime") {
      options_.directory_access_times = name == "diratime";
    }
  }

  Status TakeValue(const std::string& name, const std::string& value, const std::string& option) {
    if (name == "commit") {
      return TakeCommit(value);
    }
    if (name == "cache") {
      return TakeSize(name, value, kCacheBytesMin, options_.store.block_cache_bytes);
    }
    if (name == "memtable") {
      return TakeSize(name, value, kMemtableBytesMin, options_.store.memtable_bytes);
    }
    if (name == "techniques") {
      return TakeTechniques(value);
    }
    if (name == "transport") {
      return TakeTransport(value);
    }
    if (name == "fsname" || name == "subtype" || name == "comment" || name == "user" || name == "uhelper" ||
        name == "helper" || IsComment(name)) {
      return OkStatus();
    }
    return Unknown(option);
  }

  Status TakeCommit(const std::string& value) {
    char* end = nullptr;
    const double seconds = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(seconds >= 0.001 && seconds <= kCommitSecondsMax)) {
      return InvalidArgument(fmt::format("commit={}: give seconds, 0.001 to {}", value, kCommitSecondsMax));
    }
    options_.store.commit_interval_nanos = static_cast<uint64_t>(seconds * kNanosPerSecond);
    return OkStatus();
  }

  static Status TakeSize(const std::string& name, const std::string& value, size_t least, size_t& to) {
    const std::optional<uint64_t> bytes = ParseSize(value);
    if (!bytes.has_value() || *bytes < least) {
      return InvalidArgument(
          fmt::format("{}={}: give a size of at least {}, like 256M", name, value, FormatSize(least)));
    }
    to = *bytes;
    return OkStatus();
  }

  Status TakeTechniques(const std::string& value) {
    const Result<Techniques> chosen = ParseTechniques(value);
    if (!chosen.ok()) {
      return chosen.error();
    }
    options_.store.techniques = *chosen;
    return OkStatus();
  }

  Status TakeTransport(const std::string& value) {
    const auto* const found =
        std::find_if(kTransports.begin(), kTransports.end(), [&](const auto& t) { return t.first == value; });
    if (found == kTransports.end()) {
      return InvalidArgument(fmt::format("transport={}: give auto, uring or devfuse", value));
    }
    options_.transport = found->second;
    return OkStatus();
  }

  static bool IsComment(const std::string& name) { return name.starts_with("x-") || name.starts_with("X-"); }

  Status Unknown(const std::string& option) const {
    if (sloppy_) {
      return OkStatus();
    }
    return InvalidArgument(fmt::format("unknown option \"{}\"; there are:\n{}", option, MountOptionsHelp()));
  }

  void Add(const std::string& option) {
    if (std::find(options_.kernel.begin(), options_.kernel.end(), option) == options_.kernel.end()) {
      options_.kernel.push_back(option);
    }
  }

  void Replace(const std::string& a, const std::string& b, const std::string& by) {
    std::erase(options_.kernel, a);
    std::erase(options_.kernel, b);
    options_.kernel.push_back(by);
  }

  MountOptions& options_;
  bool sloppy_;
};

}  // namespace

Result<MountOptions> ParseMountOptions(const std::vector<std::string>& lists, bool by_root, bool sloppy) {
  MountOptions options;
  options.kernel = {"default_permissions", "nosuid", "nodev"};
  if (by_root) {
    options.kernel.emplace_back("allow_other");
  }
  Parser parser(options, sloppy);
  for (const std::string& list : lists) {
    for (const std::string& option : SplitList(list)) {
      if (Status taken = parser.Take(option); !taken.ok()) {
        return taken.error();
      }
    }
  }
  options.store.read_only = options.read_only;
  options.kernel.emplace_back(options.read_only ? "ro" : "rw");
  if (options.sync) {
    options.kernel.emplace_back("sync");
  }
  return options;
}

std::string_view MountOptionsHelp() {
  return "  ro, rw               read only, or not (the default)\n"
         "  sync                 every change is on the device before its call ends\n"
         "  commit=SECONDS       what a crash may cost at most without fsync (default 1)\n"
         "  cache=SIZE           memory for blocks read (default 256M)\n"
         "  memtable=SIZE        memory for changes before they are sorted onto the device (default 64M)\n"
         "  techniques=LIST      of block:append:sstlog:buffer:delete:monkey, or none (default "
         "block:append)\n"
         "  transport=NAME       how the kernel's requests come: uring (fuse-over-io_uring), devfuse, or "
         "auto\n"
         "                       (the default): uring where the fuse module's enable_uring is on\n"
         "  allow_other          other users may use it (the default when root mounts)\n"
         "  suid, nosuid, dev, nodev, exec, noexec, noatime, relatime, strictatime, nodiratime, dirsync,\n"
         "  auto_unmount         as in mount(8) and fusermount3(1); nosuid and nodev are the default\n";
}

}  // namespace varve
