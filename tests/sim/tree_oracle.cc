#include "tests/sim/tree_oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "engine/base/checksum.h"

namespace varve::sim {

namespace {

// Walks a tree in the order of its names; a file with several names is the same number at each.
class Describer {
 public:
  std::string Describe(const ModelNode& directory, const std::string& path) {
    std::string text;
    for (const auto& [name, child] : directory.children) {
      const auto number = numbers_.emplace(child.get(), numbers_.size()).first->second;
      text +=
          fmt::format("{}/{} #{} {:o} {}:{} {} links, {} bytes {:x}", path, name, number, child->mode,
                      child->uid, child->gid, child->is_directory() ? child->subdirectories() : child->nlink,
                      child->content.size(), Hash64(child->content));
      for (const auto& [attribute, value] : child->xattrs) {
        text += fmt::format(" {}={:x}", attribute, Hash64(value));
      }
      text += '\n';
      if (child->is_directory()) {
        text += Describe(*child, path + "/" + name);
      }
    }
    return text;
  }

 private:
  std::map<const ModelNode*, size_t> numbers_;
};

}  // namespace

std::string DescribeTree(const ModelNode& directory) {
  return Describer().Describe(directory, "");
}

uint64_t TreeDigest(const ModelNode& directory) {
  return Hash64(DescribeTree(directory));
}

TreeOracle::TreeOracle(size_t clients, uint64_t digest_of_empty) : clients_(clients) {
  for (Client& client : clients_) {
    client.operations.push_back({digest_of_empty, Counts(clients)});
  }
}

void TreeOracle::Begin(size_t client) {
  clients_[client].began = acknowledged();
}

void TreeOracle::Acknowledged(size_t client, uint64_t digest) {
  Client& c = clients_[client];
  c.operations.push_back({digest, std::move(c.began)});
  ++c.acknowledged;
}

void TreeOracle::Unknown(size_t client, uint64_t digest_if_done) {
  Client& c = clients_[client];
  c.operations.push_back({digest_if_done, std::move(c.began)});
}

Counts TreeOracle::acknowledged() const {
  Counts counts;
  for (const Client& client : clients_) {
    counts.push_back(client.acknowledged);
  }
  return counts;
}

void TreeOracle::Durable(const Counts& counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    clients_[i].durable = std::max(clients_[i].durable, counts[i]);
  }
}

Problem TreeOracle::Adopt(const std::vector<uint64_t>& survived, bool durable) {
  // Operations that change nothing leave equal trees: each client stands between two counts.
  Counts least;
  Counts most;
  for (size_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    std::optional<uint64_t> first;
    uint64_t last = 0;
    const uint64_t from = durable ? client.durable : 0;
    for (uint64_t count = from; count < client.operations.size(); ++count) {
      if (client.operations[count].digest == survived[i]) {
        first = first.value_or(count);
        last = count;
      }
    }
    if (!first) {
      return fmt::format("client {}: what survived is no tree after {} to {} of its operations", i, from,
                         client.operations.size() - 1);
    }
    least.push_back(*first);
    most.push_back(last);
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    const Operation& last = clients_[i].operations[least[i]];
    for (size_t other = 0; other < clients_.size(); ++other) {
      if (most[other] < last.acknowledged_before[other]) {
        return fmt::format(
            "operation {} of client {} survived, and {} of client {}, acknowledged before it began, did not",
            least[i], i, last.acknowledged_before[other], other);
      }
    }
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    client.acknowledged = client.durable = most[i];
    client.operations.resize(most[i] + 1);
    // Which of these it was nobody knows.
    for (uint64_t count = least[i] + 1; count <= most[i]; ++count) {
      client.operations[count].acknowledged_before = client.operations[least[i]].acknowledged_before;
    }
  }
  return std::nullopt;
}

}  // namespace varve::sim
