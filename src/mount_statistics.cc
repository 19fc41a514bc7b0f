#include "src/mount_statistics.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/store/statistics.h"

namespace varve {

namespace {

// What the kernel may ask, by its numbers in the FUSE protocol. Named as /sys and libfuse name them; in order
// of the numbers, so that none is forgotten.
constexpr std::array<std::pair<size_t, std::string_view>, 46> kRequests = {{
    {1, "lookup"},       {2, "forget"},       {3, "getattr"},       {4, "setattr"},
    {5, "readlink"},     {6, "symlink"},      {8, "mknod"},         {9, "mkdir"},
    {10, "unlink"},      {11, "rmdir"},       {12, "rename"},       {13, "link"},
    {14, "open"},        {15, "read"},        {16, "write"},        {17, "statfs"},
    {18, "release"},     {20, "fsync"},       {21, "setxattr"},     {22, "getxattr"},
    {23, "listxattr"},   {24, "removexattr"}, {25, "flush"},        {26, "init"},
    {27, "opendir"},     {28, "readdir"},     {29, "releasedir"},   {30, "fsyncdir"},
    {31, "getlk"},       {32, "setlk"},       {33, "setlkw"},       {34, "access"},
    {35, "create"},      {36, "interrupt"},   {37, "bmap"},         {38, "destroy"},
    {39, "ioctl"},       {40, "poll"},        {42, "batch_forget"}, {43, "fallocate"},
    {44, "readdirplus"}, {45, "rename2"},     {46, "lseek"},        {47, "copy_file_range"},
    {50, "syncfs"},      {51, "tmpfile"},
}};

template <typename Part, typename Field>
uint64_t Sum(const std::vector<const Part*>& parts, Field field) {
  uint64_t sum = 0;
  for (const Part* part : parts) {
    sum += field(*part);
  }
  return sum;
}

}  // namespace

std::string MountStatisticsJson(std::string_view store_json, const FileSystemStatistics& filesystem,
                                const std::vector<const Transport*>& transports,
                                const std::vector<const ChannelStatistics*>& channels,
                                const ReactorTurns& turns) {
  std::string json(store_json.substr(0, store_json.rfind('}')));
  // An empty object has no member to put a comma after.
  const std::string_view separator = json.find('"') == std::string::npos ? "" : ",";
  json += fmt::format(R"({}"filesystem":{{"nodes":{},"node_bytes":{},"accesses_noted":{},)"
                      R"("listing_bytes":{},"orphans_waiting":{},"deletes_reaped":{}}})",
                      separator, filesystem.nodes, filesystem.node_bytes, filesystem.accesses_noted,
                      filesystem.listing_bytes, filesystem.orphans_waiting, filesystem.deletes_reaped);
  json += fmt::format(
      R"(,"fuse":{{"transport":"{}","reactors":{},"clients_kept":{},"requests_passed":{},"sleeps":{},)"
      R"("replies_unwanted":{},)",
      transports.front()->name(), channels.size(),
      Sum(transports, [](const Transport& t) { return t.clients_kept(); }),
      Sum(transports, [](const Transport& t) { return t.requests_passed(); }),
      Sum(channels, [](const ChannelStatistics& c) { return c.sleeps.load(); }),
      Sum(channels, [](const ChannelStatistics& c) { return c.replies_unwanted.load(); }));
  json += R"("requests":{)";
  std::string_view comma;
  for (const auto& request : kRequests) {
    const size_t opcode = request.first;
    const uint64_t count =
        Sum(channels, [opcode](const ChannelStatistics& c) { return c.requests[opcode].load(); });
    json += fmt::format(R"({}"{}":{})", comma, request.second, count);
    comma = ",";
  }
  Histogram of_requests;
  for (const Histogram* const reactor : turns.of_requests) {
    of_requests.Merge(*reactor);
  }
  json += fmt::format(R"(}}}},"turn_nanos":{{"requests":{},"background":{}}}}})", HistogramJson(of_requests),
                      HistogramJson(*turns.of_background));
  return json;
}

}  // namespace varve
