#include "fs/fuse/control_directory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace varve {
namespace {

class Owner final : public MountOwner {
 public:
  Task<Status> Close() override { co_return OkStatus(); }
  std::string StatisticsJson() const override {
    return R"({"operations":{"gets":)" + std::to_string(gets) +
           R"(,"x":"}"},"list":[1,{"a":2}],"quo\"te":"a,b"})";
  }
  std::string source() const override { return "/dev/x"; }
  std::string ScrubReport() const override { return "report\n"; }
  std::string StartScrub() override { return ""; }
  std::string StopScrub() override { return ""; }

  int gets = 1;
};

template <typename Body>
std::string Request(uint32_t opcode, uint64_t node, const Body& body) {
  fuse_in_header header = {};
  header.opcode = opcode;
  header.nodeid = node;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(&body), sizeof(body));
  return bytes;
}

std::string LookupRequest(uint64_t parent, const std::string& name) {
  fuse_in_header header = {};
  header.opcode = FUSE_LOOKUP;
  header.nodeid = parent;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + name + '\0';
}

template <typename Body>
Body BodyOf(const ControlDirectory::Answer& answer) {
  EXPECT_EQ(answer.error, 0);
  EXPECT_EQ(answer.body.size(), sizeof(Body));
  Body body = {};
  std::memcpy(&body, answer.body.data(), std::min(sizeof(body), answer.body.size()));
  return body;
}

struct Fixture {
  Owner owner;
  ControlDirectory control{owner};

  ControlDirectory::Answer Ask(const std::string& request) {
    EXPECT_TRUE(ControlDirectory::Concerns(request));
    return control.Handle(request);
  }
  uint64_t Directory() { return BodyOf<fuse_entry_out>(Ask(LookupRequest(1, ".varve"))).nodeid; }
  fuse_entry_out Find(const std::string& name) {
    return BodyOf<fuse_entry_out>(Ask(LookupRequest(Directory(), name)));
  }
  std::string Read(uint64_t node, uint64_t offset, uint32_t size) {
    fuse_read_in read = {};
    read.offset = offset;
    read.size = size;
    return Ask(Request(FUSE_READ, node, read)).body;
  }
  std::string NamesIn(uint32_t size, uint64_t& offset) {
    fuse_read_in read = {};
    read.offset = offset;
    read.size = size;
    const std::string body = Ask(Request(FUSE_READDIR, Directory(), read)).body;
    std::string names;
    for (size_t at = 0; at < body.size();) {
      fuse_dirent entry = {};
      std::memcpy(&entry, body.data() + at, FUSE_NAME_OFFSET);
      names += body.substr(at + FUSE_NAME_OFFSET, entry.namelen) + ' ';
      offset = entry.off;
      at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
    }
    return names;
  }
};

TEST(ControlDirectory, OnlyItsNameInTheRootIsItsOwn) {
  EXPECT_TRUE(ControlDirectory::Concerns(LookupRequest(1, ".varve")));
  EXPECT_FALSE(ControlDirectory::Concerns(LookupRequest(2, ".varve")));
  EXPECT_FALSE(ControlDirectory::Concerns(LookupRequest(1, ".varve2")));
  EXPECT_FALSE(ControlDirectory::Concerns(LookupRequest(1, "varve")));
}

TEST(ControlDirectory, EachMemberOfTheStatisticsIsAFile) {
  Fixture t;
  EXPECT_EQ(t.Read(t.Find("operations.json").nodeid, 0, 4096), "{\"gets\":1,\"x\":\"}\"}\n");
  EXPECT_EQ(t.Read(t.Find("list.json").nodeid, 0, 4096), "[1,{\"a\":2}]\n");
  EXPECT_EQ(t.Read(t.Find("source").nodeid, 0, 4096), "/dev/x\n");
}

TEST(ControlDirectory, AFileIsWhatItWasWhenItWasLookedUp) {
  Fixture t;
  const fuse_entry_out before = t.Find("operations.json");
  t.owner.gets = 1000;
  const fuse_entry_out after = t.Find("operations.json");
  EXPECT_NE(before.nodeid, after.nodeid);
  EXPECT_EQ(before.entry_valid, 0U);
  EXPECT_EQ(t.Read(before.nodeid, 0, 4096).size(), before.attr.size);
  EXPECT_EQ(t.Read(after.nodeid, 0, 4096).size(), after.attr.size);
  EXPECT_EQ(after.attr.size, before.attr.size + 3);
  EXPECT_EQ(t.Read(after.nodeid, 8, 4), "1000");
  EXPECT_EQ(t.Read(after.nodeid, after.attr.size, 100), "");
}

TEST(ControlDirectory, WhatTheKernelForgetsIsFreed) {
  Fixture t;
  const uint64_t node = t.Find("source").nodeid;
  EXPECT_EQ(t.control.nodes(), 1U);
  fuse_forget_in forget = {};
  forget.nlookup = 1;
  EXPECT_FALSE(t.Ask(Request(FUSE_FORGET, node, forget)).wanted);
  EXPECT_EQ(t.control.nodes(), 0U);
  EXPECT_EQ(t.Ask(Request(FUSE_GETATTR, node, fuse_getattr_in{})).error, ESTALE);
}

TEST(ControlDirectory, AListingInPiecesHasEveryNameOnce) {
  Fixture t;
  uint64_t offset = 0;
  const std::string whole = t.NamesIn(65536, offset);
  EXPECT_EQ(whole, ". .. list.json operations.json process quo\\\"te.json scrub source statistics.json ");
  std::string pieces;
  offset = 0;
  for (std::string piece = t.NamesIn(64, offset); !piece.empty(); piece = t.NamesIn(64, offset)) {
    pieces += piece;
  }
  EXPECT_EQ(pieces, whole);
}

TEST(ControlDirectory, NothingInItCanBeChanged) {
  Fixture t;
  const uint64_t node = t.Find("source").nodeid;
  EXPECT_EQ(t.Ask(Request(FUSE_SETATTR, node, fuse_setattr_in{})).error, EPERM);
  EXPECT_EQ(t.Ask(Request(FUSE_WRITE, node, fuse_write_in{})).error, EPERM);
  EXPECT_EQ(t.Ask(Request(FUSE_MKNOD, t.Directory(), fuse_mknod_in{})).error, EPERM);
  EXPECT_EQ(t.Ask(LookupRequest(t.Directory(), "nothing")).error, ENOENT);
}

TEST(ControlDirectory, WhatIsNoObjectHasNoMembers) {
  for (const char* const text : {"", "[1,2]", "7", "\"a\":1", "{}", "{", "}", "{\"a\"", "{\"a\":"}) {
    EXPECT_TRUE(MembersOfJson(text).empty()) << text;
  }
}

}  // namespace
}  // namespace varve
