#include "fs/fuse/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "fs/fuse/fuse_library.h"
#include "fs/fuse/message_pool.h"

namespace varve {

namespace {

// Collects what libfuse would print, while one mount is attempted: its logger is a global of the library.
class LibraryMessages {
 public:
  LibraryMessages() {
    active_ = &text_;
    fuse_set_log_func(&LibraryMessages::Append);
  }
  ~LibraryMessages() {
    fuse_set_log_func(nullptr);
    active_ = nullptr;
  }
  LibraryMessages(const LibraryMessages&) = delete;
  LibraryMessages& operator=(const LibraryMessages&) = delete;

  std::string text() const {
    std::string trimmed = text_;
    while (!trimmed.empty() && trimmed.back() == '\n') {
      trimmed.pop_back();
    }
    return trimmed;
  }

 private:
  static void Append(fuse_log_level, const char* format, va_list arguments) {
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    *active_ += line;
  }

  static inline std::string* active_ = nullptr;
  std::string text_;
};

// In libfuse's option lists a backslash quotes commas and itself.
std::string Quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == ',' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted;
}

std::string OptionList(const MountSpecification& specification) {
  std::string list = fmt::format("fsname={},subtype=varve", Quoted(specification.source));
  if (specification.block_device) {
    // The kernel's default of 512 is refused on devices of 4096-byte sectors.
    list += ",blkdev,blksize=4096";
  }
  for (const std::string& option : specification.options) {
    list += ',' + option;
  }
  return list;
}

std::string NextStep(const MountSpecification& specification) {
  if (access("/dev/fuse", R_OK | W_OK) == 0) {
    return fmt::format("; check that {} is a directory that you may mount on", specification.directory);
  }
  if (errno == ENOENT) {
    return "; /dev/fuse does not exist: load the fuse module (modprobe fuse)";
  }
  return "; you may not open /dev/fuse: ask root for chmod 666 /dev/fuse, or mount as root";
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Mount(MountSpecification specification) {
  std::unique_ptr<Connection> connection(new Connection());
  connection->specification_ = std::move(specification);
  const MountSpecification& wanted = connection->specification_;
  const LibraryMessages messages;
  const std::string list = OptionList(wanted);
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&args, "varve");
  fuse_opt_add_arg(&args, "-o");
  fuse_opt_add_arg(&args, list.c_str());
  const fuse_lowlevel_ops none = {};
  connection->session_ = fuse_session_new(&args, &none, sizeof(none), nullptr);
  fuse_opt_free_args(&args);
  if (connection->session_ == nullptr) {
    return InvalidArgument(fmt::format("mount options refused: {}", messages.text()));
  }
  if (fuse_session_mount(connection->session_, wanted.directory.c_str()) != 0) {
    const std::string said = messages.text().empty() ? std::strerror(errno) : messages.text();
    return DeviceError(
        fmt::format("cannot mount {} at {}: {}{}", wanted.source, wanted.directory, said, NextStep(wanted)));
  }
  connection->descriptor_ = fuse_session_fd(connection->session_);
  const int flags = fcntl(connection->descriptor_, F_GETFL);
  if (flags < 0 || fcntl(connection->descriptor_, F_SETFL, flags | O_NONBLOCK) != 0) {
    return DeviceError(fmt::format("cannot make /dev/fuse nonblocking: {}", std::strerror(errno)));
  }
  return connection;
}

void Connection::Unmount() {
  if (descriptor_ >= 0) {
    descriptor_ = -1;
    fuse_session_unmount(session_);
  }
}

Connection::~Connection() {
  if (session_ != nullptr) {
    Unmount();
    fuse_session_destroy(session_);
  }
}

Status RaiseReadAhead(const std::string& directory, uint32_t kibibytes) {
  struct stat stat = {};
  if (::stat(directory.c_str(), &stat) != 0) {
    return DeviceError(fmt::format("{}: {}", directory, std::strerror(errno)));
  }
  // A fuseblk mount has the number of its device, whose own entry is the one without the suffix.
  const std::string entry = fmt::format("/sys/class/bdi/{}:{}", major(stat.st_dev), minor(stat.st_dev));
  const std::string name = "/read_ahead_kb";
  std::string path = entry + "-fuseblk" + name;
  int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    path = entry + name;
    file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (file < 0) {
    return DeviceError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  const std::string text = std::to_string(kibibytes);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written ? OkStatus() : Status(DeviceError(fmt::format("{}: {}", path, std::strerror(errno))));
}

}  // namespace varve
