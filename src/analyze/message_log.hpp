// What one rank has sent, received and done together with others: rank-N.messages, read (trace/message_log.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/call_stream.hpp"
#include "engine/type_signature.hpp"

namespace reprise::analyze {

struct LoggedData {
  std::uint64_t bytes = 0;
  const engine::TypeSignature* signature = nullptr;  // null: it does not matter, or nobody knows it
};

struct LoggedMessage {
  std::uint64_t comm = 0;
  std::int64_t source = 0;  // ranks of the communicator; -1 of a receive: not known
  std::int64_t dest = 0;
  std::int64_t tag = 0;  // -1: any
  LoggedData data;
  std::uint64_t place = 0;
  bool known = true;         // of a receive: from whom
  bool is_fatal = true;      // an error there ends the program
};

struct LoggedCollective {
  std::uint64_t comm = 0;
  std::int64_t member = 0;
  std::uint64_t place = 0;
  std::int64_t root = -1;
  std::uint64_t operation = 0;
  LoggedData gives;
  LoggedData takes;
};

struct MessageLog {
  std::vector<engine::TypeSignature> signatures;
  std::vector<std::string> places;  // the call, and where it is: fields as in notes
  std::vector<LoggedMessage> sends;
  std::vector<LoggedMessage> receives;
  std::vector<LoggedCollective> collectives;
  bool unordered = false;  // which receive came before which is not known

  // `wildcards`: whom the receives from anybody heard, in the order of the rank's log.
  static Result<MessageLog> read(int dir_fd, std::uint64_t trace_id, std::uint32_t rank, const std::vector<engine::WildcardOutcome>& wildcards);
};

}  // namespace reprise::analyze
