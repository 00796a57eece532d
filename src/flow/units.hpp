// Transmission units (FlowChecker, section III-C): the pieces of a message that lie in one piece on both sides.
#pragma once

#include "base/function_ref.hpp"
#include "flow/intention_log.hpp"

namespace reprise::flow {

struct Unit {
  std::uint64_t number = 0;  // from 1
  std::uint64_t of = 0;      // 0: too many to be counted
  std::int64_t from = 0;     // bytes from the sender's buffer
  std::int64_t to = 0;       // bytes from the receiver's
  std::uint64_t size = 0;
  std::uint64_t begins = 0;  // in the message
};

// All units of the first `bytes` bytes (from byte `first` on), in the order in which they travel. False: there are too many,
// and not all were visited.
bool each_unit(const LoggedBlock& given, const LoggedBlock& taken, std::uint64_t bytes, FunctionRef<void(const Unit&)> visit,
               std::uint64_t first = 0);

// The unit that byte `offset` of the message is in.
Unit unit_at(const LoggedBlock& given, const LoggedBlock& taken, std::uint64_t bytes, std::uint64_t offset);

// Where two digests of so many bytes differ: the first piece that does, as [begin, end) in the message.
struct Difference {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
std::optional<Difference> difference(const std::uint8_t* one, const std::uint8_t* other, std::uint64_t bytes,
                                     std::uint64_t most_pieces);

// Do the bytes that two blocks of memory describe have one in common? `first` and `second`: addresses of their
// buffers. True also if they are too many to be looked at, and may.
bool may_overlap(const LoggedBlock& one, std::uint64_t first, const LoggedBlock& other, std::uint64_t second);

}  // namespace reprise::flow
