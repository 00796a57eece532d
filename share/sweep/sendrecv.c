// Send and receive in one call, and partitioned messages.
#include "messages.h"

void run_sendrecv(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  const bool replace = family->code == 1;
  plan_comm(s, kAny);
  struct sides* sides = KEEP(struct sides, 1);
  draw_sides(s, sides, false);
  const enum pattern pattern = draw_chance(d, 30) ? kLine : kRing;
  const bool any_source = draw_chance(d, 30), any_tag = draw_chance(d, 30);
  struct message m = {.sides = sides, .key = s->key, .tag = (int)draw_below(d, 30000)};
  const uint64_t shuffle = draw_bits(d);
  // MPI_Isendrecv is of MPI 4.
  const bool nonblocking = s->variant != kBlocking && MPI_VERSION >= 4;
  const char* const names[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv", "MPI_Isendrecv_replace"};
  describe(s, names[replace + 2 * nonblocking], "%s%s, %s", any_source ? ", MPI_ANY_SOURCE" : "", any_tag ? ", MPI_ANY_TAG" : "",
           sides->text);
  if (!begin(s)) return;
  struct route route;
  plan_route(s, &route, pattern, shuffle);
  plan_message(s, &m, &route, 0, replace);
  if (replace) {
    // One buffer, of the type of the receiver.
    struct block* block = &m.in.blocks[0];
    const uint64_t name = m.out.blocks[0].before;
    block->before = name;
    if (route.from == MPI_PROC_NULL) block->after = name, block->arrives = SIZE_MAX;
    m.out.count = 0;
    make_buffer(&m.out, "other", NULL);
  }
  const int from = any_source && route.from != MPI_PROC_NULL ? MPI_ANY_SOURCE : route.from;
  const int tag = any_tag ? MPI_ANY_TAG : m.tag;
  const int out = (int)m.send_count, in = (int)m.receive_count;
  const MPI_Datatype send_type = m.send_type->handle, receive_type = m.receive_type->handle;
  MPI_Comm comm = s->comm.handle;
  MPI_Status status;
  fill_message(s, &m, 0);
  fill_buffer(s, &m.in, 0);
  bool well = true;
#if MPI_VERSION >= 4
  MPI_Request request;
  struct draw own = {mix(s->key, 900 + (uint64_t)world_rank)};
  if (nonblocking) {
    if (replace) well = DO(MPI_Isendrecv_replace(m.in.address, in, receive_type, route.to, m.tag, from, tag, comm, &request));
    else
      well = DO(MPI_Isendrecv(m.out.address, out, send_type, route.to, m.tag, m.in.address, in, receive_type, from, tag, comm,
                              &request));
    well = well && complete(&own, &request, 1, &status);
  }
#endif
  if (!nonblocking && replace)
    well = DO(MPI_Sendrecv_replace(m.in.address, in, receive_type, route.to, m.tag, from, tag, comm, &status));
  else if (!nonblocking)
    well = DO(MPI_Sendrecv(m.out.address, out, send_type, route.to, m.tag, m.in.address, in, receive_type, from, tag, comm,
                           &status));
  if (!well) return;
  check_status(&m, &route, &status, "receive");
  check_message(s, &m, 0);
}

#if MPI_VERSION >= 4
// The sender fills and releases its partitions in any order; the receiver has others, and looks for them one by one.
void run_partitioned(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  (void)family;
  plan_comm(s, kIntra);
  struct sides* sides = KEEP(struct sides, 1);
  draw_sides(s, sides, false);
  const int parts = (int)draw_between(d, 1, 6), their_parts = draw_chance(d, 50) ? parts : 1;
  const long units = draw_units(d, sides, 2 * parts);
  const enum pattern pattern = draw_chance(d, 30) ? kLine : kRing;
  const int tag = (int)draw_below(d, 30000);
  const bool looks = draw_chance(d, 50), ranges = draw_chance(d, 30);
  const uint64_t shuffle = draw_bits(d);
  describe(s, "MPI_Psend_init", ", %d -> %d partitions, %s", parts, their_parts, sides->text);
  if (!begin(s)) return;
  const struct comm* c = &s->comm;
  struct route route;
  plan_route(s, &route, pattern, shuffle);
  struct message m = {0};
  const uint64_t me = local_id(c, c->rank), from = local_id(c, route.from < 0 ? 9999 : route.from);
  const int out = side_of(sides, mix(me, 1)), in = side_of(sides, mix(me, 2));
  const struct type *send_type = sides->send[out], *receive_type = sides->receive[in];
  const long send_count = units * sides->per_send[out], receive_count = units * sides->per_receive[in] * (parts / their_parts);
  add_block(&m.out, 0, send_count * parts, send_type, me + 1, me + 1);
  add_block(&m.in, 0, receive_count * their_parts, receive_type, NOTHING, route.from < 0 ? NOTHING : from + 1);
  make_buffer(&m.out, "send", NULL);
  make_buffer(&m.in, "receive", NULL);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (!DO(MPI_Psend_init(m.out.address, parts, send_count, send_type->handle, route.to, tag, c->handle, MPI_INFO_NULL,
                         &requests[0])) ||
      !DO(MPI_Precv_init(m.in.address, their_parts, receive_count, receive_type->handle, route.from, tag, c->handle,
                         MPI_INFO_NULL, &requests[1])))
    return;
  struct draw own = {mix(s->key, 900 + (uint64_t)world_rank)};
  int* order = KEEP(int, parts);
  for (int start = 0; start < kStarts; ++start) {
    fill_message(s, &m, start);
    if (!DO(MPI_Startall(2, requests))) return;
    draw_order(&own, parts, order);
    if (ranges && !DO(MPI_Pready_range(0, parts - 1, requests[0]))) return;
    for (int i = 0; i < parts && !ranges; ++i)
      if (!DO(MPI_Pready(order[i], requests[0]))) return;
    for (int i = 0; looks && route.from >= 0 && i < their_parts; ++i)
      for (int flag = 0; !flag;)
        if (!DO(MPI_Parrived(requests[1], i, &flag))) return;
    if (!complete(&own, requests, 2, statuses)) return;
    check_message(s, &m, start);
  }
  DO(MPI_Request_free(&requests[0]));
  DO(MPI_Request_free(&requests[1]));
}
#else
void run_partitioned(struct scenario* s, const struct family* family) {
  (void)family;
  snprintf(s->text, sizeof s->text, "partitioned communication is of MPI 4");
  s->comm.member = false;
  if (options.verbose && world_rank == 0) printf("%s\n", s->text);
}
#endif
