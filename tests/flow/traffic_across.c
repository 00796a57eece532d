// An intercommunicator between the lower half of the ranks and the upper one.
#include "traffic.h"

static MPI_Comm comm;
static int lower;        // ranks in the lower half
static int own, theirs;  // the first ranks of both sides
static int peers;        // ranks on the other side
static int here;         // this rank on its side

void across_make(void) {
  MPI_Comm side;
  lower = size / 2;
  const bool low = rank < lower;
  own = low ? 0 : lower;
  theirs = low ? lower : 0;
  peers = low ? size - lower : lower;
  here = rank - own;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, theirs, 0, &comm);
  MPI_Comm_free(&side);
}
void across_free(void) { MPI_Comm_free(&comm); }

enum { kBarrier, kBcast, kGather, kScatter, kAllgather, kAlltoall, kAllreduce, kMessage, kWays };

void across(void) {
  struct flow flows[2];
  two_flows_drawn(flows, false);
  // MPICH 4.0 loses large blocks of scattered data, and hangs.
  if (!kOpenMpi && shape_bytes(&flows[0].send, 1) > 1024) flows_plain(flows);
  const int way = draw(kWays), root = draw(size), shift = draw(60);
  const bool asks = (root < lower) == (rank < lower);  // this rank is on the root's side
  // The root is somebody on the other side, or it is here.
  const int as_root = rank == root ? MPI_ROOT : asks ? MPI_PROC_NULL : root - theirs;
  struct shape *s = &flows[rank % 2].send, *r = &flows[rank % 2].receive;
  shape_make(s);
  shape_make(r);
  const int wide = shape_span(r, peers);
  unsigned char *from = take(shape_span(s, peers), kSend), *at = take(wide, kReceive);
  switch (way) {
    case kBarrier: MPI_Barrier(comm); break;
    case kBcast:
      if (asks) MPI_Bcast(from, s->count, s->type, as_root, comm);
      else MPI_Bcast(at, r->count, r->type, as_root, comm);
      if (!asks) expect(at, r, root, kSend, &flows[root % 2].send, 0, 1);
      break;
    case kGather:
      MPI_Gather(from, s->count, s->type, at, r->count, r->type, as_root, comm);
      for (int i = 0; rank == root && i < peers; ++i)
        expect(at + i * shape_step(r), r, theirs + i, kSend, &flows[(theirs + i) % 2].send, 0, 1);
      break;
    case kScatter:
      MPI_Scatter(from, s->count, s->type, at, r->count, r->type, as_root, comm);
      if (!asks) expect(at, r, root, kSend, &flows[root % 2].send, here * shape_step(&flows[root % 2].send), 1);
      break;
    case kAllgather:
      MPI_Allgather(from, s->count, s->type, at, r->count, r->type, comm);
      for (int i = 0; i < peers; ++i)
        expect(at + i * shape_step(r), r, theirs + i, kSend, &flows[(theirs + i) % 2].send, 0, 1);
      break;
    case kAlltoall:
      MPI_Alltoall(from, s->count, s->type, at, r->count, r->type, comm);
      for (int i = 0; i < peers; ++i) {
        const struct shape* other = &flows[(theirs + i) % 2].send;
        expect(at + i * shape_step(r), r, theirs + i, kSend, other, here * shape_step(other), 1);
      }
      break;
    case kAllreduce: {
      int number = pick(1 << 20, rank, 0), sum = 0, right = 0;
      MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
      for (int i = 0; i < peers; ++i) right += pick(1 << 20, theirs + i, 0);
      if (verify && sum != right) wrong("sum");
      break;
    }
    default: {
      // The upper half is as large or larger: a rank of the lower one hears one of them.
      const int pair = shift % lower;
      MPI_Status status;
      if (rank >= lower && here == pair) MPI_Send(from, s->count, s->type, pair, call, comm);
      if (rank < lower && here == pair) {
        MPI_Recv(at, r->count, r->type, MPI_ANY_SOURCE, call, comm, &status);
        expect(at, r, theirs + pair, kSend, &flows[(theirs + pair) % 2].send, 0, 1);
        check(at, wide);
        check_status(&status, pair, call, r, shape_bytes(r, 1));
      }
    }
  }
  check(at, wide);
  shape_free(s);
  shape_free(r);
}
