#include "traffic.h"

enum { kArena = 8 << 20, kMaxCalls = 30000 };

int rank, size, call;
bool verify, known_bugs;
struct team teams[kTeams];

static uint64_t seed, state;
static _Alignas(64) unsigned char arena[kArena], expected[kArena];
static int used, kept, wrongs, wrong_call = -1;
static struct {
  unsigned char *at, *image;
  int bytes;
} outside;
static const char* kind;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int draw(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}
bool chance(int one_in) { return draw(one_in) == 0; }

static uint32_t word(int who, int number, int i) {
  const uint64_t where = (uint64_t)call << 40 | (uint64_t)(who + 1) << 36 | (uint64_t)(number + 1) << 22 | (unsigned)i;
  return (uint32_t)mix(where + seed * 0x9e3779b97f4a7c15u);
}
int pick(int n, int i, int j) { return (int)(word(i, 9999, j) % (unsigned)n); }

void wrong(const char* what) {
  ++wrongs;
  if (wrong_call == call) return;
  wrong_call = call;
  fprintf(stderr, "WRONG call %d %s (%s, rank %d)\n", call, kind, what, rank);
}

void fill(unsigned char* at, int bytes, int who, int number) {
  for (int i = 0; i < bytes; i += 4) {
    const uint32_t value = word(who, number, i / 4);
    memcpy(at + i, &value, (size_t)(bytes - i < 4 ? bytes - i : 4));
  }
}

unsigned char* image(void* at) {
  unsigned char* byte = at;
  if (byte >= outside.at && byte < outside.at + outside.bytes) return outside.image + (byte - outside.at);
  return expected + (byte - arena);
}
void also(void* at, unsigned char* its_image, int bytes) {
  outside.at = at;
  outside.image = its_image;
  outside.bytes = bytes;
}

void set(void* at, const void* value, int bytes) {
  memcpy(at, value, (size_t)bytes);
  if (verify) memcpy(image(at), value, (size_t)bytes);
}

void fresh(unsigned char* at, int bytes, int number) {
  fill(at, bytes, rank, number);
  if (verify && bytes > 0) memcpy(image(at), at, (size_t)bytes);
}

unsigned char* take(int bytes, int number) {
  unsigned char* at = arena + used + kGuard;
  const int room = (bytes + 63) / 64 * 64;
  if (used + room + 2 * kGuard > kArena) {
    fprintf(stderr, "traffic: the arena is too small\n");
    MPI_Abort(MPI_COMM_WORLD, 70);
  }
  fill(at - kGuard, kGuard, rank, 5000 + number);
  fill(at, bytes, rank, number);
  fill(at + bytes, room - bytes + kGuard, rank, 7000 + number);
  if (verify) memcpy(image(at - kGuard), at - kGuard, (size_t)(room + 2 * kGuard));
  used += room + kGuard;
  return at;
}

// From now on the calls' memory begins behind it.
unsigned char* keep(int bytes, int number) {
  unsigned char* at = take(bytes, number);
  kept = used += kGuard;
  return at;
}

void check(const void* at, int bytes) {
  if (!verify) return;
  const unsigned char* begin = (const unsigned char*)at - kGuard;
  if (memcmp(begin, expected + (begin - arena), (size_t)(bytes + 2 * kGuard)) != 0) wrong("data");
}

enum mode mode_drawn(void) {
  const int drawn = draw(8);
#if MPI_VERSION >= 4
  return drawn < 5 ? kBlocking : drawn < 7 ? kNonblocking : kPersistent;
#else
  return drawn < 5 ? kBlocking : kNonblocking;
#endif
}
int starts_of(enum mode mode) { return mode == kPersistent ? 3 : 1; }

void complete(MPI_Request* request, enum mode mode, int how) {
  if (mode == kBlocking) return;
  if (how == 0) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return;
  }
  for (int flag = 0; !flag;) {
    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (!flag) sched_yield();
  }
}

static void team_make(struct team* team, MPI_Comm comm) {
  MPI_Group everybody, group;
  int ranks[kMaxRanks];
  team->comm = comm;
  MPI_Comm_size(comm, &team->size);
  MPI_Comm_rank(comm, &team->rank);
  for (int i = 0; i < team->size; ++i) ranks[i] = i;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(group, team->size, ranks, everybody, team->who);
  MPI_Group_free(&everybody);
  MPI_Group_free(&group);
}

const struct team* team_drawn(void) {
  const int drawn = draw(16);
  return &teams[drawn < 9 ? kWorld : drawn < 11 ? kDup : drawn < 13 ? kReversed : drawn < 15 ? kHalves : kSelf];
}

static const struct {
  const char* name;
  int weight;
  kind_function* run;
} kinds[] = {
    {"message", 90, message},
    {"exchange", 70, exchange},
    {"persistent", 40, persistent_message},
    {"sendrecv", 40, ring},
    {"replace", 20, ring_replace},
    {"any-source", 40, any_source},
    {"probe", 30, probed},
    {"mprobe", 30, matched},
    {"self", 25, self},
    {"pack", 20, packed_message},
    {"bottom", 15, absolute},
    {"isendrecv", 10, send_and_receive},
    {"barrier", 3, barrier},
    {"bcast", 15, bcast},
    {"gather", 10, gather},
    {"gatherv", 10, gatherv},
    {"scatter", 8, scatter},
    {"scatterv", 8, scatterv},
    {"allgather", 8, allgather},
    {"allgatherv", 8, allgatherv},
    {"alltoall", 8, alltoall},
    {"alltoallv", 8, alltoallv},
    {"alltoallw", 6, alltoallw},
    {"overlap", 8, overlap},
    {"reduce", 10, reduce},
    {"allreduce", 10, allreduce},
    {"reduce-scatter", 6, reduce_scatter},
    {"scan", 6, scan},
    {"neighbours", 30, neighbours},
    {"intercommunicator", 10, across},
    {"fence", 5, fenced},
    {"post-start", 5, posted},
    {"lock", 3, locked},
    {"request-based", 3, requested},
};

// Only those of TRAFFIC_KINDS, if there are any.
static int weight(int k) {
  const char* list = getenv("TRAFFIC_KINDS");
  const size_t length = strlen(kinds[k].name);
  for (const char* at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, kinds[k].name, length) == 0 && (at[length] == ',' || !at[length])) return kinds[k].weight;
  return list ? 0 : kinds[k].weight;
}

static void one_call(void) {
  enum { kKinds = sizeof kinds / sizeof kinds[0] };
  int all = 0, i = 0;
  for (int k = 0; k < kKinds; ++k) all += weight(k);
  int drawn = draw(all);
  while (drawn >= weight(i)) drawn -= weight(i++);
  kind = kinds[i].name;
  used = kept;
  kinds[i].run();
  if (verify && memcmp(arena + kept, expected + kept, (size_t)(used - kept)) != 0) wrong("data, in the end");
}

int main(int argc, char** argv) {
  const int calls = argc == 3 ? atoi(argv[2]) : 0;
  if (calls < 1 || calls > kMaxCalls) {
    fprintf(stderr, "traffic: usage: traffic SEED CALLS, at most %d\n", kMaxCalls);
    return 64;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2 || size > kMaxRanks) {
    fprintf(stderr, "traffic: 2 to %d ranks\n", kMaxRanks);
    MPI_Abort(MPI_COMM_WORLD, 64);
  }
  seed = (uint64_t)strtoull(argv[1], NULL, 10);
  state = mix(seed + 1);
  verify = getenv("TRAFFIC_VERIFY") && atoi(getenv("TRAFFIC_VERIFY"));
  known_bugs = getenv("TRAFFIC_KNOWN_BUGS") && atoi(getenv("TRAFFIC_KNOWN_BUGS"));
  MPI_Comm comms[kTeams] = {[kWorld] = MPI_COMM_WORLD, [kSelf] = MPI_COMM_SELF};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[kDup]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[kReversed]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[kHalves]);
  for (int i = 0; i < kTeams; ++i) team_make(&teams[i], comms[i]);
  bases_make();
  operations_make();
  topologies_make();
  windows_make();
  across_make();
  for (call = 0; call < calls; ++call) one_call();
  across_free();
  windows_free();
  topologies_free();
  operations_free();
  bases_free();
  for (int i = kDup; i <= kHalves; ++i) MPI_Comm_free(&teams[i].comm);
  MPI_Finalize();
  return wrongs > 0;
}
