// Shows whether what a crash left is a prefix of what was asked. `write` does operations in a known order
// (creates, appends, renames, unlinks, directories), each of which is one request to the filesystem, until it
// is killed or an operation fails; `check` finds the number of operations after which the tree looked as it
// does now.
//
//   numbered_operations write DIR SEED [COUNT]     prints how many operations were answered, as it goes
//   numbered_operations check DIR SEED LEAST MOST  exit code 0 when LEAST to MOST operations explain the tree
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/prng.h"

namespace {

constexpr size_t kFilesMax = 400;
constexpr size_t kPageBytes = 4096;
constexpr uint64_t kOperationsMax = 10'000'000;

enum class Kind { kCreate, kAppend, kRename, kUnlink, kMakeDirectory };

struct Operation {
  Kind kind;
  std::string path;
  std::string to;       // of a rename, which may replace
  std::string content;  // of an append
};

// The sequence of operations of one seed.
class Script {
 public:
  explicit Script(uint64_t seed) : prng_(seed) {}

  Operation Next() {
    if (count_++ % 50 == 0) {
      directories_.push_back("d" + std::to_string(directories_.size()));
      return {Kind::kMakeDirectory, directories_.back(), "", ""};
    }
    const uint64_t dice = prng_.Below(100);
    if (names_.size() < 10 || (dice < 30 && names_.size() < kFilesMax)) {
      return {Kind::kCreate, Named(NewPath()), "", ""};
    }
    const std::string path = AnyPath();
    if (dice < 65) {
      return {Kind::kAppend, path, "", Content()};
    }
    names_.erase(path);
    if (dice < 88) {
      const std::string to = dice < 80 ? NewPath() : AnyPath();
      return {Kind::kRename, path, Named(to), ""};
    }
    return {Kind::kUnlink, path, "", ""};
  }

 private:
  std::string NewPath() {
    const std::string& directory = directories_[prng_.Below(directories_.size())];
    return directory + "/f" + std::to_string(count_);
  }
  std::string AnyPath() {
    const auto at = names_.lower_bound(directories_[prng_.Below(directories_.size())]);
    return at == names_.end() ? *names_.begin() : *at;
  }
  std::string Named(const std::string& path) {
    names_.insert(path);
    return path;
  }
  std::string Content() {
    std::string content(prng_.OneIn(10) ? prng_.Between(1, 200'000) : prng_.Between(1, 3000), '\0');
    for (char& c : content) {
      c = static_cast<char>('a' + prng_.Below(26));
    }
    return content;
  }

  varve::Prng prng_;
  uint64_t count_ = 0;
  std::vector<std::string> directories_;
  std::set<std::string> names_;
};

bool Append(const std::string& path, const std::string& content) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND);
  if (file < 0) {
    return false;
  }
  const ssize_t written = write(file, content.data(), content.size());
  close(file);
  return written == static_cast<ssize_t>(content.size());
}

bool Do(const std::string& root, const Operation& operation) {
  const std::string path = root + "/" + operation.path;
  switch (operation.kind) {
    case Kind::kCreate: {
      const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
      return file >= 0 && close(file) == 0;
    }
    case Kind::kAppend:
      return Append(path, operation.content);
    case Kind::kRename:
      return rename(path.c_str(), (root + "/" + operation.to).c_str()) == 0;
    case Kind::kUnlink:
      return unlink(path.c_str()) == 0;
    case Kind::kMakeDirectory:
      return mkdir(path.c_str(), 0755) == 0;
  }
  return false;
}

// An error ends it quietly: the daemon was killed.
int Write(const std::string& root, uint64_t seed, uint64_t count) {
  Script script(seed);
  uint64_t done = 0;
  while (done < count && Do(root, script.Next())) {
    ++done;
    std::printf("%llu\n", static_cast<unsigned long long>(done));
    std::fflush(stdout);
  }
  return 0;
}

struct Tree {
  std::map<std::string, std::string> files;
  size_t directories = 0;
};

Tree ReadTree(const std::string& root) {
  Tree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_directory()) {
      ++tree.directories;
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    tree.files[std::filesystem::relative(entry.path(), root).string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return tree;
}

// What the tree should be after some operations, and in how many paths it differs from what it is.
class Comparison {
 public:
  explicit Comparison(const Tree& actual) : actual_(actual), differing_(actual.files.size()) {}

  bool Equal() const { return differing_ == 0 && expected_.directories == actual_.directories; }
  size_t differing() const { return differing_; }

  // `next` was under way: the kernel sends an append that begins within a page it does not hold as one
  // request up to the end of that page and another for the rest (fuse_fill_write_pages in fs/fuse/file.c).
  bool EqualWithBeginningOf(const Operation& next) const {
    if (next.kind != Kind::kAppend || differing_ != 1 || expected_.directories != actual_.directories) {
      return false;
    }
    const auto before = expected_.files.find(next.path);
    const auto found = actual_.files.find(next.path);
    if (before == expected_.files.end() || found == actual_.files.end()) {
      return false;
    }
    const std::string after = before->second + next.content;
    return found->second.size() % kPageBytes == 0 && after.starts_with(found->second) &&
           found->second.starts_with(before->second);
  }

  // For a person: what the closest number of operations leaves unexplained.
  void PrintDifferences() const {
    std::printf("directories: %zu expected, %zu found\n", expected_.directories, actual_.directories);
    std::set<std::string> paths;
    for (const auto* files : {&expected_.files, &actual_.files}) {
      for (const auto& [path, content] : *files) {
        paths.insert(path);
      }
    }
    for (const std::string& path : paths) {
      if (Differs(path)) {
        std::printf("%s: %s expected, %s found\n", path.c_str(), SizeIn(expected_, path).c_str(),
                    SizeIn(actual_, path).c_str());
      }
    }
  }

  void Apply(const Operation& operation) {
    switch (operation.kind) {
      case Kind::kCreate:
        Change(operation.path, std::string());
        break;
      case Kind::kAppend:
        Change(operation.path, expected_.files[operation.path] + operation.content);
        break;
      case Kind::kRename: {
        std::string content = expected_.files[operation.path];
        Change(operation.path, std::nullopt);
        Change(operation.to, std::move(content));
        break;
      }
      case Kind::kUnlink:
        Change(operation.path, std::nullopt);
        break;
      case Kind::kMakeDirectory:
        ++expected_.directories;
        break;
    }
  }

 private:
  static std::string SizeIn(const Tree& tree, const std::string& path) {
    const auto found = tree.files.find(path);
    return found == tree.files.end() ? "none" : std::to_string(found->second.size()) + " bytes";
  }
  bool Differs(const std::string& path) const {
    const auto expected = expected_.files.find(path);
    const auto actual = actual_.files.find(path);
    if (expected == expected_.files.end() || actual == actual_.files.end()) {
      return (expected == expected_.files.end()) != (actual == actual_.files.end());
    }
    return expected->second != actual->second;
  }
  void Change(const std::string& path, std::optional<std::string> content) {
    differing_ -= Differs(path) ? 1 : 0;
    if (content.has_value()) {
      expected_.files[path] = std::move(*content);
    } else {
      expected_.files.erase(path);
    }
    differing_ += Differs(path) ? 1 : 0;
  }

  const Tree& actual_;
  Tree expected_;
  size_t differing_;
};

int CheckPrefix(const std::string& root, uint64_t seed, uint64_t least, uint64_t most) {
  const Tree actual = ReadTree(root);
  Script script(seed);
  Comparison comparison(actual);
  std::optional<uint64_t> prefix;
  uint64_t closest = 0;
  size_t fewest = comparison.differing();
  for (uint64_t i = 0; i <= most; ++i) {
    const Operation next = script.Next();
    if (comparison.Equal() || comparison.EqualWithBeginningOf(next)) {
      prefix = i;  // the latest that fits
    }
    if (comparison.differing() < fewest) {
      fewest = comparison.differing();
      closest = i;
    }
    comparison.Apply(next);
  }
  if (!prefix.has_value()) {
    std::printf("the tree is no prefix of the first %llu operations; %llu come closest:\n",
                static_cast<unsigned long long>(most), static_cast<unsigned long long>(closest));
    Script again(seed);
    Comparison nearest(actual);
    for (uint64_t i = 0; i < closest; ++i) {
      nearest.Apply(again.Next());
    }
    nearest.PrintDifferences();
    return 1;
  }
  std::printf("%llu of %llu operations survived\n", static_cast<unsigned long long>(*prefix),
              static_cast<unsigned long long>(most));
  return *prefix >= least ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [argv](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (mode == "write" && (argc == 4 || argc == 5)) {
    return Write(argv[2], number(3), argc == 5 ? number(4) : kOperationsMax);
  }
  if (mode == "check" && argc == 6) {
    return CheckPrefix(argv[2], number(3), number(4), number(5));
  }
  std::fprintf(stderr,
               "usage: numbered_operations write DIR SEED [COUNT]\n"
               "       numbered_operations check DIR SEED LEAST MOST\n");
  return 2;
}
