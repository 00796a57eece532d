// Collectives that move data.
#include "traffic.h"

// What a collective is made of. Even and odd ranks of MPI_COMM_WORLD have other types.
struct setting {
  struct flow flows[2];
  const struct team* team;
  enum mode mode;
  int root, how;  // how it is completed
  bool in_place;
};

// What MPICH 4.0 gets wrong: much data that is not of a basic type; persistent ones. What hangs with Open MPI 4.1:
// types that differ between ranks.
enum avoid { kNothing, kLargeTypes = 1, kPersistence = 2, kMixedTypes = 4 };

static void setting_drawn(struct setting* it, int avoid) {
  two_flows_drawn(it->flows, false);
  avoid &= kOpenMpi ? kMixedTypes : kLargeTypes | kPersistence;
  if (avoid & kMixedTypes) it->flows[1] = it->flows[0];
  if (avoid & kLargeTypes && shape_bytes(&it->flows[0].send, 1) > 1024) flows_plain(it->flows);
  it->team = team_drawn();
  it->mode = mode_drawn();
  it->root = draw(60) % it->team->size;
  it->how = draw(2);
  it->in_place = chance(3);
  if (avoid & kPersistence && it->mode == kPersistent) it->mode = kNonblocking;
}
static const struct shape* sends(const struct setting* it, int i) { return &it->flows[it->team->who[i] % 2].send; }
static const struct shape* receives(const struct setting* it, int i) {
  return &it->flows[it->team->who[i] % 2].receive;
}
static void make_both(struct setting* it) {
  shape_make(&it->flows[rank % 2].send);
  shape_make(&it->flows[rank % 2].receive);
}
static void free_both(struct setting* it, MPI_Request* request) {
  if (it->mode == kPersistent) MPI_Request_free(request);
  shape_free(&it->flows[rank % 2].send);
  shape_free(&it->flows[rank % 2].receive);
}

// Names that all functions below use.
#define SETTING(AVOID)                                            \
  struct setting it;                                              \
  setting_drawn(&it, AVOID);                                      \
  make_both(&it);                                                 \
  const struct team* team = it.team;                              \
  const enum mode mode = it.mode;                                 \
  const int me = team->rank, peers = team->size;                  \
  const struct shape *s = sends(&it, me), *r = receives(&it, me); \
  const bool at_root = me == it.root;                             \
  MPI_Request request = MPI_REQUEST_NULL;                         \
  (void)at_root, (void)mode, (void)peers, (void)s, (void)r

void barrier(void) {
  const struct team* team = team_drawn();
  const enum mode mode = mode_drawn();
  MPI_Request request = MPI_REQUEST_NULL;
  for (int start = 0; start < starts_of(mode); ++start) {
    COLLECTIVE(Barrier, Ibarrier, team->comm);
    complete(&request, mode, 0);
  }
  if (mode == kPersistent) MPI_Request_free(&request);
}

void bcast(void) {
  SETTING(kNothing);
  const int span = shape_span(s, 1), number = at_root ? kSend : kReceive;
  unsigned char* at = take(span, number);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(at, span, number + start);
    COLLECTIVE(Bcast, Ibcast, at, s->count, s->type, it.root, team->comm);
    complete(&request, mode, it.how);
    if (!at_root) expect(at, s, team->who[it.root], kSend + start, sends(&it, it.root), 0, 1);
    check(at, span);
  }
  free_both(&it, &request);
}

// Persistent gathers and scatters send what was in the buffers when they were made, or end the program.
void gather(void) {
  SETTING(kPersistence);
  const bool in_place = at_root && it.in_place;
  const int span = at_root ? shape_span(r, peers) : 0;
  unsigned char* from = take(shape_span(s, 1), kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, shape_span(s, 1), kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Gather, Igather, in_place ? MPI_IN_PLACE : from, s->count, s->type, at, r->count, r->type, it.root,
               team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; at_root && i < peers; ++i)
      if (i != me || !in_place) expect(at + i * shape_step(r), r, team->who[i], kSend + start, sends(&it, i), 0, 1);
    check(at, span);
  }
  free_both(&it, &request);
}

void scatter(void) {
  SETTING(kPersistence);
  const bool in_place = at_root && it.in_place;
  const int span = at_root ? shape_span(s, peers) : 0;
  unsigned char* from = take(span, kSend);
  unsigned char* at = take(shape_span(r, 1), kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, span, kSend + start);
    fresh(at, shape_span(r, 1), kReceive + start);
    COLLECTIVE(Scatter, Iscatter, from, s->count, s->type, in_place ? MPI_IN_PLACE : at, r->count, r->type, it.root,
               team->comm);
    complete(&request, mode, it.how);
    const struct shape* roots = sends(&it, it.root);
    if (!in_place) expect(at, r, team->who[it.root], kSend + start, roots, me * shape_step(roots), 1);
    check(at, shape_span(r, 1));
  }
  free_both(&it, &request);
}

void allgather(void) {
  SETTING(kPersistence);
  const int span = shape_span(r, peers);
  unsigned char* from = take(shape_span(s, 1), kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, shape_span(s, 1), kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Allgather, Iallgather, it.in_place ? MPI_IN_PLACE : from, s->count, s->type, at, r->count, r->type,
               team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; i < peers; ++i) {
      const struct shape* other = receives(&it, i);
      if (!it.in_place) expect(at + i * shape_step(r), r, team->who[i], kSend + start, sends(&it, i), 0, 1);
      else expect(at + i * shape_step(r), r, team->who[i], kReceive + start, other, i * shape_step(other), 1);
    }
    check(at, span);
  }
  free_both(&it, &request);
}

void alltoall(void) {
  SETTING(kNothing);
  const int span = shape_span(r, peers);
  unsigned char* from = take(shape_span(s, peers), kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, shape_span(s, peers), kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Alltoall, Ialltoall, it.in_place ? MPI_IN_PLACE : from, s->count, s->type, at, r->count, r->type,
               team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; i < peers; ++i) {
      const struct shape* other = it.in_place ? receives(&it, i) : sends(&it, i);
      expect(at + i * shape_step(r), r, team->who[i], (it.in_place ? kReceive : kSend) + start, other,
             me * shape_step(other), 1);
    }
    check(at, span);
  }
  free_both(&it, &request);
}

int places(int peers, const int* times, int salt, int* place) {
  if (peers == 0) return 0;
  const int turn = pick(peers, 0, 100 + salt);
  const bool backwards = pick(2, 1, 100 + salt);
  int at = pick(2, 2, 100 + salt);
  for (int k = 0; k < peers; ++k) {
    const int i = (turn + (backwards ? peers - 1 - k : k)) % peers;
    place[i] = at;
    at += times[i] + pick(3, i, 200 + salt);
  }
  return at;
}
void in_units(int peers, const struct shape* shape, const int* times, const int* place, int* counts,
              int* displacements) {
  for (int i = 0; i < peers; ++i) {
    counts[i] = times[i] * shape->count;
    displacements[i] = place[i] * shape->count;
  }
}

void gatherv(void) {
  SETTING(kNothing);
  const bool in_place = at_root && it.in_place;
  int times[kMaxRanks] = {0}, place[kMaxRanks], counts[kMaxRanks], displacements[kMaxRanks];
  for (int i = 0; i < peers; ++i) times[i] = pick(4, i, 0);
  const int end = places(peers, times, 0, place), span = at_root ? shape_span(r, end) : 0;
  in_units(peers, r, times, place, counts, displacements);
  unsigned char* from = take(shape_span(s, times[me]), kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, shape_span(s, times[me]), kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Gatherv, Igatherv, in_place ? MPI_IN_PLACE : from, s->count * times[me], s->type, at, counts,
               displacements, r->type, it.root, team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; at_root && i < peers; ++i)
      if (i != me || !in_place)
        expect(at + place[i] * shape_step(r), r, team->who[i], kSend + start, sends(&it, i), 0, times[i]);
    check(at, span);
  }
  free_both(&it, &request);
}

void scatterv(void) {
  SETTING(kNothing);
  const bool in_place = at_root && it.in_place;
  int times[kMaxRanks] = {0}, place[kMaxRanks], counts[kMaxRanks], displacements[kMaxRanks];
  for (int i = 0; i < peers; ++i) times[i] = pick(4, i, 0);
  const int end = places(peers, times, 0, place), span = at_root ? shape_span(s, end) : 0;
  in_units(peers, s, times, place, counts, displacements);
  unsigned char* from = take(span, kSend);
  unsigned char* at = take(shape_span(r, times[me]), kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, span, kSend + start);
    fresh(at, shape_span(r, times[me]), kReceive + start);
    COLLECTIVE(Scatterv, Iscatterv, from, counts, displacements, s->type, in_place ? MPI_IN_PLACE : at,
               r->count * times[me], r->type, it.root, team->comm);
    complete(&request, mode, it.how);
    const struct shape* roots = sends(&it, it.root);
    if (!in_place) expect(at, r, team->who[it.root], kSend + start, roots, place[me] * shape_step(roots), times[me]);
    check(at, shape_span(r, times[me]));
  }
  free_both(&it, &request);
}

void allgatherv(void) {
  // MPICH sends large blocks in pieces of so many elements, which ranks with other types take for truncated. Open MPI
  // multiplies what is received by the size of the type that is sent, to choose an algorithm, which must be the same.
  SETTING(kLargeTypes | kMixedTypes);
  int times[kMaxRanks] = {0}, place[kMaxRanks], counts[kMaxRanks], displacements[kMaxRanks];
  for (int i = 0; i < peers; ++i) times[i] = pick(4, i, 0);
  const int end = places(peers, times, 0, place), span = shape_span(r, end);
  if (!kOpenMpi && !known_bugs && peers == 1) place[0] = 0;  // MPICH 4.0 ignores the displacement of a rank alone
  in_units(peers, r, times, place, counts, displacements);
  unsigned char* from = take(shape_span(s, times[me]), kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, shape_span(s, times[me]), kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Allgatherv, Iallgatherv, it.in_place ? MPI_IN_PLACE : from, s->count * times[me], s->type, at, counts,
               displacements, r->type, team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; i < peers; ++i) {
      const struct shape* other = it.in_place ? receives(&it, i) : sends(&it, i);
      expect(at + place[i] * shape_step(r), r, team->who[i], (it.in_place ? kReceive : kSend) + start, other,
             it.in_place ? place[i] * shape_step(other) : 0, times[i]);
    }
    check(at, span);
  }
  free_both(&it, &request);
}

// How much goes from one rank to another; in place it must be as much both ways.
static int between(const struct setting* it, int from, int to) {
  return it->in_place && from > to ? pick(4, to, from) : pick(4, from, to);
}
// What a rank sends and receives, and where that is.
struct exchanged {
  int sent[kMaxRanks], send_place[kMaxRanks], send_end;
  int got[kMaxRanks], place[kMaxRanks], end;
};
static struct exchanged exchanged_by(const struct setting* it, int who) {
  struct exchanged all;
  for (int i = 0; i < it->team->size; ++i) {
    all.sent[i] = between(it, who, i);
    all.got[i] = between(it, i, who);
  }
  all.send_end = places(it->team->size, all.sent, 10 + who, all.send_place);
  all.end = places(it->team->size, all.got, 20 + who, all.place);
  return all;
}

// In place, the nonblocking v- and w-form of Open MPI 4.1 send what they have just received, if a block is empty and
// others are large. MPICH 4.0 ends the program in the w-form.
void alltoallv(void) {
  SETTING(kNothing);
  if (kOpenMpi && !known_bugs && mode != kBlocking) it.in_place = false;
  const struct exchanged own = exchanged_by(&it, me);
  int send_counts[kMaxRanks], send_displacements[kMaxRanks], counts[kMaxRanks], displacements[kMaxRanks];
  in_units(peers, s, own.sent, own.send_place, send_counts, send_displacements);
  in_units(peers, r, own.got, own.place, counts, displacements);
  const int send_span = shape_span(s, own.send_end), span = shape_span(r, own.end);
  unsigned char* from = take(send_span, kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, send_span, kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Alltoallv, Ialltoallv, it.in_place ? MPI_IN_PLACE : from, send_counts, send_displacements, s->type, at,
               counts, displacements, r->type, team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; i < peers; ++i) {
      const struct exchanged theirs = exchanged_by(&it, i);
      const struct shape* other = it.in_place ? receives(&it, i) : sends(&it, i);
      expect(at + own.place[i] * shape_step(r), r, team->who[i], (it.in_place ? kReceive : kSend) + start, other,
             (it.in_place ? theirs.place[me] : theirs.send_place[me]) * shape_step(other), own.got[i]);
    }
    check(at, span);
  }
  free_both(&it, &request);
}

// Another type for every second peer, and displacements in bytes.
void alltoallw(void) {
  SETTING(kNothing);
  if (mode != kBlocking && !(kOpenMpi && known_bugs)) it.in_place = false;
  struct exchanged own = exchanged_by(&it, me);
  int send_counts[kMaxRanks], send_displacements[kMaxRanks], counts[kMaxRanks], displacements[kMaxRanks];
  MPI_Datatype send_types[kMaxRanks], types[kMaxRanks];
  shape_make(&it.flows[1 - rank % 2].send);
  shape_make(&it.flows[1 - rank % 2].receive);
  // Steps of the larger of both, so that they do not overlap.
  int step = 0, send_step = 0;
  for (int k = 0; k < 2; ++k) {
    if (step < shape_span(&it.flows[k].receive, 1)) step = shape_span(&it.flows[k].receive, 1);
    if (step < shape_step(&it.flows[k].receive)) step = shape_step(&it.flows[k].receive);
    if (send_step < shape_span(&it.flows[k].send, 1)) send_step = shape_span(&it.flows[k].send, 1);
    if (send_step < shape_step(&it.flows[k].send)) send_step = shape_step(&it.flows[k].send);
  }
  step = (step + 15) / 16 * 16, send_step = (send_step + 15) / 16 * 16;
  for (int i = 0; i < peers; ++i) {
    const struct shape *to = &it.flows[i % 2].send, *of = &it.flows[i % 2].receive;
    send_types[i] = to->type;
    send_counts[i] = own.sent[i] * to->count;
    send_displacements[i] = own.send_place[i] * send_step;
    types[i] = of->type;
    counts[i] = own.got[i] * of->count;
    displacements[i] = own.place[i] * step;
  }
  // Open MPI 4.1 takes the displacements of a rank alone for elements.
  if (kOpenMpi && peers == 1) own.place[0] = own.send_place[0] = displacements[0] = send_displacements[0] = 0;
  const int send_span = own.send_end * send_step + 64, span = own.end * step + 64;
  unsigned char* from = take(send_span, kSend);
  unsigned char* at = take(span, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, send_span, kSend + start);
    fresh(at, span, kReceive + start);
    COLLECTIVE(Alltoallw, Ialltoallw, it.in_place ? MPI_IN_PLACE : from, send_counts, send_displacements, send_types,
               at, counts, displacements, types, team->comm);
    complete(&request, mode, it.how);
    for (int i = 0; i < peers; ++i) {
      const struct exchanged theirs = peers == 1 ? own : exchanged_by(&it, i);
      const struct shape* other = it.in_place ? &it.flows[me % 2].receive : &it.flows[me % 2].send;
      expect(at + displacements[i], &it.flows[i % 2].receive, team->who[i], (it.in_place ? kReceive : kSend) + start,
             other, it.in_place ? theirs.place[me] * step : theirs.send_place[me] * send_step, own.got[i]);
    }
    check(at, span);
  }
  free_both(&it, &request);
  shape_free(&it.flows[1 - rank % 2].send);
  shape_free(&it.flows[1 - rank % 2].receive);
}

// Several collectives under way at once, and a message meanwhile.
void overlap(void) {
  SETTING(kNothing);
  enum { kOperations = 4 };
  MPI_Request requests[kOperations];
  unsigned char* one = take(shape_span(s, 1), at_root ? kSend : kReceive);
  unsigned char* mine = take(shape_span(s, 1), kSend + 1);
  unsigned char* all = take(shape_span(r, peers), kReceive + 1);
  unsigned char* out = take(shape_span(s, peers), kSend + 2);
  unsigned char* in = take(shape_span(r, peers), kReceive + 2);
  MPI_Ibcast(one, s->count, s->type, it.root, team->comm, &requests[0]);
  MPI_Iallgather(mine, s->count, s->type, all, r->count, r->type, team->comm, &requests[1]);
  MPI_Ibarrier(team->comm, &requests[2]);
  MPI_Ialltoall(out, s->count, s->type, in, r->count, r->type, team->comm, &requests[3]);
  unsigned char* sent = take(16, kSend + 3);
  unsigned char* got = take(16, kReceive + 3);
  struct shape few;
  shape_plain(&few, kInt, 4);
  MPI_Sendrecv(sent, 4, MPI_INT, (me + 1) % peers, call, got, 4, MPI_INT, (me + peers - 1) % peers, call, team->comm,
               MPI_STATUS_IGNORE);
  expect(got, &few, team->who[(me + peers - 1) % peers], kSend + 3, &few, 0, 1);
  check(got, 16);
  MPI_Waitall(kOperations, requests, MPI_STATUSES_IGNORE);
  if (!at_root) expect(one, s, team->who[it.root], kSend, sends(&it, it.root), 0, 1);
  for (int i = 0; i < peers; ++i) {
    const struct shape* other = sends(&it, i);
    expect(all + i * shape_step(r), r, team->who[i], kSend + 1, other, 0, 1);
    expect(in + i * shape_step(r), r, team->who[i], kSend + 2, other, me * shape_step(other), 1);
  }
  check(one, shape_span(s, 1));
  check(all, shape_span(r, peers));
  check(in, shape_span(r, peers));
  it.mode = kNonblocking;
  free_both(&it, &request);
}
