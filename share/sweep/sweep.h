// What all parts of the sweep share: random draws, the case at hand, and how a wrong result is reported.
//
// A case is drawn from the seed and its number alone, and equally on all ranks: every rank knows what all others send,
// and computes by itself what must arrive. Nothing that is expected was ever asked from the MPI library.
#ifndef SWEEP_H
#define SWEEP_H

// The C++ bindings that mpi.h may pull in do not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define PERSISTENT_COLLECTIVES 1
#define PERSISTENT(name, ...) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#elif defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 4
// Open MPI 4 has the persistent collectives of MPI 4 as an extension.
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT_COLLECTIVES 1
#define PERSISTENT(name, ...) MPIX_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#endif
#endif
#ifndef PERSISTENT_COLLECTIVES
#define PERSISTENT_COLLECTIVES 0
#define PERSISTENT(name, ...) MPI_ERR_OTHER
#endif

#include "comms.h"
#include "draw.h"

enum variant { kBlocking, kNonblocking, kPersistent };
enum { kStarts = 3 };  // of a persistent request, with new data each time

struct scenario;
struct family {
  const char* name;
  void (*run)(struct scenario*, const struct family*);
  int code;  // what `run` makes of it
};

struct scenario {
  long number;
  uint64_t key;      // of seed and number: all data depends on it
  struct draw draw;  // the same on all ranks, as long as all draw the same
  enum variant variant;
  bool large;  // the functions with MPI_Count arguments
  bool inter;  // an intercommunicator, where one is allowed
  struct comm comm;
  char text[800];
};

struct options {
  uint64_t seed;
  bool verbose;
  bool explain;  // how the datatypes are made
  bool uniform;  // all ranks of a call use the same datatype and count
  long most_bytes;
};
extern struct options options;

// Names the call and its arguments. Everything is known without MPI so far, so that a crash can be told where it was.
__attribute__((format(printf, 3, 4))) void describe(struct scenario* s, const char* call, const char* format, ...);
// Makes the communicator. False if this process has no part in the case.
bool begin(struct scenario* s);

// The first one of a rank is kept for the report.
__attribute__((format(printf, 1, 2))) void wrong(const char* format, ...);
// What follows " [" in the report, so that a known kind of deviation can be listed apart.
void remark(const char* text);
bool is_wrong(void);
bool is_refused(void);
// True if the call succeeded; otherwise the case counts as refused.
bool accepted(const char* call, int code);
#define DO(call) accepted(#call, call)

// Memory that lives as long as the case.
void* keep(size_t bytes);
size_t keep_count(void);
#define KEEP(type, count) ((type*)keep(sizeof(type) * (size_t)(count)))
// A datatype that is freed at the end of the case.
void keep_type(MPI_Datatype handle);

// "MPI_Gatherv", "MPI_Igatherv_c", "MPI_Gatherv_init"
const char* function_name(const struct scenario* s, const char* name);

// parameters.c: prints the choices that the library offers.
void list_parameters(void);

extern const struct family collective_families[], reduction_families[], neighbour_families[], message_families[],
    packing_families[], window_families[];

#endif
