// The constants of the trace on disk. docs/trace-format.md is the normative description; keep the two alike.
//
// A trace is a directory:
//   manifest.json   what was run, by whom, with which MPI, and how it ended
//   rank-N.log      closed blocks of rank N: header, one INFO block, CHUNK blocks, one END block
//   rank-N.open     the open chunk of rank N, a shared file map; gone once the rank's END block is written
//   rank-N.data     what the program of rank N received (engine/data_log.hpp), and rank-N.data-open: logs like the others
//   rank-N.messages what rank N communicates, with the types of the data (trace/message_log.hpp); written for `lint`
//   exits           one line per child that a launcher reaped: "host pid status"
//   notes           one line per remark of a rank: "rank \t key \t text"
//
// A chunk is a sequence of records. A record's head byte holds its kind and the number of *hits* before it: calls that
// the call model (engine/call_model.hpp) predicted right and that therefore cost nothing but a counter.
#pragma once

#include <cstdint>

namespace reprise::trace {

inline constexpr std::uint32_t kFormatVersion = 1;   // written
inline constexpr std::uint32_t kOldestReadable = 1;  // a file says the oldest reader version that understands it

inline constexpr char kLogMagic[8] = {'R', 'P', 'R', 'S', 'L', 'O', 'G', '\n'};
inline constexpr char kOpenMagic[8] = {'R', 'P', 'R', 'S', 'O', 'P', 'N', '\n'};
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4252;  // "RBLK"

inline constexpr std::uint32_t kChunkCapacity = 1u << 20;        // bytes of records in an open chunk
inline constexpr std::uint32_t kMaxRecord = kChunkCapacity / 4;  // the largest single record
inline constexpr std::uint32_t kMaxBlockPayload = 8u << 20;
inline constexpr std::uint32_t kMaxRanks = 1u << 22;
inline constexpr std::uint32_t kMaxSites = 1u << 20;
inline constexpr std::uint32_t kMaxText = 1u << 16;
inline constexpr std::uint32_t kMaxNames = 1u << 16;  // of named events
// A stream's number is that of its thread; these bits of it: what lies beside that thread's log.
inline constexpr std::uint32_t kDataStream = 1u << 31;
inline constexpr std::uint32_t kMessageStream = 1u << 30;
inline constexpr std::uint32_t kBesideLog[] = {kDataStream, kMessageStream};

enum class BlockKind : std::uint32_t { Info = 1, Chunk = 2, End = 3 };

// Kinds of records: the upper four bits of a head byte. The lower four hold the hits, 15 meaning 15 plus a varint
// that follows the head byte.
enum class Kind : std::uint8_t {
  Event = 0,     // a call that was not predicted: what was wrong about the prediction
  Wildcard = 1,  // a wildcard receive was posted: a slot that is filled when its outcome is known
  Poll = 2,      // a series of failed tests at one call site: a slot that counts
  Indices = 3,   // which requests Waitany, Waitsome, Testany, Testsome reported
  Time = 4,      // a clock value
  Late = 5,      // the outcome of a wildcard receive whose slot lies in an earlier chunk, or of MPI_Cancel
  Define = 6,    // a function, module, call site, communicator, note or name, numbered in order of definition
  Numbers = 7,   // what a clock or another source of numbers said, or that it failed
  Bytes = 8,     // what a source of random bytes gave, or that it failed
  Pause = 15,    // nothing but its hits (ends a chunk)
};

enum class Definition : std::uint8_t { Function = 1, Module = 2, Site = 3, Communicator = 4, Note = 5, Name = 6 };

// A wildcard slot: u32 code, then i32 tag. The tag is written first, the code commits it.
enum WildcardCode : std::uint32_t {
  kPending = 0,     // nobody saw it complete (yet)
  kUnmatched = 1,   // it matched nothing: cancelled, or still unmatched in MPI_Finalize
  kAmbiguous = 2,   // it did match, but the sender never became known
  kRefused = 3,     // the call failed: nothing was posted
  kSourceBase = 4,  // code - kSourceBase is the source's rank in the communicator
};
// The code of a LATE record that is not about a wildcard receive: its ordinal is that of a post (an operation with a
// request of its own), and the operation was cancelled in time.
inline constexpr std::uint32_t kCancelledPost = UINT32_MAX;
inline constexpr std::uint32_t kWildcardBytes = 8;
inline constexpr std::uint32_t kPollBytes = 8;

// NUMBERS: varint count, then so many signed varints, each the difference from the number before it in its lane. Two
// clocks differ by years, two readings of one clock by microseconds, so each source has lanes of its own; sources that
// happen to share one cost bytes, nothing else. Count 0: the call failed, and its errno follows.
inline constexpr unsigned kLanes = 256;
inline constexpr unsigned lane_of(std::uint32_t function, std::int64_t tag, std::uint64_t position) {
  return static_cast<unsigned>(function * 41 + static_cast<std::uint64_t>(tag) * 17 + position) % kLanes;
}
inline constexpr unsigned kMaxNumbers = 32;  // in one record
// BYTES: varint, the number of bytes + 1, then the bytes; or 0 and the errno of a call that failed. Only a record that
// is as long as can be is followed by another one, which holds the rest.
inline constexpr std::uint32_t kMaxByteString = 1u << 16;

// EVENT payload: a byte of these flags, then a varint site number if SiteFollows, then a signed varint (the
// difference from the call site's last value) for each argument whose bit is set.
inline constexpr std::uint8_t kSiteFollows = 1;
inline constexpr unsigned kArguments = 4;  // communicator, peer, tag, bytes
inline constexpr std::uint8_t argument_follows(unsigned index) { return static_cast<std::uint8_t>(2u << index); }

// How a rank's log ended. Stored in the live words of the open file, and in the END block.
enum class EndKind : std::uint32_t {
  Running = 0,    // no end was seen: killed, crashed, or _exit
  Finalized = 1,  // MPI_Finalize returned; value: the exit status if the process reached exit()
  Exited = 2,     // exit() without MPI_Finalize; value: exit status
  Aborted = 3,    // MPI_Abort; value: its error code
  Stopped = 4,    // recording stopped (disk full); value: errno
};

struct End {
  EndKind kind = EndKind::Running;
  std::int32_t value = 0;
  bool in_call = false;  // the last logged call had not returned
};

// It did not come to its own end: it was killed, its recording stopped, or somebody called MPI_Abort.
inline bool was_cut_off(const End& end) {
  return end.kind == EndKind::Running || end.kind == EndKind::Stopped || end.kind == EndKind::Aborted;
}

}  // namespace reprise::trace
