// Stands before everything that moves bytes, because it is part of the program, and makes one movement wrong that the MPI library
// wants: as if it had asked for the wrong thing. Whoever stands behind sees what it asks for.
//
//     FAULTY_COPY=KIND:RANK:MODULE:OFFSET:BYTES:NUMBER:HEADER:CARRIED
//
// FAULTY_TOLD=FILE: the file is there afterwards if something went wrong; not every movement comes in every run.
//
// The NUMBERth movement of so many bytes (0: any number) of this rank that is asked for at this place, while the fault is armed. KIND:
// to (another place), from (the same), direction, size, long, dropped. HEADER bytes before those of the message that are CARRIED are the
// library's, and in sockets there may be some behind: they are moved as they should be, or nothing that follows would be understood.
#define _GNU_SOURCE
#include "journeys_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { kShift = 8 };

static struct {
  char kind[16];
  char module[128];
  int rank;
  uintptr_t offset;
  size_t bytes;
  int number;
  size_t header, carried;
} g_fault;
static int g_is_this_rank;
static volatile int g_armed;
static int g_seen;

void prepare_fault(int rank) {
  const char* const wanted = getenv("FAULTY_COPY");
  unsigned long offset = 0, bytes = 0, header = 0, carried = 0;
  if (wanted && sscanf(wanted, "%15[^:]:%d:%127[^:]:%lu:%lu:%d:%lu:%lu", g_fault.kind, &g_fault.rank, g_fault.module, &offset, &bytes, &g_fault.number,
                       &header, &carried) == 8) {
    g_fault.offset = offset;
    g_fault.bytes = bytes;
    g_fault.header = header;
    g_fault.carried = carried;
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
  if (!g_armed || (g_fault.bytes != 0 && bytes != g_fault.bytes) || bytes < g_fault.header + g_fault.carried || g_fault.carried <= 1) return 0;
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

// A byte at a time, seen by nobody.
static void* copy_slowly(void* to, const void* from, size_t bytes) {
  volatile char* out = to;
  const volatile char* in = from;
  for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
  return to;
}

// A copy to another place, or in the wrong direction, gives another pointer than the library expects, which may go on from there: it
// would be wrong in more than this copy. So that it is still the library who calls, this is put right behind the call: by a trap in its
// own code, once. What a movement runs over at the end may be the library's own, and is put back, too, seen by nobody.
static struct {
  unsigned char* at;
  unsigned char code[4];
  size_t size;
  int sets_result;
  uintptr_t result;
  char* behind;
  char kept[kShift];
} g_return;

static void write_code(unsigned char* to, const unsigned char* code, size_t size) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)to & -page;
  mprotect((void*)first, ((uintptr_t)to + size - first + page - 1) & -page, PROT_READ | PROT_WRITE | PROT_EXEC);
  for (size_t i = 0; i < size; ++i) ((volatile unsigned char*)to)[i] = code[i];
  __builtin___clear_cache((char*)to, (char*)to + size);
}

static void put_right(int signal, siginfo_t* info, void* context) {
  ucontext_t* const state = context;
  (void)signal, (void)info;
#if defined(__aarch64__)
  if (g_return.sets_result) state->uc_mcontext.regs[0] = g_return.result;
#elif defined(__x86_64__)
  if (g_return.sets_result) state->uc_mcontext.gregs[REG_RAX] = (greg_t)g_return.result;
  state->uc_mcontext.gregs[REG_RIP] = (greg_t)g_return.at;
#else
#error "another architecture: where is a function's result?"
#endif
  if (g_return.behind) copy_slowly(g_return.behind, g_return.kept, kShift);
  write_code(g_return.at, g_return.code, g_return.size);
}

static void trap_return(const void* caller) {
#if defined(__aarch64__)
  static const unsigned char trap[] = {0x00, 0x00, 0x20, 0xd4};  // brk #0
#else
  static const unsigned char trap[] = {0xcc};  // int3
#endif
  struct sigaction action = {0};
  action.sa_sigaction = put_right;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, NULL);
  g_return.at = (unsigned char*)caller;
  g_return.size = sizeof trap;
  for (size_t i = 0; i < sizeof trap; ++i) g_return.code[i] = g_return.at[i];
  write_code(g_return.at, trap, sizeof trap);
}

static void return_there(uintptr_t result, const void* caller) {
  g_return.sets_result = 1;
  g_return.result = result;
  trap_return(caller);
}

typedef void* (*Copy)(void*, const void*, size_t);
static Copy g_memcpy, g_memmove;

static inline __attribute__((always_inline)) void* copy(Copy next, void* to, const void* from, size_t bytes, const void* caller) {
  if (__builtin_expect(g_armed, 0) && is_it(bytes, caller)) {
    const size_t header = g_fault.header;
    const size_t shift = shift_of(bytes - header);
    if (fails_by("size")) return next(to, from, bytes - shift);
    if (fails_by("long")) return next(to, from, bytes + shift);
    copy_slowly(to, from, header);
    if (fails_by("dropped")) return to;
    return_there((uintptr_t)to, caller);
    to = (char*)to + header;
    from = (const char*)from + header;
    bytes -= header;
    if (fails_by("to")) return next((char*)to + shift, from, bytes - shift);
    if (fails_by("from")) return next(to, (const char*)from + shift, bytes - shift);
    if (fails_by("direction")) return next((void*)from, to, bytes);
  }
  return next(to, from, bytes);
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
  const size_t bytes = own_count == 1 && their_count == 1 ? (own->iov_len < theirs->iov_len ? own->iov_len : theirs->iov_len) : 0;
  if (bytes > kShift && is_it(bytes, __builtin_return_address(0))) {
    static struct iovec to, from;
    if (fails_by("dropped")) return (ssize_t)bytes;
    to = (struct iovec){(char*)own->iov_base + (fails_by("to") ? kShift : 0), bytes - kShift};
    from = (struct iovec){(char*)theirs->iov_base + (fails_by("from") ? kShift : 0), bytes - kShift};
    return_there(bytes, __builtin_return_address(0));
    return next(process, &to, 1, &from, 1, flags);
  }
  return next(process, own, own_count, theirs, their_count, flags);
}

typedef ssize_t (*Vector)(int, const struct iovec*, int);

// As many bytes as were meant, or nothing that follows would be understood: what is carried of one piece begins too late, and goes on
// behind its end. `most`: so many bytes are there to be read.
enum { kMostPieces = 16 };
static struct iovec g_pieces[kMostPieces + 2];

static int shifted(const struct iovec* pieces, int count, size_t most, const void* caller) {
  for (int i = 0; i < count && count <= kMostPieces; ++i) {
    const size_t bytes = most < pieces[i].iov_len ? most : pieces[i].iov_len;
    most -= bytes;
    if (!is_it(bytes, caller)) continue;
    char* const own = (char*)pieces[i].iov_base + g_fault.header;
    const size_t rest = bytes - g_fault.header - g_fault.carried;
    int made = 0;
    for (int j = 0; j < i; ++j) g_pieces[made++] = pieces[j];
    if (g_fault.header) g_pieces[made++] = (struct iovec){pieces[i].iov_base, g_fault.header};
    g_pieces[made++] = (struct iovec){own + kShift, g_fault.carried};
    if (rest) g_pieces[made++] = (struct iovec){own + g_fault.carried, rest};
    for (int j = i + 1; j < count && most > 0; ++j) g_pieces[made++] = pieces[j];
    g_return.behind = (char*)pieces[i].iov_base + bytes;
    return made;
  }
  return 0;
}

ssize_t writev(int fd, const struct iovec* pieces, int count) {
  static Vector next;
  if (!next) next = (Vector)next_one("writev", "hidden-sockets");
  const int made = g_armed ? shifted(pieces, count, SIZE_MAX, __builtin_return_address(0)) : 0;
  return made ? next(fd, g_pieces, made) : next(fd, pieces, count);
}

ssize_t readv(int fd, const struct iovec* pieces, int count) {
  static Vector next;
  static int there;  // whose address is given away: not on the stack, or the call would not be the last thing
  if (!next) next = (Vector)next_one("readv", "hidden-sockets");
  if (!g_armed || !fails_by("to") || ioctl(fd, FIONREAD, &there) != 0) return next(fd, pieces, count);
  const int made = shifted(pieces, count, (size_t)there, __builtin_return_address(0));
  if (!made) return next(fd, pieces, count);
  copy_slowly(g_return.kept, g_return.behind, kShift);
  trap_return(__builtin_return_address(0));
  return next(fd, g_pieces, made);
}

typedef ssize_t (*Receive)(int, void*, size_t, int);
ssize_t recv(int fd, void* to, size_t bytes, int flags) {
  static Receive next;
  if (!next) next = (Receive)next_one("recv", "hidden-sockets");
  return next(fd, to, bytes, flags);
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
