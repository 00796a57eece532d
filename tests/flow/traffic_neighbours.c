// Neighbourhood collectives on grids and graphs, also with neighbours that appear twice.
#include "traffic.h"

enum { kMost = 12 };  // neighbours of a rank
struct topology {
  MPI_Comm comm;
  bool grid;
  bool twice;  // somebody has the same neighbour twice
  int in[kMaxRanks], source[kMaxRanks][kMost];
  int out[kMaxRanks], target[kMaxRanks][kMost];
  int slot[kMaxRanks][kMost];  // which of the source's blocks it is
};
enum { kRing, kLine, kGrid, kGraph, kDirected, kTopologies };
static struct topology topologies[kTopologies];

static void shuffle(int* list, int number) {
  for (int i = number - 1; i > 0; --i) {
    const int j = draw(i + 1), other = list[i];
    list[i] = list[j];
    list[j] = other;
  }
}

// In a graph the k-th block to a neighbour is the k-th one from the other rank that it gets.
static void match(struct topology* it) {
  for (int who = 0; who < size; ++who)
    for (int i = 0; i < it->in[who]; ++i) {
      const int source = it->source[who][i];
      int before = 0, slot = 0;
      for (int k = 0; k < i; ++k) before += it->source[who][k] == source;
      while (it->target[source][slot] != who || before-- > 0) ++slot;
      it->slot[who][i] = slot;
    }
}

static void grid_make(struct topology* it, int dimensions, const int* sides, const int* periods) {
  it->grid = true;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, periods, 0, &it->comm);
  for (int who = 0; who < size; ++who) {
    int at[2], other;
    MPI_Cart_coords(it->comm, who, dimensions, at);
    it->in[who] = it->out[who] = 2 * dimensions;
    for (int slot = 0; slot < 2 * dimensions; ++slot) {
      const int d = slot / 2, was = at[d];
      at[d] += slot % 2 ? 1 : -1;
      other = MPI_PROC_NULL;
      if (periods[d] || (at[d] >= 0 && at[d] < sides[d])) MPI_Cart_rank(it->comm, at, &other);
      at[d] = was;
      it->source[who][slot] = it->target[who][slot] = other;
      // What goes to the left comes from the right.
      it->slot[who][slot] = slot ^ 1;
      it->twice = it->twice || (periods[d] && sides[d] <= 2);
    }
  }
}

static void graph_make(struct topology* it) {
  int index[kMaxRanks], edges[kMaxRanks * kMost], all = 0;
  for (int k = 0; k < 2 * size; ++k) {
    const int one = draw(size), other = draw(size), times = 1 + draw(2);
    for (int t = 0; t < times && it->in[one] < kMost && it->in[other] < kMost; ++t) {
      it->source[one][it->in[one]++] = other;
      if (one != other) it->source[other][it->in[other]++] = one;
    }
  }
  for (int who = 0; who < size; ++who) {
    shuffle(it->source[who], it->in[who]);
    memcpy(it->target[who], it->source[who], sizeof it->target[who]);
    it->out[who] = it->in[who];
    for (int i = 0; i < it->in[who]; ++i) edges[all++] = it->source[who][i];
    index[who] = all;
  }
  it->twice = true;
  match(it);
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &it->comm);
}

static void directed_make(struct topology* it) {
  for (int k = 0; k < 3 * size; ++k) {
    const int from = draw(size), to = draw(size), times = 1 + draw(2);
    for (int t = 0; t < times && it->out[from] < kMost && it->in[to] < kMost; ++t) {
      it->target[from][it->out[from]++] = to;
      it->source[to][it->in[to]++] = from;
    }
  }
  for (int who = 0; who < size; ++who) {
    shuffle(it->source[who], it->in[who]);
    shuffle(it->target[who], it->out[who]);
  }
  it->twice = true;
  match(it);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, it->in[rank], it->source[rank], MPI_UNWEIGHTED, it->out[rank],
                                 it->target[rank], MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &it->comm);
}

void topologies_make(void) {
  const int closed[2] = {1, 1}, open[2] = {0, 0}, half_open[2] = {1, 0};
  const int in_two[2] = {size % 2 ? size : size / 2, size % 2 ? 1 : 2};
  grid_make(&topologies[kRing], 1, &size, closed);
  grid_make(&topologies[kLine], 1, &size, open);
  grid_make(&topologies[kGrid], 2, in_two, size > 4 ? half_open : closed);
  graph_make(&topologies[kGraph]);
  directed_make(&topologies[kDirected]);
}
void topologies_free(void) {
  for (int i = 0; i < kTopologies; ++i) MPI_Comm_free(&topologies[i].comm);
}

enum function { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kFunctions };

// What the libraries get wrong. Another function or mode takes its place.
//
// If a neighbour appears twice, MPICH 4.0 swaps the blocks of MPI_Neighbor_alltoall in graphs, and does not swap those
// of its v- and w-form in grids; Open MPI 4.1 does not swap those of nonblocking ones in grids (MPI 4.0, 8.6;
// example 8.10 in MPI 4.1). In a directed graph, MPICH 4.0 takes the counts of its w-form from memory that it has not
// filled in, if a rank sends more blocks than it gets, with any consequence: that is never called.
static void avoid_bugs(const struct topology* it, enum function* function, enum mode* mode) {
  if (!kOpenMpi && *function == kAlltoallw && it == &topologies[kDirected]) *function = kAlltoallv;
  if (known_bugs || !it->twice || *function < kAlltoall) return;
  if (kOpenMpi) *mode = it->grid ? kBlocking : *mode;
  else if (it->grid) *function = kAlltoall;
  else if (*function == kAlltoall) *function = kAlltoallv;
}

// So many shapes from a rank's slot, or in MPI_Neighbor_allgatherv from the rank.
static int times_of(enum function function, int who, int slot) {
  if (function == kAllgatherv) return pick(4, who, 0);
  return function == kAlltoallv || function == kAlltoallw ? pick(4, who, 10 + slot) : 1;
}

struct side {
  int number, times[kMost], place[kMost], end;
};
static struct side sent_by(const struct topology* it, enum function function, int who) {
  struct side side = {.number = it->out[who]};
  const bool all = function == kAllgather || function == kAllgatherv;
  if (all) side.number = 1;
  for (int i = 0; i < side.number; ++i) side.times[i] = times_of(function, who, i);
  for (int i = 0; i < side.number; ++i) side.place[i] = i, side.end = i + 1;
  if (all) side.end = side.times[0];
  if (function == kAlltoallv || function == kAlltoallw)
    side.end = places(side.number, side.times, 30 + who, side.place);
  return side;
}
static struct side got_by(const struct topology* it, enum function function, int who) {
  struct side side = {.number = it->in[who]};
  for (int i = 0; i < side.number; ++i) {
    const int source = it->source[who][i];
    side.times[i] = source < 0 ? 1 : times_of(function, source, it->slot[who][i]);
    side.place[i] = i;
    side.end = i + 1;
  }
  if (function != kAllgather && function != kAlltoall) side.end = places(side.number, side.times, 40 + who, side.place);
  return side;
}

static void widen(int* step, const struct shape* shape) {
  const int wide = shape_span(shape, 1) > shape_step(shape) ? shape_span(shape, 1) : shape_step(shape);
  if (*step < (wide + 15) / 16 * 16) *step = (wide + 15) / 16 * 16;
}

void neighbours(void) {
  struct flow flows[2];
  two_flows_drawn(flows, false);
  const struct topology* it = &topologies[draw(kTopologies)];
  enum function function = (enum function)draw(kFunctions);
  enum mode mode = mode_drawn();
  const int how = draw(2);
  avoid_bugs(it, &function, &mode);
  const bool typed = function == kAlltoallw;
  for (int k = 0; k < 2; ++k) {
    if (!typed && k != rank % 2) continue;
    shape_make(&flows[k].send);
    shape_make(&flows[k].receive);
  }
  const struct shape *s = &flows[rank % 2].send, *r = &flows[rank % 2].receive;
  const struct side sent = sent_by(it, function, rank), got = got_by(it, function, rank);
  int step = 0, send_step = 0;  // with different types, for the larger one
  for (int k = 0; k < 2; ++k) widen(&step, &flows[k].receive), widen(&send_step, &flows[k].send);
  const int send_span = typed ? sent.end * send_step + 64 : shape_span(s, sent.end);
  const int span = typed ? got.end * step + 64 : shape_span(r, got.end);
  unsigned char *from = take(send_span, kSend), *at = take(span, kReceive);
  int send_counts[kMost] = {0}, send_places[kMost] = {0}, counts[kMost] = {0}, displacements[kMost] = {0};
  MPI_Aint send_bytes[kMost], bytes[kMost];
  MPI_Datatype send_types[kMost], types[kMost];
  in_units(sent.number, s, sent.times, sent.place, send_counts, send_places);
  in_units(got.number, r, got.times, got.place, counts, displacements);
  for (int i = 0; typed && i < sent.number; ++i) {
    send_types[i] = flows[i % 2].send.type;
    send_counts[i] = sent.times[i] * flows[i % 2].send.count;
    send_bytes[i] = sent.place[i] * send_step;
  }
  for (int i = 0; typed && i < got.number; ++i) {
    types[i] = flows[i % 2].receive.type;
    counts[i] = got.times[i] * flows[i % 2].receive.count;
    bytes[i] = got.place[i] * step;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(from, send_span, kSend + start);
    fresh(at, span, kReceive + start);
    switch (function) {
      case kAllgather:
        COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, from, s->count, s->type, at, r->count, r->type, it->comm);
        break;
      case kAllgatherv:
        COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, from, s->count * sent.end, s->type, at, counts,
                   displacements, r->type, it->comm);
        break;
      case kAlltoall:
        COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, from, s->count, s->type, at, r->count, r->type, it->comm);
        break;
      case kAlltoallv:
        COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, from, send_counts, send_places, s->type, at, counts,
                   displacements, r->type, it->comm);
        break;
      default:
        COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, from, send_counts, send_bytes, send_types, at, counts,
                   bytes, types, it->comm);
    }
    complete(&request, mode, how);
    for (int i = 0; i < got.number; ++i) {
      const int who = it->source[rank][i], slot = it->slot[rank][i];
      if (who < 0) continue;
      const struct side theirs = sent_by(it, function, who);
      const bool all = function == kAllgather || function == kAllgatherv;
      const struct shape* other = &flows[(typed ? slot : who) % 2].send;
      const struct shape* own = typed ? &flows[i % 2].receive : r;
      expect(at + got.place[i] * (typed ? step : shape_step(r)), own, who, kSend + start, other,
             all ? 0 : theirs.place[slot] * (typed ? send_step : shape_step(other)), got.times[i]);
    }
    check(at, span);
  }
  if (mode == kPersistent) MPI_Request_free(&request);
  for (int k = 0; k < 2; ++k) {
    shape_free(&flows[k].send);
    shape_free(&flows[k].receive);
  }
}
