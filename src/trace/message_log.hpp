// rank-N.messages, beside the log of a rank that `reprise lint` runs: what it sends, receives and does together with
// others, in the order of its calls and with the types of the data. Who heard whom is in the rank's log.
//
// Entries like those of the recorded values (engine/data_log.hpp), of these kinds and with these fields. Signatures and
// places are numbered from 0 in the order in which they come.
#pragma once

#include <cstdint>

namespace reprise::trace {

enum class MessageRecord : std::uint8_t {
  Signature = 16,  // a part: engine::TypeSignature, as it travels
  Place,           // a part, text: "MPI_Send|" and the call site as in notes
  Send,            // communicator, own rank in it, destination, tag, bytes, signature, place
  Receive,         // communicator, own rank, source or -1, tag or -1, bytes, signature or -1, place, wildcard or -1,
                   // whether an error there would end the program
  Collective,      // communicator, own rank, place, root or -1, operation (1: the program's own) or 0, bytes and
                   // signature or -1 of each block that it gives, and the same of what it takes
  Unordered,       // from here on it cannot be told which receive comes first: threads, cancelled receives
};

}  // namespace reprise::trace
