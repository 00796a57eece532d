// MPI_Fetch_and_op and MPI_Compare_and_swap by all processes on one place: nothing is lost, nobody is served twice.
#include "windows.h"

enum { kRounds = 4 };

// Place 0 is for all, the others for one process each.
struct tickets {
  int64_t shared[kRounds];  // what was there before
  int64_t own[kRounds];
};

// One operation on one place, as long as an epoch lasts: that is what accumulate_ops promises by default (MPI 3.1, 11.2.1).
static bool replaces(const struct window* w) { return w->key % 2; }

static bool fetch(const struct scenario* s, struct window* w, struct tickets* t, int64_t* give) {
  const int rank = s->comm.rank;
  give[0] = 1;
  for (int i = 0; i < kRounds; ++i) give[i + 1] = 100 * i + rank;
  if (!begin_target(w, 0)) return false;
  for (int i = 0; i < kRounds; ++i) {
    if (!DO(MPI_Fetch_and_op(give, &t->shared[i], MPI_INT64_T, 0, displacement(w, 0, 0), MPI_SUM, w->handle)) ||
        !DO(MPI_Fetch_and_op(&give[i + 1], &t->own[i], MPI_INT64_T, 0, displacement(w, 0, 64 * (1 + rank)),
                             replaces(w) ? MPI_REPLACE : MPI_SUM, w->handle)))
      return false;
    if (w->exclusive && !flush_target(w, 0)) return false;
  }
  return end_target(w, 0);
}

// At the own place every second comparison fails.
static const int64_t compared[kRounds] = {0, 7, 1, 0}, given[kRounds] = {1, 2, 3, 4};

static bool swap(const struct scenario* s, struct window* w, struct tickets* t, int64_t* give) {
  const int rank = s->comm.rank;
  give[0] = 0;  // who comes first has the shared place
  give[1] = rank + 1;
  if (!begin_target(w, 0)) return false;
  for (int i = 0; i < kRounds; ++i) {
    if (!DO(MPI_Compare_and_swap(&give[1], give, &t->shared[i], MPI_INT64_T, 0, displacement(w, 0, 0), w->handle)) ||
        !DO(MPI_Compare_and_swap(&given[i], &compared[i], &t->own[i], MPI_INT64_T, 0, displacement(w, 0, 64 * (1 + rank)),
                                 w->handle)))
      return false;
    if (w->exclusive && !flush_target(w, 0)) return false;
  }
  return end_target(w, 0);
}

static void check_fetched(const struct tickets* all, int size, int64_t last) {
  const int64_t total = (int64_t)size * kRounds;
  bool* seen = KEEP(bool, total);
  if (last != total) wrong("the counter is %lld, should be %lld", (long long)last, (long long)total);
  for (int rank = 0; rank < size; ++rank) {
    for (int i = 0; i < kRounds; ++i) {
      const int64_t ticket = all[rank].shared[i];
      if (ticket < 0 || ticket >= total || seen[ticket]) {
        wrong("rank %d fetched %lld, which is not a number of its own", rank, (long long)ticket);
        return;
      }
      seen[ticket] = true;
      // Those of one origin are in order.
      if (i > 0 && ticket < all[rank].shared[i - 1]) wrong("rank %d fetched %lld after a greater one", rank, (long long)ticket);
    }
  }
}

static void check_swapped(const struct tickets* all, int size, int64_t last) {
  if (last < 1 || last > size) wrong("the shared place is %lld", (long long)last);
  for (int rank = 0; rank < size; ++rank)
    for (int i = 0; i < kRounds; ++i) {
      const int64_t should = i == 0 && rank + 1 == last ? 0 : last, is = all[rank].shared[i];
      if (is != should) wrong("rank %d got %lld in round %d, should be %lld", rank, (long long)is, i, (long long)should);
    }
}

static int64_t own_value(const struct window* w, bool swaps, int rank, int round) {  // before the round
  int64_t value = 0;
  for (int i = 0; i < round; ++i) {
    if (swaps && value == compared[i]) value = given[i];
    if (!swaps) value = (replaces(w) ? 0 : value) + 100 * i + rank;
  }
  return value;
}

void run_atomics(struct scenario* s, const struct family* family) {
  struct window* w = KEEP(struct window, 1);
  const bool swaps = family->code == 1;
  plan_comm(s, kIntra);
  draw_window(s, w);
  describe(s, swaps ? "MPI_Compare_and_swap" : "MPI_Fetch_and_op", ", %s", w->text);
  if (!begin(s)) return;
  const struct comm* c = &s->comm;
  const struct type* number = basic_type(find_basic(MPI_INT64_T));
  w->reach = 1 << 20;
  // The first process has the places, but every window is of the same size.
  for (int i = 0; i <= c->size; ++i) add_block(&w->buffer, 64 * i, 1, number, NOTHING, NOTHING);
  if (!open_window(s, w)) return;
  if (!DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c->rank, 0, w->handle))) return;
  for (int i = 0; i <= c->size; ++i) memset(w->buffer.address + 64 * i, 0, sizeof(int64_t));
  memcpy(w->buffer.expected, w->buffer.memory, w->buffer.size);
  if (!DO(MPI_Win_unlock(c->rank, w->handle)) || !DO(MPI_Barrier(c->handle)) || !begin_epoch(s, w)) return;
  struct tickets mine = {{0}, {0}};
  int64_t give[kRounds + 1], last;
  if (!(swaps ? swap : fetch)(s, w, &mine, give) || !end_epoch(s, w)) return;
  for (int i = 0; i < kRounds; ++i) {
    const int64_t should = own_value(w, swaps, c->rank, i);
    if (mine.own[i] != should)
      wrong("round %d at the own place: got %lld, should be %lld", i, (long long)mine.own[i], (long long)should);
  }
  unsigned char* expected = w->buffer.expected + (w->buffer.address - w->buffer.memory);
  memcpy(&last, w->buffer.address, sizeof last);
  for (int i = 0; i < c->size && c->rank == 0; ++i) {
    const int64_t value = own_value(w, swaps, i, kRounds);
    memcpy(expected + 64 * (i + 1), &value, sizeof value);
  }
  if (c->rank == 0) memcpy(expected, &last, sizeof last);
  compare_buffer(&w->buffer, 0);
  struct tickets* all = KEEP(struct tickets, c->size);
  if (!close_window(w)) return;
  if (!DO(MPI_Gather(&mine, 2 * kRounds, MPI_INT64_T, all, 2 * kRounds, MPI_INT64_T, 0, c->handle)) || c->rank != 0) return;
  if (swaps) check_swapped(all, c->size, last);
  else check_fetched(all, c->size, last);
}
