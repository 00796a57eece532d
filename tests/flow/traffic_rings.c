// Rings of messages, and all other kinds of messages.
#include "traffic.h"

// Every rank sends to the next but `shift`; if it is no ring, the ends have nobody.
static void around(const struct team* team, int shift, bool closed, int* to, int* from) {
  const int next = team->rank + shift, last = team->rank - shift;
  *to = next < team->size || closed ? next % team->size : MPI_PROC_NULL;
  *from = last >= 0 || closed ? (last + team->size) % team->size : MPI_PROC_NULL;
}

static void ring_received(const struct team* team, unsigned char* at, const struct flow* flows, int from,
                          const MPI_Status* status, int tag, int number) {
  if (from == MPI_PROC_NULL) {
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    check(at, shape_span(&flows[rank % 2].receive, 1));
    if (verify && (status->MPI_SOURCE != MPI_PROC_NULL || status->MPI_TAG != MPI_ANY_TAG || count != 0))
      wrong("nobody");
    return;
  }
  const int who = team->who[from];
  expect(at, &flows[rank % 2].receive, who, number, &flows[who % 2].send, 0, 1);
  check(at, shape_span(&flows[rank % 2].receive, 1));
  check_status(status, from, tag, &flows[rank % 2].receive, shape_bytes(&flows[who % 2].send, 1));
}

void flows_plain(struct flow* flows) {
  const struct shape drawn = flows[0].send;
  for (int i = 0; i < 2; ++i) {
    shape_plain(&flows[i].send, drawn.base < kPair ? drawn.base : kDouble, drawn.count * drawn.elements);
    flows[i].receive = flows[i].send;
  }
}

void two_flows_drawn(struct flow* flows, bool alike) {
  const int elements = elements_drawn(), base = base_drawn(elements);
  for (int i = 0; i < 2; ++i) {
    shape_draw(&flows[i].send, base, elements);
    shape_draw(&flows[i].receive, base, elements);
  }
  if (alike) flows[0].receive = flows[0].send, flows[1] = flows[0];
}

void ring(void) {
  struct flow flows[2];
  two_flows_drawn(flows, false);
  const struct team* team = team_drawn();
  const int shift = draw(60) % team->size;
  const bool closed = !chance(4);
  struct flow* own = &flows[rank % 2];
  unsigned char *from_here = side(own, true, 0), *at = side(own, false, 0);
  int to, from;
  around(team, shift, closed, &to, &from);
  MPI_Status status;
  // The tag is the sender's.
  MPI_Sendrecv(from_here, own->send.count, own->send.type, to, (call + team->rank) % 32000, at, own->receive.count,
               own->receive.type, from, from < 0 ? 0 : (call + from) % 32000, team->comm, &status);
  ring_received(team, at, flows, from, &status, (call + from) % 32000, kSend);
  shape_free(&own->send);
  shape_free(&own->receive);
}

void ring_replace(void) {
  struct flow flows[2];
  two_flows_drawn(flows, true);
  const struct team* team = team_drawn();
  const int shift = draw(60) % team->size;
  struct flow* own = &flows[rank % 2];
  unsigned char* at = side(own, true, 0);
  int to, from;
  around(team, shift, true, &to, &from);
  MPI_Status status;
  MPI_Sendrecv_replace(at, own->send.count, own->send.type, to, call, from, call, team->comm, &status);
  own->receive = own->send;
  ring_received(team, at, flows, from, &status, call, kSend);
  shape_free(&own->send);
}

// The nonblocking ring of MPI 4. MPICH 4.0 frees the type that is sent once too often, which ends the program, so it is
// a basic one; and it does not fill in the status.
void send_and_receive(void) {
  struct flow flows[2];
  two_flows_drawn(flows, false);
  const int shift = draw(size), how = draw(2);
#if MPI_VERSION >= 4
  struct flow* own = &flows[rank % 2];
  struct shape drawn[2] = {flows[0].receive, flows[1].receive};
  flows_plain(flows);
  for (int i = 0; i < 2; ++i)
    if (drawn[i].base < kPair) flows[i].receive = drawn[i];
  const struct team* team = &teams[kWorld];
  unsigned char *from_here = side(own, true, 0), *at = side(own, false, 0);
  int to, from;
  around(team, shift, true, &to, &from);
  MPI_Request request;
  MPI_Status status;
  MPI_Isendrecv(from_here, own->send.count, own->send.type, to, call, at, own->receive.count, own->receive.type, from,
                call, team->comm, &request);
  if (how == 0) MPI_Wait(&request, &status);
  for (int flag = how == 0; !flag;) {
    MPI_Test(&request, &flag, &status);
    if (!flag) sched_yield();
  }
  expect(at, &own->receive, team->who[from], kSend, &flows[0].send, 0, 1);
  check(at, shape_span(&own->receive, 1));
  if (known_bugs) check_status(&status, from, call, &own->receive, shape_bytes(&own->receive, 1));
  shape_free(&own->receive);
#else
  (void)shift, (void)how;
#endif
}

// Messages of different sizes from everybody, in any order.
void any_source(void) {
  const int root = draw(size), base = draw(kBases), way = draw(3), room = 64;
  struct shape send, receive[kMaxRanks];
  int counts[kMaxRanks], sends = 0;
  shape_draw(&send, base, 1 + draw(8));
  for (int i = 0; i < size; ++i) {
    shape_plain(&receive[i], base, room);
    counts[i] = pick(8, i, 0);
  }
  if (rank != root) {
    shape_make(&send);
    const int times = counts[rank];
    const unsigned char* at = take(shape_span(&send, times), kSend);
    MPI_Send(at, send.count * times, send.type, root, call, MPI_COMM_WORLD);
    shape_free(&send);
    return;
  }
  unsigned char* at[kMaxRanks];
  MPI_Status statuses[kMaxRanks];
  MPI_Request requests[kMaxRanks];
  bool seen[kMaxRanks] = {false};
  sends = size - 1;
  for (int i = 0; i < sends; ++i) at[i] = take(shape_span(&receive[i], 1), kReceive + i);
  for (int i = 0; way > 0 && i < sends; ++i)
    MPI_Irecv(at[i], room, receive[i].type, MPI_ANY_SOURCE, call, MPI_COMM_WORLD, &requests[i]);
  if (way == 1) MPI_Waitall(sends, requests, statuses);
  for (int i = 0; i < sends; ++i) {
    if (way == 0) MPI_Recv(at[i], room, receive[i].type, MPI_ANY_SOURCE, call, MPI_COMM_WORLD, &statuses[i]);
    if (way == 2) MPI_Wait(&requests[i], &statuses[i]);
    const int source = statuses[i].MPI_SOURCE;
    if (source < 0 || source >= size || source == root || seen[source]) {
      if (verify) wrong("source");
      continue;
    }
    seen[source] = true;
    expect(at[i], &receive[i], source, kSend, &send, 0, counts[source]);
    check(at[i], shape_span(&receive[i], 1));
    check_status(&statuses[i], source, call, &receive[i], shape_bytes(&send, counts[source]));
  }
}

// The sizes of messages that are looked at before they are received.
void probed(void) {
  struct flow flow;
  flow_drawn(&flow, false);
  const bool open = chance(2), waits = chance(2);
  if (rank == flow.from) {
    const unsigned char* at = side(&flow, true, 0);
    MPI_Send(at, flow.send.count, flow.send.type, flow.to, call, MPI_COMM_WORLD);
  } else if (rank == flow.to) {
    MPI_Status status;
    const int source = open ? MPI_ANY_SOURCE : flow.from;
    int flag = 0;
    if (waits) MPI_Probe(source, call, MPI_COMM_WORLD, &status);
    while (!waits && !flag) {
      MPI_Iprobe(source, call, MPI_COMM_WORLD, &flag, &status);
      if (!flag) sched_yield();
    }
    unsigned char* at = side(&flow, false, 0);
    check_status(&status, flow.from, call, &flow.receive, flow.bytes);
    MPI_Recv(at, flow.receive.count, flow.receive.type, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    arrived(at, &flow, 0);
    check_status(&status, flow.from, call, &flow.receive, flow.bytes);
  }
  shape_free(&flow.send);
  shape_free(&flow.receive);
}

void matched(void) {
  struct flow flow;
  flow_drawn(&flow, true);
  const bool open = chance(2), waits = chance(2), at_once = chance(2);
  if (rank == flow.from) {
    const unsigned char* at = side(&flow, true, 0);
    MPI_Send(at, flow.send.count, flow.send.type, flow.to, call, MPI_COMM_WORLD);
  } else if (rank == flow.to) {
    MPI_Message found;
    MPI_Status status;
    MPI_Request request;
    const int source = open ? MPI_ANY_SOURCE : flow.from;
    if (waits) MPI_Mprobe(source, call, MPI_COMM_WORLD, &found, &status);
    for (int flag = waits; !flag;) {
      MPI_Improbe(source, call, MPI_COMM_WORLD, &flag, &found, &status);
      if (!flag) sched_yield();
    }
    unsigned char* at = side(&flow, false, 0);
    if (at_once) {
      MPI_Mrecv(at, flow.receive.count, flow.receive.type, &found, &status);
    } else {
      MPI_Imrecv(at, flow.receive.count, flow.receive.type, &found, &request);
      MPI_Wait(&request, &status);
    }
    arrived(at, &flow, 0);
    check_status(&status, flow.from, call, &flow.receive, flow.bytes);
  }
  shape_free(&flow.send);
  shape_free(&flow.receive);
}

void self(void) {
  struct flow flow;
  flow_drawn(&flow, true);
  const int way = draw(3);
  const MPI_Comm comm = chance(2) ? MPI_COMM_SELF : MPI_COMM_WORLD;
  const int own = comm == MPI_COMM_SELF ? 0 : rank;
  flow.from = flow.to = rank;
  const unsigned char* from = side(&flow, true, 0);
  unsigned char* at = side(&flow, false, 0);
  const struct shape *s = &flow.send, *r = &flow.receive;
  MPI_Request request;
  MPI_Status status;
  if (way == 0) {
    MPI_Sendrecv(from, s->count, s->type, own, call, at, r->count, r->type, own, call, comm, &status);
  } else if (way == 1) {
    MPI_Irecv(at, r->count, r->type, own, call, comm, &request);
    MPI_Send(from, s->count, s->type, own, call, comm);
    MPI_Wait(&request, &status);
  } else {
    MPI_Isend(from, s->count, s->type, own, call, comm, &request);
    MPI_Recv(at, r->count, r->type, own, call, comm, &status);
    arrived(at, &flow, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  arrived(at, &flow, 0);
  check_status(&status, own, call, r, flow.bytes);
  shape_free(&flow.send);
  shape_free(&flow.receive);
}

// What is packed may be received as what it is, and the other way round.
void packed_message(void) {
  struct flow flow;
  flow_drawn(&flow, false);
  const bool packs = chance(2), unpacks = !packs || chance(2);
  if (rank == flow.from) {
    const unsigned char* at = side(&flow, true, 0);
    if (packs) {
      int room, position = 0;
      MPI_Pack_size(flow.send.count, flow.send.type, MPI_COMM_WORLD, &room);
      char* pack = malloc((size_t)room + 1);
      MPI_Pack(at, flow.send.count, flow.send.type, pack, room, &position, MPI_COMM_WORLD);
      MPI_Send(pack, position, MPI_PACKED, flow.to, call, MPI_COMM_WORLD);
      free(pack);
    } else {
      MPI_Send(at, flow.send.count, flow.send.type, flow.to, call, MPI_COMM_WORLD);
    }
  } else if (rank == flow.to) {
    unsigned char* at = side(&flow, false, 0);
    if (unpacks) {
      int room, position = 0;
      MPI_Status status;
      MPI_Pack_size(flow.receive.count, flow.receive.type, MPI_COMM_WORLD, &room);
      char* pack = malloc((size_t)room + 1);
      MPI_Recv(pack, room, MPI_PACKED, flow.from, call, MPI_COMM_WORLD, &status);
      MPI_Unpack(pack, room, &position, at, flow.receive.count, flow.receive.type, MPI_COMM_WORLD);
      free(pack);
      int count;
      MPI_Get_count(&status, MPI_PACKED, &count);
      if (verify && count != flow.bytes) wrong("count");
    } else {
      MPI_Recv(at, flow.receive.count, flow.receive.type, flow.from, call, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    arrived(at, &flow, 0);
  }
  shape_free(&flow.send);
  shape_free(&flow.receive);
}

// Absolute addresses: MPI_BOTTOM and a type that says where everything is.
void absolute(void) {
  struct flow flow;
  flow_drawn(&flow, false);
  const bool here = chance(2);
  struct shape* shape = rank == flow.from ? &flow.send : &flow.receive;
  if ((rank != flow.from && rank != flow.to) || shape->count == 0) return;
  unsigned char* at = side(&flow, rank == flow.from, 0);
  MPI_Aint address;
  MPI_Datatype type;
  MPI_Get_address(at, &address);
  MPI_Type_create_hindexed(1, &shape->count, &address, shape->type, &type);
  MPI_Type_commit(&type);
  if (rank == flow.from) {
    MPI_Send(MPI_BOTTOM, 1, type, flow.to, call, MPI_COMM_WORLD);
  } else {
    if (here) MPI_Recv(MPI_BOTTOM, 1, type, flow.from, call, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Recv(at, shape->count, shape->type, flow.from, call, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    arrived(at, &flow, 0);
  }
  MPI_Type_free(&type);
  shape_free(&flow.send);
  shape_free(&flow.receive);
}
