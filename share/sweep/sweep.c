// Makes random legal MPI calls and verifies every result: for somebody who has just built an MPI library.
//
//   mpirun -n 5 ./sweep --seed 1 --cases 1000
//
// One line per case that went wrong, and at last "1000 cases, 0 wrong". See --help.
#define _POSIX_C_SOURCE 200809L

#include "sweep.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

struct options options = {.seed = 1, .most_bytes = 1 << 20};

enum { kFine, kRefused, kWrong };
static struct {
  int state;
  char text[1000], remark[120];
} outcome;

static struct {
  long cases, from, to, only_case, limit;
  char only[400], variants[60], comms[20], without[1000];
} choice = {.cases = 1000, .to = LONG_MAX, .only_case = -1, .limit = 120};

static struct scenario current;
static MPI_Comm report_comm, mark_comm;
static void** kept;
static MPI_Datatype* kept_types;
static size_t kept_count, kept_room, types_count, types_room;

void* keep(size_t bytes) {
  if (kept_count == kept_room) kept = realloc(kept, sizeof *kept * (kept_room = 2 * kept_room + 64));
  void* memory = calloc(1, bytes ? bytes : 1);
  if (!memory || !kept) {
    fprintf(stderr, "sweep: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return kept[kept_count++] = memory;
}

size_t keep_count(void) { return kept_count; }

void keep_type(MPI_Datatype handle) {
  if (types_count == types_room) kept_types = realloc(kept_types, sizeof *kept_types * (types_room = 2 * types_room + 64));
  kept_types[types_count++] = handle;
}

static void let_go(void) {
  while (types_count > 0) MPI_Type_free(&kept_types[--types_count]);
  while (kept_count > 0) free(kept[--kept_count]);
}

void wrong(const char* format, ...) {
  if (outcome.state == kWrong) return;
  outcome.state = kWrong;
  va_list args;
  va_start(args, format);
  vsnprintf(outcome.text, sizeof outcome.text, format, args);
  va_end(args);
}

void remark(const char* text) { snprintf(outcome.remark, sizeof outcome.remark, "%s", text); }
bool is_wrong(void) { return outcome.state == kWrong; }
bool is_refused(void) { return outcome.state == kRefused; }

static const char* class_name(int class) {
#define CLASS(name) \
  { MPI_ERR_##name, "MPI_ERR_" #name }
  static const struct {
    int class;
    const char* name;
  } names[] = {CLASS(BUFFER),
               CLASS(COUNT),
               CLASS(TYPE),
               CLASS(TAG),
               CLASS(COMM),
               CLASS(RANK),
               CLASS(REQUEST),
               CLASS(ROOT),
               CLASS(GROUP),
               CLASS(OP),
               CLASS(TOPOLOGY),
               CLASS(DIMS),
               CLASS(ARG),
               CLASS(UNKNOWN),
               CLASS(TRUNCATE),
               CLASS(OTHER),
               CLASS(INTERN),
               CLASS(IN_STATUS),
               CLASS(PENDING),
               CLASS(ASSERT),
               CLASS(DISP),
               CLASS(INFO),
               CLASS(LOCKTYPE),
               CLASS(NO_MEM),
               CLASS(RMA_CONFLICT),
               CLASS(RMA_SYNC),
               CLASS(SIZE),
               CLASS(WIN),
               CLASS(UNSUPPORTED_OPERATION),
               CLASS(BASE),
               CLASS(RMA_RANGE),
               CLASS(RMA_ATTACH),
               CLASS(RMA_FLAVOR)};
#undef CLASS
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (names[i].class == class) return names[i].name;
  return "unknown class";
}

bool accepted(const char* call, int code) {
  if (code == MPI_SUCCESS) return true;
  if (outcome.state != kFine) return false;
  outcome.state = kRefused;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length, class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  for (char* at = text; *at; ++at)
    if (*at == '\n') *at = ' ';
  // Only the name of the function.
  snprintf(outcome.text, sizeof outcome.text, "%.*s: %s: %.300s", (int)strcspn(call, "("), call, class_name(class), text);
  return false;
}

const char* function_name(const struct scenario* s, const char* name) {
  static char text[80];
  const char* suffix = s->large ? "_c" : "";
  if (s->variant == kPersistent) snprintf(text, sizeof text, "MPI_%s_init%s", name, suffix);
  else if (s->variant == kNonblocking) snprintf(text, sizeof text, "MPI_I%c%s%s", name[0] | 0x20, name + 1, suffix);
  else snprintf(text, sizeof text, "MPI_%s%s", name, suffix);
  return text;
}

void describe(struct scenario* s, const char* call, const char* format, ...) {
  int n = snprintf(s->text, sizeof s->text, "%s on %s", call, s->comm.text);
  va_list args;
  va_start(args, format);
  vsnprintf(s->text + n, sizeof s->text - (size_t)n, format, args);
  va_end(args);
}

bool begin(struct scenario* s) {
  if (options.verbose && world_rank == 0) {
    printf("%s\n", s->text);
    fflush(stdout);
  }
  if (is_wrong() || is_refused()) return false;  // a datatype was
  return make_comm(&s->comm) && s->comm.member;
}

static void say(int fd, const char* what) {
  if (write(fd, what, strlen(what)) < 0) _exit(3);
}

// Names the case that crashes, or takes too long.
static void on_signal(int number) {
  char line[1000];
  if (number == SIGALRM && world_rank != 0) _exit(3);
  snprintf(line, sizeof line, "%s case %ld: %s: rank %d\n", number == SIGALRM ? "HANGS" : "CRASHES", current.number, current.text,
           world_rank);
  say(number == SIGALRM ? 1 : 2, line);
  if (number == SIGALRM) _exit(3);
  signal(number, SIG_DFL);
  raise(number);
}

static const struct {
  const struct family* families;
  const char* group;
} tables[] = {{collective_families, "collectives"}, {reduction_families, "collectives"}, {neighbour_families, "collectives"},
              {message_families, "messages"},       {packing_families, "packing"},       {window_families, "windows"}};
enum { kTables = sizeof tables / sizeof tables[0] };

static const struct family* family_at(long index) {
  for (int t = 0; t < kTables; ++t)
    for (const struct family* f = tables[t].families; f->name; ++f)
      if (index-- == 0) return f;
  return NULL;
}

static const char* group_of(const struct family* family) {
  for (int t = 0; t < kTables; ++t)
    for (const struct family* f = tables[t].families; f->name; ++f)
      if (f == family) return tables[t].group;
  return "";
}

static const struct family* draw_family(uint64_t key) {
  static long count;
  if (!count)
    while (family_at(count)) ++count;
  return family_at((long)(key % (uint64_t)count));
}

static bool is_listed(const char* name, const char* list) {
  const size_t length = strlen(name);
  for (const char* at = list; at; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
  }
  return false;
}
static bool is_chosen(const char* name, const char* list) { return !list[0] || is_listed(name, list); }

// Rank 0 hears from everybody, prints one line, and lets all go on together, so that a crash belongs to the case that was
// named last.
static int settle(struct scenario* s) {
  int worst = outcome.state, failing = worst != kFine;
  static char line[2000], theirs[2000];
  line[0] = 0;
  if (outcome.state != kFine)
    snprintf(line, sizeof line, "%s case %ld: %s: rank %d: %s%s%s%s\n", outcome.state == kWrong ? "WRONG" : "REFUSED", s->number,
             s->text, world_rank, outcome.text, outcome.remark[0] ? " [" : "", outcome.remark, outcome.remark[0] ? "]" : "");
  if (world_rank != 0) {
    MPI_Send(&outcome.state, 1, MPI_INT, 0, 1, report_comm);
    if (outcome.state != kFine) MPI_Send(line, (int)sizeof line, MPI_CHAR, 0, 2, report_comm);
    MPI_Recv(&worst, 1, MPI_INT, 0, 3, report_comm, MPI_STATUS_IGNORE);
    return worst;
  }
  for (int rank = 1; rank < world_size; ++rank) {
    int state;
    MPI_Recv(&state, 1, MPI_INT, rank, 1, report_comm, MPI_STATUS_IGNORE);
    if (state == kFine) continue;
    ++failing;
    MPI_Recv(theirs, (int)sizeof theirs, MPI_CHAR, rank, 2, report_comm, MPI_STATUS_IGNORE);
    if (state > worst) memcpy(line, theirs, sizeof line);
    if (state > worst) worst = state;
  }
  if (failing > 1) snprintf(line + strlen(line) - 1, sizeof line - strlen(line), " (%d ranks in all)\n", failing);
  printf("%s", line);
  fflush(stdout);
  for (int rank = 1; rank < world_size; ++rank) MPI_Send(&worst, 1, MPI_INT, rank, 3, report_comm);
  return worst;
}

static uint64_t case_key(long number) { return mix(mix(options.seed, 0x5eed), (uint64_t)number); }

static enum variant draw_variant(long number) {
  const enum variant variant = (enum variant)(mix(case_key(number), 2) % 3);
  return variant == kPersistent && !PERSISTENT_COLLECTIVES ? kNonblocking : variant;
}

static bool draw_inter(long number) { return mix(case_key(number), 3) % 4 == 0; }

static const char* const variant_names[] = {"blocking", "nonblocking", "persistent"};

// "bcast/persistent"; only the collectives have variants.
static const char* kind_of(long number, const struct family* family) {
  static char text[80];
  const bool has_variants = !strcmp(group_of(family), "collectives") && strcmp(family->name, "reduce_local");
  snprintf(text, sizeof text, "%s%s%s", family->name, has_variants ? "/" : "",
           has_variants ? variant_names[draw_variant(number)] : "");
  return text;
}

static bool is_wanted(long number, const struct family* family) {
  return (is_chosen(family->name, choice.only) || is_listed(group_of(family), choice.only)) &&
         is_chosen(variant_names[draw_variant(number)], choice.variants) && !is_listed(kind_of(number, family), choice.without) &&
         is_chosen(draw_inter(number) ? "inter" : "intra", choice.comms);
}

// A message from each process to itself, by which somebody who follows the calls sees where a case begins: no other one has this
// tag, which is the greatest that every library has.
static void mark(void) { MPI_Sendrecv(NULL, 0, MPI_BYTE, 0, 32767, NULL, 0, MPI_BYTE, 0, 32767, mark_comm, MPI_STATUS_IGNORE); }

static int run_case(long number, const struct family* family) {
  struct scenario* s = &current;
  memset(&outcome, 0, sizeof outcome);
  s->number = number;
  s->key = case_key(number);
  s->draw.state = mix(s->key, 1);
  s->comm.handle = MPI_COMM_NULL;
  s->variant = draw_variant(number);
  s->inter = draw_inter(number);
  s->large = draw_chance(&s->draw, 20) && MPI_VERSION >= 4;
  snprintf(s->text, sizeof s->text, "%s, its datatypes", family->name);
  if (options.verbose && world_rank == 0) {
    printf("case %ld %s: ", number, kind_of(number, family));
    fflush(stdout);
  }
  mark();
  if (choice.limit > 0) alarm((unsigned)choice.limit + (world_rank != 0 ? 5 : 0));
  family->run(s, family);
  free_comm(&s->comm);
  const int state = settle(s);
  let_go();
  return state;
}

static void usage(void) {
  printf(
      "usage: sweep [--seed S] [--cases K] [--only FAMILY[,FAMILY]] [--without KIND[,KIND]] [--variants VARIANT[,VARIANT]]\n"
      "             [--comms inter|intra] [--case I] [--from I] [--to I] [--parameters] [--verbose] [--explain] [--uniform] "
      "[--most-bytes B] [--limit SECONDS]\n"
      "  --seed S        another seed, other cases (1)\n"
      "  --cases K       how many (1000); with --only or --variants, of these\n"
      "  --only FAMILY   only these families, or groups of them: collectives, messages, packing, windows\n"
      "  --without KIND  none of these, as --verbose names them: bcast/persistent, or send\n"
      "  --variants V    only these of blocking, nonblocking and persistent collectives\n"
      "  --comms C       only calls on intercommunicators, or only on others\n"
      "  --case I        only this one\n"
      "  --from I        from this one on: to go on behind a crash\n"
      "  --to I          up to this one\n"
      "  --parameters    what algorithms the library lets one choose; runs nothing\n"
      "  --verbose       names each case before it runs\n"
      "  --explain       also how its datatypes are made, with all arguments\n"
      "  --uniform       all ranks of a call use the same datatype\n"
      "  --most-bytes B  in one buffer, about (1048576)\n"
      "  --limit S       a case that takes longer hangs (120; 0: none)\n"
      "families:");
  for (long i = 0; family_at(i); ++i) printf("%s %s", i % 8 ? "" : "\n ", family_at(i)->name);
  printf("\n");
}

static bool read_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    const bool with_value = strcmp(argv[i], "--verbose") && strcmp(argv[i], "--uniform") && strcmp(argv[i], "--explain");
    if (with_value && !*value) return false;
    if (!strcmp(argv[i], "--seed")) options.seed = strtoull(value, NULL, 0);
    else if (!strcmp(argv[i], "--cases")) choice.cases = atol(value);
    else if (!strcmp(argv[i], "--case")) choice.only_case = atol(value);
    else if (!strcmp(argv[i], "--from")) choice.from = atol(value);
    else if (!strcmp(argv[i], "--to")) choice.to = atol(value);
    else if (!strcmp(argv[i], "--variants")) snprintf(choice.variants, sizeof choice.variants, "%s", value);
    else if (!strcmp(argv[i], "--without")) snprintf(choice.without, sizeof choice.without, "%s", value);
    else if (!strcmp(argv[i], "--comms")) snprintf(choice.comms, sizeof choice.comms, "%s", value);
    else if (!strcmp(argv[i], "--limit")) choice.limit = atol(value);
    else if (!strcmp(argv[i], "--most-bytes")) options.most_bytes = atol(value);
    else if (!strcmp(argv[i], "--only")) snprintf(choice.only, sizeof choice.only, "%s", value);
    else if (!strcmp(argv[i], "--verbose")) options.verbose = true;
    else if (!strcmp(argv[i], "--uniform")) options.uniform = true;
    else if (!strcmp(argv[i], "--explain")) options.explain = true;
    else return false;
    i += with_value;
  }
  return true;
}

static void find_hosts(void) {
  MPI_Comm host;
  int size = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_free(&host);
  one_host = size == world_size;
}

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "--parameters")) {
    list_parameters();
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (!read_options(argc, argv)) {
    if (world_rank == 0) usage();
    MPI_Finalize();
    return 2;
  }
  find_hosts();
  MPI_Comm_dup(MPI_COMM_WORLD, &report_comm);
  MPI_Comm_dup(MPI_COMM_SELF, &mark_comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i) signal(signals[i], on_signal);
  if (world_rank == 0 && MPI_VERSION < 4)
    printf("MPI %d.%d: without MPI_Isendrecv, partitioned communication and large counts%s\n", MPI_VERSION, MPI_SUBVERSION,
           PERSISTENT_COLLECTIVES ? "; persistent collectives as MPIX_" : ", and without persistent collectives");
  long ran = 0, tally[3] = {0, 0, 0};
  const bool one = choice.only_case >= 0;
  for (long i = one ? choice.only_case : choice.from, passed = 0; ran < choice.cases && passed < 10000 && i <= choice.to; ++i) {
    // What a case is does not depend on what is chosen, so that its number is enough to run it again.
    const struct family* family = draw_family(mix(mix(options.seed, 0xfa), (uint64_t)i));
    const bool chosen = is_wanted(i, family);
    passed = chosen ? 0 : passed + 1;
    if (!chosen && !one) continue;
    ++tally[run_case(i, family)];
    ++ran;
    if (one) break;
  }
  alarm(0);
  if (world_rank == 0) {
    if (tally[kRefused]) printf("%ld refused\n", tally[kRefused]);
    printf("%ld cases, %ld wrong\n", ran, tally[kWrong]);
  }
  MPI_Comm_free(&report_comm);
  MPI_Comm_free(&mark_comm);
  MPI_Finalize();
  return tally[kWrong] + tally[kRefused] > 0;
}
