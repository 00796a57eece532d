// Windows: puts and accumulates are broken as they are made, gets when the data has come.
#include "faulty.h"

#include <pthread.h>
#include <stdio.h>

struct window {
  MPI_Win win;
  MPI_Aint* shown;  // size and unit of every rank
  struct window* next;
};
struct get {
  MPI_Win win;
  int target;
  struct operation* op;
  struct get* next;
};
// A lock that others may have at the same time: what is done under it they may change, so nobody can tell whether it
// arrived.
struct shared {
  MPI_Win win;
  int target;  // -1: all
  struct shared* next;
};
static struct window* windows;
static struct shared* shared_locks;
static struct get* gets;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// A put may only be shifted within the window, so all ranks tell each other how large theirs is.
static void show(MPI_Win win, MPI_Aint size, int unit, MPI_Comm comm) {
  if (!wanted_together(kPutShifted)) return;
  struct window* window = malloc(sizeof *window);
  MPI_Aint own[2] = {size, unit};
  *window = (struct window){win, malloc((size_t)size_of(comm) * sizeof own), NULL};
  real.Allgather(own, 2, MPI_AINT, window->shown, 2, MPI_AINT, comm);
  pthread_mutex_lock(&mutex);
  window->next = windows;
  windows = window;
  pthread_mutex_unlock(&mutex);
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  PASS(Win_create, base, size, unit, info, comm, win);
  (void)call;
  const int code = real.Win_create(base, size, unit, info, comm, win);
  if (code == MPI_SUCCESS) show(*win, size, unit, comm);
  return leave(code);
}
BOTH_NAMES(Win_create);

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win) {
  PASS(Win_allocate, size, unit, info, comm, base, win);
  (void)call;
  const int code = real.Win_allocate(size, unit, info, comm, base, win);
  if (code == MPI_SUCCESS) show(*win, size, unit, comm);
  return leave(code);
}
BOTH_NAMES(Win_allocate);

int MPI_Win_free(MPI_Win* win) {
  PASS(Win_free, win);
  (void)call;
  pthread_mutex_lock(&mutex);
  struct window** link = &windows;
  while (*link && (*link)->win != *win) link = &(*link)->next;
  struct window* found = *link;
  if (found) *link = found->next;
  pthread_mutex_unlock(&mutex);
  if (found) free(found->shown);
  free(found);
  return leave(real.Win_free(win));
}
BOTH_NAMES(Win_free);

static void begin_sharing(MPI_Win win, int target) {
  struct shared* one = malloc(sizeof *one);
  pthread_mutex_lock(&mutex);
  *one = (struct shared){win, target, shared_locks};
  shared_locks = one;
  pthread_mutex_unlock(&mutex);
}
static void end_sharing(MPI_Win win, int target) {
  for (struct shared** link = &shared_locks; *link; link = &(*link)->next)
    if ((*link)->win == win && (*link)->target == target) {
      struct shared* gone = *link;
      *link = gone->next;
      free(gone);
      return;
    }
}
static bool is_shared(MPI_Win win, int target) {
  pthread_mutex_lock(&mutex);
  const struct shared* one = shared_locks;
  while (one && !(one->win == win && (one->target < 0 || one->target == target))) one = one->next;
  pthread_mutex_unlock(&mutex);
  return one != NULL;
}

int MPI_Win_lock(int kind, int target, int hints, MPI_Win win) {
  PASS(Win_lock, kind, target, hints, win);
  (void)call;
  const int code = real.Win_lock(kind, target, hints, win);
  if (code == MPI_SUCCESS && kind == MPI_LOCK_SHARED) begin_sharing(win, target);
  return leave(code);
}
BOTH_NAMES(Win_lock);

int MPI_Win_lock_all(int hints, MPI_Win win) {
  PASS(Win_lock_all, hints, win);
  (void)call;
  const int code = real.Win_lock_all(hints, win);
  if (code == MPI_SUCCESS) begin_sharing(win, -1);
  return leave(code);
}
BOTH_NAMES(Win_lock_all);

static MPI_Aint shifted(struct call call, int target, MPI_Aint displacement, int count, MPI_Datatype type,
                        MPI_Win win) {
  if (!(watch & BIT(kPutShifted)) || target == MPI_PROC_NULL || bytes_of(count, type) == 0 || is_shared(win, target))
    return displacement;
  pthread_mutex_lock(&mutex);
  const struct window* window = windows;
  while (window && window->win != win) window = window->next;
  pthread_mutex_unlock(&mutex);
  if (!window) return displacement;
  const MPI_Aint size = window->shown[2 * target], unit = window->shown[2 * target + 1];
  const MPI_Aint extent = extent_of(type);
  const struct block block = block_of(NULL, count, type);
  char *begin, *end;
  span_of(&block, &begin, &end);
  const MPI_Aint behind = displacement * unit + (MPI_Aint)(uintptr_t)end;
  // By an element; by a unit of the window, where that does not fit.
  MPI_Aint units = extent > 0 && extent % unit == 0 ? extent / unit : 1;
  if (behind + units * unit > size) units = 1;
  if (behind + units * unit > size || !due(kPutShifted)) return displacement;
  applied(kPutShifted, call, "%d bytes to %d land %ld bytes further", block.bytes, target, (long)(units * unit));
  return displacement + units;
}

static bool twice(struct call call, const void* from, int count, MPI_Datatype type, int target, MPI_Op op,
                  MPI_Win win) {
  if (!(watch & BIT(kAccumulateTwice)) || target == MPI_PROC_NULL || (op != MPI_SUM && op != MPI_BXOR) ||
      is_shared(win, target))
    return false;
  const struct block block = block_of(from, count, type);
  char* bytes = packed(&block);
  bool nothing = true;
  for (int i = 0; i < block.bytes; ++i) nothing = nothing && bytes[i] == 0;
  free(bytes);
  if (nothing || !due(kAccumulateTwice)) return false;
  applied(kAccumulateTwice, call, "%d bytes to %d", block.bytes, target);
  return true;
}

int MPI_Put(const void* from, int from_count, MPI_Datatype from_type, int target, MPI_Aint displacement, int count,
            MPI_Datatype type, MPI_Win win) {
  PASS(Put, from, from_count, from_type, target, displacement, count, type, win);
  displacement = shifted(call, target, displacement, count, type, win);
  return leave(real.Put(from, from_count, from_type, target, displacement, count, type, win));
}
BOTH_NAMES(Put);

int MPI_Rput(const void* from, int from_count, MPI_Datatype from_type, int target, MPI_Aint displacement, int count,
             MPI_Datatype type, MPI_Win win, MPI_Request* request) {
  PASS(Rput, from, from_count, from_type, target, displacement, count, type, win, request);
  displacement = shifted(call, target, displacement, count, type, win);
  return leave(real.Rput(from, from_count, from_type, target, displacement, count, type, win, request));
}
BOTH_NAMES(Rput);

int MPI_Accumulate(const void* from, int from_count, MPI_Datatype from_type, int target, MPI_Aint displacement,
                   int count, MPI_Datatype type, MPI_Op op, MPI_Win win) {
  PASS(Accumulate, from, from_count, from_type, target, displacement, count, type, op, win);
  if (twice(call, from, from_count, from_type, target, op, win))
    real.Accumulate(from, from_count, from_type, target, displacement, count, type, op, win);
  return leave(real.Accumulate(from, from_count, from_type, target, displacement, count, type, op, win));
}
BOTH_NAMES(Accumulate);

int MPI_Raccumulate(const void* from, int from_count, MPI_Datatype from_type, int target, MPI_Aint displacement,
                    int count, MPI_Datatype type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  PASS(Raccumulate, from, from_count, from_type, target, displacement, count, type, op, win, request);
  if (twice(call, from, from_count, from_type, target, op, win))
    real.Accumulate(from, from_count, from_type, target, displacement, count, type, op, win);
  return leave(real.Raccumulate(from, from_count, from_type, target, displacement, count, type, op, win, request));
}
BOTH_NAMES(Raccumulate);

static struct operation* get(struct call call, void* at, int count, MPI_Datatype type, int target, MPI_Win win) {
  struct operation* op =
      target == MPI_PROC_NULL || is_shared(win, target) ? NULL : operation_new(call, BIT(kGetStale), MPI_COMM_NULL, 1);
  operation_block(op, 0, at, count, type, target);
  operation_before(op);
  return op;
}

int MPI_Get(void* at, int count, MPI_Datatype type, int target, MPI_Aint displacement, int target_count,
            MPI_Datatype target_type, MPI_Win win) {
  PASS(Get, at, count, type, target, displacement, target_count, target_type, win);
  struct operation* op = get(call, at, count, type, target, win);
  const int code = real.Get(at, count, type, target, displacement, target_count, target_type, win);
  if (op) {
    struct get* one = malloc(sizeof *one);
    *one = (struct get){win, target, op, NULL};
    keep_type(&op->block[0]);
    pthread_mutex_lock(&mutex);
    struct get** end = &gets;
    while (*end) end = &(*end)->next;
    *end = one;
    pthread_mutex_unlock(&mutex);
  }
  return leave(code);
}
BOTH_NAMES(Get);

int MPI_Rget(void* at, int count, MPI_Datatype type, int target, MPI_Aint displacement, int target_count,
             MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  PASS(Rget, at, count, type, target, displacement, target_count, target_type, win, request);
  struct operation* op = get(call, at, count, type, target, win);
  const int code = real.Rget(at, count, type, target, displacement, target_count, target_type, win, request);
  if (op) request_add(*request, op, NULL, false);
  return leave(code);
}
BOTH_NAMES(Rget);

// All gets of a window, or those from one rank, are complete.
static int synchronized(int code, struct call by, MPI_Win win, int target) {
  char text[64];
  snprintf(text, sizeof text, "complete in %s %ld", by.function, by.index);
  pthread_mutex_lock(&mutex);
  if (strncmp(by.function, "MPI_Win_unlock", strlen("MPI_Win_unlock")) == 0) end_sharing(win, target);
  for (struct get** link = &gets; *link;) {
    struct get* one = *link;
    if (one->win != win || (target >= 0 && one->target != target)) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    operation_after(one->op, NULL, false, text);
    operation_free(one->op);
    free(one);
  }
  pthread_mutex_unlock(&mutex);
  return leave(code);
}

int MPI_Win_fence(int hints, MPI_Win win) {
  PASS(Win_fence, hints, win);
  return synchronized(real.Win_fence(hints, win), call, win, -1);
}
BOTH_NAMES(Win_fence);

#define SYNCHRONIZES_ALL(NAME)                          \
  int MPI_##NAME(MPI_Win win) {                         \
    PASS(NAME, win);                                    \
    return synchronized(real.NAME(win), call, win, -1); \
  }                                                     \
  BOTH_NAMES(NAME)
SYNCHRONIZES_ALL(Win_complete);
SYNCHRONIZES_ALL(Win_unlock_all);
SYNCHRONIZES_ALL(Win_flush_all);
SYNCHRONIZES_ALL(Win_flush_local_all);

#define SYNCHRONIZES_ONE(NAME)                                      \
  int MPI_##NAME(int target, MPI_Win win) {                         \
    PASS(NAME, target, win);                                        \
    return synchronized(real.NAME(target, win), call, win, target); \
  }                                                                 \
  BOTH_NAMES(NAME)
SYNCHRONIZES_ONE(Win_unlock);
SYNCHRONIZES_ONE(Win_flush);
SYNCHRONIZES_ONE(Win_flush_local);
