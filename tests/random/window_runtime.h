// Windows of the random programs (see window_phases.py). A round has two epochs: in the first everybody writes to others, each
// to places of its own or by atomic operations; then all look at their own memory; in the second everybody gets.
//
//   counter | inbox: one place for each origin | sums: one place for each target | results of swaps
#ifndef TESTS_RANDOM_WINDOW_RUNTIME_H
#define TESTS_RANDOM_WINDOW_RUNTIME_H

#include "runtime.h"

enum WindowKind { kCreated, kAllocated, kDynamic };
enum WindowStyle { kFence, kEpochs, kExclusive, kShared, kAlways };
enum { kMostOperations = 32 };

typedef struct {
  MPI_Win win;
  MPI_Comm comm;
  MPI_Group others;
  enum WindowKind kind;
  enum WindowStyle style;
  int me, size, places;
  uint64_t* memory;
  MPI_Aint at[kRanks];  // of a dynamic one: where each begins
  // What is under way.
  uint64_t given[kMostOperations], got[kMostOperations];
  int operations, requests;
  MPI_Request request[kMostOperations];
} Shared;

static UNUSED MPI_Aint place(const Shared* s, int target, int number) {
  return s->kind == kDynamic ? s->at[target] + (MPI_Aint)sizeof(uint64_t) * number : number;
}
static UNUSED int inbox_of(const Shared* s, int origin) { (void)s; return 1 + origin; }
static UNUSED int sum_of(const Shared* s, int target) { return 1 + s->size + target; }
static UNUSED int swap_of(const Shared* s) { return 1 + 2 * s->size; }

static UNUSED void share(Shared* s, MPI_Comm comm, enum WindowKind kind, enum WindowStyle style) {
  memset(s, 0, sizeof *s);
  s->comm = comm;
  s->kind = kind;
  MPI_Comm_rank(comm, &s->me);
  MPI_Comm_size(comm, &s->size);
  s->style = style == kEpochs && s->size == 1 ? kExclusive : style;  // nobody starts an epoch with itself
  s->places = 8 + 2 * s->size;
  const size_t bytes = (size_t)s->places * sizeof(uint64_t), rounded = (bytes + 63) / 64 * 64;
  if (kind != kAllocated) {
    s->memory = aligned_alloc(64, rounded);
    memset(s->memory, 0, rounded);
  }
  if (kind == kCreated) DO(MPI_Win_create(s->memory, (MPI_Aint)bytes, sizeof(uint64_t), MPI_INFO_NULL, comm, &s->win));
  if (kind == kAllocated) {
    DO(MPI_Win_allocate((MPI_Aint)bytes, sizeof(uint64_t), MPI_INFO_NULL, comm, &s->memory, &s->win));
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->me, 0, s->win));
    memset(s->memory, 0, bytes);
    DO(MPI_Win_unlock(s->me, s->win));
  }
  if (kind == kDynamic) {
    MPI_Aint mine;
    DO(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &s->win));
    DO(MPI_Win_attach(s->win, s->memory, (MPI_Aint)bytes));
    MPI_Get_address(s->memory, &mine);
    DO(MPI_Allgather(&mine, 1, MPI_AINT, s->at, 1, MPI_AINT, comm));
  }
  MPI_Group all;
  MPI_Comm_group(comm, &all);
  MPI_Group_excl(all, 1, &s->me, &s->others);
  MPI_Group_free(&all);
  DO(MPI_Barrier(comm));
  if (s->style == kFence) DO(MPI_Win_fence(MPI_MODE_NOPRECEDE, s->win));
  if (s->style == kAlways) DO(MPI_Win_lock_all(0, s->win));
}

static UNUSED void unshare(Shared* s) {
  if (s->style == kFence) DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, s->win));
  if (s->style == kAlways) DO(MPI_Win_unlock_all(s->win));
  DO(MPI_Barrier(s->comm));
  if (s->kind == kDynamic) DO(MPI_Win_detach(s->win, s->memory));
  MPI_Group_free(&s->others);
  DO(MPI_Win_free(&s->win));
  if (s->kind != kAllocated) free(s->memory);
}

static UNUSED int follower(const Shared* s, int distance) {
  const int target = (s->me + distance) % s->size;
  return s->style == kEpochs && target == s->me ? (s->me + 1) % s->size : target;
}

static UNUSED void begin_epoch(Shared* s) {
  s->operations = s->requests = 0;
  if (s->style != kEpochs) return;
  DO(MPI_Win_post(s->others, 0, s->win));
  DO(MPI_Win_start(s->others, 0, s->win));
}

static UNUSED void begin_access(Shared* s, int target) {
  if (s->style == kExclusive || s->style == kShared)
    DO(MPI_Win_lock(s->style == kExclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, s->win));
}
static UNUSED void end_access(Shared* s, int target) {
  if (s->style == kExclusive || s->style == kShared) DO(MPI_Win_unlock(target, s->win));
}

static UNUSED void told(const char* what, int target, uint64_t value) {
  fold(value);
  say("%s %d: %08x", what, target, short_form(value));
}

// Ends the first epoch, or the second one.
static UNUSED void end_epoch(Shared* s, int polls) {
  if (s->requests > 0) DO(MPI_Waitall(s->requests, s->request, MPI_STATUSES_IGNORE));
  if (s->style == kFence) DO(MPI_Win_fence(0, s->win));
  if (s->style == kEpochs) {
    DO(MPI_Win_complete(s->win));
    int flag = 0, failures = 0;
    if (!polls) DO(MPI_Win_wait(s->win));
    while (polls && !flag) {
      DO(MPI_Win_test(s->win, &flag));
      if (!flag) failed(&failures);
    }
    if (polls) polled("epoch", failures);
  }
  if (s->style == kAlways) DO(MPI_Win_flush_all(s->win));
  for (int i = 0; i < s->operations; ++i) told("got", i, s->got[i]);
  if (s->style >= kExclusive) DO(MPI_Barrier(s->comm));
}

static UNUSED void look(Shared* s) {
  if (s->style == kAlways) DO(MPI_Win_sync(s->win));
  if (s->style == kExclusive || s->style == kShared) DO(MPI_Win_lock(MPI_LOCK_SHARED, s->me, 0, s->win));
  told("memory", s->me, hash_of(s->memory, (size_t)s->places * sizeof(uint64_t)));
  if (s->style == kExclusive || s->style == kShared) DO(MPI_Win_unlock(s->me, s->win));
  if (s->style >= kExclusive) DO(MPI_Barrier(s->comm));
  if (s->style == kFence) DO(MPI_Win_fence(0, s->win));
}

// The owner's own store, where nobody else writes.
static UNUSED void store(Shared* s) {
  if (s->style == kExclusive || s->style == kShared) DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->me, 0, s->win));
  s->memory[s->places - 1] = draw();
  if (s->style == kExclusive || s->style == kShared) DO(MPI_Win_unlock(s->me, s->win));
  if (s->style == kAlways) DO(MPI_Win_sync(s->win));
}

// -- operations ---------------------------------------------------------------------------------------------------------

static UNUSED void put_to(Shared* s, int distance, int with_request) {
  const int to = follower(s, distance), i = s->operations++;
  s->got[i] = s->given[i] = draw();
  begin_access(s, to);
  if (with_request && s->style >= kExclusive) {
    MPI_Request request;
    DO(MPI_Rput(&s->given[i], 1, MPI_UINT64_T, to, place(s, to, inbox_of(s, s->me)), 1, MPI_UINT64_T, s->win, &request));
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    DO(MPI_Put(&s->given[i], 1, MPI_UINT64_T, to, place(s, to, inbox_of(s, s->me)), 1, MPI_UINT64_T, s->win));
  }
  end_access(s, to);
}
static UNUSED void add_to(Shared* s, int distance, int which) {
  static const MPI_Datatype type = MPI_UINT64_T;
  const int to = follower(s, distance), i = s->operations++;
  s->got[i] = s->given[i] = draw();
  begin_access(s, to);
  DO(MPI_Accumulate(&s->given[i], 1, type, to, place(s, to, sum_of(s, which % s->size)), 1, type, MPI_SUM, s->win));
  end_access(s, to);
}
static UNUSED void count_at(Shared* s, int distance) {
  const int to = follower(s, distance), i = s->operations++;
  s->given[i] = 1 + draw() % 5;
  begin_access(s, to);
  DO(MPI_Fetch_and_op(&s->given[i], &s->got[i], MPI_UINT64_T, to, place(s, to, 0), MPI_SUM, s->win));
  end_access(s, to);
}
static UNUSED void swap_at(Shared* s, int distance) {
  static const uint64_t none = 0;
  const int to = follower(s, distance), i = s->operations++;
  s->given[i] = draw();
  begin_access(s, to);
  DO(MPI_Compare_and_swap(&s->given[i], &none, &s->got[i], MPI_UINT64_T, to, place(s, to, swap_of(s)), s->win));
  end_access(s, to);
}
static UNUSED void exchange_at(Shared* s, int distance) {
  const int to = follower(s, distance), i = s->operations++;
  s->given[i] = draw();
  begin_access(s, to);
  DO(MPI_Get_accumulate(&s->given[i], 1, MPI_UINT64_T, &s->got[i], 1, MPI_UINT64_T, to, place(s, to, swap_of(s) + 1), 1,
                        MPI_UINT64_T, MPI_REPLACE, s->win));
  end_access(s, to);
}
// In the second epoch nobody writes.
static UNUSED void get_from(Shared* s, int distance, int number, int with_request) {
  const int to = follower(s, distance), i = s->operations++;
  begin_access(s, to);
  if (with_request && s->style >= kExclusive) {
    MPI_Request request;
    DO(MPI_Rget(&s->got[i], 1, MPI_UINT64_T, to, place(s, to, number % s->places), 1, MPI_UINT64_T, s->win, &request));
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    DO(MPI_Get(&s->got[i], 1, MPI_UINT64_T, to, place(s, to, number % s->places), 1, MPI_UINT64_T, s->win));
  }
  end_access(s, to);
}

#endif
