// Thousands of correct calls of MPI whose results the program can tell, byte by byte.
//
//   traffic SEED CALLS        with 2 to 6 ranks
//   TRAFFIC_VERIFY=1          look at all results; say "WRONG call K kind" on stderr, and exit with 1 in the end
//   TRAFFIC_KINDS=bcast,scan  only these kinds of calls (names in traffic.c)
//   TRAFFIC_KNOWN_BUGS=1      make calls, too, that Open MPI 4.1 and MPICH 4.0 get wrong (traffic_neighbours.c)
//
// All ranks draw the same calls from SEED. What is in a buffer follows from the call, the rank, a number of the buffer
// and the position, so a rank knows what the others send. Buffers are pieces of one static arena with guard bytes
// between them, and there is an image of the arena as it should be: whatever MPI writes to any other place shows.
#ifndef TESTS_FLOW_TRAFFIC_H
#define TESTS_FLOW_TRAFFIC_H

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
// The libraries' constants for "no statuses" and "no weights" are no arrays.
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#ifdef OPEN_MPI
enum { kOpenMpi = true };
#else
enum { kOpenMpi = false };
#endif

enum { kMaxRanks = 6, kGuard = 64, kMaxLeaves = 128 };

extern int rank, size;  // in MPI_COMM_WORLD
extern bool verify;
extern bool known_bugs;  // TRAFFIC_KNOWN_BUGS=1: makes the calls, too, that today's libraries get wrong
extern int call;         // the number of the call, which is a tag, too

int draw(int n);                // 0 to n-1, the same on all ranks
int pick(int n, int i, int j);  // the same, for a pair of ranks, without drawing
bool chance(int one_in);
void wrong(const char* what);  // `what` is for the one who looks for it

// Memory of this call: filled with what follows from the number, which no two buffers of a rank share.
unsigned char* take(int bytes, int number);
void fill(unsigned char* at, int bytes, int who, int number);
void fresh(unsigned char* at, int bytes, int number);      // fills it again
unsigned char* image(void* at);                            // where the same memory is in the image
unsigned char* keep(int bytes, int number);                // memory for all calls
void also(void* at, unsigned char* its_image, int bytes);  // memory outside of the arena
void check(const void* at, int bytes);                     // and the guards around it
void set(void* at, const void* value, int bytes);          // in the memory and in the image

// n elements of a basic type, somehow laid out in memory. Two shapes of as many elements match.
struct leaf {
  int offset, length;
};
struct base {
  MPI_Datatype type;
  int size, extent, basics;  // bytes sent, bytes in memory, numbers
};
extern struct base bases[];
enum { kChar, kShort, kInt, kLong, kDouble, kPair, kBases };
struct shape {
  MPI_Datatype type;
  int count;  // of this type for all elements
  int base;
  int size, extent, upper;  // of one of this type: bytes sent, extent, end of the last byte
  int leaves;
  struct leaf leaf[kMaxLeaves];
  int kind, elements, blocks, length, stride, lengths[8], places[8];
  bool owned;
};
void bases_make(void);
void bases_free(void);
void shape_draw(struct shape* shape, int base, int elements);
void shape_plain(struct shape* shape, int base, int elements);
void shape_make(struct shape* shape);
void shape_free(struct shape* shape);
int shape_bytes(const struct shape* shape, int times);  // sent, for `times` shapes in a row
int shape_span(const struct shape* shape, int times);   // in memory
int shape_step(const struct shape* shape);              // from one shape to the next
// The number of elements of a message: often few, sometimes none, sometimes thousands.
int elements_drawn(void);
int base_drawn(int elements);

// What `to` at `at` holds when it has received `times` shapes of what `who` sends from its buffer `number`.
void expect(void* at, const struct shape* to, int who, int number, const struct shape* from, int offset, int times);
void check_status(const MPI_Status* status, int source, int tag, const struct shape* to, int bytes);

// What one rank sends and another one receives: as many numbers, or room for more.
struct flow {
  struct shape send, receive;
  int from, to, bytes;
};
enum { kSend = 1, kReceive = 100 };  // numbers of buffers
void flow_drawn(struct flow* flow, bool room_for_more);
unsigned char* side(struct flow* flow, bool sends, int number);        // makes this rank's type and takes its memory
void arrived(unsigned char* at, const struct flow* flow, int number);  // looks, before MPI is called again
MPI_Comm comm_drawn(void);
// Even and odd ranks have other types, all of them for the same numbers.
void two_flows_drawn(struct flow* flows, bool alike);
void flows_plain(struct flow* flows);  // with as many numbers of a basic type instead

// A communicator and the ranks of MPI_COMM_WORLD in it.
struct team {
  MPI_Comm comm;
  int size, rank, who[kMaxRanks];
};
enum { kWorld, kDup, kReversed, kHalves, kSelf, kTeams };
extern struct team teams[kTeams];
const struct team* team_drawn(void);

// How an operation is made and completed.
enum mode { kBlocking, kNonblocking, kPersistent };
enum mode mode_drawn(void);
int starts_of(enum mode mode);
void complete(MPI_Request* request, enum mode mode, int how);
#if MPI_VERSION >= 4
#define IF_PERSISTENT(...) __VA_ARGS__
#else
#define IF_PERSISTENT(...)
#endif
// Makes a collective in the caller's `mode`, for its `start`-th time, with its `request`.
#define COLLECTIVE(NAME, NONBLOCKING, ...)                                     \
  do {                                                                         \
    if (mode == kBlocking) MPI_##NAME(__VA_ARGS__);                            \
    if (mode == kNonblocking) MPI_##NONBLOCKING(__VA_ARGS__, &request);        \
    IF_PERSISTENT(if (mode == kPersistent) {                                   \
      if (start == 0) MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
      MPI_Start(&request);                                                     \
    })                                                                         \
  } while (0)

typedef void kind_function(void);
kind_function message, exchange, persistent_message, ring, ring_replace, any_source, probed, matched, self,
    packed_message, absolute, send_and_receive, barrier, bcast, gather, gatherv, scatter, scatterv, allgather,
    allgatherv, alltoall, alltoallv, alltoallw, overlap, reduce, allreduce, reduce_scatter, scan, neighbours, across,
    fenced, posted, locked, requested;

// Where `peers` blocks of so many shapes are, in shapes: in any order, with gaps. Returns the end of the last one.
int places(int peers, const int* times, int salt, int* place);
void in_units(int peers, const struct shape* shape, const int* times, const int* place, int* counts,
              int* displacements);

void topologies_make(void);
void topologies_free(void);
void operations_make(void);
void operations_free(void);
void windows_make(void);
void windows_free(void);
void across_make(void);
void across_free(void);

#endif
