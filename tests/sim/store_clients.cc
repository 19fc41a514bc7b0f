#include "tests/sim/store_clients.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/ring/when_all.h"
#include "engine/sst_log/log_picker.h"

namespace varve::sim {

Task<void> StoreClients::Run(Store& store, uint64_t operations) {
  store_ = &store;
  std::vector<Task<Status>> clients;
  for (size_t i = 0; i < count_; ++i) {
    clients.push_back(Work(i, operations));
  }
  (void)co_await WhenAllOk(std::move(clients));
}

void StoreClients::Judge(const Problem& problem) {
  if (problem) {
    world_.trace.Fail("{}", *problem);
  }
}

Task<Status> StoreClients::Work(size_t client, uint64_t operations) {
  for (uint64_t i = 0; i < operations && !world_.device.off() && !world_.failed(); ++i) {
    ++world_.figures.operations;
    const uint64_t dice = random_.Below(1000);
    if (dice < 600) {
      co_await Write(client);
    } else if (dice < 800) {
      co_await Get(client);
    } else if (dice < 850) {
      co_await Scan();
    } else if (dice < 890) {
      snapshots_.push_back({store_->GetSnapshot(), oracle_.Look()});
    } else if (dice < 930) {
      co_await ScanSnapshot();
    } else if (dice < 950) {
      co_await Executor::Current().Sleep(random_.Below(sleep_nanos_max));
    } else if (dice < 975) {
      co_await Sync();
    } else if (dice < 980) {
      co_await Settle();
    } else {
      co_await Executor::Current().Yield();
    }
  }
  co_return OkStatus();
}

std::vector<Record> StoreClients::DrawRecords(size_t client) {
  std::vector<Record> records;
  const uint64_t count = random_.OneIn(6) ? random_.Between(2, fills_device ? 8 : 20) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    Record record;
    record.key = KeyOf(client, random_.Below(kKeysOfClient));
    record.is_delete = random_.OneIn(4);
    if (!record.is_delete) {
      record.value = fmt::format("{}.{}.", client, ++values_);
      uint64_t more = random_.OneIn(20) ? random_.Below(20'000) : random_.Below(200);
      if (fills_device) {
        more += 30'000 + random_.Below(200'000);
      } else if (random_.OneIn(300)) {
        // Two of these make the log write a group that nobody has asked to be durable.
        more = 400'000;
      }
      record.value.append(more, static_cast<char>('A' + random_.Below(26)));
    }
    records.push_back(std::move(record));
  }
  if (range_random_.OneIn(3)) {
    AddNeighbours(client, records);
  }
  return records;
}

void StoreClients::AddNeighbours(size_t client, std::vector<Record>& records) {
  uint64_t first = range_random_.Below(kNeighboursOfClient);
  uint64_t end = range_random_.Below(kNeighboursOfClient);
  if (end < first) {
    std::swap(first, end);
  }
  if (range_random_.OneIn(2)) {
    // Seldom an empty range: nothing is written for it.
    if (first < end) {
      records.push_back({NeighbourOf(client, first), true, "", NeighbourOf(client, end)});
    }
    return;
  }
  for (uint64_t number = first; number < end; number += 1 + range_random_.Below(6)) {
    Record record;
    record.key = NeighbourOf(client, number);
    record.value = fmt::format("{}.{}.", client, ++values_);
    record.value.append(range_random_.Below(400), 'n');
    records.push_back(std::move(record));
  }
}

std::string StoreClients::DrawKey(size_t client) {
  const uint64_t number = random_.Below(kKeysOfClient);
  return range_random_.OneIn(3) ? NeighbourOf(client, range_random_.Below(kNeighboursOfClient))
                                : KeyOf(client, number);
}

Task<void> StoreClients::Write(size_t client) {
  if (!oracle_.MayWrite(client)) {
    co_return;
  }
  WriteBatch batch;
  oracle_.Begin(client, DrawRecords(client), batch);
  const Durability durability = random_.OneIn(12) ? Durability::kDurable : Durability::kInterval;
  // What a durable write answers for: itself and all that was done before it.
  Counts covered = oracle_.acknowledged();
  covered[client] = oracle_.CountWithPending(client);
  const uint64_t number = covered[client];
  std::optional<Status> done;
  if (!random_.OneIn(8)) {
    done = store_->TryWrite(batch, durability);
  }
  if (!done) {
    done = co_await store_->Write(batch, durability);
  }
  world_.trace.Add("client {}: batch {}, {} records, {} bytes{}: {}", client, number, batch.count(),
                   batch.bytes(), durability == Durability::kDurable ? ", durable" : "", done->ToString());
  if (done->ok()) {
    oracle_.Acknowledged(client);
    if (durability == Durability::kDurable && !world_.device.off()) {
      oracle_.Durable(covered);
    }
  } else if (done->Is(ErrorCode::kNoSpace)) {
    ++world_.figures.refused;
    oracle_.Refused(client);
    if (!fills_device) {
      world_.trace.Fail("client {}: {}", client, done->ToString());
    }
  } else {
    world_.OnError("write", *done);
  }
}

Task<void> StoreClients::Sync() {
  const Counts covered = oracle_.acknowledged();
  const Status synced = co_await store_->Sync();
  world_.trace.Add("sync {}: {}", ToString(covered), synced.ToString());
  if (!synced.ok()) {
    world_.OnError("sync", synced);
  } else if (!world_.device.off()) {
    oracle_.Durable(covered);
  }
}

Task<void> StoreClients::Settle() {
  const Status settled = co_await store_->Settle();
  world_.trace.Add("settle: {}", settled.ToString());
  if (!settled.ok()) {
    world_.OnError("settle", settled);
  } else if (!fills_device && !world_.device.disturbed()) {
    CheckSettled();
  }
}

// While another client has no new job running meanwhile, nothing is due.
void StoreClients::CheckSettled() {
  if (world_.version() == nullptr ||
      store_->StatisticsJson().find("\"running_jobs\":0,") == std::string::npos) {
    return;
  }
  const Version& version = *world_.version();
  uint64_t log_tables = 0;
  for (uint32_t level = 1; level < kLevels; ++level) {
    log_tables += version.level(level).log.size();
  }
  world_.figures.settled += log_tables > 0 ? 1 : 0;
  for (const std::string& violation : CheckSettledLogs(version, log_share)) {
    world_.trace.Fail("settled: {}", violation);
  }
}

Task<void> StoreClients::Get(size_t client) {
  const std::string key = DrawKey(client);
  ReadOptions options;
  options.fill_cache = !random_.OneIn(4);
  std::optional<Store::Lookup> found;
  std::unique_ptr<Store::UnfinishedGet> rest;
  if (random_.OneIn(2)) {
    found = store_->BeginGet(key, options, rest);
  }
  if (rest != nullptr) {
    found = co_await rest->Finish();
  } else if (!found) {
    found = co_await store_->Get(key, options);
  }
  if (!found->ok()) {
    world_.OnError("get", found->status());
    co_return;
  }
  std::optional<std::string> value;
  if (found->value()) {
    value = std::string(found->value()->bytes());
  }
  Judge(oracle_.CheckOwn(client, key, value));
}

Task<void> StoreClients::CompareGetsWithScan(Store& store) {
  const std::shared_ptr<const Snapshot> snapshot = store.GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot.get();
  Entries entries;
  const Status read = co_await ReadRange(store, "", "", options, false, entries);
  if (!read.ok()) {
    world_.OnError("scan", read);
    co_return;
  }
  const std::map<std::string, std::string> scanned(entries.begin(), entries.end());
  for (size_t client = 0; client < count_; ++client) {
    for (uint64_t n = 0; n < kKeysOfClient + kNeighboursOfClient; ++n) {
      const std::string key = n < kKeysOfClient ? KeyOf(client, n) : NeighbourOf(client, n - kKeysOfClient);
      const Store::Lookup found = co_await store.Get(key, options);
      if (!found.ok()) {
        world_.OnError("get", found.status());
        co_return;
      }
      const auto there = scanned.find(key);
      const bool same = there == scanned.end() ? !found->has_value()
                                               : found->has_value() && (*found)->bytes() == there->second;
      if (!same) {
        world_.trace.Fail("a get of {} answers otherwise than a scan", key);
        co_return;
      }
    }
  }
}

Task<void> StoreClients::ScanView(const StoreOracle::View& view, const Snapshot* snapshot) {
  std::string lower;
  std::string upper;
  if (!random_.OneIn(4)) {
    lower = DrawKey(random_.Below(count_));
    upper = DrawKey(random_.Below(count_));
    if (upper < lower) {
      std::swap(lower, upper);
    }
  }
  Entries entries;
  const bool backward = random_.OneIn(2);
  ReadOptions options;
  options.snapshot = snapshot;
  options.fill_cache = !random_.OneIn(4);
  const Status read = co_await ReadRange(*store_, lower, upper, options, backward, entries);
  if (!read.ok()) {
    world_.OnError("scan", read);
    co_return;
  }
  world_.trace.Add("scan{}{}: {} entries", snapshot != nullptr ? " of a snapshot" : "",
                   backward ? " backward" : "", entries.size());
  Judge(StoreOracle::CheckEntries(view, lower, upper, entries));
}

// The iterator sees what there is when it is made, however long it then takes.
Task<void> StoreClients::Scan() {
  const StoreOracle::View view = oracle_.Look();
  co_await ScanView(view, nullptr);
}

Task<void> StoreClients::ScanSnapshot() {
  if (snapshots_.empty()) {
    co_return;
  }
  const size_t at = random_.Below(snapshots_.size());
  // A copy: another client may let go of it meanwhile.
  const Held held = snapshots_[at];
  if (random_.OneIn(2)) {
    snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  co_await ScanView(held.view, held.snapshot.get());
}

Task<Status> ReadRange(Store& store, std::string lower, std::string upper, ReadOptions options, bool backward,
                       Entries& entries) {
  const std::unique_ptr<StoreIterator> it = store.NewIterator(lower, upper, options);
  // Above every key that is written.
  const std::string last = upper.empty() ? "z" : upper;
  Step step = backward ? it->SeekForPrev(last) : it->Seek(lower);
  while (true) {
    if (step == Step::kNeedsIo) {
      co_await it->Load();
    }
    if (!it->Valid()) {
      break;
    }
    entries.emplace_back(it->key(), it->value());
    step = backward ? it->Prev() : it->Next();
  }
  if (backward) {
    std::reverse(entries.begin(), entries.end());
  }
  co_return it->status();
}

}  // namespace varve::sim
