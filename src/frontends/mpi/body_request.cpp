#include "frontends/mpi/body_request.hpp"

namespace reprise::mpi::bodies {

void record_starts(std::span<const engine::WildcardSlot> slots, std::span<MPI_Request> requests, int rc) {
  Session::Lock lock(Session::get());
  PendingReceives& pending = pending_receives();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    g_posts.made(requests[i], Posts::Kind::Ordinary);
    const PersistentReceive* receive = persistent_receives().find(requests[i]);
    if (!receive || receive->source == MPI_PROC_NULL) continue;
    const auto tag = static_cast<std::int32_t>(canonical_tag(receive->tag));
    if (!slots[i].at) {
      if (rc == MPI_SUCCESS && pending.any_unknown())
        pending.posted_specific(requests[i], receive->comm_number, tag, true);
    } else if (rc == MPI_SUCCESS) {
      pending.posted_wildcard(requests[i], receive->comm_number, tag, slots[i], true);
    } else {
      Session::get().recorder().resolve(slots[i], trace::kRefused, 0);
    }
  }
}

namespace {

// An ordinary receive for the sender that was heard then.
int post_stand_in(const PersistentReceive& receive, int source, int tag, MPI_Request* request) {
  if (receive.count <= INT_MAX) {
    using Irecv = int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    return resolve_function<Irecv>(Function::Irecv)(receive.buffer, static_cast<int>(receive.count), receive.type,
                                                    source, tag, receive.comm, request);
  }
  using Irecv = int (*)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  return resolve_function<Irecv>(Function::Irecv_c)(receive.buffer, receive.count, receive.type, source, tag,
                                                    receive.comm, request);
}

}  // namespace

int replay_start(Entry& entry, MPI_Request* request) {
  PersistentReceives& persistent = persistent_receives();
  const PersistentReceive* receive = persistent.find(*request);
  const bool wildcard = receive && receive->receive && receive->source == MPI_ANY_SOURCE;
  bool idle = entry.post_is_cancelled();
  int rc;
  if (!wildcard && !idle) {
    rc = resolve_function<int (*)(MPI_Request*)>(Function::Start)(request);
    entry.posted(rc, request);
    return rc;
  }
  MPI_Request stand_in = handles().request_null;
  int source = MPI_ANY_SOURCE;
  int tag = wildcard ? receive->tag : 0;
  if (wildcard) {
    const engine::WildcardOutcome outcome = replayed_wildcard();
    idle = outcome.code == trace::kUnmatched;
    if (outcome.code >= trace::kSourceBase) {
      source = static_cast<int>(outcome.code - trace::kSourceBase);
      tag = outcome.tag;
    }
  }
  rc = idle ? idle_request(&stand_in) : post_stand_in(*receive, source, tag, &stand_in);
  if (rc == MPI_SUCCESS) persistent.stand_in(*request, stand_in);
  entry.posted(rc, request, idle ? Posts::Kind::Idle : Posts::Kind::Ordinary);
  return rc;
}

void record_cancel(Entry& entry, MPI_Request request) {
  const auto post = g_posts.find(request);
  if (!post) entry.unsupported("of a request that was made long before");
  Session::Lock lock(Session::get());
  PendingReceives& pending = pending_receives();
  if (pending.decide_cancelled(request)) return;       // a wildcard receive: its slot says it
  if (post && post->kind != Posts::Kind::Generalised)  // those are decided by the program's own functions
    pending.watch_cancelled(request, post->number);
}

}  // namespace reprise::mpi::bodies
