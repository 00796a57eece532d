#include "frontends/mpi/combined_receive.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/session.hpp"
#include "frontends/mpi/give_way.hpp"
#include "frontends/mpi/pending_receives.hpp"

namespace reprise::mpi {
namespace {

struct Combined {
  MPI_Request receive;
  MPI_Request send;
  MPI_Request whole;
  void* keep;
  MPI_Status status{};
  bool complete = false;
};

std::vector<Combined*> g_active;

bool test(MPI_Request& request, MPI_Status* status) {
  int flag = 1;
  if (request != handles().request_null)
    resolve_function<int (*)(MPI_Request*, int*, MPI_Status*)>(Function::Test)(&request, &flag, status);
  return flag;
}

// The library asks again and again while the program tests or waits for the whole.
int poll(void* extra, MPI_Status*) {
  auto* both = static_cast<Combined*>(extra);
  const MPI_Request receive = both->receive;
  if (receive != handles().request_null && test(both->receive, &both->status) &&
      engine::mode() == engine::Mode::Record) {
    engine::Session::Lock lock(engine::Session::get());
    PendingReceives& pending = pending_receives();
    if (auto* known = pending.find(receive)) pending.look_at_earlier(pending.settle(known, both->status));
  }
  if (test(both->send, MPI_STATUS_IGNORE) && both->receive == handles().request_null && !both->complete) {
    both->complete = true;
    return resolve_function<int (*)(MPI_Request)>(Function::Grequest_complete)(both->whole);
  }
  return MPI_SUCCESS;
}

int wait(int count, void** all, double, MPI_Status* status) {
  for (int i = 0; i < count; ++i)
    while (!static_cast<Combined*>(all[i])->complete) poll(all[i], status);
  return MPI_SUCCESS;
}

int query(void* extra, MPI_Status* status) {
  *status = static_cast<Combined*>(extra)->status;
  return MPI_SUCCESS;
}

int release(void* extra) {
  auto* both = static_cast<Combined*>(extra);
  std::erase(g_active, both);
  std::free(both->keep);
  delete both;
  return MPI_SUCCESS;
}

int cancel(void* extra, int) {
  auto* both = static_cast<Combined*>(extra);
  if (both->receive == handles().request_null) return MPI_SUCCESS;
  return resolve_function<int (*)(MPI_Request*)>(Function::Cancel)(&both->receive);
}

}  // namespace

int combine(MPI_Request receive, MPI_Request send, void* keep, MPI_Request* request) {
  using Poll = int (*)(void*, MPI_Status*);
  using Free = int (*)(void*);
  using Cancel = int (*)(void*, int);
  using Wait = int (*)(int, void**, double, MPI_Status*);
  using Start = int (*)(Poll, Free, Cancel, Poll, Wait, void*, MPI_Request*);
  stop_giving_way();
  auto* both = new Combined{receive, send, handles().request_null, keep};
  const int rc = resolve_function<Start>(Function::X_Grequest_start)(query, release, cancel, poll, wait, both, request);
  if (rc == MPI_SUCCESS) {
    both->whole = *request;
    g_active.push_back(both);
  } else {
    delete both;
  }
  return rc;
}

void poke_combined() {
  for (std::size_t i = 0; i < g_active.size(); ++i) poll(g_active[i], MPI_STATUS_IGNORE);
}

}  // namespace reprise::mpi
