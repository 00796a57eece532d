// rank-N.messages, beside the log of a rank that `reprise check` runs: what each of its calls of MPI gives to others and
// takes from them, and digests of the bytes, where they left and where they came.
//
// Entries like those of the recorded values (engine/data_log.hpp), of these kinds. Types, groups, shapes and places are
// numbered from 0, each in the order in which they come. An array of numbers is a part: signed varints.
#pragma once

#include <algorithm>
#include <cstdint>

namespace reprise::trace {

enum class IntentionRecord : std::uint8_t {
  Place = 17,      // as in trace/message_log.hpp
  Unordered = 21,  // the same: several threads call
  Type = 32,       // part: engine::TypeTree
  Group,           // uid, own rank, local members, remote members (0: no intercommunicator), topology (0 none, 1 grid,
                   // 2 graph, 3 distributed graph); parts: world ranks of the local and the remote members; the
                   // topology (grid: dims, then whether each is periodic; graph: index; distributed: sources),
                   // and the rest of it (graph: edges; distributed: destinations)
  Shape,           // a call with all its arguments: see below
  Begin,           // of an operation that has a request: shape, address of the first byte it takes to (or 0).
                   // Parts: what it gives. These are counted from 0: its post
  End,             // post, shape + 1 if it is another one (matched receives), then like Whole from the error on
  Whole,           // a call that has returned: shape, address, error, source, tag and bytes of its status, whether it
                   // was cancelled. Parts: what it gave, what it took; contributions to a reduction, its result,
                   // what was expected of it
  Freed,           // post: the program gave the request away
  Remark,          // about the entry before: what was seen, side (0 given, 1 taken), block, offset, more
  Access,          // of a window: shape. These are counted from 0 in each rank
  Accumulated,     // by the target of accumulate operations, when they are complete: operation, bytes of an element. Parts:
                   // the name of its type; the elements: how many contributions, and for each of them the rank and the
                   // number of the access (varints); the value before, the value after, the contributions
  // What the MPI library moves meanwhile (`check --flows`). Then every call has a Begin and an End. A Begin has two fields
  // more, the address of the first byte that it gives from (or 0) and the time, an End one, the time, and if it names
  // a shape the address that it takes to. A time is counted from
  // the one before; all of one machine count with the same clock. Sites and streams are numbered from 0.
  Process,   // the process, and two numbers for the machine it runs on
  Site,      // part: the module, and where in it bytes are moved (base/site_text.hpp)
  Mapped,    // memory that is shared: address, bytes, device, file, offset in it
  Unmapped,  // address, bytes
  Stream,    // part: own end and the other one's; empty: unknown
  // These begin with: time, site.
  Copied,    // to, from, bytes; both addresses are counted from those of the Copied before
  Sent,      // from, bytes, stream, offset in it
  Heard,     // to, bytes, stream, offset in it
  Pulled,    // to, from in another process, bytes, which process
  Pushed,    // to in another process, from, bytes, which process
  Packed,    // bytes of what an operation gives: post, block, offset in it, to, bytes; 1 + the first one that is not what it
             // should be, or 0; 1 if it is a block that it takes, and passes on
  Unpacked,  // the same of what it takes, and from
  Held,      // memory that the library gives back holds a block of an operation, packed: post, 0 given or 1 taken, block, address.
             // So it was packed there, or unpacked from there, by loads and stores that nobody saw
};
inline constexpr bool is_movement(IntentionRecord kind) {
  return kind >= IntentionRecord::Copied && kind <= IntentionRecord::Held;
}

// SHAPE: place, group, form, root or -1, dest, its tag, source (-1 any), its tag (-1 any), operation (0 none, 1 the
// program's own, 2 + Operation), how many of the first peers it combines (-1: it is no reduction), elements that each of
// them gives, first one that is taken and how many, the type of these, flags. Parts: what it gives, per block:
// place (in bytes from the buffer), count, type, to whom (-1: it follows from its number, or everybody); what it takes:
// place, count, type, peer, block of the peer, 1 if that is counted among the peer's blocks for this rank.
enum class IntentionForm : std::uint8_t { Send, Receive, SendReceive, Probe, Collective, Access };
inline constexpr std::size_t kShapeFields = 15;
enum ShapeFlag : std::int64_t {
  kInPlace = 1,
  kPersistent = 2,
  kNonblocking = 4,
  kReplaces = 8,  // MPI_Sendrecv_replace: one buffer
};

// EXPECTED: what an operation of the program's own makes of the contributions, in one of the members. For each number of
// ranks that are combined: this number, how many orders were tried that differ (varints); for each order, the samples.

// As MPI numbers nothing alike: operations.
enum class Operation : std::uint8_t {
  Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor, Minloc, Maxloc, Replace, NoOp,
};

// What was seen while the program ran.
enum class Seen : std::uint8_t {
  ProgramChangedSent = 1,  // what it gave is not there any more when the operation is complete
  LibraryChangedSent,      // the same of a call that has not returned meanwhile
  WrittenBehind,           // bytes behind the buffer
  WrittenBetween,          // bytes in holes of the type, or behind the message
  WrongAccess,             // a window does not hold what was put there, or what a get has brought: `side` 0 or 1, `block` the
                           // rank that did it, `more` the number of the access
  NotSeen,                 // so many accesses (`more`) could not be looked at; why: `block` (Unseen); `side` 1: they have
                           // no entries of their own
  WrongType,               // the library packs other bytes than the type describes; `more`: the type
};

enum class Unseen : std::uint8_t { SharedLock = 1, LargeWindow, Overlapping, Unusual };

// --- digests ---------------------------------------------------------------------------------------------------------
//
// Of so many bytes, in the order in which they travel: a digest of 64 bits, and 16 bits of each of a few pieces of equal
// size, so that it can be said where two differ. The digest is that of the pieces' digests, so the bytes are read once.

inline constexpr std::uint64_t kMostPieces = 32;
inline constexpr std::uint64_t kFewPieces = 4;  // in large groups, where a call has many blocks
inline constexpr std::uint64_t kLargeGroup = 16;
inline constexpr std::uint64_t kSmallestPiece = 8;

inline constexpr std::uint64_t most_pieces(std::uint64_t members) {
  return members > kLargeGroup ? kFewPieces : kMostPieces;
}
inline constexpr std::uint64_t piece_size(std::uint64_t bytes, std::uint64_t most) {
  std::uint64_t size = kSmallestPiece;
  while (size * most < bytes) size *= 2;
  return size;
}
inline constexpr std::uint64_t pieces_of(std::uint64_t bytes, std::uint64_t most) {
  const std::uint64_t size = piece_size(bytes, most);
  return (bytes + size - 1) / size;
}
inline constexpr std::uint64_t digest_bytes(std::uint64_t bytes, std::uint64_t most) {
  return bytes == 0 ? 0 : 8 + 2 * pieces_of(bytes, most);
}

// --- reductions ------------------------------------------------------------------------------------------------------
//
// A digest says nothing about a sum. But each element is reduced apart, so it is enough to know some of them, the same
// in all ranks: all if they are few, otherwise one at an arbitrary place in each of kSampled stretches.

inline constexpr std::uint64_t kSampled = 256;

inline constexpr std::uint64_t samples_of(std::uint64_t elements) { return std::min(elements, kSampled); }
inline constexpr std::uint64_t sample(std::uint64_t elements, std::uint64_t number) {
  if (elements <= kSampled) return number;
  if (number == 0) return 0;
  if (number == kSampled - 1) return elements - 1;
  const std::uint64_t from = number * elements / kSampled;
  const std::uint64_t to = (number + 1) * elements / kSampled;
  return from + ((number * 0x9e3779b97f4a7c15ull + elements * 0xbf58476d1ce4e5b9ull) >> 11) % (to - from);
}

}  // namespace reprise::trace
