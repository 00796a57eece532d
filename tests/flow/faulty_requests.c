// Requests: what they do when they are complete, and what persistent ones send when they are started.
#include "faulty.h"

#include <pthread.h>
#include <stdio.h>

struct stale {
  struct call call;
  struct block block;  // the program's
  char* first;
  char* staging;  // what the real request sends from, if this rank breaks it
  struct block staged;
  bool broken;
};

struct pending {
  MPI_Request request;
  struct operation* op;
  struct stale* stale;
  bool persistent, active;
  struct pending* next;
};
static struct pending* first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void request_add(MPI_Request request, struct operation* op, struct stale* stale, bool persistent) {
  struct pending* pending = calloc(1, sizeof *pending);
  *pending = (struct pending){request, op, stale, persistent, !persistent, NULL};
  for (int i = 0; op && i < op->blocks; ++i) keep_type(&op->block[i]);
  pthread_mutex_lock(&mutex);
  struct pending** end = &first;
  while (*end) end = &(*end)->next;
  *end = pending;
  pthread_mutex_unlock(&mutex);
}

// The oldest one: libraries give requests that are complete at once the same handle.
static struct pending* find(MPI_Request request, bool take) {
  pthread_mutex_lock(&mutex);
  struct pending** link = &first;
  while (*link && (*link)->request != request) link = &(*link)->next;
  struct pending* found = *link;
  if (found && take) *link = found->next;
  pthread_mutex_unlock(&mutex);
  return found;
}

static void discard(struct pending* pending) {
  if (pending->stale) {
    release_type(&pending->stale->block);
    free(pending->stale->first);
    // A request that is under way still reads from there.
    if (!pending->active) free(pending->stale->staging);
    free(pending->stale);
  }
  operation_free(pending->op);
  free(pending);
}

struct stale* stale_new(struct call call, const void** at, int count, MPI_Datatype type) {
  if (!(watch & BIT(kStaleStart)) || *at == MPI_IN_PLACE || bytes_of(count, type) == 0) return NULL;
  struct stale* stale = calloc(1, sizeof *stale);
  stale->call = call;
  stale->block = block_of(*at, count, type);
  keep_type(&stale->block);
  if (wanted_together(kStaleStart) && breaking_rank() == world_rank) {
    char *begin, *end;
    span_of(&stale->block, &begin, &end);
    stale->staging = calloc((size_t)(end - begin), 1);
    stale->staged = stale->block;
    stale->staged.at = (char*)((uintptr_t)stale->block.at - (uintptr_t)begin + (uintptr_t)stale->staging);
    *at = stale->staged.at;
  }
  return stale;
}

static void start_stale(struct stale* stale) {
  char* now = packed(&stale->block);
  const char* sent = now;
  if (stale->first) {
    if (!stale->broken && memcmp(stale->first, now, (size_t)stale->block.bytes) != 0 && due(kStaleStart)) {
      stale->broken = true;
      applied(kStaleStart, stale->call, "%d bytes of the first start are sent again from now on", stale->block.bytes);
    }
    if (stale->broken) sent = stale->first;
  }
  if (stale->staging) unpacked(&stale->staged, sent);
  if (stale->first) free(now);
  else stale->first = now;
}

static void starts(MPI_Request request) {
  struct pending* pending = find(request, false);
  if (!pending) return;
  pending->active = true;
  operation_before(pending->op);
  if (pending->stale) start_stale(pending->stale);
}

static void completed(MPI_Request request, MPI_Status* status, bool seen, struct call by) {
  struct pending* pending = find(request, false);
  if (!pending || !pending->active) return;
  int cancelled = 0;
  if (pending->op) {
    const unsigned messages = BIT(kUnpackOrder) | BIT(kSendSize) | BIT(kStatusSource) | BIT(kStatusCount) | BIT(kEarly);
    const bool message = pending->op->suits & messages;
    if (message) real.Test_cancelled(status, &cancelled);
    char text[64];
    snprintf(text, sizeof text, "complete in %s %ld", by.function, by.index);
    if (!cancelled) operation_after(pending->op, message ? status : NULL, seen, text);
  }
  pending->active = false;
  if (!pending->persistent) discard(find(request, true));
}

int MPI_Start(MPI_Request* request) {
  PASS(Start, request);
  (void)call;
  starts(*request);
  return leave(real.Start(request));
}
BOTH_NAMES(Start);

int MPI_Startall(int count, MPI_Request* requests) {
  PASS(Startall, count, requests);
  (void)call;
  for (int i = 0; i < count; ++i) starts(requests[i]);
  return leave(real.Startall(count, requests));
}
BOTH_NAMES(Startall);

int MPI_Request_free(MPI_Request* request) {
  PASS(Request_free, request);
  (void)call;
  struct pending* pending = find(*request, true);
  const int code = real.Request_free(request);
  if (pending) discard(pending);
  return leave(code);
}
BOTH_NAMES(Request_free);

#define STATUS           \
  MPI_Status own_status; \
  MPI_Status* const result = status == MPI_STATUS_IGNORE ? &own_status : status

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  PASS(Wait, request, status);
  STATUS;
  const MPI_Request before = *request;
  const int code = real.Wait(request, result);
  if (code == MPI_SUCCESS) completed(before, result, status != MPI_STATUS_IGNORE, call);
  return leave(code);
}
BOTH_NAMES(Wait);

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  PASS(Test, request, flag, status);
  STATUS;
  const MPI_Request before = *request;
  const int code = real.Test(request, flag, result);
  if (code == MPI_SUCCESS && *flag) completed(before, result, status != MPI_STATUS_IGNORE, call);
  return leave(code);
}
BOTH_NAMES(Test);

// The requests as they were before the call, and statuses even if the program wants none.
struct many {
  MPI_Request* before;
  MPI_Status* statuses;
  bool seen;
};
static struct many many_before(int count, const MPI_Request* requests, MPI_Status* statuses) {
  const size_t number = (size_t)(count > 0 ? count : 0);
  struct many many = {malloc((number + 1) * sizeof *requests), statuses, statuses != MPI_STATUSES_IGNORE};
  if (number > 0) memcpy(many.before, requests, number * sizeof *requests);
  if (!many.seen) many.statuses = malloc((number + 1) * sizeof *statuses);
  return many;
}
static int many_after(struct many* many, int code) {
  free(many->before);
  if (!many->seen) free(many->statuses);
  return leave(code);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  PASS(Waitall, count, requests, statuses);
  struct many many = many_before(count, requests, statuses);
  const int code = real.Waitall(count, requests, many.statuses);
  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) completed(many.before[i], &many.statuses[i], many.seen, call);
  return many_after(&many, code);
}
BOTH_NAMES(Waitall);

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  PASS(Testall, count, requests, flag, statuses);
  struct many many = many_before(count, requests, statuses);
  const int code = real.Testall(count, requests, flag, many.statuses);
  for (int i = 0; code == MPI_SUCCESS && *flag && i < count; ++i)
    completed(many.before[i], &many.statuses[i], many.seen, call);
  return many_after(&many, code);
}
BOTH_NAMES(Testall);

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  PASS(Waitany, count, requests, index, status);
  STATUS;
  struct many many = many_before(count, requests, MPI_STATUSES_IGNORE);
  const int code = real.Waitany(count, requests, index, result);
  if (code == MPI_SUCCESS && *index >= 0) completed(many.before[*index], result, status != MPI_STATUS_IGNORE, call);
  return many_after(&many, code);
}
BOTH_NAMES(Waitany);

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  PASS(Testany, count, requests, index, flag, status);
  STATUS;
  struct many many = many_before(count, requests, MPI_STATUSES_IGNORE);
  const int code = real.Testany(count, requests, index, flag, result);
  if (code == MPI_SUCCESS && *flag && *index >= 0)
    completed(many.before[*index], result, status != MPI_STATUS_IGNORE, call);
  return many_after(&many, code);
}
BOTH_NAMES(Testany);

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  PASS(Waitsome, count, requests, done, indices, statuses);
  struct many many = many_before(count, requests, statuses);
  const int code = real.Waitsome(count, requests, done, indices, many.statuses);
  for (int i = 0; code == MPI_SUCCESS && i < *done; ++i)
    completed(many.before[indices[i]], &many.statuses[i], many.seen, call);
  return many_after(&many, code);
}
BOTH_NAMES(Waitsome);

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  PASS(Testsome, count, requests, done, indices, statuses);
  struct many many = many_before(count, requests, statuses);
  const int code = real.Testsome(count, requests, done, indices, many.statuses);
  for (int i = 0; code == MPI_SUCCESS && i < *done; ++i)
    completed(many.before[indices[i]], &many.statuses[i], many.seen, call);
  return many_after(&many, code);
}
BOTH_NAMES(Testsome);
