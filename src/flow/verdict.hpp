// What `check` found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flow/intention_log.hpp"

namespace reprise::flow {

// A call of one rank.
struct Part {
  std::uint32_t rank = 0;
  std::uint64_t call = 0;  // among those of this rank that communicate, from 1
  const LoggedShape* shape = nullptr;
};

// A datatype in the log of a rank.
struct TypeOfRank {
  std::uint32_t rank = 0;
  std::uint64_t number = 0;
};

struct Violation {
  enum class Kind : std::uint8_t {
    Bytes,           // other bytes than were sent
    Source,          // the status names somebody else
    Tag,             // the same for the tag
    Count,           // the same for the amount
    Overtaken,       // messages in another order than they were sent (MPI 4.0, 3.5)
    Invented,        // a message that nobody sent
    Reduction,       // another result than these contributions have
    WrittenBehind,   // memory behind the buffer
    WrittenBetween,  // memory between what was to be written
    Type,            // the library packs other bytes than the datatype describes
  };
  Kind kind = Kind::Bytes;
  // Why the library cannot be blamed: the program broke a rule. Empty otherwise.
  std::string excuse;
  std::string words;       // what is wrong
  std::vector<Part> path;  // whose bytes, and who got them; or only the latter
  std::size_t given = 0;      // which block of the first call, and of the last one
  std::size_t taken = 0;
  std::optional<std::int64_t> written;  // bytes from the start of that block: what should not have been written
  std::vector<Part> members;  // of a collective, all of them
  std::optional<std::uint64_t> post;  // of the sender, if it has one
  std::optional<TypeOfRank> type;     // that the library gets wrong; then there is no call
};
const char* name_of(Violation::Kind kind);

struct Verdict {
  std::uint64_t messages = 0;     // that were compared
  std::uint64_t collectives = 0;  // the same
  std::uint64_t accesses = 0;     // to windows
  std::uint64_t events = 0;
  std::vector<Violation> violations;       // the first ones
  std::uint64_t more = 0;                  // that are not in the list
  std::map<std::string, std::uint64_t> unchecked;  // why, and how many

  std::uint64_t intentions() const { return messages + collectives + accesses; }
};

inline constexpr const char* kProgramChangedSent = "the program changed the buffer of a send that was under way";
inline constexpr const char* kTypesDisagree = "what is sent and what is received are not of the same types";
inline constexpr std::size_t kMostViolations = 1000;

}  // namespace reprise::flow
