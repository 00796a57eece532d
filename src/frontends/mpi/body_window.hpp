// MPI_Win_test: when the origins of an exposure epoch have finished is known only by asking.
#pragma once

#include "frontends/mpi/poll.hpp"

namespace reprise::mpi::bodies {

template <class Real>
int Win_test(Entry& entry, Real real, MPI_Win win, int* flag) {
  Poll poll(entry, Call());
  int rc = MPI_SUCCESS;
  if (poll.must_fail()) {
    *flag = 0;
  } else if (poll.must_succeed()) {
    rc = ask_until_true(flag, [&] { return real(win, flag); });
  } else {
    rc = poll.ask([&] { return real(win, flag); });
    poll.answered(*flag || rc != MPI_SUCCESS);
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
