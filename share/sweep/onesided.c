// MPI_Put and MPI_Get; accumulating operations on places of each origin's own.
#include "operations.h"
#include "windows.h"

enum access { kPut, kGet };

// Slots in a window, one for each process that may access it: `count` items of the type at a known place.
static ptrdiff_t slot_place(const struct type* type, long count, int slot, ptrdiff_t* size) {
  ptrdiff_t low, high;
  type_span(type, count, &low, &high);
  const ptrdiff_t below = low < 0 ? (-low + 63) / 64 * 64 : 0;
  const ptrdiff_t above = high > 0 ? (high + 63) / 64 * 64 : 0;
  *size = below + above + 64;
  return slot * *size + below;
}

static uint64_t message(const struct comm* c, int from, int to) {
  return mix(local_id(c, from) + 1, local_id(c, to) + 1);
}

static void run_transfer(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  const bool put = family->code == kPut;
  struct window* w = KEEP(struct window, 1);
  struct sides* sides = KEEP(struct sides, 1);
  plan_comm(s, kIntra);
  draw_sides(s, sides, false);
  const long units = draw_units(d, sides, world_size);
  draw_window(s, w);
  const bool request = draw_chance(d, 50) && is_passive(w);
  const char* const names[] = {"MPI_Put", "MPI_Rput", "MPI_Get", "MPI_Rget"};
  describe(s, names[(put ? 0 : 2) + request], ", %s, count %ld, %s", w->text, units * sides->per_send[0], sides->text);
  if (!begin(s)) return;
  const struct comm* c = &s->comm;
  // The target's side of the datatypes is the one with fewer variants: the origin has to name it.
  const struct type* there = sides->receive[0];
  const long count_there = units * sides->per_receive[0];
  const int side = side_of(sides, local_id(c, c->rank));
  const struct type* here = sides->send[side];
  const long count_here = units * sides->per_send[side];
  ptrdiff_t size;
  if (w->reach > c->size) w->reach = c->size;
  for (int i = 0; i < c->size; ++i) {
    const bool used = (c->rank - i + c->size) % c->size < w->reach;
    const uint64_t given = put ? message(c, i, c->rank) : message(c, c->rank, i);
    add_block(&w->buffer, slot_place(there, count_there, i, &size), count_there, there, put ? NOTHING : given,
              put && !used ? NOTHING : given);
  }
  struct buffer local = {0};
  for (int i = 0; i < w->reach; ++i) {
    const int target = (c->rank + i) % c->size;
    const uint64_t name = put ? message(c, c->rank, target) : message(c, target, c->rank);
    ptrdiff_t own;
    add_block(&local, slot_place(here, count_here, i, &own), count_here, here, put ? name : NOTHING, name);
  }
  make_buffer(&local, put ? "send" : "receive", NULL);
  if (!open_window(s, w)) return;
  fill_buffer(s, &local, 0);
  if (!begin_epoch(s, w)) return;
  for (int i = 0; i < w->reach; ++i) {
    const int target = (c->rank + i) % c->size, n = (int)count_here, m = (int)count_there;
    unsigned char* address = local.address + local.blocks[i].at;
    const MPI_Aint place = displacement(w, target, slot_place(there, count_there, c->rank, &size));
    MPI_Request r;
    bool well = begin_target(w, target);
    if (well && put && request) well = DO(MPI_Rput(address, n, here->handle, target, place, m, there->handle, w->handle, &r));
    else if (well && request) well = DO(MPI_Rget(address, n, here->handle, target, place, m, there->handle, w->handle, &r));
    else if (well && put) well = DO(MPI_Put(address, n, here->handle, target, place, m, there->handle, w->handle));
    else if (well) well = DO(MPI_Get(address, n, here->handle, target, place, m, there->handle, w->handle));
    if (well && request) well = DO(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (well && w->exclusive) well = flush_target(w, target);
    if (!well || !end_target(w, target)) return;
  }
  if (!end_epoch(s, w)) return;
  check_buffer(s, &w->buffer, 0);
  check_buffer(s, &local, 0);
  close_window(w);
}

// The source of the values that are in a window before, or come from an origin.
static struct source source_of(const struct scenario* s, int rank, int position, int group) {
  return (struct source){mix(s->key, 600 + (uint64_t)rank), (uint64_t)rank, group, position};
}

static void accept(const struct reduction* r, struct buffer* b, ptrdiff_t at, long element) {
  struct piece pieces[2];
  for (int i = element_pieces(r, element, pieces) - 1; i >= 0; --i) {
    const ptrdiff_t place = b->address - b->memory + at + pieces[i].at;
    memcpy(b->expected + place, b->memory + place, pieces[i].length);
  }
}

struct pile {  // one accumulation
  struct reduction there, here, result;
  long count, elements;
  bool shared;  // all origins accumulate into the same place
  bool fetches;
};

static void draw_pile(struct scenario* s, struct pile* p) {
  struct draw* d = &s->draw;
  draw_accumulation(s, &p->there, p->fetches);
  const int basic = find_basic(p->there.kind->handle);
  const bool derived = draw_chance(d, 50) && basic >= 0 && !p->there.kind->index_at;
  p->shared = !p->fetches && draw_chance(d, 60) && p->there.operation < kUserCommutative;
  p->count = draw_below(d, 8) ? draw_between(d, 0, 40) : draw_between(d, 0, 3000);
  p->here = p->result = p->there;
  if (derived) {
    const struct signature unit = {{basic, 0, 0, 0}, 1, (size_t)basics[basic].size};
    const int repeats = (int)draw_between(d, 1, 8);
    struct reduction* const all[] = {&p->there, &p->here, &p->result};
    for (int i = 0; i < 3; ++i) {
      struct draw own = {mix(s->key, 100 + (uint64_t)i)};
      all[i]->type = make_type(&own, &unit, repeats);
      all[i]->per_item = repeats;
    }
    snprintf(p->there.text + strlen(p->there.text), sizeof p->there.text - strlen(p->there.text), ", %.40s -> %.40s",
             p->here.type->name, p->there.type->name);
  }
  p->elements = p->count * p->there.per_item;
}

// Whether slot `slot` of the window is the reduction of what was there and of what the origins gave.
static bool check_slot(const struct scenario* s, struct window* w, const struct pile* p, int slot) {
  const struct comm* c = &s->comm;
  ptrdiff_t size;
  const ptrdiff_t at = slot_place(p->there.type, p->count, slot, &size);
  struct source* sources = KEEP(struct source, w->reach + 1);
  const int group = w->reach + 1;
  int n = 0;
  sources[n++] = source_of(s, 10000 + c->rank * 100 + slot, 0, group);
  for (int i = 0; i < w->reach && p->there.operation != kNoOp; ++i) {
    const int origin = (c->rank - i + c->size) % c->size;
    if (p->shared ? slot == 0 : origin == slot) sources[n++] = source_of(s, origin, i + 1, group);
  }
  for (long e = 0; e < p->elements; ++e) {
    char text[200];
    if (!is_reduced(&p->there, sources, n, e, w->buffer.address + at, text, sizeof text)) {
      wrong("slot %d of the window, element %ld of %ld: %s", slot, e, p->elements, text);
      return false;
    }
    accept(&p->there, &w->buffer, at, e);
  }
  return true;
}

static void run_accumulate(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  struct window* w = KEEP(struct window, 1);
  struct pile* p = KEEP(struct pile, 1);
  plan_comm(s, kIntra);
  p->fetches = family->code == 1;
  draw_window(s, w);
  draw_pile(s, p);
  const bool request = draw_chance(d, 50) && is_passive(w);
  const char* const names[] = {"MPI_Accumulate", "MPI_Raccumulate", "MPI_Get_accumulate", "MPI_Rget_accumulate"};
  describe(s, names[2 * p->fetches + request], ", %s, count %ld, %s%s", w->text, p->count, p->there.text,
           p->shared ? ", all into one place" : "");
  if (!begin(s) || !make_operation(s, &p->there)) return;
  const struct comm* c = &s->comm;
  ptrdiff_t size;
  if (w->reach > c->size) w->reach = c->size;
  const int slots = p->shared ? 1 : c->size, group = w->reach + 1;
  for (int i = 0; i < slots; ++i)
    add_block(&w->buffer, slot_place(p->there.type, p->count, i, &size), p->count, p->there.type, NOTHING, NOTHING);
  struct buffer out = {0}, result = {0};
  for (int i = 0; i < w->reach; ++i) {
    add_block(&out, slot_place(p->here.type, p->count, i, &size), p->count, p->here.type, NOTHING, NOTHING);
    add_block(&result, slot_place(p->result.type, p->count, i, &size), p->count, p->result.type, NOTHING, NOTHING);
  }
  make_buffer(&out, "origin", NULL);
  make_buffer(&result, "result", NULL);
  if (!open_window(s, w)) return;
  if (!DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c->rank, 0, w->handle))) return;
  for (int i = 0; i < slots; ++i) {
    unsigned char* slot = w->buffer.address + w->buffer.blocks[i].at;
    for (long e = 0; e < p->elements; ++e) put_value(&p->there, source_of(s, 10000 + c->rank * 100 + i, 0, group), e, slot);
  }
  memcpy(w->buffer.expected, w->buffer.memory, w->buffer.size);
  if (!DO(MPI_Win_unlock(c->rank, w->handle)) || !DO(MPI_Barrier(c->handle)) || !begin_epoch(s, w)) return;
  for (int i = 0; i < w->reach; ++i) {
    unsigned char* address = out.address + out.blocks[i].at;
    for (long e = 0; e < p->elements; ++e) put_value(&p->here, source_of(s, c->rank, i + 1, group), e, address);
  }
  memcpy(out.expected, out.memory, out.size);
  for (int i = 0; i < w->reach; ++i) {
    const int target = (c->rank + i) % c->size, n = (int)p->count;
    const MPI_Datatype here = p->here.type->handle, there = p->there.type->handle, back = p->result.type->handle;
    void *address = out.address + out.blocks[i].at, *answer = result.address + result.blocks[i].at;
    const MPI_Aint place = displacement(w, target, slot_place(p->there.type, p->count, p->shared ? 0 : c->rank, &size));
    MPI_Request r;
    bool well = begin_target(w, target);
    if (well && p->fetches && request)
      well = DO(MPI_Rget_accumulate(address, n, here, answer, n, back, target, place, n, there, p->there.op, w->handle, &r));
    else if (well && p->fetches)
      well = DO(MPI_Get_accumulate(address, n, here, answer, n, back, target, place, n, there, p->there.op, w->handle));
    else if (well && request)
      well = DO(MPI_Raccumulate(address, n, here, target, place, n, there, p->there.op, w->handle, &r));
    else if (well) well = DO(MPI_Accumulate(address, n, here, target, place, n, there, p->there.op, w->handle));
    if (well && request) well = DO(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (!well || !end_target(w, target)) return;
  }
  if (!end_epoch(s, w)) return;
  bool well = true;
  for (int i = 0; i < slots && well; ++i) well = check_slot(s, w, p, i);
  for (int i = 0; p->fetches && well && i < w->reach; ++i) {
    // What was at the target before.
    const int target = (c->rank + i) % c->size;
    const struct source before = source_of(s, 10000 + target * 100 + c->rank, 0, group);
    char text[200];
    for (long e = 0; e < p->elements && well; ++e) {
      if (!(well = is_reduced(&p->result, &before, 1, e, result.address + result.blocks[i].at, text, sizeof text)))
        wrong("result from target %d, element %ld of %ld: %s", target, e, p->elements, text);
      accept(&p->result, &result, result.blocks[i].at, e);
    }
  }
  if (well && compare_buffer(&w->buffer, 0) && compare_buffer(&result, 0)) compare_buffer(&out, 0);
  close_window(w);
}

const struct family window_families[] = {
    {"put", run_transfer, kPut},
    {"get", run_transfer, kGet},
    {"accumulate", run_accumulate, 0},
    {"get_accumulate", run_accumulate, 1},
    {"fetch_and_op", run_atomics, 0},
    {"compare_and_swap", run_atomics, 1},
    {NULL, NULL, 0},
};
