#include "comms.h"

#include "sweep.h"

int world_rank, world_size;
bool one_host;

static int find(const int* list, int n, int what) {
  for (int i = 0; i < n; ++i)
    if (list[i] == what) return i;
  return -1;
}

static int below(struct draw* d, int n) { return (int)draw_below(d, n); }

static void plan_groups(struct draw* d, struct comm* c) {
  const int n = world_size;
  int* order = KEEP(int, n);
  draw_order(d, n, order);
  // Every rank must have drawn as often as all others when this is over.
  const int cut = n > 1 ? 1 + below(d, n - 1) : 1;
  int left_out = n > 3 && draw_chance(d, 20) ? 1 : 0;
  const bool equal = n % 2 == 0 && draw_chance(d, 30);
  const int first = equal ? n / 2 : cut;
  if (equal || first + 1 >= n) left_out = 0;
  const int second = n - first - left_out;
  c->members = KEEP(int, n);
  c->others = KEEP(int, n);
  int size = 0;
  switch (c->kind) {
    case kSplit:
      // Odd and even, or three colours; within a part by a random key.
      c->way = draw_chance(d, 70) ? 2 : 3;
      c->side = world_rank % c->way;
      for (int i = 0; i < n; ++i)
        if (order[i] % c->way == c->side) c->members[size++] = order[i];
      break;
    case kReversed:
      for (int i = 0; i < n; ++i) c->members[size++] = n - 1 - i;
      break;
    case kSelf: c->members[size++] = world_rank; break;
    case kSubset:
      for (int i = 0; i < cut; ++i) c->members[size++] = order[i];
      break;
    case kMerged:
      memcpy(c->members, order, sizeof(int) * (size_t)(first + second));
      size = first + second;
      c->edges = first;  // how many are in the first of the two groups that are merged
      break;
    case kInter: {
      const int at = find(order, n, world_rank);
      c->side = at >= first;
      const int* mine = order + (c->side ? first : 0);
      const int* theirs = order + (c->side ? 0 : first);
      size = c->side ? second : first;
      c->remote = c->side ? first : second;
      memcpy(c->members, mine, sizeof(int) * (size_t)size);
      memcpy(c->others, theirs, sizeof(int) * (size_t)c->remote);
      break;
    }
    default:
      for (int i = 0; i < n; ++i) c->members[size++] = i;
  }
  c->size = size;
  c->rank = find(c->members, size, world_rank);
  c->member = c->rank >= 0;
}

void plan_comm(struct scenario* s, enum comm_choice choice) {
  struct draw* const d = &s->draw;
  struct comm* const c = &s->comm;
  static const enum comm_kind intra[] = {kWorld, kWorld, kDup,  kSplit, kReversed,  kSelf,
                                         kSubset, kMerged, kCart, kGraph, kDistGraph, kDistGraphAdjacent};
  static const enum comm_kind topologies[] = {kCart, kCart, kCart, kGraph, kDistGraph, kDistGraphAdjacent};
  const int pick = below(d, 12);
  memset(c, 0, sizeof *c);
  c->handle = MPI_COMM_NULL;
  c->kind = choice == kTopology ? topologies[pick % 6] : choice == kAny && s->inter ? kInter : intra[pick];
  if ((c->kind == kInter || c->kind == kMerged) && world_size < 2) c->kind = kDup;
  c->way = below(d, 4);
  c->shuffle = draw_bits(d);
  if (c->kind >= kCart) {
    plan_topology(d, c);
    return;
  }
  plan_groups(d, c);
  static const char* const names[] = {"MPI_COMM_WORLD", "a duplicate", "a part of a split", "reversed ranks",
                                      "MPI_COMM_SELF",  "a subset",    "a merged intercommunicator"};
  if (c->kind == kInter) {
    const int sizes[2] = {c->side ? c->remote : c->size, c->side ? c->size : c->remote};
    snprintf(c->text, sizeof c->text, "an intercommunicator of %d+%d", sizes[0], sizes[1]);
  } else {
    snprintf(c->text, sizeof c->text, "%s of %d", names[c->kind], c->size);
  }
}

static bool from_group(struct comm* c) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  bool well = DO(MPI_Group_incl(world, c->size, c->members, &group));
  // MPI_Comm_create is called by all of the old communicator, MPI_Comm_create_group by the members only.
  if (well && c->way % 2) well = DO(MPI_Comm_create(MPI_COMM_WORLD, group, &c->handle));
  else if (well && c->member) well = DO(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &c->handle));
  if (well) MPI_Group_free(&group);
  MPI_Group_free(&world);
  return well;
}

static bool between(struct comm* c) {
  MPI_Comm local;
  const bool merged = c->kind == kMerged;
  const int at = merged ? find(c->members, c->size, world_rank) : c->rank;
  const int side = merged ? at >= c->edges : c->side;
  // Those left out of the groups take part in the split only.
  const bool member = merged ? at >= 0 : c->member;
  if (!DO(MPI_Comm_split(MPI_COMM_WORLD, member ? side : MPI_UNDEFINED, at, &local))) return false;
  if (!member) return true;
  const int other = merged ? c->members[side ? 0 : c->edges] : c->others[0];
  MPI_Comm inter;
  if (!DO(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, other, 23, &inter))) return false;
  MPI_Comm_free(&local);
  if (!merged) {
    c->handle = inter;
    return true;
  }
  // The group that says "high" comes after the other.
  const bool well = DO(MPI_Intercomm_merge(inter, side, &c->handle));
  MPI_Comm_free(&inter);
  return well;
}

static bool make_plain(struct comm* c) {
  MPI_Request request;
  switch (c->kind) {
    case kWorld: c->handle = MPI_COMM_WORLD; return true;
    case kSelf: c->handle = MPI_COMM_SELF; return true;
    case kDup:
      if (c->way == 0) return DO(MPI_Comm_dup(MPI_COMM_WORLD, &c->handle));
      if (c->way == 1) return DO(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &c->handle));
      if (c->way == 2 && one_host)
        return DO(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c->handle));
      return DO(MPI_Comm_idup(MPI_COMM_WORLD, &c->handle, &request)) && DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    case kSplit: return DO(MPI_Comm_split(MPI_COMM_WORLD, c->side, c->rank, &c->handle));
    case kReversed:
      if (c->way < 2) return from_group(c);
      return DO(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &c->handle));
    case kSubset: return from_group(c);
    default: return between(c);
  }
}

bool make_comm(struct comm* c) {
  if (c->kind >= kCart ? !make_topology(c) : !make_plain(c)) return false;
  if (!c->member) {
    if (c->handle != MPI_COMM_NULL) wrong("got a communicator without being a member");
    return true;
  }
  int rank, size, remote = 0, inter;
  if (!DO(MPI_Comm_set_errhandler(c->handle, MPI_ERRORS_RETURN))) return false;
  MPI_Comm_rank(c->handle, &rank);
  MPI_Comm_size(c->handle, &size);
  MPI_Comm_test_inter(c->handle, &inter);
  if (inter) MPI_Comm_remote_size(c->handle, &remote);
  if (rank != c->rank && !c->reorder) wrong("MPI_Comm_rank is %d, should be %d", rank, c->rank);
  if (size != c->size) wrong("MPI_Comm_size is %d, should be %d", size, c->size);
  if (remote != c->remote) wrong("MPI_Comm_remote_size is %d, should be %d", remote, c->remote);
  c->rank = rank;
  return !is_wrong();
}

void free_comm(struct comm* c) {
  if (c->handle == MPI_COMM_NULL || c->kind == kWorld || c->kind == kSelf) return;
  MPI_Comm_free(&c->handle);
}
