// rank-N.messages, beside the log of a rank that `reprise lint` runs: what it sends, receives and does together with
// others, in the order of its calls and with the types of the data. Who heard whom is in the rank's log.
//
// Words of 64 bits. A record is a word with its kind and how many words follow, and these. Signatures and places are
// numbered from 0 in the order in which they come. What was not written yet is zero.
#pragma once

#include <cstdint>

namespace reprise::trace {

enum class MessageRecord : std::uint32_t {
  End,
  Signature,   // engine::TypeSignature, as it travels
  Place,       // bytes, and a text: "MPI_Send|" and the call site as in notes
  Send,        // communicator, own rank in it, destination, tag, bytes, signature, place
  Receive,     // communicator, own rank, source or -1, tag or -1, bytes, signature or -1, place, wildcard or -1,
               // whether an error there would end the program
  Collective,  // communicator, own rank, place, root or -1, operation (1: the program's own) or 0, bytes and signature or -1 of each block that it
               // gives, and the same of what it takes
  Unordered,   // from here on it cannot be told which receive comes first: threads, cancelled receives
};

inline constexpr std::uint64_t kMessagesMagic = 0x31736567617373ull;  // the first word

// Pieces of so many words; a record lies in one of them.
inline constexpr std::uint64_t kMessagePiece = std::uint64_t{1} << 16;

inline constexpr std::uint64_t message_word(MessageRecord kind, std::uint64_t words) {
  return static_cast<std::uint64_t>(kind) << 32 | words;
}

}  // namespace reprise::trace
