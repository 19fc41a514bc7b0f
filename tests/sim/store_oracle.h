// StoreOracle: what clients of a store have done, and whether what they see can be true.
//
// Every client writes keys of its own, so batches of different clients commute, and each batch carries the
// client's marker: a state of the store tells by itself how many batches of each client it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/store/store.h"

namespace varve::sim {

using State = std::map<std::string, std::string>;
// What an iterator has yielded, in its order.
using Entries = std::vector<std::pair<std::string, std::string>>;

struct Record {
  std::string key;
  bool is_delete = false;
  std::string value;
  // Deletes [key, range_end); empty: one key.
  std::string range_end = {};
};

inline constexpr size_t kClientsMax = 4;
// How many of the client's keys there are; their names cover short, long, empty and prefixing ones.
inline constexpr uint64_t kKeysOfClient = 150;
std::string KeyOf(size_t client, uint64_t number);
// Keys that lie side by side, none of another client between them: for deletes of ranges.
inline constexpr uint64_t kNeighboursOfClient = 60;
std::string NeighbourOf(size_t client, uint64_t number);
std::string MarkerOf(size_t client);
size_t OwnerOf(std::string_view key);

// How many batches of each client.
using Counts = std::vector<uint64_t>;
std::string ToString(const Counts& counts);

// Problems are answered in words; nullopt: all is well.
using Problem = std::optional<std::string>;

class StoreOracle {
 public:
  explicit StoreOracle(size_t clients) : clients_(clients) {}

  // The client's next batch: `records` and the marker. It stays pending until one of the next three. A client
  // whose batch is of unknown outcome writes nothing more until Adopt.
  void Begin(size_t client, const std::vector<Record>& records, WriteBatch& batch);
  void Acknowledged(size_t client);
  void Refused(size_t client);
  bool MayWrite(size_t client) const { return !clients_[client].pending; }

  // What is acknowledged now, and later that it was made durable: it survives every crash from then on.
  Counts acknowledged() const;
  void Durable(const Counts& counts);
  // The count that includes the client's pending batch.
  uint64_t CountWithPending(size_t client) const { return clients_[client].count() + 1; }

  // What may be seen at this moment: each client's state, and the one with its pending batch.
  struct View {
    std::vector<State> states;
    std::vector<std::optional<State>> pending;
  };
  View Look() const;
  // `entries` of [lower, upper) (empty: no bound), seen in that view.
  static Problem CheckEntries(const View& view, std::string_view lower, std::string_view upper,
                              const Entries& entries);
  // The newest value of a client's own key.
  Problem CheckOwn(size_t client, std::string_view key, const std::optional<std::string>& found) const;
  // Only that the owner wrote this value to the key once: all that can be said where data was destroyed.
  Problem CheckWasWritten(std::string_view key, std::string_view value) const;

  // The state that a crash, a kill or a close has left: a moment of the past of every client, one that can
  // have been (no batch without those acknowledged before it began), and with `durable` all that was
  // promised; where data was destroyed it may be from before the last crash. Then the oracle goes on from
  // there, and counts it as durable.
  Problem Adopt(const State& survived, bool durable);

 private:
  struct Batch {
    std::vector<Record> records;
    Counts acknowledged_before;
  };
  struct Client {
    // All that are acknowledged, over crashes: less those that one took.
    std::vector<Batch> batches;
    uint64_t durable = 0;  // of these
    State state;           // after all of these
    std::optional<Batch> pending;
    // Hashes of values: for each key all that it ever had.
    std::map<std::string, std::set<uint64_t>, std::less<>> ever_written;

    uint64_t count() const { return batches.size(); }
  };

  static void ApplyTo(State& state, const Batch& batch);
  Problem CheckOrder(const Counts& survived) const;
  static Problem Compare(const State& expected, const State& found);

  std::vector<Client> clients_;
};

}  // namespace varve::sim
