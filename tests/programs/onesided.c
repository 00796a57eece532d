// One-sided communication of all kinds: what a rank reads is decided by who came first. A word chooses one part.
#include "common.h"

enum { kSlots = 24, kRounds = 6 };

static int right(void) { return (world_rank + 1) % world_size; }
static int left(void) { return (world_rank + world_size - 1) % world_size; }

static void show(const char* what, const int* memory, int count) {
  uint64_t sum = 1469598103934665603u;
  for (int i = 0; i < count; ++i) sum = (sum ^ (uint64_t)(uint32_t)memory[i]) * 1099511628211u;
  fold(sum);
  say("%s %d %d %d: %016llx", what, memory[0], memory[1 % count], memory[count - 1], (unsigned long long)sum);
}

// Tickets are taken in the order in which ranks come; what they put says so.
static int ticket(MPI_Win counter) {
  const int one = 1;
  int mine = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counter);
  MPI_Fetch_and_op(&one, &mine, MPI_INT, 0, 0, MPI_SUM, counter);
  MPI_Win_unlock(0, counter);
  return mine;
}

static void fences(MPI_Win counter) {
  int* memory;
  MPI_Win window;
  MPI_Win_allocate(kSlots * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  for (int round = 0; round < kRounds; ++round) {
    int out[4];
    jitter(200);
    out[0] = out[1] = out[2] = out[3] = ticket(counter) * 10 + world_rank;
    memory[20] = out[0];  // its own
    MPI_Put(out, 4, MPI_INT, right(), 4, 4, MPI_INT, window);
    MPI_Accumulate(out, 2, MPI_INT, left(), 10, 2, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    show("fence", memory, kSlots);
    int got[3] = {0};
    MPI_Get(got, 3, MPI_INT, right(), 4, 3, MPI_INT, window);
    MPI_Win_fence(0, window);
    show("got", got, 3);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_free(&window);
}

// Memory that goes before its window, which programs do although they should not. What the heap writes there is nobody's business.
static void freed(MPI_Win counter) {
#ifdef OPEN_MPI  // over UCX it may write what is behind that when the fence is over, into what is no memory any more (docs/library-bugs.md)
  enum { kMostPut = 512 };
#else
  enum { kMostPut = 1 << 18 };
#endif
  static int out[kMostPut];
  for (int count = 1; count <= 1 << 18; count *= 8) {  // at last so much that its pages are unmapped
    const int put = count < kMostPut ? count : kMostPut;
    int* const memory = calloc((size_t)count, sizeof *memory);
    MPI_Win window;
    MPI_Win_create(memory, (MPI_Aint)(sizeof *memory * (size_t)count), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    jitter(200);
    out[0] = ticket(counter) * 10 + world_rank;
    for (int i = 1; i < put; ++i) out[i] = out[0] + i;
    MPI_Put(out, put, MPI_INT, right(), 0, put, MPI_INT, window);
    if (count > put) MPI_Put(out, put, MPI_INT, right(), count - put, put, MPI_INT, window);
    MPI_Win_fence(0, window);
    show("freed", memory, count);
    free(memory);
    MPI_Win_free(&window);
  }
}

static void epochs(MPI_Win counter, int tests) {
  static int memory[kSlots];
  MPI_Win window;
  MPI_Group world, to, from;
  const int next = right(), previous = left();
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &previous, &from);
  MPI_Datatype apart;
  MPI_Type_vector(3, 1, 2, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  for (int round = 0; round < kRounds; ++round) {
    int out[3], flag = 0;
    jitter(200);
    out[0] = out[1] = out[2] = ticket(counter) * 10 + world_rank;
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(out, 3, MPI_INT, next, (MPI_Aint)(sizeof(int) * (size_t)round), 1, apart, window);
    MPI_Win_complete(window);
    if (!tests) MPI_Win_wait(window);
    while (tests && !flag) MPI_Win_test(window, &flag);
    show(tests ? "tested" : "epoch", memory, kSlots);
  }
  MPI_Type_free(&apart);
  MPI_Group_free(&world);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Win_free(&window);
}

// Everybody adds to everybody's list, where there is room.
static void locks(MPI_Win counter, int kind) {
  int* memory;
  MPI_Win window;
  (void)counter;
  const char* const slots = getenv("TEST_SLOTS");  // of another window than in the recorded run
  MPI_Win_allocate((slots ? atoi(slots) : kSlots) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int round = 0; round < kRounds; ++round) {
    for (int to = 0; to < world_size; ++to) {
      const int one = 1, value = round * 10 + world_rank + 1;
      int place = 0, before[3];
      jitter(60);
      MPI_Win_lock(kind, to, 0, window);
      MPI_Fetch_and_op(&one, &place, MPI_INT, to, 0, MPI_SUM, window);
      MPI_Win_flush(to, window);
      MPI_Accumulate(&value, 1, MPI_INT, to, 1 + place % (kSlots - 1), 1, MPI_INT, MPI_REPLACE, window);
      MPI_Get_accumulate(NULL, 0, MPI_INT, before, 3, MPI_INT, to, 1, 3, MPI_INT, MPI_NO_OP, window);
      MPI_Win_unlock(to, window);
      took("place", to, 0, place);
      show("before", before, 3);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window);
    show("own", memory, kSlots);
    MPI_Win_unlock(world_rank, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window);
  show("end", memory, kSlots);
  MPI_Win_unlock(world_rank, window);
  MPI_Win_free(&window);
}

// One epoch for all, with requests; a message says that something is there.
static void always(MPI_Win counter) {
  int* memory;
  MPI_Win window;
  (void)counter;
  MPI_Win_allocate(kSlots * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < kRounds; ++round) {
    const int none = 0, mine = world_rank + 1;
    int out[2] = {round * 100 + world_rank, -round}, old = 0, in[2] = {0}, sum[2] = {0}, hint;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    jitter(200);
    MPI_Compare_and_swap(&mine, &none, &old, MPI_INT, 0, 0, window);  // who is first?
    MPI_Win_flush(0, window);
    took("old", 0, 0, old);
    MPI_Rput(out, 2, MPI_INT, right(), 2, 2, MPI_INT, window, &requests[0]);
    MPI_Raccumulate(out, 1, MPI_INT, left(), 6, 1, MPI_INT, MPI_MAX, window, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Win_flush_all(window);
    MPI_Sendrecv(&mine, 1, MPI_INT, right(), 1, &hint, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_sync(window);
    show("sync", memory + 2, 2);
    MPI_Rget(in, 2, MPI_INT, left(), 2, 2, MPI_INT, window, &requests[0]);
    MPI_Rget_accumulate(&mine, 1, MPI_INT, sum, 1, MPI_INT, left(), 8, 1, MPI_INT, MPI_SUM, window, &requests[1]);
    MPI_Win_flush_local_all(window);
    show("flushed", in, 2);
    MPI_Waitall(2, requests, statuses);
    show("sum", sum, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) MPI_Accumulate(&none, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
    if (world_rank == 0) MPI_Win_flush(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  show("end", memory, kSlots);
  MPI_Win_free(&window);
}

// Memory that comes and goes.
static void dynamic(MPI_Win counter) {
  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < 3; ++round) {
    int *first = malloc(64 * sizeof(int)), *second = malloc(64 * sizeof(int));
    MPI_Aint mine, theirs;
    memset(first, 0, 64 * sizeof(int));
    memset(second, 0, 64 * sizeof(int));
    MPI_Win_attach(window, first, 64 * sizeof(int));
    MPI_Win_attach(window, second, 64 * sizeof(int));
    MPI_Get_address(second, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, left(), 2, &theirs, 1, MPI_AINT, right(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int value = ticket(counter);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, right(), MPI_Aint_add(theirs, 8), 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    show("dynamic", second, 64);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(window, first);
    MPI_Win_detach(window, second);
    free(first);
    free(second);
  }
  MPI_Win_free(&window);
}

// Every operation, with every call that takes one. What comes out depends on who came before.
static void operations(MPI_Win counter) {
  enum { kOps = 11, kWords = 24 };  // a multiple of 16 bytes: MPICH 4.0.2 gets others wrong (docs/library-bugs.md)
  const MPI_Op ops[kOps] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE};
  struct {
    double value;
    int index;
  }* pairs, pair, before_pair;
  int* memory;
  MPI_Win window, of_pairs;
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_allocate(2 * sizeof *pairs, sizeof *pairs, MPI_INFO_NULL, MPI_COMM_WORLD, &pairs, &of_pairs);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window);
  for (int i = 0; i < kWords; ++i) memory[i] = 1;
  MPI_Win_unlock(world_rank, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, of_pairs);
  for (int i = 0; i < 2; ++i) {
    memset(&pairs[i], 0, sizeof pairs[i]);
    pairs[i].value = 50;
  }
  MPI_Win_unlock(world_rank, of_pairs);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 3; ++round) {
    for (int to = 0; to < world_size; ++to) {
      const int mine = ticket(counter) % 5 + 1;
      int fetched[kOps] = {0}, got[kOps] = {0}, none[2] = {0};
      MPI_Request requests[2];
      MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
      for (int op = 0; op < kOps; ++op) {
        MPI_Accumulate(&mine, 1, MPI_INT, to, op, 1, MPI_INT, ops[op], window);
        MPI_Get_accumulate(&mine, 1, MPI_INT, &got[op], 1, MPI_INT, to, kOps + op, 1, MPI_INT, ops[op], window);
        MPI_Win_flush(to, window);
        MPI_Fetch_and_op(&mine, &fetched[op], MPI_INT, to, op, ops[op], window);
        MPI_Raccumulate(&mine, 1, MPI_INT, to, kOps + op, 1, MPI_INT, ops[op], window, &requests[0]);
        MPI_Rget_accumulate(&mine, 1, MPI_INT, &none[0], 1, MPI_INT, to, op, 1, MPI_INT, MPI_NO_OP, window, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Win_flush(to, window);
      }
      MPI_Fetch_and_op(&mine, &none[1], MPI_INT, to, 0, MPI_NO_OP, window);
      MPI_Win_unlock(to, window);
      show("fetched", fetched, kOps);
      show("got", got, kOps);
      show("as it is", none, 2);
      memset(&pair, 0, sizeof pair);
      memset(&before_pair, 0, sizeof before_pair);
      pair.value = mine * 10 + world_rank;
      pair.index = world_rank;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, of_pairs);
      MPI_Get_accumulate(&pair, 1, MPI_DOUBLE_INT, &before_pair, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, of_pairs);
      MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, to, 1, 1, MPI_DOUBLE_INT, MPI_MAXLOC, of_pairs);
      MPI_Win_unlock(to, of_pairs);
      took("pair", before_pair.index, 0, (int)before_pair.value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window);
    show("own", memory, kWords);
    MPI_Win_unlock(world_rank, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, of_pairs);
    for (int i = 0; i < 2; ++i) took("own pair", pairs[i].index, i, (int)pairs[i].value);
    MPI_Win_unlock(world_rank, of_pairs);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&of_pairs);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* part = argc > 1 ? argv[argc - 1] : "";
  int* tickets;
  MPI_Win counter;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &tickets, &counter);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, counter);
  *tickets = 0;
  MPI_Win_unlock(world_rank, counter);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(part, "fences") == 0) fences(counter);
  if (strcmp(part, "freed") == 0) freed(counter);
  if (strcmp(part, "epochs") == 0) epochs(counter, 0);
  if (strcmp(part, "tests") == 0) epochs(counter, 1);
  if (strcmp(part, "exclusive") == 0) locks(counter, MPI_LOCK_EXCLUSIVE);
  if (strcmp(part, "shared") == 0) locks(counter, MPI_LOCK_SHARED);
  if (strcmp(part, "always") == 0) always(counter);
  if (strcmp(part, "dynamic") == 0) dynamic(counter);
  if (strcmp(part, "operations") == 0) operations(counter);
  MPI_Win_free(&counter);
  finish();
}
