// Sends the same bytes in a chosen way three times; the second time, with FAULTY_COPY, the library's own copying goes wrong
// (journeys_faults.c). Exit status 3 if bytes are not where they should be.
//
//     journeys CALL BYTES SHAPE     contiguous, blocks8, blocks64
//     journeys all BYTES SHAPE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journeys_faults.h"

enum { kRounds = 3, kFaultyRound = 1, kSlack = 4096 };

static int g_rank, g_ranks, g_wrong;
static MPI_Datatype g_type;  // g_bytes bytes in g_extent
static size_t g_bytes, g_extent, g_block, g_stride;

static unsigned char byte_of(int rank, int round, size_t at) {
  uint64_t mixed = (at + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)(rank * 131 + round * 31 + 7) * 0xbf58476d1ce4e5b9ull;
  mixed ^= mixed >> 29;
  return (unsigned char)(mixed * 0x94d049bb133111ebull >> 56);
}

// Each call has its buffers: so many elements of the type.
static unsigned char* buffer(int elements) {
  unsigned char* const made = malloc(g_extent * (size_t)elements + 2 * kSlack);
  memset(made, 0xee, g_extent * (size_t)elements + 2 * kSlack);
  return made + kSlack;
}
static void release(unsigned char* one) { free(one - kSlack); }

static size_t place(size_t at) { return at / g_block * g_stride + at % g_block; }

static void fill(unsigned char* element, int rank, int round, int to) {
  for (size_t at = 0; at < g_bytes; ++at) element[place(at)] = byte_of(rank + 100 * to, round, at);
}

static void check(const unsigned char* element, int rank, int round, int to) {
  for (size_t at = 0; at < g_bytes; ++at)
    if (element[place(at)] != byte_of(rank + 100 * to, round, at)) g_wrong = 1;
}

static void messages(const char* how, int round) {
  unsigned char* const one = buffer(1);
  unsigned char* const other = buffer(1);
  const int to = (g_rank + 1) % g_ranks;
  const int from = (g_rank + g_ranks - 1) % g_ranks;
  fill(one, g_rank, round, 0);
  MPI_Request requests[2];
  if (strcmp(how, "isend") == 0) {
    MPI_Irecv(other, 1, g_type, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(one, 1, g_type, to, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (strcmp(how, "sendrecv") == 0) {
    MPI_Sendrecv(one, 1, g_type, to, 1, other, 1, g_type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(how, "persistent") == 0) {
    MPI_Recv_init(other, 1, g_type, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(one, 1, g_type, to, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  } else if (strcmp(how, "late") == 0) {  // the message waits for its receive
    MPI_Isend(one, 1, g_type, to, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(other, 1, g_type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  } else {  // the receive waits for its message
    MPI_Irecv(other, 1, g_type, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(one, 1, g_type, to, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  check(other, from, round, 0);
  release(one);
  release(other);
}

static void one_to_all(const char* how, int round) {
  unsigned char* const mine = buffer(1);
  unsigned char* const all = buffer(g_ranks);
  const int root = 0;
  if (strcmp(how, "bcast") == 0) {
    if (g_rank == root) fill(mine, root, round, 0);
    MPI_Bcast(mine, 1, g_type, root, MPI_COMM_WORLD);
    check(mine, root, round, 0);
  } else if (strcmp(how, "gather") == 0) {
    fill(mine, g_rank, round, 0);
    MPI_Gather(mine, 1, g_type, all, 1, g_type, root, MPI_COMM_WORLD);
    for (int i = 0; g_rank == root && i < g_ranks; ++i) check(all + g_extent * (size_t)i, i, round, 0);
  } else {
    for (int i = 0; g_rank == root && i < g_ranks; ++i) fill(all + g_extent * (size_t)i, root, round, i);
    MPI_Scatter(all, 1, g_type, mine, 1, g_type, root, MPI_COMM_WORLD);
    check(mine, root, round, g_rank);
  }
  release(mine);
  release(all);
}

static void all_to_all(const char* how, int round) {
  unsigned char* const mine = buffer(g_ranks);
  unsigned char* const all = buffer(g_ranks);
  int counts[64], places[64];
  for (int i = 0; i < g_ranks; ++i) {
    counts[i] = 1;
    places[i] = i;
    fill(mine + g_extent * (size_t)i, g_rank, round, i);
  }
  if (strcmp(how, "allgather") == 0) MPI_Allgather(mine, 1, g_type, all, 1, g_type, MPI_COMM_WORLD);
  else if (strcmp(how, "allgatherv") == 0) MPI_Allgatherv(mine, 1, g_type, all, counts, places, g_type, MPI_COMM_WORLD);
  else if (strcmp(how, "alltoall") == 0) MPI_Alltoall(mine, 1, g_type, all, 1, g_type, MPI_COMM_WORLD);
  else if (strcmp(how, "alltoallv") == 0) MPI_Alltoallv(mine, counts, places, g_type, all, counts, places, g_type, MPI_COMM_WORLD);
  else if (strcmp(how, "gatherv") == 0) MPI_Gatherv(mine, 1, g_type, all, counts, places, g_type, 0, MPI_COMM_WORLD);
  else MPI_Scatterv(mine, counts, places, g_type, all, 1, g_type, 0, MPI_COMM_WORLD);
  const int personal = strncmp(how, "alltoall", 8) == 0;
  if (strcmp(how, "scatterv") == 0) check(all, 0, round, g_rank);
  else if (strcmp(how, "gatherv") != 0 || g_rank == 0)
    for (int i = 0; i < g_ranks; ++i) check(all + g_extent * (size_t)i, i, round, personal ? g_rank : 0);
  release(mine);
  release(all);
}

static void reduce(const char* how, int round) {
  unsigned char* const mine = buffer(1);
  unsigned char* const all = buffer(1);
  const int count = (int)(g_bytes / sizeof(int));
  for (int i = 0; i < count; ++i) ((int*)mine)[i] = g_rank + round + i;
  if (strcmp(how, "reduce") == 0) MPI_Reduce(mine, all, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  else MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count && (g_rank == 0 || strcmp(how, "reduce") != 0); ++i)
    if (((int*)all)[i] != g_ranks * (g_ranks - 1) / 2 + g_ranks * (round + i)) g_wrong = 1;
  release(mine);
  release(all);
}

static const struct Way {
  const char* name;
  void (*run)(const char*, int);
} kWays[] = {{"send", messages},       {"isend", messages},        {"sendrecv", messages},     {"persistent", messages}, {"late", messages},
             {"bcast", one_to_all},    {"gather", one_to_all},     {"scatter", one_to_all},    {"gatherv", all_to_all},  {"scatterv", all_to_all},
             {"allgather", all_to_all}, {"allgatherv", all_to_all}, {"alltoall", all_to_all}, {"alltoallv", all_to_all}, {"reduce", reduce},
             {"allreduce", reduce}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  if (argc < 4) {
    fprintf(stderr, "journeys CALL BYTES SHAPE\n");
    return 2;
  }
  g_bytes = (size_t)strtoul(argv[2], NULL, 10);
  g_block = strcmp(argv[3], "blocks8") == 0 ? 8 : strcmp(argv[3], "blocks64") == 0 ? 64 : g_bytes;
  g_stride = g_block == g_bytes ? g_block : 2 * g_block;
  const size_t blocks = g_bytes / g_block;
  g_extent = blocks * g_stride;
  MPI_Datatype holes;
  MPI_Type_vector((int)blocks, (int)g_block, (int)g_stride, MPI_BYTE, &holes);
  MPI_Type_create_resized(holes, 0, (MPI_Aint)g_extent, &g_type);
  if (g_block == g_bytes) {
    MPI_Type_free(&g_type);
    MPI_Type_contiguous((int)g_bytes, MPI_BYTE, &g_type);
  }
  MPI_Type_commit(&g_type);
  prepare_fault(g_rank);
  for (size_t i = 0; i < sizeof kWays / sizeof *kWays; ++i) {
    if (strcmp(argv[1], "all") != 0 && strcmp(argv[1], kWays[i].name) != 0) continue;
    for (int round = 0; round < kRounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      arm_fault(round == kFaultyRound);
      kWays[i].run(kWays[i].name, round);
      arm_fault(0);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&holes);
  MPI_Type_free(&g_type);
  MPI_Finalize();
  return g_wrong ? 3 : 0;
}
