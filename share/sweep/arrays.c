// Parts of arrays, and arrays that are distributed over processes.
#include "constructors.h"

static void set_array_bounds(struct type* t, const int* sizes, int dims, ptrdiff_t unit) {
  t->lb = 0;
  t->extent = unit;
  for (int i = 0; i < dims; ++i) t->extent *= sizes[i];
  t->bounds_set = true;
}

// The items of an array whose index in each dimension is in that dimension's list.
static void put_array(struct parts* parts, const struct type* part, int dims, const int* sizes, int order,
                      int lists[][kMostParts], const int* lengths) {
  int at[3] = {0, 0, 0}, total = 1;
  for (int i = 0; i < dims; ++i) total *= lengths[i];
  for (int n = 0; n < total; ++n) {
    ptrdiff_t place = 0;
    for (int i = 0; i < dims; ++i) {
      const int dim = order == MPI_ORDER_C ? i : dims - 1 - i;  // the slowest first
      place = place * sizes[dim] + lists[dim][at[dim]];
    }
    put(parts, part, place * part->extent);
    for (int i = dims - 1; i >= 0; --i) {
      const int dim = order == MPI_ORDER_C ? i : dims - 1 - i;
      if (++at[dim] < lengths[dim]) break;
      at[dim] = 0;
    }
  }
}

struct type* subarray(struct draw* d, int items, const struct type* part) {
  struct parts parts = {0};
  static int lists[3][kMostParts];
  const int dims = (int)draw_between(d, 1, 3), order = draw_chance(d, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int sizes[3], lengths[3], starts[3];
  for (int i = 0; i < dims; ++i) {
    lengths[i] = i == dims - 1 ? items : divisor(d, items);
    items /= lengths[i];
    starts[i] = (int)draw_between(d, 0, 2);
    sizes[i] = starts[i] + lengths[i] + (int)draw_between(d, 0, 2);
    for (int k = 0; k < lengths[i]; ++k) lists[i][k] = starts[i] + k;
  }
  put_array(&parts, part, dims, sizes, order, lists, lengths);
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  DO(MPI_Type_create_subarray(dims, sizes, lengths, starts, order, part->handle, &handle));
  struct type* t = finish("subarray", part, handle, &parts);
  t->form = form(NULL, "subarray(%s, ", order == MPI_ORDER_C ? "C" : "Fortran");
  for (int i = 0; i < dims; ++i) t->form = form(t->form, "%d of %d from %d, ", lengths[i], sizes[i], starts[i]);
  t->form = form(t->form, "%s)", part->form);
  set_array_bounds(t, sizes, dims, part->extent);
  return t;
}

struct type* darray(struct draw* d, int items, const struct type* part) {
  struct parts parts = {0};
  static int lists[3][kMostParts];
  const int dims = (int)draw_between(d, 1, 2), order = draw_chance(d, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int sizes[3], lengths[3], kinds[3], arguments[3], processes[3], rank = 0, all = 1;
  for (int i = 0; i < dims; ++i) {
    const int n = lengths[i] = i == dims - 1 ? items : divisor(d, items);
    items /= n;
    processes[i] = (int)draw_between(d, 1, 3);
    const int mine = (int)draw_below(d, processes[i]), kind = (int)draw_below(d, 3);
    arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 0) {
      kinds[i] = MPI_DISTRIBUTE_NONE;
      processes[i] = 1;
      sizes[i] = n;
      for (int k = 0; k < n; ++k) lists[i][k] = k;
    } else if (kind == 1) {
      // By default, a block is the size divided by the processes, rounded up.
      kinds[i] = MPI_DISTRIBUTE_BLOCK;
      sizes[i] = n * processes[i];
      for (int k = 0; k < n; ++k) lists[i][k] = mine * n + k;
      if (draw_chance(d, 50)) arguments[i] = n;
    } else {
      // Blocks of `each` in turn, the last one of this process perhaps shorter because the array ends there.
      kinds[i] = MPI_DISTRIBUTE_CYCLIC;
      const int each = (int)draw_between(d, 1, n), full = (n - 1) / each, rest = n - full * each;
      arguments[i] = each;
      if (each == 1 && draw_chance(d, 50)) arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
      sizes[i] = full * processes[i] * each + mine * each + rest;
      for (int k = 0; k < n; ++k) lists[i][k] = (k / each * processes[i] + mine) * each + k % each;
    }
    // The grid of processes is always in row-major order.
    rank = rank * processes[i] + (processes[i] > 1 ? mine : 0);
    all *= processes[i];
  }
  put_array(&parts, part, dims, sizes, order, lists, lengths);
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  DO(MPI_Type_create_darray(all, rank, dims, sizes, kinds, arguments, processes, order, part->handle, &handle));
  struct type* t = finish("darray", part, handle, &parts);
  t->form = form(NULL, "darray(%d, %d, %s, ", all, rank, order == MPI_ORDER_C ? "C" : "Fortran");
  for (int i = 0; i < dims; ++i)
    t->form = form(t->form, "%d over %d, %s %d, ", sizes[i], processes[i],
                   kinds[i] == MPI_DISTRIBUTE_NONE ? "none" : kinds[i] == MPI_DISTRIBUTE_BLOCK ? "block" : "cyclic",
                   arguments[i] == MPI_DISTRIBUTE_DFLT_DARG ? 0 : arguments[i]);
  t->form = form(t->form, "%s)", part->form);
  set_array_bounds(t, sizes, dims, part->extent);
  return t;
}
