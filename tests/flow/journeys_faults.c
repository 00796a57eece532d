// Stands before everything that moves bytes, because it is part of the program, and makes one movement wrong that the MPI library
// wants: as if it had asked for the wrong thing. Whoever stands behind sees what it asks for.
//
//     FAULTY_COPY=KIND:RANK:MODULE:OFFSET:BYTES:NUMBER
//
// FAULTY_TOLD=FILE: the file is there afterwards if something went wrong; not every movement comes in every run.
//
// The NUMBERth movement of so many bytes (0: any number) of this rank that is asked for at this place, while the fault is armed. KIND:
// to (another place), from (the same), direction, size, long, dropped. (A copy in the wrong direction also returns the wrong pointer, so where the
// library uses what memcpy returns, this breaks more than the copy.)
#define _GNU_SOURCE
#include "journeys_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kShift = 8 };

static struct {
  char kind[16];
  char module[128];
  int rank;
  uintptr_t offset;
  size_t bytes;
  int number;
} g_fault;
static int g_is_this_rank;
static volatile int g_armed;
static int g_seen;

void prepare_fault(int rank) {
  const char* const wanted = getenv("FAULTY_COPY");
  unsigned long offset = 0, bytes = 0;
  if (wanted && sscanf(wanted, "%15[^:]:%d:%127[^:]:%lu:%lu:%d", g_fault.kind, &g_fault.rank, g_fault.module, &offset, &bytes, &g_fault.number) == 6) {
    g_fault.offset = offset;
    g_fault.bytes = bytes;
    g_is_this_rank = g_fault.rank == rank;
  }
}

void arm_fault(int on) { g_armed = on && g_is_this_rank; }

static int is_now(void) {
  if (g_seen++ != g_fault.number) return 0;
  const char* const told = getenv("FAULTY_TOLD");
  if (told) close(open(told, O_WRONLY | O_CREAT, 0600));
  return 1;
}

// Is it the one that is to go wrong?
static int is_it(size_t bytes, const void* caller) {
  if (!g_armed || (g_fault.bytes != 0 && bytes != g_fault.bytes) || bytes < 2) return 0;
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname) return 0;
  const char* const slash = strrchr(info.dli_fname, '/');
  if (strcmp(slash ? slash + 1 : info.dli_fname, g_fault.module) != 0) return 0;
  if ((uintptr_t)caller - (uintptr_t)info.dli_fbase != g_fault.offset) return 0;
  return is_now();
}

static int fails_by(const char* kind) { return strcmp(g_fault.kind, kind) == 0; }
static size_t shift_of(size_t bytes) { return bytes > kShift ? kShift : bytes / 2; }

// What is hidden from whoever stands behind: as if the library had its own copy of it. FAULTY_COPY=hidden-copies, hidden-sockets; with
// FAULTY_HIDES all that there is.
static void* next_one(const char* name, const char* hidden) {
  const char* const wanted = getenv("FAULTY_COPY");
  const int all = getenv("FAULTY_HIDES") != NULL;
  void* const from = all || (wanted && strcmp(wanted, hidden) == 0) ? dlopen("libc.so.6", RTLD_LAZY) : RTLD_NEXT;
  return dlsym(from, name);
}

typedef void* (*Copy)(void*, const void*, size_t);
static Copy g_memcpy, g_memmove;

static inline __attribute__((always_inline)) void* copy(Copy next, void* to, const void* from, size_t bytes, const void* caller) {
  if (__builtin_expect(g_armed, 0) && is_it(bytes, caller)) {
    const size_t shift = shift_of(bytes);
    if (fails_by("dropped")) return to;
    if (fails_by("to")) return next((char*)to + shift, from, bytes - shift);
    if (fails_by("from")) return next(to, (const char*)from + shift, bytes - shift);
    if (fails_by("size")) return next(to, from, bytes - shift);
    if (fails_by("long")) return next(to, from, bytes + shift);
    if (fails_by("direction")) return next((void*)from, to, bytes);
  }
  return next(to, from, bytes);
}

// A byte at a time, until the next one is known.
static void* copy_slowly(void* to, const void* from, size_t bytes) {
  volatile char* out = to;
  const volatile char* in = from;
  for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
  return to;
}

// The call is the last thing: the library is still who has called.
void* memcpy(void* to, const void* from, size_t bytes) {
  if (!g_memcpy) {
    g_memcpy = copy_slowly;
    g_memcpy = (Copy)next_one("memcpy", "hidden-copies");
  }
  return copy(g_memcpy, to, from, bytes, __builtin_return_address(0));
}

void* memmove(void* to, const void* from, size_t bytes) {
  if (!g_memmove) g_memmove = (Copy)next_one("memmove", "hidden-copies");
  return copy(g_memmove, to, from, bytes, __builtin_return_address(0));
}

typedef ssize_t (*Across)(pid_t, const struct iovec*, unsigned long, const struct iovec*, unsigned long, unsigned long);

// The kernel moves fewer bytes, and the library believes that it moved all.
ssize_t process_vm_readv(pid_t process, const struct iovec* own, unsigned long own_count, const struct iovec* theirs, unsigned long their_count,
                         unsigned long flags) {
  static Across next;
  if (!next) next = (Across)dlsym(RTLD_NEXT, "process_vm_readv");
  if (own_count == 1 && their_count == 1 && is_it(own->iov_len < theirs->iov_len ? own->iov_len : theirs->iov_len, __builtin_return_address(0))) {
    const size_t bytes = own->iov_len < theirs->iov_len ? own->iov_len : theirs->iov_len;
    struct iovec to = {own->iov_base, bytes - kShift};
    struct iovec from = {theirs->iov_base, bytes - kShift};
    if (fails_by("dropped")) return (ssize_t)bytes;
    if (fails_by("to")) to.iov_base = (char*)to.iov_base + kShift;
    if (fails_by("from")) from.iov_base = (char*)from.iov_base + kShift;
    next(process, &to, 1, &from, 1, flags);
    return (ssize_t)bytes;
  }
  return next(process, own, own_count, theirs, their_count, flags);
}

typedef ssize_t (*Vector)(int, const struct iovec*, int);

// Other bytes than those that were meant, but as many: otherwise nothing that follows would be understood.
static const struct iovec* shifted(const struct iovec* pieces, int count, const void* caller) {
  static struct iovec room[16];
  for (int i = 0; i < count && count <= 16; ++i) {
    if (!is_it(pieces[i].iov_len, caller)) continue;
    memcpy(room, pieces, sizeof *room * (size_t)count);
    room[i].iov_base = (char*)room[i].iov_base + kShift;
    return room;
  }
  return pieces;
}

ssize_t writev(int fd, const struct iovec* pieces, int count) {
  static Vector next;
  if (!next) next = (Vector)next_one("writev", "hidden-sockets");
  return next(fd, g_armed ? shifted(pieces, count, __builtin_return_address(0)) : pieces, count);
}

ssize_t readv(int fd, const struct iovec* pieces, int count) {
  static Vector next;
  if (!next) next = (Vector)next_one("readv", "hidden-sockets");
  return next(fd, g_armed ? shifted(pieces, count, __builtin_return_address(0)) : pieces, count);
}

typedef ssize_t (*Receive)(int, void*, size_t, int);
ssize_t recv(int fd, void* to, size_t bytes, int flags) {
  static Receive next;
  if (!next) next = (Receive)next_one("recv", "hidden-sockets");
  return next(fd, is_it(bytes, __builtin_return_address(0)) ? (char*)to + kShift : to, bytes, flags);
}

typedef ssize_t (*Send)(int, const void*, size_t, int);
ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  static Send next;
  if (!next) next = (Send)next_one("send", "hidden-sockets");
  return next(fd, is_it(bytes, __builtin_return_address(0)) ? (const char*)from + kShift : from, bytes, flags);
}

// UCX's callbacks for packing: one block of what was packed is that of before.
struct Operations {
  void* (*start_pack)(void*, const void*, size_t);
  void* (*start_unpack)(void*, void*, size_t);
  size_t (*packed_size)(void*);
  size_t (*pack)(void*, size_t, void*, size_t);
  int (*unpack)(void*, size_t, const void*, size_t);
  void (*finish)(void*);
};
static struct Operations g_theirs;

static size_t pack(void* state, size_t offset, void* to, size_t room) {
  const size_t bytes = g_theirs.pack(state, offset, to, room);
  if (g_armed && fails_by("packing") && is_now()) memset((char*)to + bytes / 2 / 8 * 8, 0, 8);
  return bytes;
}

static int unpack(void* state, size_t offset, const void* from, size_t bytes) {
  if (g_armed && fails_by("unpacking") && bytes <= 1 << 20 && is_now()) {
    static char other[1 << 20];
    copy_slowly(other, from, bytes);
    memset(other + bytes / 2 / 8 * 8, 0, 8);
    return g_theirs.unpack(state, offset, other, bytes);
  }
  return g_theirs.unpack(state, offset, from, bytes);
}

typedef int (*Create)(const struct Operations*, void*, uint64_t*);
int ucp_dt_create_generic(const struct Operations* theirs, void* context, uint64_t* type) {
  static Create next;
  if (!next) next = (Create)dlsym(RTLD_NEXT, "ucp_dt_create_generic");
  const char* const wanted = getenv("FAULTY_COPY");
  if (!wanted || (strncmp(wanted, "packing:", 8) != 0 && strncmp(wanted, "unpacking:", 10) != 0)) return next(theirs, context, type);
  g_theirs = *theirs;
  struct Operations wrong = *theirs;
  wrong.pack = pack;
  wrong.unpack = unpack;
  return next(&wrong, context, type);
}
