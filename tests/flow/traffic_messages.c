// Messages between two ranks.
#include "traffic.h"

void flow_drawn(struct flow* flow, bool room_for_more) {
  const int elements = elements_drawn(), base = base_drawn(elements);
  const int more = room_for_more && chance(3) ? 1 + draw(24) : 0;
  shape_draw(&flow->send, base, elements);
  shape_draw(&flow->receive, base, elements + more);
  flow->from = draw(size);
  flow->to = (flow->from + 1 + draw(size - 1)) % size;
  flow->bytes = shape_bytes(&flow->send, 1);
}

// The side of this rank: makes its type and takes its memory.
unsigned char* side(struct flow* flow, bool sends, int number) {
  struct shape* shape = sends ? &flow->send : &flow->receive;
  shape_make(shape);
  return take(shape_span(shape, 1), (sends ? kSend : kReceive) + number);
}

// Looks at what came, before MPI is called again.
void arrived(unsigned char* at, const struct flow* flow, int number) {
  expect(at, &flow->receive, flow->from, kSend + number, &flow->send, 0, 1);
  check(at, shape_span(&flow->receive, 1));
}

MPI_Comm comm_drawn(void) { return teams[chance(3) ? kDup : kWorld].comm; }

static void token(int to, MPI_Comm comm) { MPI_Send(NULL, 0, MPI_INT, to, call, comm); }
static void await_token(int from, MPI_Comm comm) { MPI_Recv(NULL, 0, MPI_INT, from, call, comm, MPI_STATUS_IGNORE); }

// MPI_Send and its relatives, MPI_Recv.
void message(void) {
  static unsigned char buffered[1 << 17];
  struct flow flow;
  flow_drawn(&flow, true);
  const int how = draw(8), wild = draw(4);
  const bool ignore = chance(4);
  const MPI_Comm comm = comm_drawn();
  if (rank == flow.from) {
    const unsigned char* at = side(&flow, true, 0);
    const struct shape* s = &flow.send;
    int detached;
    void* where;
    switch (how) {
      case 0: MPI_Ssend(at, s->count, s->type, flow.to, call, comm); break;
      case 1:
        MPI_Buffer_attach(buffered, sizeof buffered);
        MPI_Bsend(at, s->count, s->type, flow.to, call, comm);
        MPI_Buffer_detach(&where, &detached);
        break;
      case 2:
        await_token(flow.to, comm);
        MPI_Rsend(at, s->count, s->type, flow.to, call, comm);
        break;
      default: MPI_Send(at, s->count, s->type, flow.to, call, comm);
    }
  } else if (rank == flow.to) {
    unsigned char* at = side(&flow, false, 0);
    const struct shape* r = &flow.receive;
    // Only one of both may be open: others may be at later calls already.
    const int source = wild == 0 ? MPI_ANY_SOURCE : flow.from, tag = wild == 1 ? MPI_ANY_TAG : call;
    MPI_Status status;
    if (how == 2) {
      MPI_Request request;
      MPI_Irecv(at, r->count, r->type, source, tag, comm, &request);
      token(flow.from, comm);
      MPI_Wait(&request, &status);
    } else if (ignore) {
      MPI_Recv(at, r->count, r->type, source, tag, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(at, r->count, r->type, source, tag, comm, &status);
    }
    arrived(at, &flow, 0);
    if (how == 2 || !ignore) check_status(&status, flow.from, call, r, flow.bytes);
  }
  shape_free(&flow.send);
  shape_free(&flow.receive);
}

enum { kMost = 4 };

// What is known of the requests of an exchange: receives come first.
struct receives {
  int number;
  struct flow* flows;
  unsigned char* at[kMost];
};
static void received(const struct receives* all, int index, const MPI_Status* status) {
  if (index < 0 || index >= all->number) return;
  arrived(all->at[index], &all->flows[index], index);
  if (status) check_status(status, all->flows[index].from, call, &all->flows[index].receive, all->flows[index].bytes);
}

static void complete_all(MPI_Request* requests, int number, const struct receives* all, int how) {
  MPI_Status statuses[2 * kMost], status;
  int indices[2 * kMost], index, flag = 0, done = 0, some;
  switch (how) {
    case 0:
      for (int i = number - 1; i >= 0; --i) {
        MPI_Wait(&requests[i], &status);
        received(all, i, &status);
      }
      return;
    case 1: MPI_Waitall(number, requests, MPI_STATUSES_IGNORE); break;
    case 2: MPI_Waitall(number, requests, statuses); break;
    case 3:
      while (!flag) {
        MPI_Testall(number, requests, &flag, statuses);
        if (!flag) sched_yield();
      }
      break;
    case 4:
      for (; done < number; ++done) {
        MPI_Waitany(number, requests, &index, &status);
        received(all, index, &status);
      }
      return;
    case 5:
    case 6:
      for (; done < number; done += some) {
        if (how == 5) MPI_Waitsome(number, requests, &some, indices, statuses);
        else MPI_Testsome(number, requests, &some, indices, statuses);
        if (some == 0) sched_yield();
        // What comes with the same call is looked at before the next one.
        for (int i = 0; i < some; ++i)
          if (indices[i] < all->number) arrived(all->at[indices[i]], &all->flows[indices[i]], indices[i]);
        for (int i = 0; i < some; ++i) received(all, indices[i], &statuses[i]);
      }
      return;
    case 7:
      while (done < number) {
        MPI_Testany(number, requests, &index, &flag, &status);
        if (flag) received(all, index, &status);
        else sched_yield();
        done += flag != 0;
      }
      return;
    default:
      for (int i = 0; i < number; ++i) {
        for (flag = 0; !flag;) {
          MPI_Test(&requests[i], &flag, &status);
          if (!flag) sched_yield();
        }
        received(all, i, &status);
      }
      return;
  }
  for (int i = 0; i < all->number; ++i) arrived(all->at[i], &all->flows[i], i);
  for (int i = 0; i < all->number; ++i) received(all, i, how == 1 ? NULL : &statuses[i]);
}

// Several messages both ways between two ranks, completed in any way.
void exchange(void) {
  struct flow flows[2][kMost];
  int number[2], how[2], modes[kMost];
  const MPI_Comm comm = comm_drawn();
  for (int way = 0; way < 2; ++way) {
    number[way] = draw(kMost) + (way == 0);
    how[way] = draw(9);
    for (int i = 0; i < number[way]; ++i) {
      flow_drawn(&flows[way][i], true);
      modes[i] = draw(4);
      flows[way][i].from = way == 0 ? flows[0][0].from : flows[0][0].to;
      flows[way][i].to = way == 0 ? flows[0][0].to : flows[0][0].from;
    }
  }
  if (rank != flows[0][0].from && rank != flows[0][0].to) return;
  const int sends = rank == flows[0][0].from ? 0 : 1;
  struct receives all = {number[!sends], flows[!sends], {NULL}};
  MPI_Request requests[2 * kMost];
  int made = 0;
  for (int i = 0; i < number[!sends]; ++i) {
    struct flow* flow = &flows[!sends][i];
    all.at[i] = side(flow, false, i);
    MPI_Irecv(all.at[i], flow->receive.count, flow->receive.type, flow->from, call, comm, &requests[made++]);
  }
  for (int i = 0; i < number[sends]; ++i) {
    struct flow* flow = &flows[sends][i];
    const unsigned char* at = side(flow, true, i);
    if (modes[i] == 0) MPI_Issend(at, flow->send.count, flow->send.type, flow->to, call, comm, &requests[made++]);
    else MPI_Isend(at, flow->send.count, flow->send.type, flow->to, call, comm, &requests[made++]);
  }
  // A type may be freed while it is in use.
  for (int i = 0; i < number[sends]; ++i) shape_free(&flows[sends][i].send);
  complete_all(requests, made, &all, how[rank == flows[0][0].from]);
  for (int i = 0; i < number[!sends]; ++i) shape_free(&flows[!sends][i].receive);
}

// Persistent requests, with other data each time.
void persistent_message(void) {
  struct flow flows[2];
  const int number = 1 + draw(2), starts = 2 + draw(3), how = draw(3);
  const bool synchronous = chance(3), one_by_one = chance(2);
  for (int i = 0; i < 2; ++i) flow_drawn(&flows[i], true);
  flows[1].from = flows[0].from;
  flows[1].to = flows[0].to;
  const bool sends = rank == flows[0].from;
  if (!sends && rank != flows[0].to) return;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  unsigned char* at[2];
  for (int i = 0; i < number; ++i) {
    const struct shape* shape = sends ? &flows[i].send : &flows[i].receive;
    at[i] = side(&flows[i], sends, i);
    if (!sends) {
      MPI_Recv_init(at[i], shape->count, shape->type, flows[i].from, call, MPI_COMM_WORLD, &requests[i]);
    } else if (synchronous) {
      MPI_Ssend_init(at[i], shape->count, shape->type, flows[i].to, call, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Send_init(at[i], shape->count, shape->type, flows[i].to, call, MPI_COMM_WORLD, &requests[i]);
    }
  }
  for (int start = 0; start < starts; ++start) {
    for (int i = 0; i < number; ++i)
      fresh(at[i], shape_span(sends ? &flows[i].send : &flows[i].receive, 1),
            (sends ? kSend : kReceive) + 10 * start + i);
    if (one_by_one) {
      for (int i = 0; i < number; ++i) MPI_Start(&requests[i]);
    } else {
      MPI_Startall(number, requests);
    }
    if (how == 0) {
      MPI_Waitall(number, requests, statuses);
    } else {
      for (int i = 0; i < number; ++i) {
        if (how == 1) MPI_Wait(&requests[i], &statuses[i]);
        for (int flag = how == 1; !flag;) {
          MPI_Test(&requests[i], &flag, &statuses[i]);
          if (!flag) sched_yield();
        }
        if (!sends) arrived(at[i], &flows[i], 10 * start + i);
      }
    }
    for (int i = 0; !sends && i < number; ++i) {
      arrived(at[i], &flows[i], 10 * start + i);
      check_status(&statuses[i], flows[i].from, call, &flows[i].receive, flows[i].bytes);
    }
  }
  for (int i = 0; i < number; ++i) {
    MPI_Request_free(&requests[i]);
    shape_free(&flows[i].send);
    shape_free(&flows[i].receive);
  }
}
