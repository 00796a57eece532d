// Neighbourhood collectives on Cartesian grids and graphs.
#include "exchange.h"

struct web {
  enum collective what;
  struct sides sides;
  long units;  // of the calls with one count
};

static bool gathers(enum collective what) { return what == kNeighborAllgather || what == kNeighborAllgatherv; }
static bool is_v(enum collective what) { return what != kNeighborAllgather && what != kNeighborAlltoall; }

// What goes along an edge. To all neighbours the same, if it is gathered.
static uint64_t message(const struct web* w, uint64_t from, uint64_t to, int key) {
  return gathers(w->what) ? mix(from + 1, 1) : mix(mix(from + 1, to + 1), (uint64_t)key);
}

// The same along all edges between two processes: if the library confuses these, no message is truncated.
static long units(const struct scenario* s, const struct web* w, uint64_t from, uint64_t to) {
  if (!is_v(w->what)) return w->units;
  struct draw d = {mix(s->key, message(w, from, to, 0))};
  return draw_units(&d, &w->sides, 2 * kMostDims);
}

// Whether the block holds what came along an edge from its neighbour, perhaps along another one.
static bool from_neighbour(const struct scenario* s, struct exchange* x, int start, int i) {
  const struct neighbours* near = &s->comm.near;
  const uint64_t me = local_id(&s->comm, s->comm.rank);
  const struct block* block = &x->in.blocks[i];
  const int source = near->sources[block->number];
  if (block->after == NOTHING || block->count == 0) return true;
  for (int k = 0; k < near->in; ++k) {
    if (near->sources[k] != source) continue;
    if (holds(s, &x->in, block, message(x->more, local_id(&s->comm, source), me, near->in_key[k]), start)) return true;
  }
  return false;
}

// Blocks that are exchanged between edges of the same two processes are told apart from other trouble.
static void check(const struct scenario* s, struct exchange* x, int start) {
  const bool before = is_wrong();
  check_both(s, x, start);
  if (before || !is_wrong() || !s->comm.near.ambiguous || gathers(x->what)) return;
  for (int i = 0; i < x->in.count; ++i)
    if (!from_neighbour(s, x, start, i)) return;
  if (s->comm.kind == kCart) remark("periodic dimension of size 1 or 2: the blocks of both directions are confused");
  else remark("several edges between two processes: their blocks are confused");
}

static void plan_exchange(const struct scenario* s, const struct web* w, struct exchange* x) {
  const struct comm* c = &s->comm;
  const struct neighbours* near = &c->near;
  const enum spacing how = w->what == kNeighborAlltoallw ? kByByte : is_v(w->what) ? kByItem : kRegular;
  const int sends = gathers(w->what) ? 1 : near->out;
  long* units_out = KEEP(long, sends + 1);
  long* units_in = KEEP(long, near->in);
  uint64_t* out = KEEP(uint64_t, sends + 1);
  uint64_t* in = KEEP(uint64_t, near->in);
  uint64_t* before = KEEP(uint64_t, near->in);
  const uint64_t me = local_id(c, c->rank);
  for (int i = 0; i < sends; ++i) {
    const int to = gathers(w->what) ? 0 : near->destinations[i];
    out[i] = message(w, me, local_id(c, to < 0 ? 9999 : to), gathers(w->what) ? 0 : near->out_key[i]);
    units_out[i] = units(s, w, me, local_id(c, to < 0 ? 9999 : to));
  }
  for (int i = 0; i < near->in; ++i) {
    const int from = near->sources[i];
    const uint64_t name = message(w, local_id(c, from < 0 ? 9999 : from), me, near->in_key[i]);
    units_in[i] = units(s, w, local_id(c, from < 0 ? 9999 : from), me);
    in[i] = from == MPI_PROC_NULL ? NOTHING : name;  // nothing comes from beyond the border
  }
  x->what = w->what;
  x->fill = fill_both;
  x->check = check;
  x->more = w;
  const enum spacing how_out = gathers(w->what) ? kRegular : how;
  lay_out(s, &w->sides, (struct plan){true, how_out, sends, units_out, out, out}, &x->send, &x->out);
  lay_out(s, &w->sides, (struct plan){false, how, near->in, units_in, before, in}, &x->receive, &x->in);
  // Without neighbours on one side, too.
  if (!is_v(w->what)) x->send.count = w->units * w->sides.per_send[side_of(&w->sides, mix(me, 11))];
  if (!is_v(w->what)) x->receive.count = w->units * w->sides.per_receive[side_of(&w->sides, mix(me, 12))];
}

static void run_neighbourhood(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  struct web* w = KEEP(struct web, 1);
  w->what = (enum collective)family->code;
  plan_comm(s, kTopology);
  draw_sides(s, &w->sides, false);
  w->units = draw_units(d, &w->sides, 2 * kMostDims);
  const int calls = draw_chance(d, 25) && s->variant != kBlocking ? 2 : 1;
  char count[40] = "counts drawn";
  if (!is_v(w->what)) snprintf(count, sizeof count, "count %ld", w->units * w->sides.per_send[0]);
  describe(s, function_name(s, collective_names[w->what]), ", %s, %s%s", count, w->sides.text, calls > 1 ? ", two at once" : "");
  if (!begin(s)) return;
  struct exchange* x = KEEP(struct exchange, calls);
  for (int i = 0; i < calls; ++i) plan_exchange(s, w, &x[i]);
  perform(s, x, calls);
}

const struct family neighbour_families[] = {
    {"neighbor_allgather", run_neighbourhood, kNeighborAllgather},
    {"neighbor_allgatherv", run_neighbourhood, kNeighborAllgatherv},
    {"neighbor_alltoall", run_neighbourhood, kNeighborAlltoall},
    {"neighbor_alltoallv", run_neighbourhood, kNeighborAlltoallv},
    {"neighbor_alltoallw", run_neighbourhood, kNeighborAlltoallw},
    {NULL, NULL, 0},
};
