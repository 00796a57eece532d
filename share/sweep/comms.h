// Communicators of all kinds. What ranks and neighbours there are is computed here and checked against MPI's answers.
#ifndef SWEEP_COMMS_H
#define SWEEP_COMMS_H

#include <mpi.h>
#include <stdbool.h>

#include "draw.h"

enum comm_kind {
  kWorld,
  kDup,
  kSplit,
  kReversed,
  kSelf,
  kSubset,
  kMerged,
  kInter,
  kCart,
  kGraph,
  kDistGraph,
  kDistGraphAdjacent,
  kCommKinds
};

enum { kMostDims = 3 };

// Of one process. A message along an edge is named by both ends and a key, which both of them know: which edge it is if
// there are several between the two.
struct neighbours {
  int in, out;
  int* sources;
  int* destinations;  // MPI_PROC_NULL beyond the border of a Cartesian grid
  int* in_key;
  int* out_key;
  bool ambiguous;  // there are several edges between two processes
};

struct comm {
  MPI_Comm handle;
  enum comm_kind kind;
  bool member;
  int rank, size;  // in the local group
  int side;        // which group: of an intercommunicator, or of the parts of a split
  int remote;      // size of the remote group; 0 for an intracommunicator
  char text[120];
  int way;        // which of several functions makes it
  int* members;   // world ranks in the order of the (local) group
  int* others;    // of the remote group
  bool reorder;
  int dims[kMostDims], periods[kMostDims], ndims;
  int edges;  // of a graph
  int* from;
  int* to;
  uint64_t shuffle;
  struct neighbours near;
};

enum comm_choice { kIntra, kAny, kTopology };

struct scenario;
void plan_comm(struct scenario* s, enum comm_choice choice);
// False if MPI refused it.
bool make_comm(struct comm* c);
void free_comm(struct comm* c);
// A number for the process `rank` of the local or the remote group, the same from both sides.
static inline uint64_t local_id(const struct comm* c, int rank) { return (uint64_t)c->side * 65536 + (uint64_t)rank; }
static inline uint64_t peer_id(const struct comm* c, int rank) {
  return (uint64_t)(c->remote ? 1 - c->side : c->side) * 65536 + (uint64_t)rank;
}
static inline int peers(const struct comm* c) { return c->remote ? c->remote : c->size; }

// topologies.c
void plan_topology(struct draw* d, struct comm* c);
bool make_topology(struct comm* c);

extern int world_rank, world_size;
extern bool one_host;  // all processes are on one host

#endif
