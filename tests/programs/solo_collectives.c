// Every collective operation: blocking, nonblocking, in place, with blocks of different sizes, with datatypes that have
// holes, with an operation of the program's own, on an intercommunicator and between neighbours. What is contributed
// depends on the order of messages, so results differ from run to run.
#include "common.h"

enum { kMost = 64 };
static int n, me;

static void show(const char* what, const void* data, size_t size) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  fold(hash);
  say("%s %016llx", what, (unsigned long long)hash);
}

static void fill(int* values, int count, int salt) {
  for (int i = 0; i < count; ++i) values[i] = (int)(digest % 100000) * 64 + me * 8 + i + salt;
}

static void decide(void) {  // who is heard first
  hear_everybody(200);
  uint64_t root = digest;
  MPI_Bcast(&root, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  fold(root);
}

// One affine function after the other, x -> a x + b (modulo 65536): associative, as it must be, but not commutative, so that
// the order of the ranks counts.
static void chain(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    const unsigned first = ((unsigned*)in)[i], second = ((unsigned*)inout)[i];
    const unsigned a = (first & 0xffff) * (second & 0xffff) & 0xffff;
    const unsigned b = ((first >> 16) * (second & 0xffff) + (second >> 16)) & 0xffff;
    ((unsigned*)inout)[i] = b << 16 | a;
  }
}

static void wait_for(MPI_Request* request, int round) {
  int flag = 0;
  if (round % 2) MPI_Wait(request, MPI_STATUS_IGNORE);
  else
    while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void all_kinds(MPI_Comm comm, MPI_Op op, int round) {
  int out[kMost * 4], in[kMost * 4], counts[kMost], places[kMost], sum = 0;
  MPI_Request request;
  for (int i = 0; i < n; ++i) {
    counts[i] = 1 + (i + round) % 3;
    places[i] = sum + i;  // a hole after each block
    sum += counts[i];
  }
  const int root = round % n;
  fill(out, kMost * 4, 1);
  memset(in, 0x5a, sizeof in);
  MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, comm);
  show("gather", in, sizeof in);
  MPI_Gatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, root, comm);
  show("gatherv", in, sizeof in);
  MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, comm);
  show("scatter", in, sizeof in);
  MPI_Scatterv(out, counts, places, MPI_INT, in, counts[me], MPI_INT, root, comm);
  show("scatterv", in, sizeof in);
  MPI_Allgather(out, 3, MPI_INT, in, 3, MPI_INT, comm);
  show("allgather", in, sizeof in);
  MPI_Allgatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, comm);
  show("allgatherv", in, sizeof in);
  MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm);
  show("alltoall", in, sizeof in);
  int mine[kMost], own[kMost];
  for (int i = 0; i < n; ++i) {
    mine[i] = counts[me];
    own[i] = i * 4;
  }
  MPI_Alltoallv(out, counts, places, MPI_INT, in, mine, own, MPI_INT, comm);
  show("alltoallv", in, sizeof in);
  MPI_Datatype types[kMost];
  int bytes[kMost];
  for (int i = 0; i < n; ++i) {
    types[i] = MPI_INT;
    bytes[i] = i * 16;
  }
  MPI_Alltoallw(out, counts, bytes, types, in, mine, bytes, types, comm);
  show("alltoallw", in, sizeof in);
  MPI_Reduce(out, in, 4, MPI_INT, op, root, comm);
  show("reduce", in, sizeof in);
  MPI_Allreduce(out, in, 4, MPI_INT, MPI_MAX, comm);
  show("allreduce", in, sizeof in);
  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
  show("reduce_scatter", in, sizeof in);
  MPI_Reduce_scatter_block(out, in, 2, MPI_INT, op, comm);
  show("reduce_scatter_block", in, sizeof in);
  MPI_Scan(out, in, 3, MPI_INT, op, comm);
  show("scan", in, sizeof in);
  if (me == 0) memset(in, 0, sizeof in);  // there it is undefined
  MPI_Exscan(out, in, 3, MPI_INT, MPI_SUM, comm);
  if (me != 0) show("exscan", in, sizeof in);
  memset(in, 0, sizeof in);

  // In place.
  fill(in, kMost * 4, 2);
  if (me == root) MPI_Gather(MPI_IN_PLACE, 2, MPI_INT, in, 2, MPI_INT, root, comm);
  else MPI_Gather(in, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
  show("gather in place", in, sizeof in);
  if (me == root) MPI_Scatter(in, 2, MPI_INT, MPI_IN_PLACE, 2, MPI_INT, root, comm);
  else MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, root, comm);
  show("scatter in place", in, sizeof in);
  MPI_Allreduce(MPI_IN_PLACE, in, 5, MPI_INT, MPI_SUM, comm);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, comm);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, comm);
  MPI_Scan(MPI_IN_PLACE, in, 2, MPI_INT, MPI_MIN, comm);
  show("in place", in, sizeof in);

  // Nonblocking.
  fill(out, kMost * 4, 3);
  MPI_Ibcast(me == root ? out : in, 7, MPI_INT, root, comm, &request);
  wait_for(&request, round);
  show("ibcast", in, sizeof in);
  MPI_Iallreduce(out, in, 3, MPI_INT, op, comm, &request);
  wait_for(&request, round + 1);
  show("iallreduce", in, sizeof in);
  MPI_Igatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, root, comm, &request);
  wait_for(&request, round);
  show("igatherv", in, sizeof in);
  MPI_Ialltoallw(out, counts, bytes, types, in, mine, bytes, types, comm, &request);
  wait_for(&request, round);
  show("ialltoallw", in, sizeof in);
  MPI_Ireduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm, &request);
  wait_for(&request, round);
  show("ireduce_scatter", in, sizeof in);
  MPI_Iscatter(out, 2, MPI_INT, in, 2, MPI_INT, root, comm, &request);
  wait_for(&request, round);
  show("iscatter", in, sizeof in);
  MPI_Ibarrier(comm, &request);
  wait_for(&request, round);
}

static void derived(MPI_Comm comm) {
  int table[16][16], back[16][16];
  fill(&table[0][0], 256, 4);
  memset(back, 0, sizeof back);
  const int sizes[2] = {16, 16}, part[2] = {5, 7}, begin[2] = {3, 2};
  const int lengths[3] = {2, 1, 3}, places[3] = {30, 0, 11};
  MPI_Datatype column, piece, list, narrow, grid;
  MPI_Type_vector(16, 1, 16, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
  MPI_Type_create_subarray(2, sizes, part, begin, MPI_ORDER_C, MPI_INT, &piece);
  MPI_Type_indexed(3, lengths, places, MPI_INT, &list);
  const int distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, arguments[2] = {2, MPI_DISTRIBUTE_DFLT_DARG},
            processes[2] = {2, 1};
  MPI_Type_create_darray(2, me % 2, 2, sizes, distributions, arguments, processes, MPI_ORDER_FORTRAN, MPI_INT, &grid);
  MPI_Datatype* const all[] = {&narrow, &piece, &list, &grid};
  for (int i = 0; i < 4; ++i) MPI_Type_commit(all[i]);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  MPI_Sendrecv(table, 3, narrow, right, 5, back, 3, narrow, left, 5, comm, MPI_STATUS_IGNORE);
  show("columns", back, sizeof back);
  MPI_Sendrecv(table, 35, MPI_INT, right, 6, back, 1, piece, left, 6, comm, MPI_STATUS_IGNORE);
  show("subarray", back, sizeof back);
  MPI_Status status;
  int elements;
  MPI_Sendrecv(table, 4, MPI_INT, right, 7, back, 2, list, left, 7, comm, &status);  // not a whole element
  MPI_Get_elements(&status, list, &elements);
  show("part of an element", back, sizeof back);
  say("elements %d", elements);
  int size;
  MPI_Type_size(grid, &size);
  MPI_Request requests[2];
  MPI_Irecv(back, 1, grid, left, 8, comm, &requests[0]);
  MPI_Isend(table, 128, MPI_INT, right, 8, comm, &requests[1]);
  MPI_Type_free(&grid);  // while it is in use
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  show("darray", back, sizeof back);
  struct { double value; int rank; } worst = {(double)(digest % 97) + me, me}, found;
  memset(&found, 0, sizeof found);
  MPI_Allreduce(&worst, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  say("largest %a at %d", found.value, found.rank);
  MPI_Bcast(back, 2, narrow, 0, comm);
  show("bcast of columns", back, sizeof back);
  MPI_Type_free(&column);
  for (int i = 0; i < 3; ++i) MPI_Type_free(all[i]);
}

static void neighbours(void) {
  MPI_Comm grid, graph;
  const int dims[1] = {n}, periods[1] = {1};
  int in[8] = {0}, out[8];
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
  fill(out, 8, 9);
  MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, grid);
  show("neighbor_allgather", in, sizeof in);
  MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, grid);
  show("neighbor_alltoall", in, sizeof in);
  const int source[1] = {(me + n - 1) % n}, target[1] = {(me + 1) % n};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  const int counts[1] = {3}, places[1] = {2};
  MPI_Request request;
  MPI_Ineighbor_allgatherv(out, 3, MPI_INT, in, counts, places, MPI_INT, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("ineighbor_allgatherv", in, sizeof in);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&graph);
}

static void two_groups(void) {
  MPI_Comm half, both;
  const int side = me % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 11, &both);
  int remote, in[kMost * 2] = {0}, out[kMost * 2];
  MPI_Comm_remote_size(both, &remote);
  fill(out, kMost * 2, 12);
  MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, both);
  show("allgather of the others", in, sizeof in);
  MPI_Allreduce(out, in, 2, MPI_INT, MPI_SUM, both);
  int local;
  MPI_Comm_rank(half, &local);
  const int root = side ? 0 : local == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(local == 0 && !side ? out : in, 5, MPI_INT, root, both);
  show("bcast to the others", in, sizeof in);
  MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, both);
  show("gather from the others", in, sizeof in);
  MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, both);
  show("scatter to the others", in, sizeof in);
  say("remote %d", remote);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

// Operations that are complete when they are posted: libraries give the same handle to several of them.
static void at_once_complete(void) {
  int in[4], out[4] = {0, 0, 0, 0};
  MPI_Request requests[4];
  fill(in, 4, 9);
  MPI_Iallgather(&in[0], 1, MPI_INT, &out[0], 1, MPI_INT, MPI_COMM_SELF, &requests[0]);
  MPI_Iallreduce(&in[1], &out[1], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[1]);
  MPI_Iscan(&in[2], &out[2], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[2]);
  MPI_Ialltoall(&in[3], 1, MPI_INT, &out[3], 1, MPI_INT, MPI_COMM_SELF, &requests[3]);
  for (int done = 0; done < 4;) {
    int count, indices[4];
    MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    done += count;
  }
  show("on my own", out, sizeof out);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  n = world_size;
  me = world_rank;
  MPI_Op op;
  MPI_Op_create(chain, 0, &op);
  for (int round = 0; round < 4; ++round) {
    decide();
    all_kinds(MPI_COMM_WORLD, op, round);
    derived(MPI_COMM_WORLD);
    neighbours();
    two_groups();
    at_once_complete();
  }
  MPI_Op_free(&op);
  finish();
}
