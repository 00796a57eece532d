#include "exchange.h"

const char* const collective_names[] = {"Barrier",
                                        "Bcast",
                                        "Gather",
                                        "Gatherv",
                                        "Scatter",
                                        "Scatterv",
                                        "Allgather",
                                        "Allgatherv",
                                        "Alltoall",
                                        "Alltoallv",
                                        "Alltoallw",
                                        "Reduce",
                                        "Allreduce",
                                        "Reduce_scatter",
                                        "Reduce_scatter_block",
                                        "Scan",
                                        "Exscan",
                                        "Neighbor_allgather",
                                        "Neighbor_allgatherv",
                                        "Neighbor_alltoall",
                                        "Neighbor_alltoallv",
                                        "Neighbor_alltoallw"};

#define SIMPLE(side) side->address, side->count, side->type
#define PLACED(side) side->address, COUNTS(side), PLACES(side)

static int issue_small(const struct scenario* s, struct exchange* x, MPI_Request* request) {
  const MPI_Comm comm = s->comm.handle;
  const struct operand *out = &x->send, *in = &x->receive;
#define CALL(name, small, ...)                               \
  s->variant == kBlocking      ? MPI_##name(__VA_ARGS__)     \
  : s->variant == kNonblocking ? MPI_I##small(__VA_ARGS__, request) \
                               : PERSISTENT(name, __VA_ARGS__)
#define COUNTS(side) side->counts
#define PLACES(side) side->places
  switch (x->what) {
    case kBarrier: return CALL(Barrier, barrier, comm);
#include "calls.h"
  }
#undef CALL
#undef COUNTS
#undef PLACES
  return MPI_ERR_INTERN;
}

#if MPI_VERSION >= 4
static int issue_large(const struct scenario* s, struct exchange* x, MPI_Request* request) {
  const MPI_Comm comm = s->comm.handle;
  const struct operand *out = &x->send, *in = &x->receive;
#define CALL(name, small, ...)                                   \
  s->variant == kBlocking      ? MPI_##name##_c(__VA_ARGS__)     \
  : s->variant == kNonblocking ? MPI_I##small##_c(__VA_ARGS__, request) \
                               : MPI_##name##_init_c(__VA_ARGS__, MPI_INFO_NULL, request)
#define COUNTS(side) side->counts_c
#define PLACES(side) side->places_c
  switch (x->what) {
    case kBarrier: break;
#include "calls.h"
  }
#undef CALL
#undef COUNTS
#undef PLACES
  return MPI_ERR_INTERN;
}
#endif

int issue(const struct scenario* s, struct exchange* x, MPI_Request* request) {
#if MPI_VERSION >= 4
  if (s->large) return issue_large(s, x, request);
#endif
  return issue_small(s, x, request);
}

// One at a time or some, waiting or testing.
static bool complete_some(struct draw* d, MPI_Request* requests, int count, MPI_Status* statuses) {
  int* indices = KEEP(int, count);
  MPI_Status* some = KEEP(MPI_Status, count);
  for (int done = 0; done < count;) {
    int n = 1, flag = 1;
    switch (draw_below(d, 4)) {
      case 0:
        if (!DO(MPI_Waitany(count, requests, indices, some))) return false;
        break;
      case 1:
        if (!DO(MPI_Waitsome(count, requests, &n, indices, some))) return false;
        break;
      case 2:
        if (!DO(MPI_Testany(count, requests, indices, &flag, some))) return false;
        break;
      default:
        if (!DO(MPI_Testsome(count, requests, &n, indices, some))) return false;
    }
    if (n == MPI_UNDEFINED || (flag && n == 1 && indices[0] == MPI_UNDEFINED)) {
      wrong("completion says that no request is active, but %d are not complete", count - done);
      return DO(MPI_Waitall(count, requests, statuses));
    }
    for (int i = 0; flag && i < n; ++i, ++done) {
      if (indices[i] >= 0 && indices[i] < count) {
        statuses[indices[i]] = some[i];
        continue;
      }
      wrong("completion of request %d of %d", indices[i], count);
      return false;
    }
  }
  return true;
}

// An error in a status that no status has is wrong, but all can go on.
static bool testall(MPI_Request* requests, int count, int* flag, MPI_Status* statuses) {
  for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  const int code = MPI_Testall(count, requests, flag, statuses);
  if (code != MPI_ERR_IN_STATUS) return accepted("MPI_Testall", code);
  for (int i = 0; i < count; ++i)
    if (statuses[i].MPI_ERROR != MPI_SUCCESS) return accepted("MPI_Testall", statuses[i].MPI_ERROR);
  wrong("MPI_Testall says MPI_ERR_IN_STATUS, but no status has an error");
  *flag = 1;
  return DO(MPI_Waitall(count, requests, statuses));
}

bool complete(struct draw* d, MPI_Request* requests, int count, MPI_Status* statuses) {
  int flag = 0;
  switch (draw_below(d, 5)) {
    case 0:
      for (int i = 0; i < count; ++i)
        if (!DO(MPI_Wait(&requests[i], &statuses[i]))) return false;
      return true;
    case 1: return DO(MPI_Waitall(count, requests, statuses));
    case 2:
      while (!flag)
        if (!testall(requests, count, &flag, statuses)) return false;
      return true;
    case 3:
      for (int i = count - 1; i >= 0; --i)
        for (flag = 0; !flag;)
          if (!DO(MPI_Test(&requests[i], &flag, &statuses[i]))) return false;
      return true;
    default: return complete_some(d, requests, count, statuses);
  }
}

void perform(struct scenario* s, struct exchange* x, int count) {
  MPI_Request* requests = KEEP(MPI_Request, count);
  MPI_Status* statuses = KEEP(MPI_Status, count);
  const char* name = function_name(s, collective_names[x->what]);
  const int starts = s->variant == kPersistent ? kStarts : 1;
  struct draw d = {mix(s->key, 900 + (uint64_t)world_rank)};
  for (int i = 0; s->variant == kPersistent && i < count; ++i)
    if (!accepted(name, issue(s, &x[i], &requests[i]))) return;
  for (int start = 0; start < starts; ++start) {
    for (int i = 0; i < count; ++i) x[i].fill(s, &x[i], start * count + i);
    if (s->variant == kPersistent) {
      const bool together = count == 1 && s->key % 2;  // several collectives must be started in the same order
      if (together && !DO(MPI_Startall(count, requests))) return;
      for (int i = 0; i < count && !together; ++i)
        if (!DO(MPI_Start(&requests[i]))) return;
    } else {
      for (int i = 0; i < count; ++i)
        if (!accepted(name, issue(s, &x[i], &requests[i]))) return;
    }
    if (s->variant != kBlocking && !complete(&d, requests, count, statuses)) return;
    for (int i = 0; i < count; ++i) x[i].check(s, &x[i], start * count + i);
    for (int i = 0; s->variant == kNonblocking && i < count; ++i)
      if (requests[i] != MPI_REQUEST_NULL) wrong("the request is not MPI_REQUEST_NULL after completion");
  }
  for (int i = 0; s->variant == kPersistent && i < count; ++i) DO(MPI_Request_free(&requests[i]));
}

void lay_out(const struct scenario* s, const struct sides* sides, struct plan plan, struct operand* o, struct buffer* b) {
  const uint64_t me = mix(local_id(&s->comm, s->comm.rank), plan.sending ? 11 : 12);
  const int n = plan.blocks, mine = side_of(sides, me);
  const struct type* const* types = plan.sending ? sides->send : sides->receive;
  const long* per = plan.sending ? sides->per_send : sides->per_receive;
  struct draw d = {mix(s->key, me)};
  int* order = KEEP(int, n);
  o->type = types[mine]->handle;
  o->count = n ? plan.units[0] * per[mine] : 0;
  o->counts = KEEP(int, n);
  o->places = KEEP(int, n);
  o->counts_c = KEEP(MPI_Count, n);
  o->places_c = KEEP(MPI_Aint, n);
  o->types = KEEP(MPI_Datatype, n);
  draw_order(&d, n, order);
  ptrdiff_t at = plan.how != kRegular && draw_chance(&d, 20) ? -draw_between(&d, 1, 9) : 0;
  for (int k = 0; k < n; ++k) {
    const int i = plan.how == kRegular ? k : order[k];
    const int side = plan.how == kByByte ? side_of(sides, mix(me, (uint64_t)i)) : mine;
    const struct type* type = types[side];
    const long count = plan.units[i] * per[side];
    ptrdiff_t low, high, place = at;
    if (plan.how == kByByte) {
      type_span(type, count, &low, &high);
      place = (at - low + 63) / 64 * 64;
      at = place + high + 8 * draw_between(&d, 0, 3);
      add_block(b, place, count, type, plan.before[i], plan.after[i])->number = i;
    } else {
      at += count + (plan.how == kByItem && draw_chance(&d, 40) ? draw_between(&d, 1, 5) : 0);
      add_block(b, place * type->extent, count, type, plan.before[i], plan.after[i])->number = i;
    }
    o->counts[i] = (int)(o->counts_c[i] = count);
    o->places[i] = (int)(o->places_c[i] = place);
    o->types[i] = type->handle;
  }
  make_buffer(b, plan.sending ? "send" : "receive", NULL);
  o->address = b->address;
}

void fill_both(const struct scenario* s, struct exchange* x, int start) {
  clear_buffer(&x->out);
  clear_buffer(&x->in);
  fill_buffer(s, &x->out, start);
  fill_buffer(s, &x->in, start);
}

void check_both(const struct scenario* s, struct exchange* x, int start) {
  check_buffer(s, &x->in, start);
  check_buffer(s, &x->out, start);
}
