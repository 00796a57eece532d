// Wildcard receives that were posted and not yet seen to complete (record mode).
//
// A wildcard receive that nobody saw complete still took a message: if it were left out of the replay, a later receive
// would get the wrong one. By MPI's posting order, when a receive completes while an earlier posted wildcard receive
// that could have taken its message is pending, the earlier one has been matched already. So it is looked at then
// (MPI_Request_get_status does not complete it), and its sender is logged although the program never asked.
//
// Only wildcard receives, and receives posted while one of them is pending, are kept here, so a program without
// wildcard MPI_Irecv pays one comparison per call.
#pragma once

#include <cstdint>

#include "engine/recorder.hpp"
#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

class PendingReceives {
 public:
  static constexpr std::uint64_t kNoPost = UINT64_MAX;

  struct Receive {
    MPI_Request request;
    std::uint64_t order = 0;  // of posting, among the receives kept here
    std::int64_t comm = 0;
    std::int32_t tag = 0;  // canonical: engine::kAnyTag
    bool wildcard = false;
    bool known = false;      // its outcome is logged
    bool owed = false;       // it must have matched, but the library does not show it yet
    bool cancelled = false;  // MPI_Cancel was called on it
    bool orphan = false;     // MPI_Request_free was called on it: we hold the handle
    bool persistent = false;
    bool busy = false;  // a thread is inside a call that may complete it: nobody else may use its handle
    std::uint64_t post = kNoPost;  // its number, if it was cancelled and is no wildcard receive
    engine::WildcardSlot slot;
    Receive* next_same_hash = nullptr;
    Receive* previous = nullptr;  // in posting order, wildcards with unknown outcome only
    Receive* next = nullptr;
  };

  bool any() const { return count_ != 0; }
  bool any_unknown() const { return first_unknown_ != nullptr; }

  void posted_wildcard(MPI_Request request, std::int64_t comm, std::int32_t tag, const engine::WildcardSlot& slot,
                       bool persistent = false);
  // A receive with a named source, posted while wildcard receives are pending.
  void posted_specific(MPI_Request request, std::int64_t comm, std::int32_t tag, bool persistent = false);

  Receive* find(MPI_Request request);

  // A receive that took a message: what was posted before it and fits that message has been matched, too.
  struct Taken {
    std::uint64_t order = 0;
    std::int64_t comm = 0;
    std::int32_t tag = 0;
    bool message = false;  // false: cancelled, nothing was taken
  };
  // The program has seen it complete: logs its outcome and forgets it. When one call completes several receives, all
  // must be settled before look_at_earlier() is asked about any: the library has freed their handles already.
  Taken settle(Receive* receive, const MPI_Status& status);
  void look_at_earlier(const Taken& taken);
  // A blocking receive has completed with a message of this tag.
  void blocking_completed(std::int64_t comm, std::int32_t tag) { look_at_earlier({UINT64_MAX, comm, tag, true}); }
  // The program has seen that it can be completed, without completing it (MPI_Request_get_status).
  void seen(MPI_Request request, const MPI_Status& status);

  // MPI_Cancel is about to be called on it.
  void cancelled(MPI_Request request);
  // MPI_Cancel has returned. False if it is no wildcard receive that is kept here.
  bool decide_cancelled(MPI_Request request);
  // The same for any other operation: logs whether it was cancelled, now or when it completes.
  void watch_cancelled(MPI_Request request, std::uint64_t post);
  // True: the caller must not free the request, we keep watching it.
  bool freed(MPI_Request request);
  // Looks again at receives that must have matched. Called from time to time.
  void look_at_owed() {
    if (owed_ != 0) look_at_all(false);
  }
  // The job is about to end: what can still be known?
  void look_at_unknown() { look_at_all(false); }
  // In MPI_Finalize: what is still unmatched now has matched nothing.
  void finalize() { look_at_all(true); }

 private:
  static constexpr std::uint32_t kBuckets = 1024;

  Receive* add(MPI_Request request, std::int64_t comm, std::int32_t tag);
  void remove(Receive* receive);
  void link(Receive* receive);
  void unlink(Receive* receive);
  void resolve(Receive* receive, const MPI_Status& status);
  Taken taken_by(const Receive* receive, const MPI_Status& status) const;
  bool look_at(Receive* receive);
  bool look_often_at(Receive* receive);
  void look_at_all(bool last_time);
  static std::uint32_t bucket(MPI_Request request) {
    return static_cast<std::uint32_t>(handle_key(request) * 0x9e3779b97f4a7c15ull >> 54);
  }

  Receive* buckets_[kBuckets] = {};
  Receive* free_ = nullptr;           // recycled entries
  Receive* first_unknown_ = nullptr;  // wildcards whose outcome is unknown, in posting order
  Receive* last_unknown_ = nullptr;
  std::uint64_t orders_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t owed_ = 0;
  PagedArray<Receive, 256, 4096> pool_;
};

// Never destroyed: the program may call MPI from its own exit handlers.
inline PendingReceives* g_pending_receives = nullptr;
PendingReceives& make_pending_receives();
inline PendingReceives& pending_receives() {
  return g_pending_receives ? *g_pending_receives : make_pending_receives();
}

}  // namespace reprise::mpi
