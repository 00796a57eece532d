// One thread of the program: its log, and how far it has come in it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/baton.hpp"
#include "engine/data_replayer.hpp"
#include "engine/recorder.hpp"
#include "engine/replayer.hpp"
#include "engine/thread_order.hpp"
#include "engine/thread_wait.hpp"

namespace reprise::engine {

struct ThreadStream {
  std::uint32_t number = 0;  // counts the threads of the process in the order in which they were made; main() is 0
  Recorder recorder;
  std::optional<Replayer> replayer;
  DataRecorder data;                   // recording, if the values that reach this rank are wanted
  std::optional<DataReplayer> values;  // solo replay: the same
  ThreadTurns turns;
  ThreadWait wait;
  TakenLocks taken;
  BatonPlace* place = nullptr;  // in an explored rank
  std::uint32_t function = 0;   // there: the last synchronisation that it has begun, where, and on what
  const void* caller = nullptr;
  const void* object = nullptr;
  std::atomic<int> kernel_id{0};
  bool turn_is_logged = false;          // recording: the call's first turn
  bool turn_is_open = false;            // replaying: a turn has begun that others may wait for
  bool holds_order = false;             // this thread holds the session's order of posts
  bool at_end = false;                  // replaying: it has come to the end of a log that was cut off
  bool ends_in_call = false;  // that was in a call of the library
  std::atomic<pthread_t> handle{};      // as the program knows it
  std::atomic<std::uint64_t> moved{0};  // replaying: calls made, for those who watch
  std::atomic<bool> followed{false};    // replaying: it has come to its last call
  bool over = false;                    // it has ended, but its log had to stay open
  std::atomic<int> owners{2};           // the thread, and the one that makes it until it has done so
};

// The program's thread that is running; null in threads of others (of the MPI library, and our own).
inline thread_local ThreadStream* t_stream __attribute__((tls_model("initial-exec"))) = nullptr;

// Has the program made a thread? Until then nothing needs an order.
inline std::atomic<bool> g_has_threads{false};
inline bool has_threads() { return g_has_threads.load(std::memory_order_relaxed); }

}  // namespace reprise::engine
