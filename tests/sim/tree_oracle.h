// TreeOracle: what clients of a filesystem have done, each below a directory of its own, and whether what a
// crash has left can be true. A tree is known by its digest: each client's trees after each of its operations
// are kept as digests, over crashes, and what is read after one must be one of them: where data was destroyed
// an older one than an earlier crash left, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/fs/ops/model_fs.h"
#include "tests/sim/store_oracle.h"

namespace varve::sim {

// Names, types, permissions, owners, link counts, which names are the same file, contents, targets and
// attributes of everything below `directory`; not times and inode numbers.
uint64_t TreeDigest(const ModelNode& directory);
// The same in words, for a report: one line a name.
std::string DescribeTree(const ModelNode& directory);

class TreeOracle {
 public:
  TreeOracle(size_t clients, uint64_t digest_of_empty);

  // An operation begins; it ends with the tree that its client then sees, or nobody knows whether it was
  // done: then with the tree there is if it was, and the client does nothing more until Adopt.
  void Begin(size_t client);
  void Acknowledged(size_t client, uint64_t digest);
  void Unknown(size_t client, uint64_t digest_if_done);

  Counts acknowledged() const;
  // See StoreOracle.
  void Durable(const Counts& counts);

  // What a crash, a kill or an unmount has left, a digest for each client: with `durable` all that was
  // promised. Then the oracle goes on from there, and counts it as durable.
  Problem Adopt(const std::vector<uint64_t>& survived, bool durable);

 private:
  struct Operation {
    uint64_t digest = 0;  // of the tree after it
    Counts acknowledged_before;
  };
  struct Client {
    uint64_t acknowledged = 0;
    uint64_t durable = 0;
    // All that have survived so far, and what came after the last crash; the first stands for the empty tree.
    std::vector<Operation> operations;
    Counts began;  // the operation under way
  };

  std::vector<Client> clients_;
};

}  // namespace varve::sim
