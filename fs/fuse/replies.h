// From the filesystem's results to FUSE replies. The Answer… coroutines run an operation and reply when it
// ends; spawn them. They hold the request's message as long as the operation may look at it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/fuse_library.h"
#include "fs/ops/filesystem.h"

namespace varve {

Channel& ChannelOf(fuse_req_t request);
Caller CallerOf(fuse_req_t request);
// 0 for success, else a positive errno.
int ErrnoOf(const Status& status);

struct stat StatOf(const Attributes& attributes);
fuse_entry_param EntryOf(const Attributes& attributes);

void ReplyStatus(fuse_req_t request, const Status& status);
// A reply that nobody takes any more gives the lookup back.
void ReplyEntry(fuse_req_t request, const Result<Attributes>& found);
// LOOKUP: a name that does not exist is answered so that the kernel remembers it.
void ReplyLookup(fuse_req_t request, const Result<Attributes>& found);
void ReplyAttributes(fuse_req_t request, const Result<Attributes>& attributes);

// Counts a request as under way until it is destroyed, and keeps its bytes.
class RequestUnderWay {
 public:
  explicit RequestUnderWay(Channel& channel) : channel_(channel), message_(channel.current_message()) {
    channel_.RequestBegins();
  }
  RequestUnderWay(const RequestUnderWay&) = delete;
  RequestUnderWay& operator=(const RequestUnderWay&) = delete;
  ~RequestUnderWay() { channel_.RequestEnds(); }

 private:
  Channel& channel_;
  MessageLease message_;
};

Task<void> AnswerStatus(fuse_req_t request, Task<Status> operation);
Task<void> AnswerEntry(fuse_req_t request, Task<Result<Attributes>> operation);
Task<void> AnswerLookup(fuse_req_t request, Task<Result<Attributes>> operation);
Task<void> AnswerAttributes(fuse_req_t request, Task<Result<Attributes>> operation);

}  // namespace varve
