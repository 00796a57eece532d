// Where virtual ranks act: memory that they share with the explorer, which decides what each of them hears.
//
// A rank writes down what it does, act by act, without asking anybody; when it needs to know something it asks, and
// waits for the reply. The explorer looks only when every rank waits or has ended, so that how fast they were makes no
// difference. Everything is in 64-bit words: this is read and written by programs that have nothing else in common.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/futex.hpp"

namespace reprise::virtual_world {

inline constexpr int kMostRanks = 64;
inline constexpr int kMostFunctions = 4096;
inline constexpr std::uint64_t kStageMagic = 0x31656761745352ull;

enum class SeatState : std::uint32_t {
  Empty,
  Acts,
  Asks,   // and waits until it is not in this state any more
  Serves,  // it carries out what others want of its windows, and then goes on waiting
  Leave,   // the reply: end at once, nobody needs you any more
  Gone,   // the process has ended
};

// One rank's place.
struct Seat {
  std::atomic<std::uint32_t> state;  // a futex
  std::int32_t pid;
  std::int32_t wait_status;
  std::uint32_t script_words;  // written by the rank since its last question
  // For those who never ask again: where they were last. Function and return address.
  std::atomic<std::uint64_t> function;
  std::atomic<std::uint64_t> caller;
};
static_assert(sizeof(Seat) % 8 == 0);

enum class ServerState : std::uint32_t {
  Starting,
  Ready,  // no run
  Begin,  // told to begin one
  Running,
  Quit,
  Early,  // there will be no run: MPI was called before MPI_Init
};

struct Stage {
  std::uint64_t magic;
  std::uint32_t ranks;
  std::uint32_t keeps_output;         // of this run
  std::atomic<std::uint32_t> acting;  // a futex: ranks that neither wait nor have ended
  std::atomic<std::uint32_t> server;  // a futex: ServerState
  std::uint32_t records;              // this run is recorded
  std::int32_t server_pid;
  std::uint32_t thread_level;
  std::uint32_t early_function;  // ServerState::Early
  std::uint64_t early_site;
  char refusal[256];
  char output[1024];     // a directory
  char directory[1024];  // of the trace, if it is recorded
  char files[1024];      // the working directory, if it is not the program's own
  std::uint64_t trace_id;
  std::uint64_t disturbed;  // a return address: what is received there has other bytes in its memory before it comes
  char functions[kMostFunctions][48];  // their names, by number
  Seat seats[kMostRanks];
};

// Behind the stage, for each rank: what it writes, what it reads, and the bytes of its messages.
inline constexpr std::size_t kScriptWords = std::size_t{1} << 19;  // 4 MiB
inline constexpr std::size_t kReplyWords = std::size_t{1} << 19;
inline constexpr std::size_t kArenaBytes = std::size_t{1} << 30;
inline constexpr std::size_t kStageBytes = (sizeof(Stage) + 4095) & ~std::size_t{4095};
inline constexpr std::size_t kRankBytes = (kScriptWords + kReplyWords) * 8 + kArenaBytes;

inline constexpr std::size_t stage_size(int ranks) {
  return kStageBytes + static_cast<std::size_t>(ranks) * kRankBytes;
}
inline std::uint64_t* script_of(Stage* stage, int rank) {
  return reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(stage) + kStageBytes +
                                          static_cast<std::size_t>(rank) * kRankBytes);
}
inline std::uint64_t* reply_of(Stage* stage, int rank) { return script_of(stage, rank) + kScriptWords; }
inline char* arena_of(Stage* stage, int rank) {
  return reinterpret_cast<char*>(script_of(stage, rank) + kScriptWords + kReplyWords);
}

// What a rank writes: a word with the kind and how many words follow.
enum class Act : std::uint32_t {
  Send,     // operation, communicator, destination, tag, mode, bytes, data, site, function
  Receive,  // operation, communicator, source, tag, site, function
  Cancel,   // operation
  Enter,    // operation, communicator, signature, function, detail, data, site, members, needs, and these
  Ask,      // thread, kind, flags, communicator, source, tag, site, function, and the operations
  Blocked,  // thread, function, site, which thread it waits for or -1, and where that took what is wanted or 0
  More,     // only makes room for more acts; answered at once
  Abort,    // code, site, function
  Error,    // category, class, site, function, text: what MPI calls an error, and no handler of the program has got
  Finding,  // category, rank or -1, site, function, and the same for the other half of it, text: something is wrong
  Finish,   // MPI_Finalize
  Window,   // the first of this rank: from here on the explorer looks who has heard of whom
  Access,   // operation, target, data (access.hpp), site, function
  Lock,     // operation, window, target, exclusive, site, function
  Unlock,   // window, target
  Close,    // window, target or -1: what was asked of it is complete there
  Stored,   // window, site, function, and what the rank itself has changed: pairs of begin and size
};
inline constexpr std::uint64_t act_word(Act act, std::size_t words) {
  return static_cast<std::uint64_t>(act) << 32 | static_cast<std::uint64_t>(words);
}

// In the word that says which function a send, a receive or a question is: the program wants this part of it explored.
inline constexpr std::uint64_t kInRegion = std::uint64_t{1} << 31;
inline constexpr std::size_t kTextWords = 16;  // of acts

// Flags of a question.
inline constexpr std::uint64_t kMaySayNo = 1;
inline constexpr std::uint64_t kKeeps = 2;
inline constexpr std::uint64_t kOwnLook = 4;  // Reprise itself asks: the truth, and nothing is decided

inline constexpr std::uint64_t kDisturbsAll = UINT64_MAX;  // Stage::disturbed

// Ranks and tags, which may be negative.
inline constexpr std::uint64_t as_word(int number) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
}
inline constexpr int as_number(std::uint64_t word) { return static_cast<int>(static_cast<std::int64_t>(word)); }

// A question's kind (explore::Question::Kind) if time is to pass.
inline constexpr std::uint64_t kPauses = 5;
// In place of a thread's number: time is to pass for those who pause.
inline constexpr std::uint64_t kTime = 0xffffffffu;

// Replies: how many. Each is: thread, words that follow, yes, operation (of MPI_Mprobe), how many reports; each of
// these is: index, source, tag, bytes, data, flags, how many contributions, and these.
// To one that serves, in place of them: how many accesses, and where each lies.
inline constexpr std::uint64_t kCancelled = 1;

}  // namespace reprise::virtual_world
