// One collective call of one rank: its arguments, its buffers, and the ways to make it.
#ifndef SWEEP_EXCHANGE_H
#define SWEEP_EXCHANGE_H

#include "buffers.h"

enum collective {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw
};
extern const char* const collective_names[];

struct operand {
  void* address;
  long count;
  MPI_Datatype type;
  // Of the calls that take one for each process; the second pair is for large counts.
  int* counts;
  int* places;
  MPI_Count* counts_c;
  MPI_Aint* places_c;
  MPI_Datatype* types;
};

struct exchange {
  enum collective what;
  struct operand send, receive;
  int root;
  MPI_Op op;
  struct buffer out, in;
  void (*fill)(const struct scenario*, struct exchange*, int start);
  void (*check)(const struct scenario*, struct exchange*, int start);
  const void* more;
};

int issue(const struct scenario* s, struct exchange* x, MPI_Request* request);
// Fills, calls, completes and checks, in the variant of the scenario; several nonblocking calls at once.
void perform(struct scenario* s, struct exchange* x, int count);
// Waits for all, with any of the functions for it. Statuses are in the order of the requests.
bool complete(struct draw* d, MPI_Request* requests, int count, MPI_Status* statuses);

enum spacing { kRegular, kByItem, kByByte };
// The blocks of one side of a call: one after the other, or as counts and displacements in any order and with gaps, or as
// byte displacements with a datatype for each.
struct plan {
  bool sending;
  enum spacing how;
  int blocks;
  const long* units;
  const uint64_t *before, *after;
};
void lay_out(const struct scenario* s, const struct sides* sides, struct plan plan, struct operand* o, struct buffer* b);
void fill_both(const struct scenario* s, struct exchange* x, int start);
void check_both(const struct scenario* s, struct exchange* x, int start);

#endif
