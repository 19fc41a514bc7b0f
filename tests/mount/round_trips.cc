// Asks a directory for names that do not exist, a new one each time, so that every question reaches the
// daemon, and prints how long the answers took. Each client is a thread that stays on a CPU of its own, or
// with `free` one that runs where the scheduler puts it, as most programs do.
//
//   round_trips DIR COUNT CLIENTS [free]
//
// Prints one line: operations a second of all clients, and p50, p99 and p99.9 in microseconds.
//
//   round_trips DIR COUNT changes
//
// Makes files of 1 KiB, renames and removes them, one client that runs where the scheduler puts it, and
// prints such a line for each of the three.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void StayOn(unsigned cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
}

std::vector<double> Ask(const std::string& directory, unsigned client, unsigned count) {
  std::vector<double> micros;
  micros.reserve(count);
  // New names in each run: the kernel remembers those that it has asked for.
  const std::string prefix = directory + "/absent-" + std::to_string(getpid()) + "-" + std::to_string(client);
  for (unsigned i = 0; i < count; ++i) {
    const std::string path = prefix + "-" + std::to_string(i);
    struct stat stat = {};
    const Clock::time_point begin = Clock::now();
    ::stat(path.c_str(), &stat);
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return micros;
}

template <typename Operation>
std::vector<double> TimeEach(unsigned count, const Operation& operation) {
  std::vector<double> micros;
  micros.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    const Clock::time_point begin = Clock::now();
    if (!operation(std::to_string(i))) {
      std::perror("round_trips");
      std::exit(1);
    }
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return micros;
}

void Print(std::vector<double> micros, double seconds) {
  std::sort(micros.begin(), micros.end());
  const auto quantile = [&](double q) {
    return micros[static_cast<size_t>(q * static_cast<double>(micros.size() - 1))];
  };
  std::printf("%.0f %.2f %.2f %.2f\n", static_cast<double>(micros.size()) / seconds, quantile(0.5),
              quantile(0.99), quantile(0.999));
}

void PrintOfOneClient(const std::vector<double>& micros) {
  Print(micros, std::accumulate(micros.begin(), micros.end(), 0.0) / 1e6);
}

bool MakeFile(const std::string& path) {
  static const std::string content(1024, 'x');
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  return file >= 0 && write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
         close(file) == 0;
}

void MakeRenameRemove(const std::string& directory, unsigned count) {
  const std::string made = directory + "/made-";
  const std::string renamed = directory + "/renamed-";
  PrintOfOneClient(TimeEach(count, [&](const std::string& i) { return MakeFile(made + i); }));
  PrintOfOneClient(TimeEach(
      count, [&](const std::string& i) { return rename((made + i).c_str(), (renamed + i).c_str()) == 0; }));
  PrintOfOneClient(TimeEach(count, [&](const std::string& i) { return unlink((renamed + i).c_str()) == 0; }));
}

}  // namespace

int main(int argc, char** argv) {
  const bool free_clients = argc == 5 && std::string_view(argv[4]) == "free";
  if (argc != 4 && !free_clients) {
    std::fprintf(stderr,
                 "usage: round_trips DIR COUNT CLIENTS [free]\n       round_trips DIR COUNT changes\n");
    return 2;
  }
  const auto count = static_cast<unsigned>(std::atoi(argv[2]));
  if (std::string_view(argv[3]) == "changes") {
    MakeRenameRemove(argv[1], count);
    return 0;
  }
  const auto clients = static_cast<unsigned>(std::atoi(argv[3]));
  std::vector<std::vector<double>> micros(clients);
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  for (unsigned i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      if (!free_clients) {
        StayOn(i % std::thread::hardware_concurrency());
      }
      micros[i] = Ask(argv[1], i, count);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<double> all;
  for (const std::vector<double>& of_one : micros) {
    all.insert(all.end(), of_one.begin(), of_one.end());
  }
  Print(std::move(all), seconds);
  return 0;
}
