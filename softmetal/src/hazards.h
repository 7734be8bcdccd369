// Whether commands of a device that touch the same bytes are ordered.
//
// A command is known by its encoder and its place there. Before another comes what a serial encoder ran before it, what
// a barrier of its encoder closed, what a fence or an event carried over, what the program waited for before it
// committed, and, for one tracked buffer, everything in earlier encoders of its queue. Two commands without order that
// touch a byte, one of them writing, are a hazard. What they touched is what their kernels really read and wrote.
//
// Thread rule: queues run side by side; every function takes the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/soft/access.h"

namespace softmetal::detail {

// Of encoders: commands before that place come before.
using Clock = std::map<uint64_t, uint32_t>;
// What a fence carries, by queue: it orders encoders of one queue, and nothing across queues.
using FenceClocks = std::map<uint64_t, Clock>;

// A command buffer as the order of commands sees it.
struct BufferOrder {
  uint64_t queue = 0;
  uint64_t horizon = 0;                  // what the program knew to be complete when it committed
  std::atomic<uint64_t> observed_at{0};  // when the program learnt that this one is complete; 0: not yet
};

// An encoder while it runs.
struct EncoderOrder {
  uint64_t id = 0;
  std::shared_ptr<BufferOrder> buffer;
  bool serial = true;
  uint32_t next = 0;  // place of the next command
  Clock clock;
  std::map<uint64_t, uint32_t> resource_barriers;  // by buffer
};

struct CommandOrder {
  uint64_t encoder = 0;
  uint32_t place = 0;
  std::shared_ptr<BufferOrder> buffer;
  std::string text;  // kernel or copy, and where it was encoded
};

struct Touched {
  const chiaro::gpu::soft::AccessMap* map = nullptr;
  uint64_t resource = 0;  // the buffer that it was reached through
  bool tracked = true;
  std::string name;
  int64_t offset = 0;  // of the map's start in the buffer
};

class Hazards {
 public:
  // The orders that an encoder, the CPU and events make.
  std::shared_ptr<EncoderOrder> begin(std::shared_ptr<BufferOrder> buffer, bool serial, const Clock& clock);
  void barrier(EncoderOrder& encoder);
  void barrier(EncoderOrder& encoder, const std::vector<uint64_t>& resources);
  void update(EncoderOrder& encoder, FenceClocks& fence);
  void wait(EncoderOrder& encoder, const FenceClocks& fence);
  void merge(Clock& into, const Clock& from);
  void finish(const EncoderOrder& encoder, Clock& into);  // all of it, and what came before it
  // A command's place; what it is said to be.
  std::shared_ptr<CommandOrder> command(EncoderOrder& encoder, std::string text);
  // What a command touched. A text for each hazard, at most one for each pair of commands.
  std::vector<std::string> touch(const EncoderOrder& encoder, const std::shared_ptr<CommandOrder>& command,
                                 const std::vector<Touched>& touched);
  // Memory that has gone.
  void forget(const std::byte* base, uint64_t bytes);

 private:
  static constexpr size_t kWords = chiaro::gpu::soft::AccessMap::kWords;
  // Bits of a block; all of them set needs no memory.
  struct Mask {
    bool full = false;
    std::unique_ptr<uint64_t[]> bits;
    uint64_t word(size_t i) const { return full ? ~uint64_t{0} : bits ? bits[i] : 0; }
    bool empty() const { return !full && bits == nullptr; }
    void add(const uint64_t* more);
    void remove(const uint64_t* less);
    void tidy();
  };
  struct Record {
    std::shared_ptr<CommandOrder> command;
    uint64_t resource = 0;
    bool tracked = true;
    Mask read, written;
  };
  bool ordered(const Record& before, const EncoderOrder& encoder, const Touched& now) const;

  std::mutex mutex_;
  std::unordered_map<uintptr_t, std::vector<Record>> blocks_;
};

}  // namespace softmetal::detail
