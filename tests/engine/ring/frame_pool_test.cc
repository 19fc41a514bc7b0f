#include "engine/ring/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/ring/local_executor.h"

namespace varve {
namespace {

TEST(FramePoolTest, FramesInUseAtOnceDoNotOverlap) {
  struct Frame {
    unsigned char* bytes;
    size_t size;
    unsigned char mark;
  };
  std::vector<Frame> frames;
  for (int round = 0; round < 3; ++round) {
    for (size_t size = 1; size <= 3000; size += 37) {
      auto* bytes = static_cast<unsigned char*>(task_internal::AllocateFrame(size));
      const auto mark = static_cast<unsigned char>(frames.size());
      std::memset(bytes, mark, size);
      frames.push_back({bytes, size, mark});
    }
    for (const Frame& frame : frames) {
      ASSERT_EQ(frame.bytes[0], frame.mark);
      ASSERT_EQ(frame.bytes[frame.size - 1], frame.mark);
      task_internal::FreeFrame(frame.bytes, frame.size);
    }
    frames.clear();
  }
}

Task<int> Answer() {
  co_return 42;
}

TEST(FramePoolTest, ATaskMayBeMadeOnOneThreadAndEndOnAnother) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 600; ++i) {
      tasks.push_back(Answer());
    }
    std::thread thread([tasks = std::move(tasks)]() mutable {
      SystemClock clock;
      LocalExecutor executor(clock);
      for (Task<int>& task : tasks) {
        EXPECT_EQ(executor.Run(std::move(task)), 42);
      }
    });
    thread.join();
  }
}

}  // namespace
}  // namespace varve
