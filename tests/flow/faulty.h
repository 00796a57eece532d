// A faulty MPI: a preload library between the checker's preload library and the real MPI that breaks one real call.
//
// Compiled once for every MPI:  mpicc -shared -fPIC -o libfaulty.so faulty_*.c
//   REPRISE_FAULT=NAME        what to break: a name of FAULTS below
//   REPRISE_FAULT_AT=N        the N-th eligible call, from 0
//   REPRISE_FAULT_RANK=R      at this rank of MPI_COMM_WORLD
//   REPRISE_FAULT_LOG=FILE    gets a line when it is done:
//                               FAULT rank FUNCTION eligible-index index-among-the-calls-of-FUNCTION NAME: detail
//   REPRISE_FAULT_HEAP=1      the program has room behind all its buffers, wherever they are
//   REPRISE_FAULT_COUNT=FILE  gets, without REPRISE_FAULT, at MPI_Finalize a line per fault: NAME rank eligible-calls
// A call is eligible if breaking it makes a difference to somebody's data, so that every fault does real damage.
#ifndef TESTS_FLOW_FAULTY_H
#define TESTS_FLOW_FAULTY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

#define FAULTS(F)                                                                                           \
  F(kContiguous, "contiguous")                                                                              \
  F(kUnpackOrder, "unpack-order")                                                                           \
  F(kDisplacement, "displacement")                                                                          \
  F(kDirection, "direction")                                                                                \
  F(kSendSize, "send-size")                                                                                 \
  F(kLostBlock, "lost-block")                                                                               \
  F(kSwappedNeighbours, "swapped-neighbours")                                                               \
  F(kInPlace, "in-place")                                                                                   \
  F(kStaleStart, "stale-start")                                                                             \
  F(kEarly, "early")                                                                                        \
  F(kBehind, "behind") F(kRoot, "root") F(kStatusSource, "status-source") F(kStatusCount, "status-count")   \
      F(kSkippedRank, "skipped-rank") F(kAccumulateTwice, "accumulate-twice") F(kPutShifted, "put-shifted") \
          F(kGetStale, "get-stale")
#define FAULT_CONSTANT(CONSTANT, NAME) CONSTANT,
enum fault { FAULTS(FAULT_CONSTANT) kFaults };
#define BIT(FAULT) (1u << (FAULT))

// Every function of the real MPI that is called here. All go through this table: the symbols themselves belong to the
// checker's library or to this one.
#define REAL_FUNCTIONS(F)                                                                                              \
  F(Send)                                                                                                              \
  F(Ssend)                                                                                                             \
  F(Bsend)                                                                                                             \
  F(Rsend)                                                                                                             \
  F(Isend)                                                                                                             \
  F(Issend)                                                                                                            \
  F(Ibsend)                                                                                                            \
  F(Irsend)                                                                                                            \
  F(Send_init)                                                                                                         \
  F(Ssend_init)                                                                                                        \
  F(Bsend_init) F(Rsend_init) F(Recv) F(Irecv) F(Recv_init) F(Mrecv) F(Imrecv) F(Sendrecv) F(Sendrecv_replace) F(      \
      Probe) F(Iprobe) F(Start) F(Startall) F(Wait) F(Test) F(Waitall) F(Testall) F(Waitany) F(Testany) F(Waitsome)    \
      F(Testsome) F(Request_free) F(Test_cancelled) F(Get_count) F(Status_set_elements) F(Barrier) F(Bcast) F(Gather)  \
          F(Gatherv) F(Scatter) F(Scatterv) F(Allgather) F(Allgatherv) F(Alltoall) F(Alltoallv) F(Alltoallw) F(Ibcast) \
              F(Igather) F(Igatherv) F(Iallgather) F(Iallgatherv) F(Ialltoall) F(Ialltoallv) F(Ialltoallw)             \
                  F(Neighbor_allgather) F(Neighbor_allgatherv) F(Neighbor_alltoall) F(Neighbor_alltoallv)              \
                      F(Neighbor_alltoallw) F(Ineighbor_allgather) F(Ineighbor_allgatherv) F(Ineighbor_alltoall)       \
                          F(Ineighbor_alltoallv) F(Ineighbor_alltoallw) F(Reduce) F(Allreduce) F(Reduce_scatter)       \
                              F(Reduce_scatter_block) F(Scan) F(Exscan) F(Reduce_local) F(Win_create) F(Win_allocate)  \
                                  F(Win_free) F(Win_fence) F(Win_complete) F(Win_lock) F(Win_lock_all) F(Win_unlock)   \
                                      F(Win_unlock_all) F(Win_flush) F(Win_flush_all) F(Win_flush_local)               \
                                          F(Win_flush_local_all) F(Put) F(Get) F(Accumulate) F(Rput) F(Rget)           \
                                              F(Raccumulate) F(Initialized) F(Finalize) F(Comm_rank) F(Comm_get_name)  \
                                                  F(Comm_size) F(Comm_remote_size) F(Comm_test_inter) F(Comm_group)    \
                                                      F(Group_free) F(Group_translate_ranks) F(Topo_test)              \
                                                          F(Graph_neighbors_count) F(Graph_neighbors)                  \
                                                              F(Dist_graph_neighbors_count) F(Dist_graph_neighbors)    \
                                                                  F(Cartdim_get) F(Cart_shift) F(Type_size)            \
                                                                      F(Type_get_extent) F(Type_get_true_extent)       \
                                                                          F(Type_get_envelope) F(Type_create_hindexed) \
                                                                              F(Type_commit) F(Type_dup) F(Type_free)  \
                                                                                  F(Pack) F(Unpack) F(Pack_size)
#if MPI_VERSION >= 4
#define REAL_FUNCTIONS_4(F) \
  F(Isendrecv)              \
  F(Bcast_init) F(Gather_init) F(Scatter_init) F(Allgather_init) F(Alltoall_init) F(Reduce_init) F(Allreduce_init)
#else
#define REAL_FUNCTIONS_4(F)
#endif
#define REAL_MEMBER(NAME) __typeof__(&PMPI_##NAME) NAME;
extern struct real {
  REAL_FUNCTIONS(REAL_MEMBER)
  REAL_FUNCTIONS_4(REAL_MEMBER)
} real;

// Which of a rank's calls of a function it is.
struct call {
  const char* function;
  long index;
};

// Begins a function: a call by the library itself, or by this one, passes through untouched.
#define PASS(NAME, ...)                        \
  if (!enter()) return real.NAME(__VA_ARGS__); \
  static atomic_long calls_made;               \
  const struct call call = {"MPI_" #NAME, atomic_fetch_add(&calls_made, 1)}
// The same on a communicator: those of the checker's own are not the program's.
#define PASS_ON(COMM, NAME, ...)                                   \
  if (is_private(COMM) || !enter()) return real.NAME(__VA_ARGS__); \
  static atomic_long calls_made;                                   \
  const struct call call = {"MPI_" #NAME, atomic_fetch_add(&calls_made, 1)}
// The checker may forward to either name.
#define BOTH_NAMES(NAME) __typeof__(MPI_##NAME) PMPI_##NAME __attribute__((alias("MPI_" #NAME), visibility("default")))

bool is_private(MPI_Comm comm);
bool enter(void);
int leave(int code);

extern int world_rank;
extern unsigned watch;  // the faults that this rank can do to its own calls, as bits
// One that takes several ranks concerns all of them.
bool wanted_together(enum fault fault);
int breaking_rank(void);
long breaking_index(void);
// Counts an eligible call; true if it is the one to break.
bool due(enum fault fault);
long eligible(enum fault fault);
void applied(enum fault fault, struct call call, const char* format, ...) __attribute__((format(printf, 3, 4)));

// A piece of memory as MPI sees it.
struct block {
  char* at;
  int count;
  MPI_Datatype type;
  int bytes;
  int from;        // the rank that it comes from
  bool shiftable;  // it can be at the wrong place by:
  ptrdiff_t shift;
  char* old;  // what was there before the call
  bool owns_type;
};
int bytes_of(int count, MPI_Datatype type);
struct block block_of(const void* at, int count, MPI_Datatype type);
char* packed(const struct block* block);
void unpacked(const struct block* block, const char* bytes);
void span_of(const struct block* block, char** begin, char** end);
bool is_named(MPI_Datatype type);
void keep_type(struct block* block);
void release_type(struct block* block);
// A contiguous piece of the packed bytes that is contiguous in memory, too.
struct run {
  int start, length;
};
int runs_of(const struct block* block, struct run** runs);

// What a call receives, and the faults that it can suffer. NULL if none of them is wanted.
struct operation {
  struct call call;
  unsigned suits;
  bool any_source;
  MPI_Comm comm;
  int blocks;
  struct block block[];
};
struct operation* operation_new(struct call call, unsigned suits, MPI_Comm comm, int blocks);
void operation_block(struct operation* op, int i, const void* at, int count, MPI_Datatype type, int from);
void operation_before(struct operation* op);
// `status` is that of a receive, else NULL; `seen` if the program gets it. `by` says what completed it.
void operation_after(struct operation* op, MPI_Status* status, bool seen, const char* by);
void operation_free(struct operation* op);
struct operation* operation_message(struct call call, const void* at, int count, MPI_Datatype type, int source,
                                    MPI_Comm comm, bool blocking);
void deliver_late(void);

// Persistent sends and collectives: what they sent when they were started for the first time.
struct stale;
struct stale* stale_new(struct call call, const void** at, int count, MPI_Datatype type);

// Requests under way: `op` and `stale` may be NULL.
void request_add(MPI_Request request, struct operation* op, struct stale* stale, bool persistent);

int size_of(MPI_Comm comm);  // the ranks that are heard in it
int rank_of(MPI_Comm comm);
MPI_Aint extent_of(MPI_Datatype type);
bool is_root(MPI_Comm comm, int root);
// Takes a rank's own contribution away, if it is in the receive buffer.
void drop_own(struct call call, const void* send, struct block block);

#pragma GCC visibility pop
#endif
