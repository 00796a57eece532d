// The collectives that move data.
#define _POSIX_C_SOURCE 200809L

#include "exchange.h"

#include <time.h>

struct layout {  // what is drawn for the whole call
  enum collective what;
  struct sides sides;
  long units[2];  // of the calls with one count: from the first and from the second group
  int root, root_side;
  bool in_place;
  bool bare;  // arguments that are not significant are NULL
};

static bool rooted(enum collective what) { return what <= kScatterv; }
static bool is_v(enum collective what) {
  return what == kGatherv || what == kScatterv || what == kAllgatherv || what == kAlltoallv || what == kAlltoallw;
}

static bool scatters(enum collective what) { return what == kScatter || what == kScatterv; }
static bool to_each(enum collective what) { return what >= kAlltoall; }

// The name of what goes from one process to another: it does not depend on the receiver if all get the same, nor on the
// sender if there is only one.
static uint64_t message(const struct layout* l, uint64_t from, uint64_t to) {
  const uint64_t any = 65535;
  if (l->what == kBcast || scatters(l->what)) from = any;
  if (!to_each(l->what) && !scatters(l->what)) to = any;
  return mix(from + 1, to + 1);
}

// How much that is; both ends must come to the same result.
static long units(const struct scenario* s, const struct layout* l, uint64_t from, uint64_t to) {
  if (!is_v(l->what)) return l->units[s->comm.remote ? from / 65536 : 0];
  // In place, as much is received from a process as is sent to it.
  const bool swap = l->in_place && to_each(l->what) && from > to;
  struct draw d = {mix(s->key, swap ? message(l, to, from) : message(l, from, to))};
  return draw_units(&d, &l->sides, world_size);
}

// Arguments that are not significant for this process. Who is only a member of the root's group of an intercommunicator
// keeps a valid datatype: that it is ignored is nowhere said.
static void strip(struct operand* o, bool idle) {
  if (o->address != MPI_IN_PLACE) o->address = NULL;
  o->count = 0;
  if (!idle) o->type = MPI_DATATYPE_NULL;
  o->counts = o->places = NULL;
  o->counts_c = NULL;
  o->places_c = NULL;
  o->types = NULL;
}

// The arguments of one process.
static void plan_exchange(const struct scenario* s, const struct layout* l, struct exchange* x) {
  const struct comm* c = &s->comm;
  const bool inter = c->remote > 0, root_group = !inter || c->side == l->root_side, leaf = !inter || !root_group;
  const bool am_root = rooted(l->what) && root_group && c->rank == l->root;
  const int n = peers(c);
  const enum spacing how = l->what == kAlltoallw ? kByByte : is_v(l->what) ? kByItem : kRegular;
  // Only one side has counts and displacements, unless all send to each.
  const enum spacing how_out = scatters(l->what) || to_each(l->what) ? how : kRegular;
  const enum spacing how_in = scatters(l->what) ? kRegular : how;
  int sends, receives;
  switch (l->what) {
    case kBcast: sends = am_root, receives = leaf && !am_root; break;
    case kGather:
    case kGatherv: sends = leaf, receives = am_root ? n : 0; break;
    case kScatter:
    case kScatterv: sends = am_root ? n : 0, receives = leaf; break;
    case kAllgather:
    case kAllgatherv: sends = 1, receives = n; break;
    default: sends = receives = n;
  }
  long* units_out = KEEP(long, n);
  long* units_in = KEEP(long, n);
  uint64_t* out = KEEP(uint64_t, n);
  uint64_t* in = KEEP(uint64_t, n);
  uint64_t* before = KEEP(uint64_t, n);
  const uint64_t me = local_id(c, c->rank);
  for (int i = 0; i < n; ++i) {
    units_out[i] = units(s, l, me, peer_id(c, i));
    units_in[i] = units(s, l, peer_id(c, i), me);
    out[i] = message(l, me, peer_id(c, i));
    in[i] = message(l, peer_id(c, i), me);
  }
  const bool replaces = l->in_place && (am_root || !rooted(l->what));
  if (replaces) {
    if (to_each(l->what)) before = out;  // goes out from where the answer arrives
    else before[c->rank] = in[c->rank];
    *(scatters(l->what) ? &receives : &sends) = 0;
  }
  x->what = l->what;
  x->root = !inter ? l->root : am_root ? MPI_ROOT : root_group ? MPI_PROC_NULL : l->root;
  x->fill = fill_both;
  x->check = check_both;
  lay_out(s, &l->sides, (struct plan){true, how_out, sends, units_out, out, out}, &x->send, &x->out);
  lay_out(s, &l->sides, (struct plan){false, how_in, receives, units_in, before, in}, &x->receive, &x->in);
  if (replaces) (scatters(l->what) ? &x->receive : &x->send)->address = MPI_IN_PLACE;
  if (l->bare && !sends) strip(&x->send, inter && root_group && !am_root);
  if (l->bare && !receives) strip(&x->receive, inter && root_group && !am_root);
  if (l->what == kBcast && receives) x->send = x->receive;  // there is only one buffer
}

static void run_collective(struct scenario* s, const struct family* family) {
  struct layout* l = KEEP(struct layout, 1);
  struct draw* d = &s->draw;
  l->what = (enum collective)family->code;
  plan_comm(s, kAny);
  const struct comm* c = &s->comm;
  const bool inter = c->remote > 0;
  l->in_place = draw_chance(d, 25) && c->kind != kInter && l->what != kBcast;
  // MPI 3.1, 5.8: in place, what is sent and what is received must have the same type map.
  draw_sides(s, &l->sides, l->in_place && to_each(l->what));
  const int blocks = l->what == kBcast ? 1 : world_size;
  l->units[0] = draw_units(d, &l->sides, blocks);
  l->units[1] = draw_units(d, &l->sides, blocks);
  if (draw_chance(d, 50)) l->units[1] = l->units[0];
  l->root_side = (int)draw_below(d, 2);
  const uint64_t root = draw_bits(d);
  const int root_group = inter && c->side != l->root_side ? c->remote : c->size;
  l->root = (int)(root % (uint64_t)(root_group ? root_group : 1));
  l->bare = draw_chance(d, 50);
  const int calls = draw_chance(d, 30) && s->variant != kBlocking ? 2 : 1;
  char root_text[60] = "", count_text[60] = "counts drawn";
  if (rooted(l->what))
    snprintf(root_text, sizeof root_text, ", root %d%s", l->root, !inter ? "" : l->root_side ? " of the second" : " of the first");
  const bool from_root = l->what == kBcast || scatters(l->what);
  const long* counts = l->units;
  const int sender = !inter ? 0 : from_root ? l->root_side : 1 - l->root_side;
  if (!is_v(l->what) && inter && !rooted(l->what) && counts[0] != counts[1])
    snprintf(count_text, sizeof count_text, "counts %ld and %ld", counts[0] * l->sides.per_send[0], counts[1] * l->sides.per_send[0]);
  else if (!is_v(l->what))
    snprintf(count_text, sizeof count_text, "count %ld", counts[sender] * l->sides.per_send[0]);
  describe(s, function_name(s, collective_names[l->what]), "%s, %s, %s%s%s", root_text, count_text, l->sides.text,
           l->in_place ? ", IN_PLACE" : "", calls > 1 ? ", two at once" : "");
  if (!begin(s)) return;
  struct exchange* x = KEEP(struct exchange, calls);
  for (int i = 0; i < calls; ++i) plan_exchange(s, l, &x[i]);
  perform(s, x, calls);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double entered;
static void enter(const struct scenario* s, struct exchange* x, int start) {
  (void)x;
  // Some are late.
  const double until = now() + 1e-6 * (double)(mix(mix(s->key, (uint64_t)world_rank), (uint64_t)start) % 2000);
  while (now() < until) {}
  entered = now();
}
// Nobody leaves before the last has come, if the clocks are of one host.
static void leave(const struct scenario* s, struct exchange* x, int start) {
  const struct comm* c = &s->comm;
  const double left = now();
  (void)start, (void)x;
  double* times = KEEP(double, c->size + c->remote);
  MPI_Request* requests = KEEP(MPI_Request, 2 * (c->size + c->remote));
  for (int i = 0; i < peers(c); ++i) {
    DO(MPI_Irecv(&times[i], 1, MPI_DOUBLE, i, 7, c->handle, &requests[2 * i]));
    DO(MPI_Isend(&entered, 1, MPI_DOUBLE, i, 7, c->handle, &requests[2 * i + 1]));
  }
  DO(MPI_Waitall(2 * peers(c), requests, KEEP(MPI_Status, 2 * peers(c))));
  for (int i = 0; i < peers(c); ++i)
    if (one_host && times[i] > left) wrong("left %.0f us before rank %d came", 1e6 * (times[i] - left), i);
}

static void run_barrier(struct scenario* s, const struct family* family) {
  (void)family;
  plan_comm(s, kAny);
  s->large = false;
  describe(s, function_name(s, "Barrier"), "%s", "");
  if (!begin(s)) return;
  struct exchange x = {.what = kBarrier, .fill = enter, .check = leave};
  perform(s, &x, 1);
}

const struct family collective_families[] = {
    {"barrier", run_barrier, kBarrier},          {"bcast", run_collective, kBcast},
    {"gather", run_collective, kGather},         {"gatherv", run_collective, kGatherv},
    {"scatter", run_collective, kScatter},       {"scatterv", run_collective, kScatterv},
    {"allgather", run_collective, kAllgather},   {"allgatherv", run_collective, kAllgatherv},
    {"alltoall", run_collective, kAlltoall},     {"alltoallv", run_collective, kAlltoallv},
    {"alltoallw", run_collective, kAlltoallw},   {NULL, NULL, 0},
};
