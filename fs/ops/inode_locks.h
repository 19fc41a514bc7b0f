// Locks of inodes, shared between reactors: who changes an inode, or the entries of a directory, holds its
// lock. Readers take none: they look at the version before and after, as with a seqlock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>

#include "engine/ring/async_mutex.h"
#include "engine/ring/task.h"
#include "fs/namespace/inode.h"

namespace varve {

// Any thread. Inodes share a fixed number of stripes. One holder takes all it needs in one call, in the order
// of the stripes: so nobody waits in a circle. Nobody calls Lock() while it holds a guard.
class InodeLocks {
 public:
  static constexpr size_t kInodesMax = 4;
  static constexpr size_t kStripes = 4096;

  // Holds up to four inodes until it is destroyed, on any thread.
  class [[nodiscard]] Guard {
   public:
    Guard() = default;
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&& other) noexcept;
    ~Guard() { Unlock(); }
    void Unlock();

   private:
    friend class InodeLocks;
    std::array<AsyncMutex::Guard, kInodesMax> held_;
    std::array<std::atomic<uint64_t>*, kInodesMax> versions_{};
  };

  InodeLocks();

  // Numbers of value 0 are skipped; the same number may be given twice.
  Task<Guard> Lock(InodeNumber a, InodeNumber b = {}, InodeNumber c = {}, InodeNumber d = {});
  std::optional<Guard> TryLock(InodeNumber a, InodeNumber b = {}, InodeNumber c = {}, InodeNumber d = {});

  // What a reader saw of an inode is one moment's truth if Unchanged(inode, Version(inode) of before it
  // began).
  uint64_t Version(InodeNumber inode) const {
    return StripeOf(inode).version.load(std::memory_order_acquire);
  }
  bool Unchanged(InodeNumber inode, uint64_t version) const {
    // The store's reads acquire what they see, so this load cannot pass them.
    return version % 2 == 0 && StripeOf(inode).version.load(std::memory_order_acquire) == version;
  }

 private:
  struct alignas(64) Stripe {
    AsyncMutex mutex;
    // Odd while somebody holds the mutex.
    std::atomic<uint64_t> version{0};
  };
  // Ascending, each once; unused places at the end hold kStripes.
  using StripeSet = std::array<size_t, kInodesMax>;

  static size_t IndexOf(InodeNumber inode);
  static StripeSet StripesOf(InodeNumber a, InodeNumber b, InodeNumber c, InodeNumber d);
  Stripe& StripeOf(InodeNumber inode) const { return stripes_[IndexOf(inode)]; }
  static void Hold(Guard& guard, size_t place, AsyncMutex::Guard held, Stripe& stripe);

  std::unique_ptr<Stripe[]> stripes_;
};

}  // namespace varve
