#include "tests/sim/store_oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "engine/base/checksum.h"

namespace varve::sim {

namespace {

// Of a value in a message.
std::string Shorten(std::string_view value) {
  return value.size() <= 24 ? std::string(value) : fmt::format("{}… ({})", value.substr(0, 24), value.size());
}

State Part(const State& state, std::string_view lower, std::string_view upper) {
  return State(state.lower_bound(std::string(lower)),
               upper.empty() ? state.end() : state.lower_bound(std::string(upper)));
}

}  // namespace

std::string KeyOf(size_t client, uint64_t number) {
  if (number == 0 && client == 0) {
    return "";
  }
  if (number < 20) {
    return std::string(number, 'a') + std::to_string(client);
  }
  std::string key = fmt::format("k{}/{}", number % 37, number);
  if (number % 50 == 7) {
    key += std::string(300, static_cast<char>('p' + number % 5));
  }
  return key + "-" + std::to_string(client);
}

std::string NeighbourOf(size_t client, uint64_t number) {
  return fmt::format("n{}/{:02}-{}", client, number, client);
}

std::string MarkerOf(size_t client) {
  return "m" + std::to_string(client);
}

size_t OwnerOf(std::string_view key) {
  return key.empty() ? 0 : static_cast<size_t>(key.back() - '0');
}

std::string ToString(const Counts& counts) {
  std::string text;
  for (const uint64_t count : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count);
  }
  return text;
}

void StoreOracle::ApplyTo(State& state, const Batch& batch) {
  for (const Record& record : batch.records) {
    if (!record.range_end.empty()) {
      state.erase(state.lower_bound(record.key), state.lower_bound(record.range_end));
    } else if (record.is_delete) {
      state.erase(record.key);
    } else {
      state[record.key] = record.value;
    }
  }
}

void StoreOracle::Begin(size_t client, const std::vector<Record>& records, WriteBatch& batch) {
  Client& c = clients_[client];
  c.pending = Batch{records, acknowledged()};
  c.pending->records.push_back({MarkerOf(client), false, std::to_string(c.count() + 1)});
  for (const Record& record : c.pending->records) {
    if (!record.range_end.empty()) {
      batch.DeleteRange(record.key, record.range_end);
    } else if (record.is_delete) {
      batch.Delete(record.key);
    } else {
      batch.Put(record.key, record.value);
      c.ever_written[record.key].insert(Hash64(record.value));
    }
  }
}

void StoreOracle::Acknowledged(size_t client) {
  Client& c = clients_[client];
  ApplyTo(c.state, *c.pending);
  c.batches.push_back(std::move(*c.pending));
  c.pending.reset();
}

void StoreOracle::Refused(size_t client) {
  clients_[client].pending.reset();
}

Counts StoreOracle::acknowledged() const {
  Counts counts;
  for (const Client& client : clients_) {
    counts.push_back(client.count());
  }
  return counts;
}

void StoreOracle::Durable(const Counts& counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    clients_[i].durable = std::max(clients_[i].durable, counts[i]);
  }
}

StoreOracle::View StoreOracle::Look() const {
  View view;
  for (const Client& client : clients_) {
    view.states.push_back(client.state);
    view.pending.emplace_back();
    if (client.pending) {
      view.pending.back() = client.state;
      ApplyTo(*view.pending.back(), *client.pending);
    }
  }
  return view;
}

Problem StoreOracle::Compare(const State& expected, const State& found) {
  for (const auto& [key, value] : expected) {
    const auto at = found.find(key);
    if (at == found.end()) {
      return fmt::format("key {} is missing, its value is {}", Shorten(key), Shorten(value));
    }
    if (at->second != value) {
      return fmt::format("key {} has value {} instead of {}", Shorten(key), Shorten(at->second),
                         Shorten(value));
    }
  }
  for (const auto& [key, value] : found) {
    if (expected.count(key) == 0) {
      return fmt::format("key {} has value {} and should not be there", Shorten(key), Shorten(value));
    }
  }
  return std::nullopt;
}

Problem StoreOracle::CheckEntries(const View& view, std::string_view lower, std::string_view upper,
                                  const Entries& entries) {
  std::vector<State> by_client(view.states.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [key, value] = entries[i];
    if (i > 0 && entries[i - 1].first >= key) {
      return fmt::format("a scan yields key {} after {}", Shorten(key), Shorten(entries[i - 1].first));
    }
    if (OwnerOf(key) >= by_client.size()) {
      return fmt::format("a scan yields key {}, which nobody wrote", Shorten(key));
    }
    by_client[OwnerOf(key)].emplace(key, value);
  }
  for (size_t i = 0; i < by_client.size(); ++i) {
    const Problem problem = Compare(Part(view.states[i], lower, upper), by_client[i]);
    if (!problem) {
      continue;
    }
    const bool as_pending =
        view.pending[i] && !Compare(Part(*view.pending[i], lower, upper), by_client[i]).has_value();
    if (!as_pending) {
      return fmt::format("client {}: {}", i, *problem);
    }
  }
  return std::nullopt;
}

Problem StoreOracle::CheckOwn(size_t client, std::string_view key,
                              const std::optional<std::string>& found) const {
  const Client& c = clients_[client];
  const auto matches = [&](const State& state) {
    const auto at = state.find(std::string(key));
    return at == state.end() ? !found : found && *found == at->second;
  };
  if (matches(c.state)) {
    return std::nullopt;
  }
  if (c.pending) {
    State after = c.state;
    ApplyTo(after, *c.pending);
    if (matches(after)) {
      return std::nullopt;
    }
  }
  const auto at = c.state.find(std::string(key));
  return fmt::format("client {} reads {} for key {} instead of {}", client,
                     found ? Shorten(*found) : "nothing", Shorten(key),
                     at == c.state.end() ? "nothing" : Shorten(at->second));
}

Problem StoreOracle::CheckWasWritten(std::string_view key, std::string_view value) const {
  const size_t owner = OwnerOf(key);
  if (owner < clients_.size()) {
    const auto& written = clients_[owner].ever_written;
    const auto at = written.find(key);
    if (at != written.end() && at->second.contains(Hash64(value))) {
      return std::nullopt;
    }
  }
  return fmt::format("key {} has value {}, which was never written to it", Shorten(key), Shorten(value));
}

// Whoever began a batch saw those acknowledged before: none of them may be missing beside it.
Problem StoreOracle::CheckOrder(const Counts& survived) const {
  for (size_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    if (survived[i] == 0) {
      continue;
    }
    const Batch& last = survived[i] > client.count() ? *client.pending : client.batches[survived[i] - 1];
    for (size_t other = 0; other < clients_.size(); ++other) {
      if (survived[other] < last.acknowledged_before[other]) {
        return fmt::format(
            "batch {} of client {} survived, and batch {} of client {}, acknowledged before it began, did "
            "not",
            survived[i], i, last.acknowledged_before[other], other);
      }
    }
  }
  return std::nullopt;
}

Problem StoreOracle::Adopt(const State& survived, bool durable) {
  std::vector<State> by_client(clients_.size());
  for (const auto& [key, value] : survived) {
    if (OwnerOf(key) >= clients_.size()) {
      return fmt::format("key {} was written by nobody", Shorten(key));
    }
    by_client[OwnerOf(key)].emplace(key, value);
  }
  Counts counts;
  std::vector<State> expected;
  for (size_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    const auto marker = by_client[i].find(MarkerOf(i));
    uint64_t count = 0;
    if (marker != by_client[i].end()) {
      std::from_chars(marker->second.data(), marker->second.data() + marker->second.size(), count);
    }
    const uint64_t most = client.count() + (client.pending ? 1 : 0);
    if (count > most) {
      return fmt::format("{} batches of client {} survived, of {}", count, i, most);
    }
    if (durable && count < client.durable) {
      return fmt::format("{} batches of client {} survived, and {} were durable", count, i, client.durable);
    }
    State state;
    for (uint64_t n = 0; n < count; ++n) {
      ApplyTo(state, n < client.count() ? client.batches[n] : *client.pending);
    }
    if (const Problem problem = Compare(state, by_client[i])) {
      return fmt::format("after {} batches of client {}: {}", count, i, *problem);
    }
    counts.push_back(count);
    expected.push_back(std::move(state));
  }
  if (Problem problem = CheckOrder(counts)) {
    return problem;
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (counts[i] > client.count()) {
      client.batches.push_back(std::move(*client.pending));
    }
    client.batches.resize(counts[i]);
    client.durable = counts[i];
    client.state = std::move(expected[i]);
    client.pending.reset();
  }
  return std::nullopt;
}

}  // namespace varve::sim
