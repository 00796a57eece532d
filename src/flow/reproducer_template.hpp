// What all reproducers have in common, in C.
#pragma once

#include <string_view>

namespace reprise::flow::reproducing {

inline constexpr std::string_view kNoWeights = R"c(
#if defined(__GNUC__) && !defined(__clang__)
// MPI_UNWEIGHTED is no array.
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
)c";

inline constexpr std::string_view kGlobals = R"c(
static int rank;
static int turn;  // from 0 to ROUNDS: an operation with a request is made, or started, several times
static MPI_Comm comm;
static MPI_Comm control;  // for what is not part of the call

// Memory for the bytes `from` to `to` behind `at`, which is what MPI gets, with guards on both sides.
struct buffer {
  unsigned char *memory, *before, *at;  // `before`: what was there before the call
  long long from, to;
};
static struct buffer given, taken;
)c";

inline constexpr std::string_view kHelpers = R"c(
// --- how it is checked ---

static int wrong;  // whether this rank has seen anything wrong

// Only the first.
static void complain(const char* format, ...) {
  char words[256];
  va_list values;
  if (wrong) return;
  wrong = 1;
  va_start(values, format);
  vsnprintf(words, sizeof words, format, values);
  va_end(values);
  printf("WRONG: rank %d: %s", rank, words);
  if (ROUNDS > 1) printf(" (round %d of %d)", turn + 1, ROUNDS);
  printf("\n");
  fflush(stdout);
}

// Something arbitrary.
static unsigned long long mixed(int of, long long place) {
  unsigned long long x = (unsigned long long)(turn * (RANKS + 1) + of + 1) * 0x9e3779b97f4a7c15ULL;
  x += (unsigned long long)place;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

static struct buffer make_buffer(long long from, long long to) {
  struct buffer buffer = {NULL, NULL, NULL, from, to};
  const size_t size = (size_t)(to - from) + 2 * GUARD;
  buffer.memory = malloc(size + 64);
  buffer.before = malloc(size);
  if (!buffer.memory || !buffer.before) {
    fprintf(stderr, "there is no memory for %lld bytes\n", to - from);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const uintptr_t at = (uintptr_t)buffer.memory + GUARD - (uintptr_t)from;
  buffer.at = (unsigned char*)((at + 63) / 64 * 64);
  return buffer;
}
static void free_buffer(struct buffer* buffer) {
  free(buffer->memory);
  free(buffer->before);
}

static unsigned char* before(struct buffer* buffer, long long place) {
  return buffer->before + (place - buffer->from + GUARD);
}
// The highest bit is set where nothing is given.
static void fill(struct buffer* buffer) {
  for (long long i = buffer->from - GUARD; i < buffer->to + GUARD; ++i) buffer->at[i] = mixed(-1, i) | 0x80;
}
static void remember(struct buffer* buffer) {
  memcpy(buffer->before, buffer->at + buffer->from - GUARD, (size_t)(buffer->to - buffer->from) + 2 * GUARD);
}
// Where something was to come, check_taken() has made before() what is there now.
static void check_unchanged(struct buffer* buffer, const char* name) {
  for (long long i = buffer->from - GUARD; i < buffer->to + GUARD; ++i)
    if (buffer->at[i] != *before(buffer, i))
      complain("byte %lld of the %s is 0x%02x, should still be 0x%02x", i, name, buffer->at[i], *before(buffer, i));
}
)c";

inline constexpr std::string_view kShares = R"c(
// --- what each rank gives and takes ---
)c";

inline constexpr std::string_view kLayouts = R"c(
// A datatype as the bytes that it describes, in the order in which they travel: so many copies of `size` bytes, `stride`
// bytes from one to the next.
struct run {
  long long offset, size, copies, stride;
};
struct layout {
  const struct run* runs;
  int run_count;
  long long extent;
};
)c";

inline constexpr std::string_view kExtents = R"c(
// Libraries do not agree on the bounds of everything. With others the call would not be the same.
static void expect_extent(MPI_Datatype type, long long extent) {
  MPI_Aint lower, found;
  MPI_Type_get_extent(type, &lower, &found);
  if (found == extent) return;
  fprintf(stderr, "a datatype has extent %lld in this MPI, %lld where this was seen\n", (long long)found, extent);
  MPI_Abort(MPI_COMM_WORLD, 2);
}
)c";

inline constexpr std::string_view kBlocks = R"c(
struct block {
  long long place, count;  // in bytes from the buffer argument, and elements
  const struct layout* layout;
};
// The block with this number among those that rank `from` gives; MINE: the one with the number of this rank.
struct take {
  struct block block;
  int from, number;
};
struct share {
  const struct block* gives;
  int give_count;
  const struct take* takes;
  int take_count;
  int one_buffer;
  long long given_from, given_to, taken_from, taken_to;  // bytes from the buffer arguments
};
)c";

inline constexpr std::string_view kTransfer = R"c(
// Goes through the bytes of a block in the order in which they travel.
struct cursor {
  const struct block* block;
  long long element, copy, byte;
  int run;
};
// Where the next byte is; 0: there is none.
static int next(struct cursor* cursor, long long* place) {
  const struct layout* layout = cursor->block->layout;
  if (cursor->element == cursor->block->count || layout->run_count == 0) return 0;
  const struct run* run = &layout->runs[cursor->run];
  *place = cursor->block->place + cursor->element * layout->extent + run->offset + cursor->copy * run->stride + cursor->byte;
  if (++cursor->byte < run->size) return 1;
  cursor->byte = 0;
  if (++cursor->copy < run->copies) return 1;
  cursor->copy = 0;
  if (++cursor->run < layout->run_count) return 1;
  cursor->run = 0;
  ++cursor->element;
  return 1;
}

// What rank `of` gives at this place of its buffer.
static unsigned char given_byte(int of, long long place) { return mixed(of, place) & 0x7f; }

static void fill_given(const struct share* mine) {
  for (int i = 0; i < mine->give_count; ++i) {
    struct cursor cursor = {.block = &mine->gives[i]};
    for (long long place; next(&cursor, &place);) given.at[place] = given_byte(rank, place);
  }
}

static void check_taken(const struct share* mine) {
  for (int i = 0; i < mine->take_count; ++i) {
    const struct take* take = &mine->takes[i];
    const int number = take->number == MINE ? number_in_group() : take->number;
    struct cursor from = {.block = &share_of(take->from)->gives[number]}, to = {.block = &take->block};
    long long there, here;
    for (long long byte = 0; next(&from, &there) && next(&to, &here); ++byte) {
      const unsigned char wanted = given_byte(take->from, there);
      if (taken.at[here] != wanted)
        complain("byte %lld of what came from rank %d is 0x%02x, should be 0x%02x", byte, take->from, taken.at[here], wanted);
      *before(&taken, here) = taken.at[here];
    }
  }
}
)c";

inline constexpr std::string_view kReductionShare = R"c(
struct share {
  long long gives, results, first;  // elements: given, taken, and the number of the first that is taken
  int first_peer, peers;            // whose contributions are combined
  int one_buffer;
  long long given_from, given_to, taken_from, taken_to;  // bytes from the buffer arguments
};
)c";

inline constexpr std::string_view kReduction = R"c(
static void fill_given(const struct share* mine) {
  for (long long i = 0; i < mine->gives; ++i) {
    const element one = contribution(rank, i);
    memcpy(given.at + place_of(i), &one, sizeof one);
  }
}

static void check_taken(const struct share* mine) {
  for (long long i = 0; i < mine->results && mine->peers > 0; ++i) {
    element wanted = contribution(mine->first_peer, mine->first + i), found;
    for (int peer = 1; peer < mine->peers; ++peer)
      wanted = combined(wanted, contribution(mine->first_peer + peer, mine->first + i));
    memcpy(&found, taken.at + place_of(i), sizeof found);
    if (same(found, wanted)) continue;
    char is[80], should_be[80];
    show(is, sizeof is, found);
    show(should_be, sizeof should_be, wanted);
    complain("element %lld of the result is %s, should be %s", i, is, should_be);
  }
  // What is left in place of contributions, or within an element, is nobody's business.
  const long long looked_at = mine->one_buffer && mine->gives > mine->results ? mine->gives : mine->results;
  for (long long i = 0; i < looked_at; ++i) memcpy(before(&taken, place_of(i)), taken.at + place_of(i), sizeof(element));
}
)c";

// Where the i-th element is, in bytes from the buffer argument.
inline constexpr std::string_view kPlainPlaces = R"c(
static long long place_of(long long i) { return i * (long long)sizeof(element); }
)c";

// The same if the type has holes: @LAYOUT@, and the @BYTES@ of it that travel.
inline constexpr std::string_view kLayoutPlaces = R"c(
// In the order in which elements travel.
static long long place_of(long long i) {
  const struct layout* layout = @LAYOUT@;
  const long long byte = i * (long long)sizeof(element);
  const struct run* run = layout->runs;
  long long left = byte % @BYTES@;
  for (; left >= run->size * run->copies; ++run) left -= run->size * run->copies;
  return byte / @BYTES@ * layout->extent + run->offset + left / run->size * run->stride + left % run->size;
}
)c";

inline constexpr std::string_view kWindow = R"c(
// What is in the window before the access is combined like a contribution of one rank more.
static void fill_window(void) {
  for (long long i = 0; i < share_of(TARGET)->results; ++i) {
    const element one = contribution(ORIGIN + 1, i);
    memcpy(taken.at + place_of(i), &one, sizeof one);
  }
}
)c";

inline constexpr std::string_view kStatus = R"c(
static void check_status(const MPI_Status* status, int source, int tag, MPI_Datatype type, int count) {
  int found;
  MPI_Get_count(status, type, &found);
  if (status->MPI_SOURCE != source) complain("the status names source %d, should be %d", status->MPI_SOURCE, source);
  if (status->MPI_TAG != tag) complain("the status names tag %d, should be %d", status->MPI_TAG, tag);
  if (found != count) complain("the status counts %d elements, should be %d", found, count);
}
)c";

inline constexpr std::string_view kCompletion = R"c(
// In each round in another way.
static MPI_Status complete(MPI_Request* request) {
  MPI_Status status;
  int done = 0, index;
  memset(&status, 0x55, sizeof status);  // so that it is seen if MPI does not set it
  switch (turn) {
    case 0: MPI_Wait(request, &status); break;
    case 1:
      while (!done) MPI_Test(request, &done, &status);
      break;
    case 2: MPI_Waitall(1, request, &status); break;
    default: MPI_Waitsome(1, request, &done, &index, &status);
  }
  return status;
}
)c";

inline constexpr std::string_view kMain = R"c(
// Rank 0 hears what the others have seen, and tells them.
static int verdict(void) {
  int all = wrong, theirs = 0;
  for (int other = 1; rank == 0 && other < RANKS; ++other) {
    MPI_Recv(&theirs, 1, MPI_INT, other, 0, control, MPI_STATUS_IGNORE);
    all |= theirs;
  }
  for (int other = 1; rank == 0 && other < RANKS; ++other) MPI_Send(&all, 1, MPI_INT, other, 0, control);
  if (rank > 0) {
    MPI_Send(&wrong, 1, MPI_INT, 0, 0, control);
    MPI_Recv(&all, 1, MPI_INT, 0, 0, control, MPI_STATUS_IGNORE);
  }
  if (rank == 0 && !all) printf("ok\n");
  return all || wrong;
}

int main(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != RANKS) {
    if (rank == 0) fprintf(stderr, "this needs %d ranks, not %d\n", RANKS, ranks);
    MPI_Finalize();
    return 2;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  make_communicator();
@MAKE@
  const struct share* mine = share_of(rank);
  given = make_buffer(mine->given_from, mine->given_to);
  taken = mine->one_buffer ? given : make_buffer(mine->taken_from, mine->taken_to);
@PREPARE@
  for (turn = 0; turn < ROUNDS; ++turn) {
    fill(&given);
    fill(&taken);
    fill_given(mine);
    remember(&given);
    remember(&taken);
    communicate();
    check_taken(mine);
    check_unchanged(&taken, mine->one_buffer ? "buffer" : "receive buffer");
    if (!mine->one_buffer) check_unchanged(&given, "send buffer");
  }
  const int status = verdict();
@RELEASE@
  free_buffer(&given);
  if (!mine->one_buffer) free_buffer(&taken);
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  MPI_Comm_free(&control);
  MPI_Finalize();
  return status;
}
)c";

}  // namespace reprise::flow::reproducing
