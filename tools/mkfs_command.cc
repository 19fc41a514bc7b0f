#include "tools/mkfs_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/prng.h"
#include "engine/space/layout.h"
#include "engine/store/format_store.h"
#include "tools/device_content.h"
#include "tools/device_store.h"
#include "tools/sizes.h"

namespace varve {

namespace {

struct MkfsArguments {
  std::string device;
  std::string label;
  std::string size;
  uint32_t data_block_bytes = StoreParameters().data_block_bytes;
  FormatParameters format;
  bool force = false;
};

// A regular file that this mkfs made or resized; removed again when nothing comes of it.
class ImageFile {
 public:
  ImageFile() = default;
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;
  ~ImageFile() {
    if (remove_) {
      unlink(path_.c_str());
    }
  }

  // Makes `path` exactly `bytes` long, sparse.
  Status Make(const std::string& path, uint64_t bytes) {
    path_ = path;
    const int made = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    remove_ = made >= 0;
    const int descriptor = made >= 0 ? made : open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
      return InvalidArgument(fmt::format("cannot make the image: {}", std::strerror(errno)));
    }
    const bool resized = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
    const int failure = errno;
    close(descriptor);
    if (!resized) {
      return InvalidArgument(
          fmt::format("cannot make the image {} long: {}", FormatSize(bytes), std::strerror(failure)));
    }
    return OkStatus();
  }
  void Keep() { remove_ = false; }

 private:
  std::string path_;
  bool remove_ = false;
};

Prng SeededByTheKernel() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
    seed = SystemClock().MonotonicNanos() ^ static_cast<uint64_t>(getpid()) << 48;
  }
  return Prng(seed);
}

// What stands where the image or device should be: success when it may be formatted.
Status CheckPlace(const MkfsArguments& arguments, bool sized) {
  struct stat place {};
  if (stat(arguments.device.c_str(), &place) != 0) {
    if (errno != ENOENT) {
      return InvalidArgument(std::strerror(errno));
    }
    return sized ? OkStatus()
                 : InvalidArgument(
                       "no such device or file; make an image file with --size, for example --size 1G");
  }
  if (S_ISBLK(place.st_mode) && sized) {
    return InvalidArgument("a block device has its size already: leave --size out");
  }
  if (!S_ISBLK(place.st_mode) && !S_ISREG(place.st_mode)) {
    return InvalidArgument("neither a block device nor an image file");
  }
  if (place.st_size > 0 && sized && !arguments.force) {
    return InvalidArgument(
        "exists already: leave --size out to format it as it is, or add --force to replace it");
  }
  return OkStatus();
}

Result<Superblock> FormatDevice(OpenedDevice& opened, const MkfsArguments& arguments) {
  Prng random = SeededByTheKernel();
  FormatStoreOptions options;
  options.label = arguments.label;
  options.parameters.data_block_bytes = arguments.data_block_bytes;
  options.uuid = MakeUuid(random.Next(), random.Next());
  return opened.Run(FormatStore(opened.device(), opened.clock(), options));
}

// Opens the new store once, to make the root directory, which belongs to whoever made the store.
Result<SpaceUsage> MakeRoot(OpenedDevice& opened, FormatParameters format) {
  Result<std::unique_ptr<Store>> store = OpenStoreOn(opened, Access::kWrite);
  if (!store.ok()) {
    return store.error();
  }
  const SpaceUsage usage = store.value()->space_usage();
  const Status made = opened.Run(FormatNamespace(*store.value(), opened.clock(), format, getuid(), getgid()));
  const Status closed = opened.Run(store.value()->Close());
  if (!made.ok()) {
    return made.error();
  }
  if (!closed.ok()) {
    return closed.error();
  }
  return usage;
}

Status Mkfs(const MkfsArguments& arguments) {
  std::optional<uint64_t> size;
  if (!arguments.size.empty()) {
    size = ParseSize(arguments.size);
    if (!size.has_value()) {
      return InvalidArgument(
          fmt::format("cannot read the size {}: write it like 512M or 10G", arguments.size));
    }
  }
  if (Status place = CheckPlace(arguments, size.has_value()); !place.ok()) {
    return place;
  }
  ImageFile image;
  if (size.has_value()) {
    const Result<Layout> layout = Layout::ForDevice(*size);
    if (!layout.ok()) {
      return layout.error();
    }
    if (Status made = image.Make(arguments.device, *size); !made.ok()) {
      return made;
    }
  }

  Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(arguments.device, Access::kWrite);
  if (!opened.ok()) {
    return opened.error();
  }
  if (!arguments.force) {
    if (Status content = CheckHoldsNothing(*opened.value(), {}); !content.ok()) {
      return content;
    }
  }
  const Result<Superblock> formatted = FormatDevice(*opened.value(), arguments);
  if (!formatted.ok()) {
    return formatted.error();
  }
  const Superblock& superblock = formatted.value();
  const Result<SpaceUsage> usage = MakeRoot(*opened.value(), arguments.format);
  if (!usage.ok()) {
    return usage.error();
  }
  image.Keep();

  fmt::print("varve store on {}\n", arguments.device);
  fmt::print("  uuid      {}\n", FormatUuid(superblock.uuid));
  if (!superblock.label.empty()) {
    fmt::print("  label     {}\n", superblock.label);
  }
  fmt::print("  size      {}, of which {} can be filled\n", FormatSize(superblock.device_bytes),
             FormatSize(usage.value().usable_bytes));
  fmt::print("  sectors   {} bytes\n", superblock.sector_bytes);
  fmt::print("Mount it with: varve mount {} DIR\n", arguments.device);
  return OkStatus();
}

int RunMkfs(const MkfsArguments& arguments) {
  const Status status = Mkfs(arguments);
  if (!status.ok()) {
    PrintFailure("mkfs", arguments.device, arguments.device, status.error());
    return kExitFailure;
  }
  return kExitOk;
}

}  // namespace

void AddMkfsCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<MkfsArguments>();
  CLI::App* command = app.add_subcommand("mkfs", "Format a block device, or make and format an image file");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("-L,--label", arguments->label, "A name for the store, at most 64 bytes");
  command->add_option("--size", arguments->size, "Make an image file of this size, for example 10G");
  // Decided for ever here. The defaults were measured (docs/design/content.md); the ranges are the formats'.
  const auto size_in_bytes = CLI::AsSizeValue(false);
  command->add_option("--block-size", arguments->data_block_bytes, "Target size of a table's data blocks")
      ->transform(size_in_bytes)
      ->check(CLI::Range(StoreParameters::kDataBlockBytesMin, StoreParameters::kDataBlockBytesMax))
      ->capture_default_str();
  command->add_option("--chunk-size", arguments->format.chunk_bytes, "Content of a large file in one record")
      ->transform(size_in_bytes)
      ->check(CLI::Range(4 * 1024, 256 * 1024))
      ->capture_default_str();
  command
      ->add_option("--inline-limit", arguments->format.inline_bytes_max,
                   "Content up to this size lies in its file's own record")
      ->transform(size_in_bytes)
      ->check(CLI::Range(0, 64 * 1024))
      ->capture_default_str();
  command->add_flag("-f,--force", arguments->force, "Overwrite whatever is on the device");
  command->callback([arguments, &exit_code] { exit_code = RunMkfs(*arguments); });
}

}  // namespace varve
