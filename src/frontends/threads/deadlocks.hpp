// Deadlocks among the threads of a process, found while it runs.
//
// A thread that must wait for a lock, for another thread's end or for a condition says so (Waiting). While recording, a
// thread of ours looks at that once in a while. Who holds a lock is known from the lock itself. Nothing is reported
// that is not certain: whoever could be helped by a time-out, another process, a signal or a thread that we do not know
// is not called stuck. If no thread of the process can go on, the process is ended; otherwise it is left to itself.
//
// In a replay of a run that hung until it was killed, the same question is asked when all threads have come to their
// ends; but not about conditions, since the log does not say whether a signal had come before the end.
//
// For the record and replay commands, a report is several notes with the key "deadlock":
//   stuck|THREADS|OF|ended or goes-on
//   waits|THREAD|FUNCTION|OBJECT|HOLDER or -|SITE          OBJECT only tells objects apart
//   holds|THREAD|OBJECT|SITE
//   signalled|OBJECT|THREAD|before or after the wait began|SITE
// where SITE is OFFSET|BUILD-ID|PATH, or |||: it is not known any more.
#pragma once

#include "engine/session.hpp"
#include "frontends/threads/functions.hpp"

namespace reprise::threads {

// While it lives, the running thread waits.
class Waiting {
 public:
  Waiting(Function function, const void* object, const void* caller);
  ~Waiting() { engine::t_stream->wait.end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

// The running thread has taken a lock. `kind`: kRwlock for a read-write lock.
inline constexpr std::uintptr_t kRwlock = 1;
inline void remember_lock(const void* lock, const void* caller, std::uintptr_t kind) {
  if (engine::t_stream)
    engine::t_stream->taken.took(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(lock) | kind), caller);
}

// The running thread has signalled a condition.
void note_signal(const void* condition, const void* caller);
// pthread_create for a library that is not the program's: such a thread is not followed, but known.
int make_library_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument);
// A thread that is not followed synchronises with the program's: nothing is certain any more that it could influence.
void note_stranger();

// The program is about to make its first thread.
void begin_finding_deadlocks();
void find_deadlock_functions();

}  // namespace reprise::threads
