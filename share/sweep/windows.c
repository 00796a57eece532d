#include "windows.h"

// Memory of the program's own that is aligned for its data, and no more. Rare: MPICH 4.0 confuses all addresses then.
static bool is_odd(const struct window* w) { return (w->kind == kCreated || w->kind == kDynamic) && w->key % 5 == 0; }

void draw_window(struct scenario* s, struct window* w) {
  static const char* const kinds[] = {"MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "a dynamic window"};
  static const char* const syncs[] = {"fence", "PSCW", "lock", "lock_all"};
  struct draw* d = &s->draw;
  w->kind = (enum window_kind)draw_below(d, 4);
  if (w->kind == kShared && !one_host) w->kind = kAllocated;
  w->sync = (enum sync)draw_below(d, 4);
  w->exclusive = draw_chance(d, 40);
  w->tests = draw_chance(d, 30);
  w->reach = draw_chance(d, 40) ? 1 << 20 : (int)draw_between(d, 1, 2);
  w->key = s->key;
  w->handle = MPI_WIN_NULL;
  snprintf(w->text, sizeof w->text, "%s%s, %s%s", kinds[w->kind], is_odd(w) ? " of odd size and place" : "", syncs[w->sync],
           w->sync == kLock ? (w->exclusive ? " exclusive" : " shared") : "");
}

static int unit_of(const struct window* w, int rank) {
  static const int units[] = {1, 4, 8, 64};
  return w->kind == kDynamic ? 1 : units[mix(w->key, 300 + (uint64_t)rank) % 4];
}

static MPI_Group ring(const struct scenario* s, const struct window* w, int direction) {
  const int size = s->comm.size;
  int* ranks = KEEP(int, size);
  MPI_Group all, group;
  for (int i = 0; i < w->reach; ++i) ranks[i] = (s->comm.rank + direction * i + size) % size;
  MPI_Comm_group(s->comm.handle, &all);
  MPI_Group_incl(all, w->reach, ranks, &group);
  MPI_Group_free(&all);
  return group;
}

bool open_window(const struct scenario* s, struct window* w) {
  ptrdiff_t lowest;
  const MPI_Comm comm = s->comm.handle;
  size_t size = buffer_size(&w->buffer, &lowest);
  w->buffer.aligned = !is_odd(w);
  // MPI 3.1, 11.2.3: windows that are allocated together follow each other in memory, so the size of one is the place of
  // the next.
  if (w->kind == kAllocated || w->kind == kShared) size = (size + 63) / 64 * 64;
  const int unit = unit_of(w, s->comm.rank);
  void* memory = NULL;
  bool well = true;
  if (w->reach > s->comm.size) w->reach = s->comm.size;
  if (w->kind == kAllocated) well = DO(MPI_Win_allocate((MPI_Aint)size, unit, MPI_INFO_NULL, comm, &memory, &w->handle));
  if (w->kind == kShared) well = DO(MPI_Win_allocate_shared((MPI_Aint)size, unit, MPI_INFO_NULL, comm, &memory, &w->handle));
  if (!well) return false;
  make_buffer(&w->buffer, "window", memory);
  if (w->kind == kCreated)
    well = DO(MPI_Win_create(w->buffer.memory, (MPI_Aint)size, unit, MPI_INFO_NULL, comm, &w->handle));
  if (w->kind == kDynamic)
    well = DO(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->handle)) &&
           DO(MPI_Win_attach(w->handle, w->buffer.memory, (MPI_Aint)size));
  if (!well || !DO(MPI_Win_set_errhandler(w->handle, MPI_ERRORS_RETURN))) return false;
  if (w->kind == kDynamic) {
    MPI_Aint mine;
    w->bases = KEEP(MPI_Aint, s->comm.size);
    MPI_Get_address(w->buffer.memory, &mine);
    if (!DO(MPI_Allgather(&mine, 1, MPI_AINT, w->bases, 1, MPI_AINT, comm))) return false;
  }
  if (w->sync == kPscw) {
    w->origins = ring(s, w, -1);
    w->targets = ring(s, w, 1);
  }
  // MPI 3.1, 11.7: the own memory is written within an epoch, too.
  if (!DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->comm.rank, 0, w->handle))) return false;
  clear_buffer(&w->buffer);
  fill_buffer(s, &w->buffer, 0);
  return DO(MPI_Win_unlock(s->comm.rank, w->handle)) && DO(MPI_Barrier(comm));
}

MPI_Aint displacement(const struct window* w, int target, ptrdiff_t at) {
  const ptrdiff_t bytes = kGuard + at;
  if (w->kind == kDynamic) return MPI_Aint_add(w->bases[target], bytes);
  return bytes / unit_of(w, target);
}

bool begin_epoch(const struct scenario* s, struct window* w) {
  (void)s;
  switch (w->sync) {
    case kFence: return DO(MPI_Win_fence(w->tests ? MPI_MODE_NOPRECEDE : 0, w->handle));
    case kPscw: return DO(MPI_Win_post(w->origins, 0, w->handle)) && DO(MPI_Win_start(w->targets, 0, w->handle));
    case kLockAll: return DO(MPI_Win_lock_all(0, w->handle));
    default: return true;
  }
}

bool begin_target(struct window* w, int target) {
  if (w->sync != kLock) return true;
  return DO(MPI_Win_lock(w->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w->handle));
}

bool flush_target(struct window* w, int target) {
  if (!is_passive(w)) return true;
  return w->tests && w->sync == kLockAll ? DO(MPI_Win_flush_all(w->handle)) : DO(MPI_Win_flush(target, w->handle));
}

bool end_target(struct window* w, int target) { return w->sync != kLock || DO(MPI_Win_unlock(target, w->handle)); }

bool end_epoch(const struct scenario* s, struct window* w) {
  int flag = 0;
  bool well = true;
  switch (w->sync) {
    case kFence: well = DO(MPI_Win_fence(w->tests ? MPI_MODE_NOSUCCEED : 0, w->handle)); break;
    case kPscw:
      well = DO(MPI_Win_complete(w->handle));
      if (!w->tests) well = well && DO(MPI_Win_wait(w->handle));
      while (w->tests && well && !flag) well = DO(MPI_Win_test(w->handle, &flag));
      break;
    case kLockAll: well = DO(MPI_Win_unlock_all(w->handle)); break;
    default: break;
  }
  if (!well || !is_passive(w)) return well;
  return DO(MPI_Barrier(s->comm.handle)) && DO(MPI_Win_lock(MPI_LOCK_SHARED, s->comm.rank, 0, w->handle));
}

bool close_window(struct window* w) {
  if (is_passive(w)) {
    int rank;
    MPI_Group group;
    MPI_Win_get_group(w->handle, &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_free(&group);
    if (!DO(MPI_Win_unlock(rank, w->handle))) return false;
  }
  if (w->sync == kPscw) {
    MPI_Group_free(&w->origins);
    MPI_Group_free(&w->targets);
  }
  // An attached piece of memory can only be detached when nobody uses it any more.
  if (w->kind == kDynamic && !DO(MPI_Win_detach(w->handle, w->buffer.memory))) return false;
  return DO(MPI_Win_free(&w->handle));
}
