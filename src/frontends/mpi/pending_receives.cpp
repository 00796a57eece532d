#include "frontends/mpi/pending_receives.hpp"

#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi {

using engine::kAnyTag;

PendingReceives& make_pending_receives() {
  static PendingReceives* const all = new PendingReceives();
  g_pending_receives = all;
  return *all;
}

PendingReceives::Receive* PendingReceives::add(MPI_Request request, std::int64_t comm, std::int32_t tag) {
  Receive* receive = free_;
  if (receive) {
    free_ = receive->next;
    *receive = {};
  } else if (receive = pool_.add(); !receive) {
    return nullptr;
  }
  receive->request = request;
  receive->order = orders_++;
  receive->comm = comm;
  receive->tag = tag;
  Receive*& chain = buckets_[bucket(request)];
  receive->next_same_hash = chain;
  chain = receive;
  ++count_;
  return receive;
}

void PendingReceives::remove(Receive* receive) {
  if (receive->wildcard && !receive->known) unlink(receive);
  if (receive->owed) --owed_;
  for (Receive** at = &buckets_[bucket(receive->request)]; *at; at = &(*at)->next_same_hash) {
    if (*at != receive) continue;
    *at = receive->next_same_hash;
    break;
  }
  receive->next = free_;
  free_ = receive;
  --count_;
}

void PendingReceives::link(Receive* receive) {
  receive->previous = last_unknown_;
  receive->next = nullptr;
  (last_unknown_ ? last_unknown_->next : first_unknown_) = receive;
  last_unknown_ = receive;
}

void PendingReceives::unlink(Receive* receive) {
  (receive->previous ? receive->previous->next : first_unknown_) = receive->next;
  (receive->next ? receive->next->previous : last_unknown_) = receive->previous;
}

void PendingReceives::posted_wildcard(MPI_Request request, std::int64_t comm, std::int32_t tag,
                                      const engine::WildcardSlot& slot, bool persistent) {
  Receive* receive = add(request, comm, tag);
  if (!receive) {
    engine::Session::get().recorder().resolve(slot, trace::kAmbiguous, 0);
    return;
  }
  receive->wildcard = true;
  receive->persistent = persistent;
  receive->slot = slot;
  link(receive);
}

void PendingReceives::posted_specific(MPI_Request request, std::int64_t comm, std::int32_t tag, bool persistent) {
  if (Receive* receive = add(request, comm, tag)) receive->persistent = persistent;
}

PendingReceives::Receive* PendingReceives::find(MPI_Request request) {
  for (Receive* at = buckets_[bucket(request)]; at; at = at->next_same_hash)
    if (at->request == request && !at->orphan) return at;
  return nullptr;
}

void PendingReceives::resolve(Receive* receive, const MPI_Status& status) {
  if (receive->known) return;
  const bool cancelled = receive->cancelled && was_cancelled(status);
  if (!receive->wildcard) {
    if (cancelled && receive->post != kNoPost) engine::Session::get().main_recorder().cancelled(receive->post);
    receive->known = receive->post != kNoPost;
    return;
  }
  const bool matched = !cancelled && status.MPI_SOURCE >= 0;
  engine::Session::get().recorder().resolve(
      receive->slot, matched ? trace::kSourceBase + static_cast<std::uint32_t>(status.MPI_SOURCE) : trace::kUnmatched,
      matched ? status.MPI_TAG : 0);
  receive->known = true;
  unlink(receive);
  if (receive->owed) --owed_;
  receive->owed = false;
}

PendingReceives::Taken PendingReceives::taken_by(const Receive* receive, const MPI_Status& status) const {
  const bool message =
      receive->comm != engine::kNoComm && status.MPI_SOURCE >= 0 && !(receive->cancelled && was_cancelled(status));
  return {receive->order, receive->comm, status.MPI_TAG, message};
}

void PendingReceives::seen(MPI_Request request, const MPI_Status& status) {
  Receive* receive = find(request);
  if (!receive) return;
  resolve(receive, status);
  look_at_earlier(taken_by(receive, status));
}

PendingReceives::Taken PendingReceives::settle(Receive* receive, const MPI_Status& status) {
  const Taken taken = taken_by(receive, status);
  resolve(receive, status);
  remove(receive);
  return taken;
}

void PendingReceives::look_at_earlier(const Taken& taken) {
  if (!taken.message) return;
  for (Receive *at = first_unknown_, *next; at && at->order < taken.order; at = next) {
    next = at->next;
    if (at->comm != taken.comm || (at->tag != kAnyTag && at->tag != taken.tag)) continue;
    if (!look_at(at) && !at->owed) {
      at->owed = true;  // matched, but its data is still on the way
      ++owed_;
      engine::Session::get().recorder().suspect(at->slot);
    }
  }
}

// Asks the library without completing the request. True if the outcome is known now.
bool PendingReceives::look_at(Receive* receive) {
  if (receive->busy) return false;
  int flag = 0;
  MPI_Status status{};
  status.MPI_SOURCE = -1;
  // The library's own: what the program has not seen is not among the values that reached it.
  const OwnLook look;
  const auto get_status = library_function<int (*)(MPI_Request, int*, MPI_Status*)>(Function::Request_get_status);
  if (get_status(receive->request, &flag, &status) != MPI_SUCCESS || !flag) return false;
  resolve(receive, status);
  if (receive->orphan) {
    MPI_Request request = receive->request;
    resolve_function<int (*)(MPI_Request*)>(Function::Request_free)(&request);
    remove(receive);
  }
  return true;
}

void PendingReceives::look_at_all(bool last_time) {
  for (Receive *at = first_unknown_, *next; at; at = next) {
    next = at->next;
    if (look_at(at) || !last_time) continue;
    engine::Session::get().recorder().resolve(at->slot, at->owed ? trace::kAmbiguous : trace::kUnmatched, 0);
  }
}

void PendingReceives::cancelled(MPI_Request request) {
  if (Receive* receive = find(request)) receive->cancelled = true;
}

// The standard says that a cancelled receive can be completed at once, but a library may need a few calls for it.
bool PendingReceives::look_often_at(Receive* receive) {
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks; ++i)
    if (look_at(receive)) return true;
  return false;
}

bool PendingReceives::decide_cancelled(MPI_Request request) {
  Receive* receive = find(request);
  if (!receive || !receive->wildcard) return false;
  if (!receive->known) look_often_at(receive);
  return true;
}

void PendingReceives::watch_cancelled(MPI_Request request, std::uint64_t post) {
  Receive* receive = find(request);
  const bool added = !receive;
  if (added) receive = add(request, engine::kNoComm, kAnyTag);
  if (!receive) return;
  receive->cancelled = true;
  receive->post = post;
  if (look_often_at(receive) && added) remove(receive);
}

bool PendingReceives::freed(MPI_Request request) {
  Receive* receive = find(request);
  if (!receive) return false;
  if (receive->wildcard && !receive->known && !look_at(receive)) {
    receive->orphan = true;
    return true;
  }
  remove(receive);
  return false;
}

}  // namespace reprise::mpi
