// The collectives that reduce, also MPI_Reduce_local.
#include "exchange.h"
#include "operations.h"

struct shape {
  enum collective what;
  struct reduction reduction;
  long count;  // items for each; of the scattered ones, for the first process
  int root, root_side;
  bool in_place;
  bool bare;
};

// Of one process.
struct part {
  const struct shape* shape;
  long given;             // elements that this process contributes
  long taken, taken_from; // elements that it gets, and the number of the first of them
  int first, last;        // whose contributions it gets
  bool from_peers;        // of the other group
  bool undefined;         // what it gets is not specified
  long rest;              // elements behind, which may have changed
  bool gives_in_place;
};

static struct source source_of(const struct scenario* s, bool peer, int rank, int start) {
  const struct comm* c = &s->comm;
  const int group = peer ? peers(c) : c->size;
  return (struct source){mix(s->key, 5000 + (uint64_t)start), peer ? peer_id(c, rank) : local_id(c, rank), group, rank};
}

static void fill(const struct scenario* s, struct exchange* x, int start) {
  const struct part* p = x->more;
  const struct reduction* r = &p->shape->reduction;
  clear_buffer(&x->out);
  clear_buffer(&x->in);
  struct buffer* b = p->gives_in_place ? &x->in : &x->out;
  const struct source me = source_of(s, false, s->comm.rank, start);
  for (long e = 0; e < p->given; ++e) put_value(r, me, e, b->address);
  memcpy(x->out.expected, x->out.memory, x->out.size);
  memcpy(x->in.expected, x->in.memory, x->in.size);
}

// Of what is as it should be, or may be anything, the bytes are taken as expected.
static void accept(const struct reduction* r, struct buffer* b, long element) {
  struct piece pieces[2];
  for (int i = element_pieces(r, element, pieces) - 1; i >= 0; --i) {
    const ptrdiff_t at = b->address - b->memory + pieces[i].at;
    memcpy(b->expected + at, b->memory + at, pieces[i].length);
  }
}

static void check(const struct scenario* s, struct exchange* x, int start) {
  const struct part* p = x->more;
  const struct reduction* r = &p->shape->reduction;
  struct source* sources = KEEP(struct source, p->last + 1);
  char text[200];
  for (int i = p->first; i < p->last; ++i) sources[i] = source_of(s, p->from_peers, i, start);
  for (long e = 0; e < p->taken; ++e) {
    if (!p->undefined) {
      // The value belongs to another number of element than the place, if the result is scattered.
      struct piece there, here;
      struct piece both[2];
      element_pieces(r, e, both);
      here = both[0];
      element_pieces(r, p->taken_from + e, both);
      there = both[0];
      const unsigned char* address = x->in.address + (here.at - there.at);
      if (!is_reduced(r, sources + p->first, p->last - p->first, p->taken_from + e, address, text, sizeof text)) {
        wrong("%selement %ld of %ld: %s", start ? "later start: " : "", e, p->taken, text);
        return;
      }
    }
    accept(r, &x->in, e);
  }
  for (long e = p->taken; e < p->taken + p->rest; ++e) accept(r, &x->in, e);
  compare_buffer(&x->in, start);
  compare_buffer(&x->out, start);
}

// How many items the process gets, and how many those before it. The same total in both groups of an intercommunicator.
static long share(const struct scenario* s, const struct shape* shape, int rank, long* before) {
  const struct comm* c = &s->comm;
  const int n = c->size, other = c->remote ? c->remote : 1;
  *before = 0;
  if (shape->what == kReduceScatterBlock) {
    *before = rank * shape->count * other;
    return shape->count * other;
  }
  // Cut points in 0..total, the same for all.
  const long total = shape->count * (c->remote ? n + other : n);
  long* cuts = KEEP(long, n + 1);
  struct draw d = {mix(s->key, 77 + (uint64_t)c->side)};
  for (int i = 1; i < n; ++i) cuts[i] = draw_between(&d, 0, total);
  cuts[n] = total;
  for (int i = 1; i < n; ++i)
    for (int k = i; k > 1 && cuts[k] < cuts[k - 1]; --k) {
      const long kept = cuts[k];
      cuts[k] = cuts[k - 1];
      cuts[k - 1] = kept;
    }
  *before = cuts[rank];
  return cuts[rank + 1] - cuts[rank];
}

static void plan_part(const struct scenario* s, struct shape* shape, struct exchange* x) {
  const struct comm* c = &s->comm;
  const struct reduction* r = &shape->reduction;
  struct part* p = KEEP(struct part, 1);
  const bool inter = c->remote > 0, root_group = !inter || c->side == shape->root_side;
  const bool am_root = root_group && c->rank == shape->root;
  const bool scattered = shape->what == kReduceScatter || shape->what == kReduceScatterBlock;
  long give = shape->count, take = shape->count, before = 0;
  p->shape = shape;
  p->last = peers(c);
  p->from_peers = inter;
  x->what = shape->what;
  x->op = r->op;
  x->fill = fill;
  x->check = check;
  x->more = p;
  x->receive.type = r->type->handle;
  x->receive.count = shape->count;
  if (shape->what == kReduce) {
    x->root = !inter ? shape->root : am_root ? MPI_ROOT : root_group ? MPI_PROC_NULL : shape->root;
    if (!am_root) take = 0;
    if (inter && root_group) give = 0;
  }
  if (scattered) {
    take = share(s, shape, c->rank, &before);
    x->receive.count = take;
    x->receive.counts = KEEP(int, c->size);
    x->receive.counts_c = KEEP(MPI_Count, c->size);
    give = 0;
    for (int i = 0; i < c->size; ++i) {
      long ignored;
      x->receive.counts[i] = (int)(x->receive.counts_c[i] = share(s, shape, i, &ignored));
      give += x->receive.counts[i];
    }
  }
  const bool in_place = shape->in_place && (shape->what != kReduce || am_root);
  if (shape->what == kScan) p->last = c->rank + 1;
  if (shape->what == kExscan) {
    p->last = c->rank;
    // MPI 3.1, 5.11.2: undefined on the first process, but not changed in place.
    if (c->rank == 0) p->undefined = !in_place, p->last = in_place;
  }
  p->given = give * r->per_item;
  p->taken = take * r->per_item;
  p->taken_from = before * r->per_item;
  p->gives_in_place = in_place;
  if (in_place && scattered) p->rest = p->given - p->taken;
  add_block(&x->in, 0, in_place ? give : take, r->type, NOTHING, NOTHING);
  add_block(&x->out, 0, in_place ? 0 : give, r->type, NOTHING, NOTHING);
  make_buffer(&x->in, "receive", NULL);
  make_buffer(&x->out, "send", NULL);
  x->receive.address = x->in.address;
  x->send.address = in_place ? MPI_IN_PLACE : x->out.address;
  if (shape->what == kReduce && shape->bare && !am_root) x->receive.address = NULL;
  if (shape->what == kReduce && shape->bare && inter && root_group) x->send.address = NULL;
}

static long draw_items(struct draw* d, const struct type* type, int blocks) {
  static const long most[] = {1, 2, 2, 10, 30, 30, 300, 2000, 10000, 60000};
  const int pick = (int)draw_below(d, 10);
  const long n = pick == 0 ? 0 : draw_between(d, most[pick - 1], most[pick]);
  const long limit = options.most_bytes / blocks / type->extent + 1;
  return n < limit ? n : limit;
}

static void run_reduction(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  struct shape* shape = KEEP(struct shape, 1);
  shape->what = (enum collective)family->code;
  const bool scan = shape->what == kScan || shape->what == kExscan;
  const bool scattered = shape->what == kReduceScatter || shape->what == kReduceScatterBlock;
  plan_comm(s, scan ? kIntra : kAny);
  const struct comm* c = &s->comm;
  draw_reduction(s, &shape->reduction);
  shape->count = draw_items(d, shape->reduction.type, scattered ? world_size : 1);
  shape->root_side = (int)draw_below(d, 2);
  const uint64_t root = draw_bits(d);
  const int root_group = c->remote && c->side != shape->root_side ? c->remote : c->size;
  shape->root = (int)(root % (uint64_t)(root_group ? root_group : 1));
  shape->in_place = draw_chance(d, 30) && c->kind != kInter;
  shape->bare = draw_chance(d, 50);
  const int calls = draw_chance(d, 25) && s->variant != kBlocking ? 2 : 1;
  char root_text[60] = "";
  if (shape->what == kReduce)
    snprintf(root_text, sizeof root_text, ", root %d%s", shape->root,
             !c->remote ? "" : shape->root_side ? " of the second" : " of the first");
  describe(s, function_name(s, collective_names[shape->what]), "%s, count %ld, %s%s%s", root_text, shape->count,
           shape->reduction.text, shape->in_place ? ", IN_PLACE" : "", calls > 1 ? ", two at once" : "");
  if (!begin(s) || !make_operation(s, &shape->reduction)) return;
  struct exchange* x = KEEP(struct exchange, calls);
  for (int i = 0; i < calls; ++i) plan_part(s, shape, &x[i]);
  perform(s, x, calls);
  free_operation(&shape->reduction);
}

static void run_local(struct scenario* s, const struct family* family) {
  struct reduction* r = KEEP(struct reduction, 1);
  (void)family;
  s->comm.kind = kSelf;
  snprintf(s->comm.text, sizeof s->comm.text, "one process");
  draw_reduction(s, r);
  const long count = draw_items(&s->draw, r->type, 1), elements = count * r->per_item;
  describe(s, "MPI_Reduce_local", ", count %ld, %s", count, r->text);
  s->comm.member = true;
  s->comm.size = 1;
  s->comm.rank = s->comm.side = s->comm.remote = 0;
  if (!begin(s) || !make_operation(s, r)) return;
  struct buffer in = {0}, inout = {0};
  add_block(&in, 0, count, r->type, NOTHING, NOTHING);
  add_block(&inout, 0, count, r->type, NOTHING, NOTHING);
  make_buffer(&in, "in", NULL);
  make_buffer(&inout, "inout", NULL);
  const struct source sources[2] = {{s->key, 1, 2, 0}, {s->key, 2, 2, 1}};
  for (long e = 0; e < elements; ++e) {
    put_value(r, sources[0], e, in.address);
    put_value(r, sources[1], e, inout.address);
  }
  memcpy(in.expected, in.memory, in.size);
  memcpy(inout.expected, inout.memory, inout.size);
  char text[200];
  bool well = DO(MPI_Reduce_local(in.address, inout.address, (int)count, r->type->handle, r->op));
  for (long e = 0; well && e < elements; ++e) {
    if (!(well = is_reduced(r, sources, 2, e, inout.address, text, sizeof text)))
      wrong("element %ld of %ld: %s", e, elements, text);
    accept(r, &inout, e);
  }
  if (well && compare_buffer(&inout, 0)) compare_buffer(&in, 0);
  free_operation(r);
}

const struct family reduction_families[] = {
    {"reduce", run_reduction, kReduce},
    {"allreduce", run_reduction, kAllreduce},
    {"reduce_scatter", run_reduction, kReduceScatter},
    {"reduce_scatter_block", run_reduction, kReduceScatterBlock},
    {"scan", run_reduction, kScan},
    {"exscan", run_reduction, kExscan},
    {"reduce_local", run_local, 0},
    {NULL, NULL, 0},
};
