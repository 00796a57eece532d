// What `check` writes down (trace/intention_log.hpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/mpi/flow/digest.hpp"
#include "frontends/mpi/flow/groups.hpp"

namespace reprise::mpi::flow {

void open_log();
bool is_logging();
// Also what takes messages of our own is looked at: windows and reductions.
bool uses_messages();

// One block of what a call gives or takes.
struct Block {
  Region region;
  int peer = -1;         // whom it goes to, or comes from
  std::size_t number = 0;  // taken: which of the peer's blocks
  bool by_edge = false;  // taken: counted among those for this rank
};

// Most calls have one or two.
class Blocks {
 public:
  void push_back(const Block& block) {
    if (size_ < kFew) few_[size_] = block;
    else {
      if (size_ == kFew) many_.assign(few_, few_ + kFew);
      many_.push_back(block);
    }
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Block* data() const { return size_ <= kFew ? few_ : many_.data(); }
  const Block* begin() const { return data(); }
  const Block* end() const { return data() + size_; }
  std::span<const Block> all() const { return {data(), size_}; }

 private:
  static constexpr std::size_t kFew = 2;
  std::size_t size_ = 0;
  Block few_[kFew];
  std::vector<Block> many_;
};

// What a call is about, without the bytes: see trace/intention_log.hpp.
struct Shape {
  const Group* group = nullptr;
  trace::IntentionForm form = trace::IntentionForm::Collective;
  int root = -1;
  int dest = -1;
  int send_tag = 0;
  int source = -1;
  int receive_tag = -1;
  std::uint64_t operation = 0;
  std::int64_t combines = -1;  // so many of the first peers
  std::uint64_t all = 0, first = 0, count = 0;
  const Type* element = nullptr;
  std::int64_t flags = 0;
  const void* given_base = nullptr;  // the program's buffers
  const void* taken_base = nullptr;
  const Block* gives = nullptr;
  std::size_t gives_count = 0;
  const Block* takes = nullptr;
  std::size_t takes_count = 0;
};
// The number of the shape, at the place of the call in flight.
std::uint32_t number_of(const Shape& shape);

struct Told {
  int error = 0;
  int source = -1;
  int tag = -1;
  std::uint64_t bytes = 0;
  bool cancelled = false;
};

// A part of an entry.
struct Bytes {
  const void* from = nullptr;
  std::size_t size = 0;
};

// The post. `given_from`: where it gives from, if the library's movements are followed.
std::uint64_t log_begin(std::uint32_t shape, const void* address, const void* given_from, Bytes given, Bytes contribution);
// `address`: where it takes to.
void log_end(std::uint64_t post, std::optional<std::uint32_t> shape, const Told& told, Bytes taken, Bytes result, Bytes expected = {},
             const void* address = nullptr);
void log_whole(std::uint32_t shape, const void* address, const Told& told, Bytes given, Bytes taken, Bytes contribution,
               Bytes result, Bytes expected);
void log_freed(std::uint64_t post);
void log_access(std::uint32_t shape);
// `elements`: see trace/intention_log.hpp.
void log_accumulated(std::uint64_t operation, std::uint64_t element, const char* type, Bytes elements);
void log_remark(trace::Seen seen, int side, std::uint64_t block, std::uint64_t offset, std::uint64_t more);


// -- for those that log what the library moves (movements.hpp) --

// While it lives, nobody else logs.
class LogLock {
 public:
  LogLock();
  ~LogLock();
  LogLock(const LogLock&) = delete;
  LogLock& operator=(const LogLock&) = delete;
};
// Is it held by this thread? Then what it copies is none of the program's, whoever stands between it and memcpy.
bool this_thread_logs();
// Within the lock.
void put(trace::IntentionRecord kind, std::span<const std::int64_t> fields, std::span<const Bytes> parts = {});
// The time since it was last asked for, in ticks of a clock that all processes of this machine share. Within the lock.
std::int64_t time_step();
// The same until a moment that is over.
std::int64_t time_step(std::uint64_t until);

}  // namespace reprise::mpi::flow
