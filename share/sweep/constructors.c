// The constructors of derived datatypes. For each, next to the call of MPI, the places of the parts as the standard defines
// them; from these the type map, the bounds and the size.
#include "constructors.h"

#include <stdarg.h>

struct request {  // for a datatype: `repeats` times a pattern of basic datatypes
  const int* basic;
  int length;
  int repeats;
};

static struct type* build(struct draw* d, struct request want, int depth);

const char* form(const char* text, const char* format, ...) {
  if (!options.explain) return "";
  const size_t room = 4000, used = text ? strlen(text) : 0;
  char* longer = keep(room);
  if (text) memcpy(longer, text, used);
  va_list args;
  va_start(args, format);
  vsnprintf(longer + used, room - used, format, args);
  va_end(args);
  return longer;
}

void put(struct parts* parts, const struct type* type, ptrdiff_t at) {
  if (parts->count >= kMostParts) abort();
  parts->part[parts->count++] = (struct part){type, at};
}

static ptrdiff_t round_up(ptrdiff_t value, ptrdiff_t to) {
  const ptrdiff_t rest = ((value % to) + to) % to;
  return rest ? value + to - rest : value;
}

static void set_map(struct type* t, const struct parts* parts) {
  for (int i = 0; i < parts->count; ++i) t->entries += parts->part[i].type->entries;
  t->at = KEEP(ptrdiff_t, t->entries);
  t->basic = KEEP(int, t->entries);
  t->piece = KEEP(struct piece, t->entries);
  t->align = 1;
  int n = 0;
  for (int i = 0; i < parts->count; ++i) {
    const struct part* part = &parts->part[i];
    for (int k = 0; k < part->type->entries; ++k, ++n) {
      const ptrdiff_t at = t->at[n] = part->at + part->type->at[k];
      const struct basic* basic = &basics[t->basic[n] = part->type->basic[k]];
      struct piece* last = t->pieces ? &t->piece[t->pieces - 1] : NULL;
      if (last && last->at + (ptrdiff_t)last->length == at) last->length += (size_t)basic->size;
      else t->piece[t->pieces++] = (struct piece){at, (size_t)basic->size};
      t->size += (size_t)basic->size;
      if (n == 0 || at < t->low) t->low = at;
      if (n == 0 || at + basic->size > t->high) t->high = at + basic->size;
      if (basic->align > t->align) t->align = basic->align;
    }
  }
}

// MPI 3.1, 4.1.7: bounds that were set explicitly within a type decide; only without any do the entries.
static void set_bounds(struct type* t, const struct parts* parts) {
  ptrdiff_t ub = 0;
  for (int i = 0; i < parts->count; ++i) t->bounds_set |= parts->part[i].type->bounds_set;
  bool first = true;
  for (int i = 0; i < parts->count; ++i) {
    const struct part* part = &parts->part[i];
    if (t->bounds_set && !part->type->bounds_set) continue;
    const ptrdiff_t low = part->at + part->type->lb, high = low + part->type->extent;
    if (first || low < t->lb) t->lb = low;
    if (first || high > ub) ub = high;
    first = false;
  }
  t->extent = ub - t->lb;
}

// Is an array of it free of overlaps?
static bool tiles(const struct type* t, ptrdiff_t extent) {
  const ptrdiff_t span = t->high - t->low;
  if (extent <= 0) return false;
  if (extent >= span) return true;
  bool* taken = calloc((size_t)span, 1);
  bool well = true;
  for (int i = 0; i < t->pieces; ++i) memset(taken + (t->piece[i].at - t->low), 1, t->piece[i].length);
  for (int i = 0; i < t->pieces && well; ++i) {
    for (ptrdiff_t at = t->piece[i].at - t->low + extent; at < span && well; at += extent) {
      const ptrdiff_t end = at + (ptrdiff_t)t->piece[i].length;
      for (ptrdiff_t k = at; k < end && k < span; ++k) well = well && !taken[k];
    }
  }
  free(taken);
  return well;
}

static void release(const struct type* t) {
  MPI_Datatype handle = t->handle;
  if (!t->predefined && handle != MPI_DATATYPE_NULL) MPI_Type_free(&handle);
}

static struct type* resize(const struct type* part, ptrdiff_t lb, ptrdiff_t extent) {
  struct type* t = KEEP(struct type, 1);
  *t = *part;
  DO(MPI_Type_create_resized(part->handle, lb, extent, &t->handle));
  snprintf(t->name, sizeof t->name, "resized %.60s", part->name);
  t->form = form(NULL, "resized(%td, %td, %s)", lb, extent, part->form);
  t->lb = lb;
  t->extent = extent;
  t->bounds_set = true;
  t->predefined = false;
  release(part);
  return t;
}

// What MPI says about it.
static bool verify(struct type* t, bool is_struct) {
  int size;
  MPI_Aint lb, extent, true_lb, true_extent;
  if (is_refused()) return false;
  if (!DO(MPI_Type_size(t->handle, &size)) || !DO(MPI_Type_get_extent(t->handle, &lb, &extent)) ||
      !DO(MPI_Type_get_true_extent(t->handle, &true_lb, &true_extent)))
    return false;
  // MPI 3.1, 4.1.6: the extent of a type without explicit bounds is rounded up for the alignment of its parts. What that is,
  // the library may see differently from the compiler (16 bytes for double _Complex, say).
  for (ptrdiff_t align = 2; !t->bounds_set && align <= 16; align *= 2)
    if (extent == round_up(t->extent, align)) t->extent = extent;
  if ((size_t)size != t->size) wrong("%s: MPI_Type_size is %d, should be %zu", t->name, size, t->size);
  const bool bounds = lb == t->lb && extent == t->extent;
  if (!bounds && is_struct && t->bounds_set) remark("bounds of a struct with a member whose bounds were set");
  else if (!bounds && is_struct) remark("bounds of a struct");
  if (!bounds)
    wrong("%s: lower bound and extent are %ld and %ld, should be %ld and %ld", t->name, (long)lb, (long)extent, (long)t->lb,
          (long)t->extent);
  if (true_lb != t->low || true_extent != t->high - t->low)
    wrong("%s: true lower bound and extent are %ld and %ld, should be %ld and %ld", t->name, (long)true_lb,
          (long)true_extent, (long)t->low, (long)(t->high - t->low));
  return !is_wrong();
}

struct type* finish(const char* name, const struct type* part, MPI_Datatype handle, const struct parts* parts) {
  struct type* t = KEEP(struct type, 1);
  t->handle = handle;
  if (part && part->entries > 1) snprintf(t->name, sizeof t->name, "%s of %.60s", name, part->name);
  else snprintf(t->name, sizeof t->name, "%s", name);
  set_map(t, parts);
  set_bounds(t, parts);
  return t;
}

int divisor(struct draw* d, int n) {
  int candidate = (int)draw_between(d, 1, n);
  while (n % candidate) --candidate;
  return candidate;
}

// Splits `items` into blocks, some perhaps empty, and places them in any order, with gaps, perhaps at negative places.
// Places are in items, or in bytes so that blocks do not overlap.
static int place_blocks(struct draw* d, int items, const struct type* part, bool bytes, bool equal, int* lengths,
                        ptrdiff_t* places) {
  int blocks = 0, order[kMostParts];
  if (equal) {
    const int each = divisor(d, items);
    for (int left = items; left > 0; left -= each) lengths[blocks++] = each;
  } else {
    for (int left = items; left > 0;) {
      lengths[blocks] = draw_chance(d, 10) ? 0 : (int)draw_between(d, 1, left);
      if (blocks > 30) lengths[blocks] = left;
      left -= lengths[blocks++];
    }
  }
  draw_order(d, blocks, order);
  if (draw_chance(d, 50))
    for (int i = 0; i < blocks; ++i) order[i] = i;
  const ptrdiff_t unit = bytes ? part->align : 1;
  ptrdiff_t at = draw_chance(d, 25) ? -unit * draw_between(d, 1, 20) : unit * draw_between(d, 0, 3);
  for (int k = 0; k < blocks; ++k) {
    const int i = order[k];
    if (!bytes) {
      places[i] = at;
      at += lengths[i] + (draw_chance(d, 50) ? draw_between(d, 0, 4) : 0);
      continue;
    }
    // The block begins where the previous one ended, or later.
    ptrdiff_t low, high;
    type_span(part, lengths[i], &low, &high);
    places[i] = round_up(at - low, part->align);
    at = places[i] + high + (draw_chance(d, 50) ? part->align * draw_between(d, 0, 4) : 0);
  }
  return blocks;
}

static void put_blocks(struct parts* parts, const struct type* part, int blocks, const int* lengths,
                       const ptrdiff_t* places, ptrdiff_t unit) {
  for (int i = 0; i < blocks; ++i)
    for (int k = 0; k < lengths[i]; ++k) put(parts, part, places[i] * unit + k * part->extent);
}

static struct type* indexed(struct draw* d, int items, const struct type* part, int which) {
  int lengths[kMostParts], ints[kMostParts];
  ptrdiff_t places[kMostParts];
  MPI_Aint addresses[kMostParts];
  struct parts parts = {0};
  const bool bytes = which % 2, equal = which >= 2;
  const int blocks = place_blocks(d, items, part, bytes, equal, lengths, places);
  for (int i = 0; i < blocks; ++i) addresses[i] = places[i], ints[i] = (int)places[i];
  put_blocks(&parts, part, blocks, lengths, places, bytes ? 1 : part->extent);
  static const char* const names[] = {"indexed", "hindexed", "indexed_block", "hindexed_block"};
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  switch (which) {
    case 0: DO(MPI_Type_indexed(blocks, lengths, ints, part->handle, &handle)); break;
    case 1: DO(MPI_Type_create_hindexed(blocks, lengths, addresses, part->handle, &handle)); break;
    case 2: DO(MPI_Type_create_indexed_block(blocks, lengths[0], ints, part->handle, &handle)); break;
    default: DO(MPI_Type_create_hindexed_block(blocks, lengths[0], addresses, part->handle, &handle));
  }
  struct type* t = finish(names[which], part, handle, &parts);
  t->form = form(NULL, "%s(", names[which]);
  for (int i = 0; i < blocks; ++i) t->form = form(t->form, "%d at %td, ", lengths[i], places[i]);
  t->form = form(t->form, "%s)", part->form);
  return t;
}

static struct type* vector(struct draw* d, int items, const struct type* part, bool bytes) {
  struct parts parts = {0};
  const int length = divisor(d, items), count = items / length;
  int stride = length + (int)draw_between(d, 0, 4);
  if (draw_chance(d, 20)) stride = -stride;
  ptrdiff_t step = stride * part->extent;
  if (bytes && draw_chance(d, 70)) {
    ptrdiff_t low, high;
    type_span(part, length, &low, &high);
    step = round_up(high - low, part->align) + part->align * draw_between(d, 0, 5);
    if (draw_chance(d, 20)) step = -step;
  }
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < length; ++k) put(&parts, part, i * step + k * part->extent);
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  const bool large = draw_chance(d, 20);
#if MPI_VERSION >= 4
  if (large) {
    if (bytes) DO(MPI_Type_create_hvector_c(count, length, step, part->handle, &handle));
    else DO(MPI_Type_vector_c(count, length, stride, part->handle, &handle));
  }
#else
  (void)large;
#endif
  if (handle == MPI_DATATYPE_NULL && bytes) DO(MPI_Type_create_hvector(count, length, step, part->handle, &handle));
  else if (handle == MPI_DATATYPE_NULL) DO(MPI_Type_vector(count, length, stride, part->handle, &handle));
  struct type* t = finish(bytes ? "hvector" : "vector", part, handle, &parts);
  t->form = form(NULL, "%s(%d, %d, %td, %s)", t->name, count, length, bytes ? step : stride, part->form);
  return t;
}

// Members of different types, which together have the signature, in any order in memory.
static struct type* structure(struct draw* d, struct request want, int depth) {
  struct parts parts = {0};
  const struct type* members[kMostParts];
  MPI_Datatype handles[kMostParts], handle = MPI_DATATYPE_NULL;
  int lengths[kMostParts], order[kMostParts], n = 0;
  MPI_Aint places[kMostParts];
  if (want.repeats > 1) {
    for (int left = want.repeats; left > 0; ++n) {
      const int some = n > 5 ? left : (int)draw_between(d, 1, left), items = divisor(d, some);
      members[n] = build(d, (struct request){want.basic, want.length, some / items}, depth - 1);
      lengths[n] = items;
      left -= some;
    }
  } else {
    for (int i = 0; i < want.length; ++n) {
      const int some = (int)draw_between(d, 1, want.length - i);
      members[n] = build(d, (struct request){want.basic + i, some == want.length ? 1 : some, 1}, depth - 1);
      lengths[n] = 1;
      i += some == want.length ? 1 : some;
    }
  }
  // A member of no items adds nothing, neither data nor bounds.
  if (draw_chance(d, 5)) {
    members[n] = basic_type((int)draw_below(d, basics_count));
    lengths[n++] = 0;
  }
  draw_order(d, n, order);
  const bool in_order = draw_chance(d, 60);
  ptrdiff_t at = draw_chance(d, 20) ? -64 : 0;
  for (int k = 0; k < n; ++k) {
    const int i = in_order ? k : order[k];
    ptrdiff_t low, high;
    type_span(members[i], lengths[i], &low, &high);
    places[i] = round_up(at - low, members[i]->align);
    at = places[i] + high + (draw_chance(d, 30) ? draw_between(d, 0, 12) : 0);
  }
  for (int i = 0; i < n; ++i) {
    handles[i] = members[i]->handle;
    for (int k = 0; k < lengths[i]; ++k) put(&parts, members[i], places[i] + k * members[i]->extent);
  }
  DO(MPI_Type_create_struct(n, lengths, places, handles, &handle));
  for (int i = 0; i < n; ++i) release(members[i]);
  struct type* t = finish("struct", NULL, handle, &parts);
  t->form = form(NULL, "struct(");
  for (int i = 0; i < n; ++i)
    t->form = form(t->form, "%s%d at %ld %s", i ? ", " : "", lengths[i], (long)places[i], members[i]->form);
  t->form = form(t->form, ")");
  return t;
}

static struct type* build(struct draw* d, struct request want, int depth) {
  struct type* t = NULL;
  bool is_struct = false;
  if (want.repeats == 1 && want.length == 1 && (depth <= 0 || draw_chance(d, 60))) return basic_type(want.basic[0]);
  if ((want.repeats == 1 && want.length > 1) || (depth > 0 && draw_chance(d, 12))) {
    t = structure(d, want, depth);
    is_struct = true;
  } else {
    // Items of a part that has the signature of a fraction of the whole.
    const int items = depth <= 0 ? want.repeats : want.repeats / divisor(d, want.repeats);
    struct type* part = build(d, (struct request){want.basic, want.length, want.repeats / items}, depth - 1);
    struct parts parts = {0};
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    if (is_wrong() || is_refused()) return part;
    switch (depth <= 0 ? 0 : draw_below(d, 11)) {
      case 0:
        for (int i = 0; i < items; ++i) put(&parts, part, i * part->extent);
        DO(MPI_Type_contiguous(items, part->handle, &handle));
        t = finish("contiguous", part, handle, &parts);
        t->form = form(NULL, "contiguous(%d, %s)", items, part->form);
        break;
      case 1: t = vector(d, items, part, false); break;
      case 2: t = vector(d, items, part, true); break;
      case 3: t = indexed(d, items, part, 0); break;
      case 4: t = indexed(d, items, part, 1); break;
      case 5: t = indexed(d, items, part, 2); break;
      case 6: t = indexed(d, items, part, 3); break;
      case 7: t = subarray(d, items, part); break;
      case 8: t = darray(d, items, part); break;
      default:
        if (items > 1) {
          t = vector(d, items, part, false);
          break;
        }
        if (draw_chance(d, 50)) {
          DO(MPI_Type_dup(part->handle, &handle));
          t = KEEP(struct type, 1);
          *t = *part;
          t->handle = handle;
          t->predefined = false;
          snprintf(t->name, sizeof t->name, "dup of %.60s", part->name);
          t->form = form(NULL, "dup(%s)", part->form);
        } else {
          // Before or behind the data, perhaps so short that the items of an array interleave.
          const ptrdiff_t lb = part->low + part->align * draw_between(d, -4, 4);
          ptrdiff_t extent = round_up(part->high - part->low, part->align);
          const ptrdiff_t shorter = part->align * draw_between(d, 1, extent / part->align);
          if (tiles(part, shorter)) extent = shorter;
          else extent += part->align * draw_between(d, 0, 4);
          t = resize(part, lb, extent);
          part = NULL;
        }
    }
    if (part) release(part);
  }
  // Libraries differ in the bounds of a struct with a member whose bounds were set: then they are mostly set anew, so that
  // the rest is tested, too.
  if (is_struct && t->bounds_set && draw_chance(d, 95))
    t = resize(t, t->low, round_up(t->high - t->low, t->align) + t->align * draw_between(d, 0, 2));
  if (!verify(t, is_struct)) return t;
  if (tiles(t, t->extent)) return t;
  t = resize(t, t->low, round_up(t->high - t->low, t->align));
  verify(t, false);
  return t;
}

struct type* make_type(struct draw* d, const struct signature* unit, int repeats) {
  struct type* t = build(d, (struct request){unit->basic, unit->length, repeats}, (int)draw_between(d, 0, 3));
  if (options.explain && world_rank == 0) printf("%s, lb %td, extent %td\n", t->form, t->lb, t->extent);
  if (t->predefined || is_refused() || is_wrong()) return t;
  keep_type(t->handle);
  DO(MPI_Type_commit(&t->handle));
  return t;
}
