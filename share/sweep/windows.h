// Windows of all kinds, and the ways to synchronise.
#ifndef SWEEP_WINDOWS_H
#define SWEEP_WINDOWS_H

#include "buffers.h"

enum window_kind { kCreated, kAllocated, kShared, kDynamic };
enum sync { kFence, kPscw, kLock, kLockAll };

struct window {
  MPI_Win handle;
  enum window_kind kind;
  enum sync sync;
  bool exclusive;
  int reach;  // every process has operations on so many others: itself and those that follow
  bool tests;
  uint64_t key;
  struct buffer buffer;  // its blocks are added before it is opened
  MPI_Aint* bases;       // of a dynamic window: the addresses at all processes
  MPI_Group origins, targets;
  char text[80];
};

void draw_window(struct scenario* s, struct window* w);
bool open_window(const struct scenario* s, struct window* w);
bool begin_epoch(const struct scenario* s, struct window* w);
bool begin_target(struct window* w, int target);
// What names the byte at `at` behind the address of the target's buffer.
MPI_Aint displacement(const struct window* w, int target, ptrdiff_t at);
bool flush_target(struct window* w, int target);
bool end_target(struct window* w, int target);
// Everything is complete everywhere, and the own memory may be looked at.
bool end_epoch(const struct scenario* s, struct window* w);
bool close_window(struct window* w);
// Only then are requests allowed.
static inline bool is_passive(const struct window* w) { return w->sync >= kLock; }

void run_atomics(struct scenario* s, const struct family* family);

#endif
