// Asks a directory for names that do not exist, a new one each time, so that every question reaches the
// daemon, and prints how long the answers took. Each client is a thread that stays on a CPU of its own, or
// with `free` one that runs where the scheduler puts it, as most programs do.
//
//   round_trips DIR COUNT CLIENTS [free]
//
// Prints one line: operations a second of all clients, and p50, p99 and p99.9 in microseconds.
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
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

}  // namespace

int main(int argc, char** argv) {
  const bool free_clients = argc == 5 && std::string_view(argv[4]) == "free";
  if (argc != 4 && !free_clients) {
    std::fprintf(stderr, "usage: round_trips DIR COUNT CLIENTS [free]\n");
    return 2;
  }
  const auto count = static_cast<unsigned>(std::atoi(argv[2]));
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
  std::sort(all.begin(), all.end());
  const auto quantile = [&](double q) {
    return all[static_cast<size_t>(q * static_cast<double>(all.size() - 1))];
  };
  std::printf("%.0f %.2f %.2f %.2f\n", static_cast<double>(all.size()) / seconds, quantile(0.5),
              quantile(0.99), quantile(0.999));
  return 0;
}
