// Waiting in a replay with more ranks than cores.
//
// The recorded run took what was there; a replay must often wait for one certain message. MPICH waits busily and never
// gives its core away, so whoever waits keeps the awaited rank from running for a whole time slice, at every message:
// replays were 20 to 30 times slower than the run. So a forced call first asks, giving way in between, and then waits
// as ever: what it asks decides nothing. Open MPI gives way by itself when it is told that there are too few cores.
//
// Collectives and windows cannot be asked, and neither can what a library waits for that is not ours. Where MPICH stands on UCX,
// its own waiting gives way, too (idle_progress.cpp).
#pragma once

#include <sched.h>

#include "frontends/mpi/entry.hpp"

namespace reprise::mpi {

// Is that so in this process?
inline constinit bool g_gives_way = false;
// Set apart, since that calls nothing of the program's.
inline constinit bool g_progress_gives_way = false;
void begin_giving_way(int world_ranks);

// For programs with generalised requests or error handlers of their own: MPI_Request_get_status calls their functions,
// once more than the recorded run did.
inline void stop_giving_way() { g_gives_way = false; }

// The program has set an error handler.
inline constinit bool g_errors_are_fatal = true;
inline void errors_may_return() { g_errors_are_fatal = false; }

std::int64_t nanoseconds_now();

// Not for ever: what blocks for long does not mind a time slice, and the call itself is what must decide.
template <class Ask>
void give_way_until(Ask ask) {
  constexpr std::int64_t kPatience = 100'000'000;
  std::int64_t began = 0;
  for (int tries = 0;; ++tries) {
    int flag = 0;
    if (ask(&flag) != MPI_SUCCESS || flag) return;
    sched_yield();
    if (tries % 64 != 0) continue;
    const std::int64_t now = nanoseconds_now();
    if (began == 0) began = now;
    else if (now - began > kPatience) return;
  }
}

// Can there be a message to or from `peer` with this tag? A question with bad arguments would call the program's error
// handler.
bool is_message(const Call& call, int peer, int tag);

// Until there is one from `source`.
void give_way_for_message(Entry& entry, int source, int tag, MPI_Comm comm);

// Until these are complete.
void give_way_for_requests(Entry& entry, int count, const MPI_Request* requests);

inline void await_requests(Entry& entry, int count, const MPI_Request* requests) {
  if (g_gives_way) [[unlikely]]
    give_way_for_requests(entry, count, requests);
}

// For a blocking send, which waits as long as the receiver's queue is full, and for a receive: every question of
// MPI_Iprobe is a search through all messages that came too early. But if errors are not fatal, a message that is too
// long would be reported to another error handler: MPI_Recv calls the communicator's, and MPI_Wait that of
// MPI_COMM_WORLD. `real` is the call itself: if it is wrong, it is to say so.
template <class Post, class Real>
int post_and_give_way(Entry& entry, MPI_Status* status, Post post, Real real) {
  MPI_Request request = handles().request_null;
  if (post(&request) != MPI_SUCCESS) return real();
  give_way_for_requests(entry, 1, &request);
  return entry.other<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&request, status);
}

}  // namespace reprise::mpi
