// Creates, reads and removes many small files, and says how long each took. Many times faster than a shell
// would be: what is measured is the filesystem.
//
//   small_files DIR COUNT BYTES [PHASE…]     phases: create read stat list remove (default: create read
//   remove)
//
// Prints one line: the phases' milliseconds in order.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

std::string NameOf(const std::string& directory, int i) {
  char name[32];
  std::snprintf(name, sizeof(name), "/file-%07d", i);
  return directory + name;
}

void Create(const std::string& path, std::string_view content) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (file < 0 || write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      close(file) != 0) {
    Fail(path);
  }
}

void Read(const std::string& path, std::string_view content) {
  std::vector<char> bytes(content.size() + 1);
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) {
    Fail(path);
  }
  const ssize_t got = read(file, bytes.data(), bytes.size());
  close(file);
  if (got < 0 || std::string_view(bytes.data(), static_cast<size_t>(got)) != content) {
    Fail(path + ": other content");
  }
}

void Stat(const std::string& path, std::string_view content) {
  struct stat stat = {};
  if (lstat(path.c_str(), &stat) != 0 || stat.st_size != static_cast<off_t>(content.size())) {
    Fail(path);
  }
}

void List(const std::string& directory, int count) {
  DIR* const stream = opendir(directory.c_str());
  if (stream == nullptr) {
    Fail(directory);
  }
  int seen = 0;
  while (const dirent* const entry = readdir(stream)) {
    seen += std::string_view(entry->d_name).starts_with("file-") ? 1 : 0;
  }
  closedir(stream);
  if (seen != count) {
    Fail(directory + ": other number of names");
  }
}

void Run(std::string_view phase, const std::string& directory, int count, std::string_view content) {
  if (phase == "list") {
    List(directory, count);
    return;
  }
  for (int i = 0; i < count; ++i) {
    const std::string path = NameOf(directory, i);
    if (phase == "create") {
      Create(path, content);
    } else if (phase == "read") {
      Read(path, content);
    } else if (phase == "stat") {
      Stat(path, content);
    } else if (phase == "remove") {
      if (unlink(path.c_str()) != 0) {
        Fail(path);
      }
    } else {
      std::fprintf(stderr, "no such phase: %s\n", std::string(phase).c_str());
      std::exit(2);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: small_files DIR COUNT BYTES [create|read|stat|list|remove…]\n");
    return 2;
  }
  const std::string directory = argv[1];
  const int count = std::atoi(argv[2]);
  const std::string content(static_cast<size_t>(std::atol(argv[3])), 'v');
  std::vector<std::string_view> phases(argv + 4, argv + argc);
  if (phases.empty()) {
    phases = {"create", "read", "remove"};
  }
  for (const std::string_view phase : phases) {
    const auto begin = std::chrono::steady_clock::now();
    Run(phase, directory, count, content);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.1f ", took.count());
  }
  std::printf("\n");
  return 0;
}
