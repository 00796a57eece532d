// What the random programs share (see generate.py): counted calls with a fault on demand, messages whose content and
// size depend on everything that the sender has seen so far, and batches of requests.
//
//   program DIR [--fault segv|abort|mpi_abort|exit|kill|timer] [--rank R] [--at CALLS]
//
// The fault strikes rank R once it has made CALLS calls. `kill` and `timer` send SIGKILL, at once or a moment later,
// but only while DIR holds a file named `armed`: a replay, where the file is gone, comes to the end of the log instead,
// as it does after a kill from outside.
#ifndef TESTS_RANDOM_RUNTIME_H
#define TESTS_RANDOM_RUNTIME_H

#include <sched.h>
#include <signal.h>

#include "common.h"

enum { kMost = 96, kRanks = 8, kWords = 64, kWordsPerElement = 6, kExtent = 64, kLayouts = 6 };

// -- counted calls ----------------------------------------------------------------------------------------------------

static const char* fault = "none";
static int fault_rank = -1;
static long fault_at = -1;

static UNUSED int armed(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/armed", out_dir);
  return access(path, F_OK) == 0;
}

static UNUSED void arm_timer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  const struct itimerspec delay = {.it_value = {0, 1000 + 100000L * (fault_at % 10)}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &delay, NULL)) die("timer");
}

static UNUSED void maybe_fail(void) {
  if (world_rank != fault_rank || fault_at < 0 || (long)progress->ended < fault_at) return;
  if (strcmp(fault, "kill") == 0 && armed()) raise(SIGKILL);
  if (strcmp(fault, "timer") == 0 && armed()) arm_timer();
  fault_at = -1;
  if (strcmp(fault, "kill") == 0 || strcmp(fault, "timer") == 0) return;
  say("now: %s", fault);
  if (strcmp(fault, "segv") == 0) {
    int* volatile nowhere = NULL;
    *nowhere = 1;
  }
  if (strcmp(fault, "abort") == 0) abort();
  if (strcmp(fault, "mpi_abort") == 0) CALL(MPI_Abort(MPI_COMM_WORLD, 7));
  if (strcmp(fault, "exit") == 0) exit(3);
}

#define DO(call)  \
  do {            \
    CALL(call);   \
    maybe_fail(); \
  } while (0)

// -- content ----------------------------------------------------------------------------------------------------------

// The next number, made from everything seen so far: equal orders give equal numbers, another order gives others.
static uint64_t drawn = 0;
static UNUSED uint64_t draw(void) {
  uint64_t x = digest + (uint64_t)(world_rank + 1) * 0x632be59bd9b4e019u + ++drawn * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static UNUSED void fill(void* at, size_t bytes) {
  uint64_t x = draw();
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    memcpy((char*)at + i, &x, 8);
    x = x * 6364136223846793005u + 1442695040888963407u;
  }
}

static UNUSED uint64_t hash_of(const void* at, size_t bytes) {
  uint64_t hash = 1469598103934665603u, x;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    memcpy(&x, (const char*)at + i, 8);
    hash = (hash ^ x) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

static UNUSED unsigned short_form(uint64_t hash) { return (unsigned)(hash ^ (hash >> 32)); }

static UNUSED void* zeroed(size_t bytes) {
  void* at = calloc(1, bytes ? bytes : 8);
  if (!at) die("calloc");
  return at;
}

// How often a poll failed is part of the outcome. The processor is given away now and then: there are more ranks than
// cores.
static UNUSED void failed(int* polls) {
  if (++*polls % 8 == 0) sched_yield();
}

static UNUSED void polled(const char* what, int polls) {
  fold((uint64_t)polls);
  say("%s failed %d times", what, polls);
}

// Memory layouts of an element: six words each, in at most kExtent bytes. What one layout sent, any other may receive.
static MPI_Datatype layouts[kLayouts];

static UNUSED void make_layouts(void) {
  const int lengths[3] = {1, 3, 2}, places[3] = {0, 2, 7}, back[3] = {9, 0, 5};
  const int sizes[2] = {4, 4}, parts[2] = {2, 3}, starts[2] = {1, 1};
  const MPI_Aint offsets[3] = {0, 12, 28};
  const MPI_Datatype words[3] = {MPI_UINT32_T, MPI_UINT32_T, MPI_UINT32_T};
  MPI_Datatype made;
  DO(MPI_Type_contiguous(kWordsPerElement, MPI_UINT32_T, &layouts[0]));
  DO(MPI_Type_vector(3, 2, 4, MPI_UINT32_T, &layouts[1]));
  DO(MPI_Type_indexed(3, lengths, places, MPI_UINT32_T, &layouts[2]));
  DO(MPI_Type_create_struct(3, lengths, offsets, words, &layouts[3]));
  DO(MPI_Type_indexed(3, lengths, back, MPI_UINT32_T, &made));
  DO(MPI_Type_create_resized(made, 0, kExtent, &layouts[4]));
  DO(MPI_Type_free(&made));
  DO(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_UINT32_T, &layouts[5]));
  for (int i = 0; i < kLayouts; ++i) DO(MPI_Type_commit(&layouts[i]));
}

static UNUSED void free_layouts(void) {
  for (int i = 0; i < kLayouts; ++i) DO(MPI_Type_free(&layouts[i]));
}

// -- streams: the messages of one phase -------------------------------------------------------------------------------

typedef struct {
  MPI_Comm comm;
  int me;             // in comm; MPI_PROC_NULL if one cannot send to oneself there
  int base, tags;     // sends use the tags base ... base + tags - 1
  int tag;            // what receives ask for: base or MPI_ANY_TAG
  int side;           // a tag for messages that are not part of the stream
  int alone;          // no other phase's message could be taken by a receive that is left over
  MPI_Datatype type;  // how a message lies in memory where it is received
  MPI_Datatype sent;  // and where it is sent
  int per, sent_per;  // items of these types per element
  int room;           // at most so many elements
  int count;          // room in items of `type`
  size_t bytes;       // room in bytes
} Stream;

// Layout -1 is no layout but plain words.
static UNUSED Stream stream(MPI_Comm comm, int base, int tags, int any_tag, int received, int sent, int room) {
  Stream s = {.comm = comm, .base = base, .tags = tags, .tag = any_tag ? MPI_ANY_TAG : base, .side = base + tags};
  int inter;
  DO(MPI_Comm_test_inter(comm, &inter));
  DO(MPI_Comm_rank(comm, &s.me));
  if (inter) s.me = MPI_PROC_NULL;
  s.alone = !any_tag;
  s.type = received < 0 ? MPI_UINT32_T : layouts[received];
  s.sent = sent < 0 ? MPI_UINT32_T : layouts[sent];
  s.per = received < 0 ? kWordsPerElement : 1;
  s.sent_per = sent < 0 ? kWordsPerElement : 1;
  s.room = room;
  s.count = room * s.per;
  s.bytes = (size_t)room * kExtent;
  return s;
}

// A new message: its size, its tag and its content.
typedef struct {
  unsigned char* buffer;
  int count, tag;
} Message;

static UNUSED Message new_message(const Stream* s) {
  Message m = {.buffer = (unsigned char*)zeroed(s->bytes)};
  fill(m.buffer, s->bytes);
  m.count = (int)(draw() % (uint64_t)(s->room + 1)) * s->sent_per;
  m.tag = s->base + (int)(draw() % (uint64_t)s->tags);
  return m;
}

static UNUSED void took_message(const char* what, const Stream* s, const MPI_Status* status, const void* buffer) {
  int count;
  const uint64_t hash = hash_of(buffer, s->bytes);
  MPI_Get_count(status, s->type, &count);
  fold((uint64_t)status->MPI_SOURCE * 1000003u + (uint64_t)status->MPI_TAG * 10007u + (uint64_t)count);
  fold(hash);
  say("%s source %d tag %d count %d content %08x", what, status->MPI_SOURCE, status->MPI_TAG, count, short_form(hash));
}

static UNUSED void took_blindly(const char* what, const Stream* s, const void* buffer) {
  const uint64_t hash = hash_of(buffer, s->bytes);
  fold(hash);
  say("%s content %08x", what, short_form(hash));
}

// -- batches: requests that are completed together --------------------------------------------------------------------

typedef struct {
  const Stream* stream;
  int n, pending;                // entries, and how many of them are to complete
  MPI_Request request[kMost];
  unsigned char* buffer[kMost];  // what is received; NULL for a send or a collective
  unsigned char* owned[kMost];   // freed with the batch
  char active[kMost];
} Batch;

static UNUSED MPI_Request* add(Batch* b, unsigned char* received, unsigned char* owned) {
  const int i = b->n++;
  if (i >= kMost) die("batch");
  b->buffer[i] = received;
  b->owned[i] = owned;
  b->request[i] = MPI_REQUEST_NULL;
  b->active[i] = 1;
  ++b->pending;
  return &b->request[i];
}

// Entry i has completed; status is NULL if the program did not ask for it.
static UNUSED void completed(Batch* b, const char* what, int i, const MPI_Status* status) {
  if (!b->active[i]) return;
  b->active[i] = 0;
  --b->pending;
  fold((uint64_t)i);
  if (!b->buffer[i])
    say("%s: request %d", what, i);
  else if (status)
    took_message(what, b->stream, status, b->buffer[i]);
  else
    took_blindly(what, b->stream, b->buffer[i]);
}

// Everything has completed; what is not null now is an inactive persistent request.
static UNUSED void release(Batch* b) {
  for (int i = 0; i < b->n; ++i) {
    if (b->request[i] != MPI_REQUEST_NULL) DO(MPI_Request_free(&b->request[i]));
    free(b->owned[i]);
  }
  b->n = b->pending = 0;
}

// -- collectives ------------------------------------------------------------------------------------------------------

// Arguments for any collective operation: one or a few words for each of `size` peers.
typedef struct {
  int me, size;
  uint64_t in[kWords], out[kWords];
  int counts[kRanks + 1], displs[kRanks + 1], offsets[kRanks + 1];  // offsets: displs in bytes
  int pairs[kRanks + 1];  // counts on which both ends agree
  MPI_Aint places[kRanks + 1];  // offsets, for neighbours
  MPI_Datatype types[kRanks + 1];
} Work;

static UNUSED void prepare(Work* w) {
  for (int i = 0; i < kWords; ++i) w->in[i] = draw(), w->out[i] = 0;
}

// even: as many words for everybody, as neighbourhoods need it, where nobody knows the other's position.
static UNUSED Work* new_work(MPI_Comm comm, int peers, int even) {
  Work* w = (Work*)zeroed(sizeof *w);
  int inter;
  DO(MPI_Comm_rank(comm, &w->me));
  DO(MPI_Comm_test_inter(comm, &inter));
  w->size = peers;
  if (peers < 0 && inter) DO(MPI_Comm_remote_size(comm, &w->size));
  if (peers < 0 && !inter) DO(MPI_Comm_size(comm, &w->size));
  for (int i = 0, at = 0; i <= kRanks; at += 3, ++i) {
    w->counts[i] = even ? 2 : 1 + i % 3;
    w->pairs[i] = even ? 2 : 1 + (w->me + i) % 3;
    w->displs[i] = at;
    w->offsets[i] = at * 8;
    w->places[i] = at * 8;
    w->types[i] = MPI_UINT64_T;
  }
  prepare(w);
  return w;
}

static UNUSED void learnt(const char* what, const Work* w) {
  const uint64_t hash = hash_of(w->out, sizeof w->out);
  fold(hash);
  say("%s gave %08x", what, short_form(hash));
}

// -- the frame --------------------------------------------------------------------------------------------------------

static void* attached = NULL;

static UNUSED void begin(int* argc, char*** argv, int ranks) {
  enum { kBuffered = 4 << 20 };
#ifdef THREAD_LEVEL
  int provided;
  MPI_Init_thread(argc, argv, THREAD_LEVEL, &provided);
  if (provided < THREAD_LEVEL) {
    fprintf(stderr, "this MPI does not support threads as this program needs it\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  open_output(*argc, *argv);
#else
  start(argc, argv);
#endif
  for (int i = 2; i + 1 < *argc; i += 2) {
    if (strcmp((*argv)[i], "--fault") == 0) fault = (*argv)[i + 1];
    if (strcmp((*argv)[i], "--rank") == 0) fault_rank = atoi((*argv)[i + 1]);
    if (strcmp((*argv)[i], "--at") == 0) fault_at = atol((*argv)[i + 1]);
  }
  if (world_size != ranks) {
    fprintf(stderr, "this program is for %d ranks\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  open_progress();
  attached = zeroed(kBuffered);
  DO(MPI_Buffer_attach(attached, kBuffered));
  make_layouts();
}

static UNUSED void end(void) {
  int size;
  void* buffer;
  DO(MPI_Buffer_detach(&buffer, &size));
  free(attached);
  free_layouts();
  // Sends whose requests were freed may still be on their way. MPICH 4.0.2 does not move them in MPI_Finalize.
  DO(MPI_Barrier(MPI_COMM_WORLD));
  finish();
}

#endif
