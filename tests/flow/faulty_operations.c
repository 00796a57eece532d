// What a call receives, and what is done to it: everything here happens after the real call, to data that was right.
#include "faulty.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct operation* operation_new(struct call call, unsigned suits, MPI_Comm comm, int blocks) {
  if (!(watch & suits)) return NULL;
  struct operation* op = calloc(1, sizeof *op + (size_t)blocks * sizeof op->block[0]);
  op->call = call;
  op->suits = suits & watch;
  op->comm = comm;
  op->blocks = blocks;
  return op;
}

void operation_block(struct operation* op, int i, const void* at, int count, MPI_Datatype type, int from) {
  if (!op) return;
  op->block[i] = block_of(at, count, type);
  op->block[i].from = from;
}

struct operation* operation_message(struct call call, const void* at, int count, MPI_Datatype type, int source,
                                    MPI_Comm comm, bool blocking) {
  if (source == MPI_PROC_NULL) return NULL;
  const unsigned suits = BIT(kUnpackOrder) | BIT(kSendSize) | BIT(kStatusSource) | BIT(kStatusCount);
  struct operation* op = operation_new(call, suits | (blocking ? BIT(kBehind) : BIT(kEarly)), comm, 1);
  operation_block(op, 0, at, count, type, source);
  if (op) op->any_source = source == MPI_ANY_SOURCE;
  return op;
}

void operation_before(struct operation* op) {
  for (int i = 0; op && i < op->blocks; ++i) {
    free(op->block[i].old);
    op->block[i].old = packed(&op->block[i]);
  }
}

void operation_free(struct operation* op) {
  for (int i = 0; op && i < op->blocks; ++i) {
    release_type(&op->block[i]);
    free(op->block[i].old);
  }
  free(op);
}

static bool changed(const struct block* block, const char* new) {
  return block->bytes > 0 && memcmp(block->old, new, (size_t)block->bytes) != 0;
}

// Data that comes after its completion was reported.
static struct {
  struct block block;
  char* data;
} late;
static pthread_mutex_t late_mutex = PTHREAD_MUTEX_INITIALIZER;

void deliver_late(void) {
  pthread_mutex_lock(&late_mutex);
  if (late.data) {
    // Whoever uses the memory for something else by now is left alone: this fault is to be seen, not to spread.
    char* now = packed(&late.block);
    if (!changed(&late.block, now)) unpacked(&late.block, late.data);
    free(now), free(late.data), free(late.block.old);
    late.data = NULL;
    release_type(&late.block);
  }
  pthread_mutex_unlock(&late_mutex);
}

static void come_early(struct block* block, const char* new) {
  pthread_mutex_lock(&late_mutex);
  unpacked(block, block->old);
  late.block = *block;
  late.block.owns_type = false;
  keep_type(&late.block);
  late.block.old = packed(block);
  late.data = malloc((size_t)block->bytes);
  memcpy(late.data, new, (size_t)block->bytes);
  pthread_mutex_unlock(&late_mutex);
}

// Pieces of equal size, in reverse order.
static char* reversed(const struct block* block, const char* new, int received) {
  struct run* runs;
  const int number = runs_of(block, &runs);
  char* other = malloc((size_t)block->bytes);
  memcpy(other, new, (size_t)block->bytes);
  int* same = malloc((size_t)(number + 1) * sizeof *same);
  bool* done = calloc((size_t)number + 1, sizeof *done);
  for (int i = 0; i < number; ++i) {
    int found = 0;
    for (int j = i; j < number; ++j)
      if (!done[j] && runs[j].length == runs[i].length && runs[j].start + runs[j].length <= received) {
        done[j] = true;
        same[found++] = j;
      }
    for (int k = 0; k < found; ++k)
      memcpy(other + runs[same[k]].start, new + runs[same[found - 1 - k]].start, (size_t)runs[i].length);
  }
  free(runs), free(same), free(done);
  return other;
}

static void break_status(struct operation* op, MPI_Status* status, int received, const char* by) {
  if (op->any_source && op->suits & BIT(kStatusSource)) {
    const int ranks = size_of(op->comm);
    if (ranks > 1 && status->MPI_SOURCE >= 0 && due(kStatusSource)) {
      const int heard = status->MPI_SOURCE;
      status->MPI_SOURCE = (heard + 1) % ranks;
      applied(kStatusSource, op->call, "source %d instead of %d, %s", status->MPI_SOURCE, heard, by);
    }
  }
  if (op->suits & BIT(kStatusCount) && received > 0 && due(kStatusCount)) {
    const int element = op->block[0].bytes / op->block[0].count;
    const int fewer = received > element ? received - element : received / 2;
    real.Status_set_elements(status, MPI_BYTE, fewer);
    applied(kStatusCount, op->call, "%d bytes instead of %d, %s", fewer, received, by);
  }
}

static void break_message(struct operation* op, int received, const char* new, const char* by) {
  struct block* block = &op->block[0];
  if (op->suits & BIT(kUnpackOrder) && received > 0) {
    char* other = reversed(block, new, received);
    if (memcmp(other, new, (size_t)block->bytes) != 0 && due(kUnpackOrder)) {
      unpacked(block, other);
      applied(kUnpackOrder, op->call, "%d bytes, pieces of equal size in reverse order, %s", received, by);
    }
    free(other);
  }
  if (op->suits & BIT(kSendSize) && received > 0) {
    const int missing = received >= 8 ? received / 4 : 1;
    const int from = received - missing;
    if (memcmp(block->old + from, new + from, (size_t)missing) != 0 && due(kSendSize)) {
      char* other = malloc((size_t)block->bytes);
      memcpy(other, new, (size_t)block->bytes);
      memcpy(other + from, block->old + from, (size_t)missing);
      unpacked(block, other);
      free(other);
      applied(kSendSize, op->call, "the last %d of %d bytes did not come, %s", missing, received, by);
    }
  }
  if (op->suits & BIT(kEarly) && changed(block, new) && due(kEarly)) {
    come_early(block, new);
    applied(kEarly, op->call, "%d bytes come with the next call, %s", received, by);
  }
}

// The block that a fault hits: another one each time, so that a run over all eligible calls hits first and last ones.
static int choose(int candidates, enum fault fault) { return (int)(eligible(fault) % candidates); }

static void break_blocks(struct operation* op, char** new, const char* by) {
  int* candidates = malloc((size_t)(op->blocks + 1) * sizeof *candidates);
  int found = 0;
  const int last = op->blocks - 1;
  for (int i = 0; i < op->blocks; ++i)
    if (changed(&op->block[i], new[i])) candidates[found++] = i;
  if (op->suits & BIT(kDirection) && found > 0) {
    // The last one is the business of "lost-block", if there is another.
    const int first = candidates[found - 1] == last && found > 1 ? found - 1 : found;
    const int i = candidates[choose(first, kDirection)];
    if (due(kDirection)) {
      unpacked(&op->block[i], op->block[i].old);
      applied(kDirection, op->call, "block %d of %d keeps its old content, %s", i, op->blocks, by);
    }
  }
  if (op->suits & BIT(kLostBlock) && last > 0 && found > 0 && candidates[found - 1] == last && due(kLostBlock)) {
    unpacked(&op->block[last], op->block[last].old);
    applied(kLostBlock, op->call, "block %d of %d is lost, %s", last, op->blocks, by);
  }
  if (op->suits & BIT(kDisplacement)) {
    char *lowest = NULL, *highest = NULL;
    for (int i = 0; i < op->blocks; ++i) {
      char *begin, *end;
      if (op->block[i].bytes == 0) continue;
      span_of(&op->block[i], &begin, &end);
      if (!lowest || begin < lowest) lowest = begin;
      if (!highest || end > highest) highest = end;
    }
    int fit = 0;
    for (int k = 0; k < found; ++k) {
      const struct block* block = &op->block[candidates[k]];
      char *begin, *end;
      span_of(block, &begin, &end);
      if (block->shiftable && begin + block->shift >= lowest && end + block->shift <= highest)
        candidates[fit++] = candidates[k];
    }
    if (fit > 0) {
      const int i = candidates[choose(fit, kDisplacement)];
      if (due(kDisplacement)) {
        struct block wrong = op->block[i];
        wrong.at += wrong.shift;
        unpacked(&op->block[i], op->block[i].old);
        unpacked(&wrong, new[i]);
        applied(kDisplacement, op->call, "block %d of %d lands %td bytes away, %s", i, op->blocks, wrong.shift, by);
      }
    }
  }
  free(candidates);
}

static void break_neighbours(struct operation* op, char** new, const char* by) {
  for (int i = 0; i < op->blocks; ++i)
    for (int j = i + 1; j < op->blocks; ++j) {
      struct block *one = &op->block[i], *other = &op->block[j];
      if (one->from != other->from || one->bytes != other->bytes || one->bytes == 0 || one->from == MPI_PROC_NULL ||
          memcmp(new[i], new[j], (size_t)one->bytes) == 0)
        continue;
      if (due(kSwappedNeighbours)) {
        unpacked(one, new[j]);
        unpacked(other, new[i]);
        applied(kSwappedNeighbours, op->call, "blocks %d and %d, both from %d, %s", i, j, one->from, by);
      }
      return;
    }
}

static void break_root(struct operation* op, char** new, const char* by) {
  struct block* block = &op->block[0];
  if (block->bytes == 0 || !due(kRoot)) return;
  const bool differs = changed(block, new[0]);
  for (int i = 0; !differs && i < block->bytes; ++i) block->old[i] = (char)~block->old[i];
  unpacked(block, block->old);
  applied(kRoot, op->call, "%s instead of the root's data, %s", differs ? "its own" : "other", by);
}

// The last element that a get brought.
static void break_get(struct operation* op, char* new, const char* by) {
  struct block* block = &op->block[0];
  if (block->bytes == 0) return;
  const int element = block->bytes / block->count;
  char* last = new + block->bytes - element;
  bool nothing = true;
  for (int i = 0; i < element; ++i) nothing = nothing && last[i] == 0;
  if (nothing || !due(kGetStale)) return;
  memset(last, 0, (size_t)element);
  unpacked(block, new);
  applied(kGetStale, op->call, "zeros for the last %d of %d bytes, %s", element, block->bytes, by);
}

// The program's own static data: there the bytes behind a buffer are no list of free memory and no return address.
static int find_static(struct dl_phdr_info* info, size_t size, void* data) {
  uintptr_t* range = data;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W && begin <= range[0] &&
        range[1] <= end)
      range[2] = 1;
  }
  return 1;  // the program comes first
}

static void break_behind(struct operation* op, const char* by) {
  enum { kBytes = 4 };
  char* last = NULL;
  for (int i = 0; i < op->blocks; ++i) {
    char *begin, *end;
    if (op->block[i].bytes == 0) continue;
    span_of(&op->block[i], &begin, &end);
    if (!last || end > last) last = end;
  }
  if (!last) return;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t range[3] = {(uintptr_t)last, (uintptr_t)last + kBytes, 0};
  if ((range[0] - 1) / page != (range[1] - 1) / page) return;
  dl_iterate_phdr(find_static, range);
  if ((!range[2] && !getenv("REPRISE_FAULT_HEAP")) || !due(kBehind)) return;
  for (int i = 0; i < kBytes; ++i) last[i] = (char)~last[i];
  applied(kBehind, op->call, "%d bytes behind the buffer changed, %s", kBytes, by);
}

void operation_after(struct operation* op, MPI_Status* status, bool seen, const char* by) {
  if (!op) return;
  char** new = calloc((size_t)op->blocks + 1, sizeof *new);
  for (int i = 0; i < op->blocks; ++i) new[i] = packed(&op->block[i]);
  if (status) {
    int received = 0;
    real.Get_count(status, MPI_BYTE, &received);
    if (received < 0 || received > op->block[0].bytes) received = 0;
    break_message(op, received, new[0], by);
    if (seen) break_status(op, status, received, by);
  } else {
    break_blocks(op, new, by);
    if (op->suits & BIT(kSwappedNeighbours)) break_neighbours(op, new, by);
    if (op->suits & BIT(kRoot)) break_root(op, new, by);
    if (op->suits & BIT(kGetStale)) break_get(op, new[0], by);
  }
  if (op->suits & BIT(kBehind)) break_behind(op, by);
  for (int i = 0; i < op->blocks; ++i) free(new[i]);
  free(new);
}
