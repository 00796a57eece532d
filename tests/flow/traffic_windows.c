// Windows: puts, gets and accumulates with every kind of synchronization.
//
// A rank's window has a part for every other rank, so that nobody is in anybody's way, and behind them one for sums,
// to which all add.
#include "traffic.h"

enum { kPart = 4096, kSums = 16, kSumsAt = kMaxRanks * kPart, kBytes = kSumsAt + kSums * 8, kWindow = 300 };

struct window {
  MPI_Win win;
  unsigned char* memory;
  int unit;
};
static struct window windows[2];
static unsigned char allocated_image[kBytes];

void windows_make(void) {
  windows[0] = (struct window){.memory = keep(kBytes, kWindow), .unit = 1};
  MPI_Win_create(windows[0].memory, kBytes, windows[0].unit, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0].win);
  windows[1].unit = 8;
  MPI_Win_allocate(kBytes, windows[1].unit, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[1].memory, &windows[1].win);
  also(windows[1].memory, allocated_image, kBytes);
}
void windows_free(void) {
  for (int i = 0; i < 2; ++i) MPI_Win_free(&windows[i].win);
}

enum { kPut, kGet, kPutGet, kXor, kSum, kReplace, kGetAccumulate, kFetch, kSwap, kOperations };

struct epoch {
  const struct window* window;
  int operation, target, origin, shift;  // whom this rank reaches, and who reaches it
  struct shape own, there;
  unsigned char *from, *at;
  long sums[kSums], old, compared;
};

static void epoch_plain(struct epoch* it) {
  const int elements = it->own.count * it->own.elements, base = it->own.base < kPair ? it->own.base : kDouble;
  shape_plain(&it->own, base, elements);
  shape_plain(&it->there, base, elements);
}

static void epoch_drawn(struct epoch* it) {
  it->window = &windows[draw(2)];
  it->operation = draw(kOperations);
  it->shift = draw(size);
  const bool numbers = it->operation >= kXor;
  const int base = numbers ? kShort + draw(3) : draw(kBases), elements = 1 + draw(24);
  shape_draw(&it->own, base, elements);
  shape_draw(&it->there, base, elements);
  if (!kOpenMpi) return;
  if (it->operation == kSwap) it->operation = kFetch;  // Open MPI 4.1 crashes
  // With other types, it brings nothing that was in the window.
  if (it->operation == kGetAccumulate && !known_bugs) epoch_plain(it);
}

static long addend(int who, int i) { return pick(1 << 20, who, 500 + i); }

// Fills the memory of this rank, the window's, too. The window must not be in use.
static void epoch_begin(struct epoch* it) {
  it->target = (rank + it->shift) % size;
  it->origin = (rank + size - it->shift) % size;
  shape_make(&it->own);
  shape_make(&it->there);
  fresh(it->window->memory, kBytes, kWindow);
  for (int i = 0; i < kSums; ++i) {
    const long start = addend(rank, 100 + i);
    set(it->window->memory + kSumsAt + i * 8, &start, sizeof start);
    it->sums[i] = addend(rank, i);
  }
  it->from = take(shape_span(&it->own, 1), kSend);
  it->at = take(shape_span(&it->own, 1), kReceive);
}

static MPI_Aint displacement(const struct epoch* it, int offset) { return offset / it->window->unit; }

// What a rank's window holds in the beginning.
static long in_window(int who, int offset) {
  static unsigned char memory[kBytes];
  long value;
  fill(memory, offset + (int)sizeof value, who, kWindow);
  memcpy(&value, memory + offset, sizeof value);
  return value;
}
// Whether a rank's comparison holds.
static bool swaps(int who) { return (who + call) % 2; }

// The operations of one rank. With `requests` they are the ones that have some; returns how many.
static int epoch_operate(struct epoch* it, MPI_Request* requests) {
  const struct shape *own = &it->own, *there = &it->there;
  const MPI_Win win = it->window->win;
  const int target = it->target;
  const MPI_Aint part = displacement(it, rank * kPart), sums = displacement(it, kSumsAt);
  int made = 0;
  switch (it->operation) {
    case kPut:
    case kPutGet:
      if (requests)
        MPI_Rput(it->from, own->count, own->type, target, part, there->count, there->type, win, &requests[made++]);
      else MPI_Put(it->from, own->count, own->type, target, part, there->count, there->type, win);
      if (it->operation == kPut) break;
      // From the next rank's part, which that rank changes only in another window.
      // fall through
    case kGet: {
      const MPI_Aint other = displacement(it, (it->operation == kGet ? rank : (rank + 1) % kMaxRanks) * kPart);
      if (requests)
        MPI_Rget(it->at, own->count, own->type, target, other, there->count, there->type, win, &requests[made++]);
      else MPI_Get(it->at, own->count, own->type, target, other, there->count, there->type, win);
      break;
    }
    case kXor:
    case kReplace: {
      const MPI_Op op = it->operation == kXor ? MPI_BXOR : MPI_REPLACE;
      if (requests)
        MPI_Raccumulate(it->from, own->count, own->type, target, part, there->count, there->type, op, win,
                        &requests[made++]);
      else MPI_Accumulate(it->from, own->count, own->type, target, part, there->count, there->type, op, win);
      break;
    }
    case kSum:  // everybody adds to the same rank's
      if (requests)
        MPI_Raccumulate(it->sums, kSums, MPI_LONG, it->shift, sums, kSums, MPI_LONG, MPI_SUM, win, &requests[made++]);
      else MPI_Accumulate(it->sums, kSums, MPI_LONG, it->shift, sums, kSums, MPI_LONG, MPI_SUM, win);
      break;
    case kGetAccumulate:
      MPI_Get_accumulate(it->from, own->count, own->type, it->at, own->count, own->type, target, part, there->count,
                         there->type, MPI_BXOR, win);
      break;
    case kFetch: MPI_Fetch_and_op(&it->sums[0], &it->old, MPI_LONG, target, part, MPI_BXOR, win); break;
    default:
      it->compared = in_window(target, rank * kPart) ^ (swaps(rank) ? 0 : 1);
      MPI_Compare_and_swap(&it->sums[0], &it->compared, &it->old, MPI_LONG, target, part, win);
  }
  return made;
}

// What this rank has got. Looks at it before MPI is called again.
static void epoch_got(struct epoch* it) {
  const int part = rank * kPart, next = (rank + 1) % kMaxRanks * kPart;
  if (it->operation == kGet || it->operation == kPutGet || it->operation == kGetAccumulate)
    expect(it->at, &it->own, it->target, kWindow, &it->there, it->operation == kPutGet ? next : part, 1);
  check(it->at, shape_span(&it->own, 1));
  if (verify && (it->operation == kFetch || it->operation == kSwap) && it->old != in_window(it->target, part))
    wrong("old value");
}

// What others have done to this rank's window.
static void epoch_check(struct epoch* it) {
  static unsigned char before[kPart];
  unsigned char* memory = it->window->memory;
  unsigned char* part = image(memory + it->origin * kPart);
  long value;
  if (!verify) return;
  memcpy(before, part, kPart);
  switch (it->operation) {
    case kPut:
    case kPutGet:
    case kReplace: expect(memory + it->origin * kPart, &it->there, it->origin, kSend, &it->own, 0, 1); break;
    case kXor:
    case kGetAccumulate:
      expect(memory + it->origin * kPart, &it->there, it->origin, kSend, &it->own, 0, 1);
      for (int i = 0; i < it->there.count; ++i)
        for (int k = 0; k < it->there.leaves; ++k)
          for (int b = 0; b < it->there.leaf[k].length; ++b) {
            const int offset = i * it->there.extent + it->there.leaf[k].offset + b;
            part[offset] ^= before[offset];
          }
      break;
    case kSum:
      for (int i = 0; rank == it->shift && i < kSums; ++i) {
        value = addend(rank, 100 + i);
        for (int who = 0; who < size; ++who) value += addend(who, i);
        memcpy(image(memory + kSumsAt + i * 8), &value, sizeof value);
      }
      break;
    case kFetch:
      memcpy(&value, part, sizeof value);
      value ^= addend(it->origin, 0);
      memcpy(part, &value, sizeof value);
      break;
    case kSwap:
      value = addend(it->origin, 0);
      if (swaps(it->origin)) memcpy(part, &value, sizeof value);
      break;
    default: break;
  }
  if (it->window == &windows[0]) check(memory, kBytes);
  else if (memcmp(memory, image(memory), kBytes) != 0) wrong("window");
}

static void epoch_end(struct epoch* it) {
  shape_free(&it->own);
  shape_free(&it->there);
}

void fenced(void) {
  struct epoch it;
  epoch_drawn(&it);
  epoch_begin(&it);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, it.window->win);
  epoch_operate(&it, NULL);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, it.window->win);
  epoch_got(&it);
  epoch_check(&it);
  epoch_end(&it);
}

// Every rank opens its window for those that want it, and reaches another one's.
void posted(void) {
  struct epoch it;
  epoch_drawn(&it);
  const bool tests = chance(2);
  epoch_begin(&it);
  MPI_Group everybody, origins, targets;
  int all[kMaxRanks], number = 1;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  for (int i = 0; i < size; ++i) all[i] = i;
  if (it.operation == kSum) number = rank == it.shift ? size : 0;
  MPI_Group_incl(everybody, number, it.operation == kSum ? all : &it.origin, &origins);
  MPI_Group_incl(everybody, 1, it.operation == kSum ? &it.shift : &it.target, &targets);
  MPI_Win_post(origins, 0, it.window->win);
  MPI_Win_start(targets, 0, it.window->win);
  epoch_operate(&it, NULL);
  MPI_Win_complete(it.window->win);
  epoch_got(&it);
  if (!tests) MPI_Win_wait(it.window->win);
  for (int flag = !tests; !flag;) {
    MPI_Win_test(it.window->win, &flag);
    if (!flag) sched_yield();
  }
  epoch_check(&it);
  MPI_Group_free(&everybody);
  MPI_Group_free(&origins);
  MPI_Group_free(&targets);
  epoch_end(&it);
  // MPICH 4.0 hangs when a rank opens its window for another one that is not that far yet.
  if (!kOpenMpi) MPI_Barrier(MPI_COMM_WORLD);
}

// A rank's own accesses to its window are under a lock, too.
static void passive_begin(struct epoch* it) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, it->window->win);
  epoch_begin(it);
  MPI_Win_unlock(rank, it->window->win);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void passive_end(struct epoch* it) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, it->window->win);
  epoch_check(it);
  MPI_Win_unlock(rank, it->window->win);
  epoch_end(it);
}

void locked(void) {
  struct epoch it;
  epoch_drawn(&it);
  const bool alone = chance(2), flushes = chance(2);
  passive_begin(&it);
  const int target = it.operation == kSum ? it.shift : it.target;
  MPI_Win_lock(alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, it.window->win);
  epoch_operate(&it, NULL);
  if (flushes) {
    MPI_Win_flush(target, it.window->win);
    epoch_got(&it);
  }
  MPI_Win_unlock(target, it.window->win);
  epoch_got(&it);
  passive_end(&it);
}

// Operations that have requests.
void requested(void) {
  struct epoch it;
  MPI_Request requests[2];
  epoch_drawn(&it);
  if (it.operation >= kGetAccumulate) it.operation = kPutGet;
  const bool local = chance(2), gets = it.operation == kGet || it.operation == kPutGet;
  // MPICH 4.0 completes the request of a get with other types before the data is there.
  if (!kOpenMpi && !known_bugs && gets) epoch_plain(&it);
  passive_begin(&it);
  MPI_Win_lock_all(0, it.window->win);
  const int made = epoch_operate(&it, requests);
  MPI_Waitall(made, requests, MPI_STATUSES_IGNORE);
  epoch_got(&it);
  if (local) MPI_Win_flush_local_all(it.window->win);
  else MPI_Win_flush_all(it.window->win);
  MPI_Win_unlock_all(it.window->win);
  passive_end(&it);
}
