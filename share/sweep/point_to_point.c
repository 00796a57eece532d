// Messages: all modes of sending, all ways of receiving, short messages, wildcards, MPI_PROC_NULL; statuses are checked.
#include "messages.h"

enum mode { kStandard, kBuffered, kSynchronous, kReady };
static const char* const mode_names[] = {"Send", "Bsend", "Ssend", "Rsend"};

void plan_route(struct scenario* s, struct route* route, enum pattern pattern, uint64_t shuffle) {
  const struct comm* c = &s->comm;
  int* order = KEEP(int, world_size);
  struct draw d = {shuffle};
  route->to = route->from = MPI_PROC_NULL;
  if (c->remote) {
    // The first of one group with the first of the other, shifted; who is left over talks to MPI_PROC_NULL.
    const int pairs = c->size < c->remote ? c->size : c->remote;
    const int shift = (int)(shuffle % (uint64_t)pairs);
    if (c->rank < pairs) {
      const bool second = c->side == 1;
      route->to = (c->rank + (second ? shift : 0)) % pairs;
      route->from = (c->rank + (second ? 0 : pairs - shift)) % pairs;
    }
    if (pattern == kOneWay && c->side == 0) route->from = MPI_PROC_NULL;
    if (pattern == kOneWay && c->side == 1) route->to = MPI_PROC_NULL;
    return;
  }
  draw_order(&d, c->size, order);
  int at = 0;
  while (order[at] != c->rank) ++at;
  const bool last = at == c->size - 1, odd = at % 2;
  if (pattern == kOneWay) {  // pairs, from the first to the second
    if (odd) route->from = order[at - 1];
    else if (!last) route->to = order[at + 1];
    return;
  }
  if (pattern == kRing || !last) route->to = order[(at + 1) % c->size];
  if (pattern == kRing || at > 0) route->from = order[(at + c->size - 1) % c->size];
}

void plan_message(struct scenario* s, struct message* m, const struct route* route, int number, bool exact) {
  const struct comm* c = &s->comm;
  struct draw d = {mix(m->key, (uint64_t)number)};
  const struct sides* sides = m->sides;
  m->number = number;
  m->units = draw_units(&d, sides, 2);
  m->capacity = m->units + (!exact && draw_chance(&d, 40) ? draw_between(&d, 0, 5) : 0);
  const uint64_t me = local_id(c, c->rank), from = peer_id(c, route->from == MPI_PROC_NULL ? 9999 : route->from);
  const int out = side_of(sides, mix(me, 1)), in = side_of(sides, mix(me, 2)), theirs = side_of(sides, mix(from, 1));
  m->send_type = sides->send[out];
  m->send_count = m->units * sides->per_send[out];
  m->receive_type = sides->receive[in];
  m->receive_count = m->capacity * sides->per_receive[in];
  // A few items less: the last item of the receiver may then be incomplete.
  const bool cut = !exact && draw_chance(&d, 30);
  const uint64_t less = draw_bits(&d) % 3;
  long their_count = m->units * sides->per_send[theirs];
  if (cut) m->send_count -= (long)less > m->send_count ? m->send_count : (long)less;
  if (cut) their_count -= (long)less > their_count ? their_count : (long)less;
  m->arrives = route->from == MPI_PROC_NULL ? 0 : (size_t)their_count * sides->send[theirs]->size;
  const uint64_t name = mix(me, 70 + (uint64_t)number), their_name = mix(from, 70 + (uint64_t)number);
  m->out = (struct buffer){0};
  m->in = (struct buffer){0};
  add_block(&m->out, 0, m->send_count, m->send_type, name, name);
  add_block(&m->in, 0, m->receive_count, m->receive_type, NOTHING, their_name)->arrives = m->arrives;
  make_buffer(&m->out, "send", NULL);
  make_buffer(&m->in, "receive", NULL);
}

void check_status(const struct message* m, const struct route* route, const MPI_Status* status, const char* call) {
  // MPI 3.1, 3.11: a receive from MPI_PROC_NULL.
  const bool none = route->from == MPI_PROC_NULL;
  const int source = none ? MPI_PROC_NULL : route->from, tag = none ? MPI_ANY_TAG : m->tag;
  const struct type* type = m->receive_type;
  int count, elements = -1, cancelled;
  if (none && (status->MPI_SOURCE != source || status->MPI_TAG != tag)) remark("status of a receive from MPI_PROC_NULL");
  if (status->MPI_SOURCE != source) wrong("%s: source is %d, should be %d", call, status->MPI_SOURCE, source);
  if (status->MPI_TAG != tag) wrong("%s: tag is %d, should be %d", call, status->MPI_TAG, tag);
  if (status->MPI_SOURCE != source || status->MPI_TAG != tag) return;  // nothing else in it means anything
  // Not always: in MPICH 4.0 MPI_Get_elements crashes for many structs, and nothing else would be seen.
  const bool counts = m->key % 4 == 0;
  if (!DO(MPI_Get_count(status, type->handle, &count)) || !DO(MPI_Test_cancelled(status, &cancelled)) ||
      (counts && !DO(MPI_Get_elements(status, type->handle, &elements))))
    return;
  const size_t rest = m->arrives % type->size;
  const int should = rest ? MPI_UNDEFINED : (int)(m->arrives / type->size);
  int entries = (int)(m->arrives / type->size) * type->entries;
  size_t covered = 0;
  for (int i = 0; covered < rest; ++i, ++entries) covered += (size_t)basics[type->basic[i]].size;
  if (count != should) wrong("%s: MPI_Get_count is %d, should be %d", call, count, should);
  if (counts && elements != entries) wrong("%s: MPI_Get_elements is %d, should be %d", call, elements, entries);
  if (cancelled) wrong("%s: MPI_Test_cancelled says yes", call);
}

void check_message(const struct scenario* s, struct message* m, int start) {
  check_buffer(s, &m->in, start);
  check_buffer(s, &m->out, start);
}

void fill_message(const struct scenario* s, struct message* m, int start) {
  clear_buffer(&m->out);
  clear_buffer(&m->in);
  fill_buffer(s, &m->out, start);
}

struct letters {
  struct message* messages;
  int count;
  struct route route;
  enum mode mode;
  enum variant sending, receiving;
  bool any_source, any_tag, reversed;
};

static int post_send(const struct letters* l, struct message* m, MPI_Comm comm, MPI_Request* request) {
  static int (*const blocking[])(const void*, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Bsend, MPI_Ssend,
                                                                                        MPI_Rsend};
  static int (*const nonblocking[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
  static int (*const persistent[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init};
  const int count = (int)m->send_count;
  if (l->sending == kBlocking) return blocking[l->mode](m->out.address, count, m->send_type->handle, l->route.to, m->tag, comm);
  return (l->sending == kNonblocking ? nonblocking : persistent)[l->mode](m->out.address, count, m->send_type->handle,
                                                                          l->route.to, m->tag, comm, request);
}

static int post_receive(const struct letters* l, struct message* m, MPI_Comm comm, MPI_Request* request, MPI_Status* status) {
  const int from = l->any_source && l->route.from != MPI_PROC_NULL ? MPI_ANY_SOURCE : l->route.from;
  const int tag = l->any_tag ? MPI_ANY_TAG : m->tag, count = (int)m->receive_count;
  const MPI_Datatype type = m->receive_type->handle;
  if (l->receiving == kBlocking) return MPI_Recv(m->in.address, count, type, from, tag, comm, status);
  if (l->receiving == kNonblocking) return MPI_Irecv(m->in.address, count, type, from, tag, comm, request);
  return MPI_Recv_init(m->in.address, count, type, from, tag, comm, request);
}

static bool exchange_letters(struct scenario* s, struct letters* l, struct draw* d, int start, MPI_Request* requests) {
  const int n = l->count;
  MPI_Comm comm = s->comm.handle;
  MPI_Request *in = requests, *out = requests + n;
  MPI_Status* statuses = KEEP(MPI_Status, 2 * n);
  for (int i = 0; i < n; ++i) fill_message(s, &l->messages[i], start);
  for (int k = 0; k < n && l->receiving != kBlocking; ++k) {
    const int i = l->reversed ? n - 1 - k : k;
    if ((l->receiving == kNonblocking || start == 0) &&
        !accepted("MPI_Irecv", post_receive(l, &l->messages[i], comm, &in[i], NULL)))
      return false;
    if (l->receiving == kPersistent && !DO(MPI_Start(&in[i]))) return false;
  }
  // MPI 3.1, 3.4: a ready send needs the receive to be posted.
  if (l->mode == kReady && !DO(MPI_Barrier(comm))) return false;
  for (int i = 0; i < n; ++i) {
    if ((l->sending != kPersistent || start == 0) && !accepted("MPI_Send", post_send(l, &l->messages[i], comm, &out[i])))
      return false;
  }
  if (l->sending == kPersistent && !DO(MPI_Startall(n, out))) return false;
  for (int i = 0; i < n && l->receiving == kBlocking; ++i)
    if (!accepted("MPI_Recv", post_receive(l, &l->messages[i], comm, NULL, &statuses[i]))) return false;
  const int first = l->receiving == kBlocking ? n : 0, last = l->sending == kBlocking ? n : 2 * n;
  if (last > first && !complete(d, requests + first, last - first, statuses + first)) return false;
  for (int i = 0; i < n; ++i) {
    check_status(&l->messages[i], &l->route, &statuses[i], "receive");
    check_message(s, &l->messages[i], start);
  }
  return true;  // if something is wrong, too: the others count on the next start
}

static void run_send(struct scenario* s, const struct family* family) {
  static const char* const variants[] = {"", "I", ""};
  struct draw* d = &s->draw;
  struct letters l = {0};
  (void)family;
  plan_comm(s, kAny);
  struct sides* sides = KEEP(struct sides, 1);
  draw_sides(s, sides, false);
  l.mode = (enum mode)draw_below(d, 4);
  l.sending = (enum variant)draw_below(d, 3);
  l.receiving = (enum variant)draw_below(d, 3);
  if (l.mode == kReady && l.receiving == kBlocking) l.receiving = kNonblocking;
  // Blocking both ways: somebody must receive first, so these go one way.
  enum pattern pattern = (enum pattern)draw_below(d, 3);
  if (l.sending == kBlocking && l.receiving == kBlocking && l.mode != kBuffered) pattern = kOneWay;
  l.count = (int)draw_between(d, 1, 4);
  l.any_source = draw_chance(d, 30);
  l.any_tag = draw_chance(d, 30);
  // If the tags name the messages, they may be received in another order.
  l.reversed = !l.any_tag && l.receiving != kBlocking && draw_chance(d, 50);
  const bool same_tags = !l.reversed && draw_chance(d, 50);
  const int first_tag = (int)draw_below(d, 30000);
  const uint64_t shuffle = draw_bits(d);
  char name[40];
  snprintf(name, sizeof name, "MPI_%s%s%s", variants[l.sending], mode_names[l.mode], l.sending == kPersistent ? "_init" : "");
  if (l.sending == kNonblocking) name[5] |= 0x20;
  describe(s, name, ", received by %s%s%s%s, %d messages%s, %s",
           l.receiving == kBlocking ? "MPI_Recv" : l.receiving == kNonblocking ? "MPI_Irecv" : "MPI_Recv_init",
           l.any_source ? ", MPI_ANY_SOURCE" : "", l.any_tag ? ", MPI_ANY_TAG" : "", l.reversed ? ", reversed" : "", l.count,
           pattern == kOneWay ? " one way" : "", sides->text);
  if (!begin(s)) return;
  plan_route(s, &l.route, pattern, shuffle);
  l.messages = KEEP(struct message, l.count);
  const int n = l.count;
  int room = 0;
  for (int i = 0; i < n; ++i) {
    struct message* m = &l.messages[i];
    m->sides = sides;
    m->key = s->key;
    m->tag = first_tag + (same_tags ? 0 : i);
    plan_message(s, m, &l.route, i, false);
    int size;
    if (!DO(MPI_Pack_size((int)m->send_count, m->send_type->handle, s->comm.handle, &size))) return;
    room += size + MPI_BSEND_OVERHEAD;
  }
  void* attached = NULL;
  int size;
  if (l.mode == kBuffered) DO(MPI_Buffer_attach(keep((size_t)room), room));
  MPI_Request* requests = KEEP(MPI_Request, 2 * n);
  const int starts = l.sending == kPersistent || l.receiving == kPersistent ? kStarts : 1;
  struct draw own = {mix(s->key, 900 + (uint64_t)world_rank)};
  bool well = true;
  for (int start = 0; start < starts && well; ++start) {
    well = exchange_letters(s, &l, &own, start, requests);
    // The buffer is free again when it has been detached.
    if (l.mode == kBuffered) DO(MPI_Buffer_detach(&attached, &size));
    if (l.mode == kBuffered && start + 1 < starts && well) DO(MPI_Buffer_attach(attached, size));
  }
  for (int i = 0; well && i < n; ++i) {
    if (l.receiving == kPersistent) DO(MPI_Request_free(&requests[i]));
    if (l.sending == kPersistent) DO(MPI_Request_free(&requests[n + i]));
  }
}

// The messages are found before they are received.
static void run_probe(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  const bool matched = family->code == 1;
  struct letters l = {.mode = kStandard, .sending = kNonblocking};
  plan_comm(s, kAny);
  struct sides* sides = KEEP(struct sides, 1);
  draw_sides(s, sides, false);
  l.count = (int)draw_between(d, 1, 3);
  l.any_source = draw_chance(d, 50);
  l.any_tag = draw_chance(d, 50);
  const bool tests = draw_chance(d, 50), nonblocking = draw_chance(d, 50);
  const enum pattern pattern = draw_chance(d, 30) ? kLine : kRing;
  const int first_tag = (int)draw_below(d, 30000);
  const uint64_t shuffle = draw_bits(d);
  describe(s, matched ? (tests ? "MPI_Improbe" : "MPI_Mprobe") : (tests ? "MPI_Iprobe" : "MPI_Probe"),
           "%s%s, then %s, %d messages, %s", l.any_source ? ", MPI_ANY_SOURCE" : "", l.any_tag ? ", MPI_ANY_TAG" : "",
           matched ? (nonblocking ? "MPI_Imrecv" : "MPI_Mrecv") : "MPI_Recv", l.count, sides->text);
  if (!begin(s)) return;
  plan_route(s, &l.route, pattern, shuffle);
  struct message* messages = l.messages = KEEP(struct message, l.count);
  MPI_Request* requests = KEEP(MPI_Request, l.count);
  MPI_Comm comm = s->comm.handle;
  for (int i = 0; i < l.count; ++i) {
    messages[i].sides = sides;
    messages[i].key = s->key;
    messages[i].tag = first_tag + i;
    plan_message(s, &messages[i], &l.route, i, false);
    fill_message(s, &messages[i], 0);
    if (!accepted("MPI_Isend", post_send(&l, &messages[i], comm, &requests[i]))) return;
  }
  for (int i = 0; i < l.count; ++i) {
    struct message* m = &messages[i];
    const int from = l.any_source && l.route.from != MPI_PROC_NULL ? MPI_ANY_SOURCE : l.route.from;
    const int tag = l.any_tag ? MPI_ANY_TAG : m->tag, count = (int)m->receive_count;
    const MPI_Datatype type = m->receive_type->handle;
    MPI_Status status, found;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Request request;
    bool well = true;
    int flag = !tests;
    if (matched && !tests) well = DO(MPI_Mprobe(from, tag, comm, &handle, &found));
    else if (!matched && !tests) well = DO(MPI_Probe(from, tag, comm, &found));
    while (!flag && well) {
      if (matched) well = DO(MPI_Improbe(from, tag, comm, &flag, &handle, &found));
      else well = DO(MPI_Iprobe(from, tag, comm, &flag, &found));
    }
    if (!well) return;
    check_status(m, &l.route, &found, "probe");
    // MPI 3.1, 3.8.2
    if (matched && l.route.from == MPI_PROC_NULL && handle != MPI_MESSAGE_NO_PROC)
      wrong("the message from MPI_PROC_NULL is not MPI_MESSAGE_NO_PROC");
    if (!matched) well = DO(MPI_Recv(m->in.address, count, type, found.MPI_SOURCE, found.MPI_TAG, comm, &status));
    else if (!nonblocking) well = DO(MPI_Mrecv(m->in.address, count, type, &handle, &status));
    else well = DO(MPI_Imrecv(m->in.address, count, type, &handle, &request)) && DO(MPI_Wait(&request, &status));
    if (!well) return;
    if (matched && handle != MPI_MESSAGE_NULL) wrong("the message is not MPI_MESSAGE_NULL after the receive");
    check_status(m, &l.route, &status, "receive");
  }
  if (!DO(MPI_Waitall(l.count, requests, KEEP(MPI_Status, l.count)))) return;
  for (int i = 0; i < l.count; ++i) check_message(s, &messages[i], 0);
}

const struct family message_families[] = {
    {"send", run_send, 0},           {"probe", run_probe, 0},
    {"mprobe", run_probe, 1},        {"sendrecv", run_sendrecv, 0},
    {"sendrecv_replace", run_sendrecv, 1}, {"partitioned", run_partitioned, 0},
    {NULL, NULL, 0},
};
