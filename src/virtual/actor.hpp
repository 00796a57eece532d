// A virtual rank's side of the stage (stage.hpp): what it does, and what it asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "virtual/stage.hpp"

namespace reprise::virtual_world {

class Actor {
 public:
  // Maps the stage. Null: why not is in errno.
  static Stage* open(const char* path);

  Actor() = default;
  Actor(Stage* stage, int rank) : stage_(stage), rank_(rank) {}

  Stage* stage() const { return stage_; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(stage_->ranks); }
  std::uint32_t new_operation() { return next_operation_++; }

  void act(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more = {},
           std::span<const std::uint64_t> rest = {});
  // Asks, with everything that was done before, and waits. Does not return if the run is over.
  void ask(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more = {});
  // The same for Act::Ask; `thread` comes first in what is asked. The words of the reply stay until that thread's next
  // question. `alone`: the other threads of the rank stand still meanwhile.
  const std::uint64_t* ask(std::uint32_t thread, std::initializer_list<std::uint64_t> words,
                           std::span<const std::uint64_t> more = {}, bool alone = false);
  // All threads of the rank wait (engine/baton.hpp). Until one may be able to go on; true: time passes for those who
  // pause.
  bool wait_together(bool somebody_pauses);
  // Before that: a thread that waits for another one.
  void note_blocked(std::initializer_list<std::uint64_t> words) { write(Act::Blocked, words, {}, {}); }

  // Room for the bytes of a message, until `readers` have given it back. Offsets are from the beginning of the stage.
  std::uint64_t allot(std::size_t bytes, std::uint32_t readers);
  char* bytes(std::uint64_t data) { return reinterpret_cast<char*>(stage_) + data; }
  // One reader has done with it.
  void give_back(std::uint64_t data);

  void is_at(std::uint64_t function, const void* caller);

  // How accesses to the windows of this rank are carried out while it waits.
  void serve_by(void (*serve)(std::span<const std::uint64_t> accesses)) { serve_ = serve; }

 private:
  struct Block {
    std::uint64_t size;  // with this
    std::atomic<std::uint32_t> readers;
    std::uint32_t unused;
  };
  void write(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more,
             std::span<const std::uint64_t> rest);
  static void enter();
  void wait_alone();
  void wait_for_reply();
  void collect_replies();
  Block* block(std::uint64_t at) { return reinterpret_cast<Block*>(arena_of(stage_, rank_) + at); }

  Stage* stage_ = nullptr;
  int rank_ = 0;
  void (*serve_)(std::span<const std::uint64_t>) = nullptr;
  std::uint32_t next_operation_ = 1;
  std::size_t written_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> replies_;  // by thread
  bool time_asked_ = false;
  std::uint64_t oldest_ = 0;  // in the arena: what is in use lies from here to `newest_`, perhaps around its end
  std::uint64_t newest_ = 0;
};

}  // namespace reprise::virtual_world
