// A test or a nonblocking probe: how often it fails before it succeeds is a decision (engine::PollSeries).
#pragma once

#include <sched.h>

#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::bodies {

using engine::Session;

// A test in progress. Recording: what it answered is counted. Replaying: what it must answer is known.
class Poll {
 public:
  template <class AnyEntry>  // of this front end, or OpenSHMEM's
  Poll(AnyEntry& entry, const Call& call) {
    Session& session = Session::get();
    if (entry.recording()) {
      if (session.orders_posts()) session.begin_poll();  // before the lock: others want that while they hold the order
      Session::Lock lock(session);
      if (session.threaded()) session.notice_thread();
      site_ = &session.recorder().poll_begin(entry.function(), entry.caller(), call.values, absorbed_);
    } else if (entry.replaying() && session.replaying_now()) {
      const bool goes_on = session.replayer().poll_is_open(entry.function(), entry.caller());
      const engine::Replayer::Fit fit = session.replayer().poll(entry.function(), entry.caller(), call.values, success_);
      // One more in a series is not logged: a scout cannot know yet.
      if (!goes_on || success_ || !engine::g_scouting) session.insist(fit);
      if (success_ && !engine::has_threads())
        session.supervisor().entered(session.replayer().next_event(), engine::RankState::InCall);
      if (success_) session.poll_succeeded();
      else session.supervisor().moves();
      forced_ = true;
    } else {
      entry.begin(call);
    }
  }

  bool must_fail() const { return forced_ && !success_; }
  bool must_succeed() const { return forced_ && success_; }
  // Asks the library. If that calls a function of the program (of a generalised request, an error handler), then
  // because something has completed: the answer is logged before what that function does.
  template <class Ask>
  int ask(Ask ask) {
    auto settle = [&] { answered(true); };
    InFlight in_flight(settle);
    return ask();
  }
  void answered(bool success) {
    if (!site_) return;
    Session& session = Session::get();
    Session::Lock lock(session);
    session.recorder().poll_end(*site_, absorbed_, success);
    if (success) session.poll_succeeded();
    site_ = nullptr;
  }

 private:
  engine::Site* site_ = nullptr;
  bool absorbed_ = false;
  bool forced_ = false;
  bool success_ = false;
};

// A question that the recorded run answered with yes is asked until the answer is yes again. A wait would do more than
// the call did: it would complete the request.
// Who asks in vain gives way: the rank that it waits for may be going through thousands of failed tests on the same core.
template <class Ask>
int ask_until_true(int* flag, Ask ask) {
  for (;;) {
    const int rc = ask();
    if (rc != MPI_SUCCESS || *flag) return rc;
    sched_yield();
  }
}

}  // namespace reprise::mpi::bodies
