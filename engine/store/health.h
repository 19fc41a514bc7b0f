// Health: whether the store takes writes, and if not, why.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/base/logger.h"
#include "engine/base/result.h"

namespace varve {

// Any thread.
class Health {
 public:
  // `logger` must outlive it.
  explicit Health(Logger& logger) : logger_(logger) {}

  bool read_only() const { return read_only_.load(std::memory_order_acquire); }

  // From now on the store is read-only; the first reason stays.
  void Fail(std::string_view doing, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) {
      return;
    }
    reason_ = std::string(doing) + " failed: " + error.ToString();
    read_only_.store(true, std::memory_order_release);
    logger_.Log(LogLevel::kError, "the store is read-only from now on: " + reason_);
  }
  // Opened so: no failure, nothing to log.
  void OpenedReadOnly() {
    const std::lock_guard lock(mutex_);
    reason_ = "it was opened read-only";
    read_only_.store(true, std::memory_order_release);
  }

  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  // What writes answer. Precondition: read_only().
  Error refusal() const { return ReadOnly("the store takes no writes: " + reason()); }

 private:
  Logger& logger_;
  std::atomic<bool> read_only_{false};
  mutable std::mutex mutex_;
  std::string reason_;  // under mutex_
};

}  // namespace varve
