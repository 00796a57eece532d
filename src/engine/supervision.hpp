// What a replaying rank and the `reprise replay` command say to each other: lines of text over one TCP connection.
//
//   rank -> command   hello TOKEN RANK RANKS PID              once, before the first call is replayed
//                     at EVENT STATE PEER                     whenever that changed, a few times a second
//                     warn \t TEXT
//                     deadlock \t TEXT                         a line of a report (frontends/threads/deadlocks.hpp)
//                     trouble \t TEXT                         this rank cannot be replayed; it waits to be ended
//                     diverged EVENT \t FIELD \t FIELD ...     then the rank waits to be ended
//                     arrived TOKEN RANK                      over one of its own: about to call MPI_Init
//   launcher -> command  ended TOKEN PID STATUS              over one of its own: a child that did not end well
//   command -> rank   release                                 every rank has reached its end: end as recorded
//                     abort                                   somebody diverged: end at once
//
// On the command's own machine the place is also kept in a file that both have mapped, one cache line per rank: what a
// rank did last is known even if it was killed the moment after. It is reached by the number of the command's process,
// which may be another process on another machine, so the file has the token in its name.
//
// The command needs no thread in the program to know that a rank is stuck: a small thread of the preload library
// (replay only) reports where its rank is, also while that is blocked deep inside the MPI library.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::engine {

inline constexpr std::size_t kPlaceBytes = 64;
inline std::string places_name(std::string_view token) { return "reprise-" + std::string(token); }

enum class RankState : unsigned {
  Running = 0,    // in the program's own code
  InCall = 1,     // in an MPI call
  LastCall = 2,   // in the last recorded call, from which the recorded run did not return
  Holding = 3,    // at the end of its log (or about to crash or abort as recorded), waiting for the others
  Finalized = 4,  // after MPI_Finalize
  Threaded = 5,   // several threads may call MPI: whether they compute or wait for another rank cannot be told
};

// A call as it appears in a divergence report.
struct ReportedCall {
  std::string function;  // empty: no call at all (the end of the log, or of the program)
  std::string module;
  std::string build_id;
  std::uint64_t offset = 0;
  std::array<std::int64_t, 4> arguments{};
};

struct DivergenceReport {
  std::uint64_t event = 0;
  std::string reason;
  ReportedCall recorded;
  ReportedCall actual;
};

inline void append_field(std::string& line, std::string_view text) {
  line += '\t';
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' ? '?' : c;
}

inline void append_call(std::string& line, const ReportedCall& call) {
  append_field(line, call.function);
  append_field(line, call.module);
  append_field(line, call.build_id);
  append_field(line, std::to_string(call.offset));
  for (const auto value : call.arguments) append_field(line, std::to_string(value));
}

inline std::string to_line(const DivergenceReport& report) {
  std::string line = "diverged " + std::to_string(report.event);
  append_field(line, report.reason);
  append_call(line, report.recorded);
  append_call(line, report.actual);
  return line + '\n';
}

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

template <class Int>
inline bool parse_number(std::string_view text, Int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// `line` without the leading "diverged ". False for a line that is not one of ours.
inline bool parse_divergence(std::string_view line, DivergenceReport& out) {
  const auto fields = split(line, '\t');
  if (fields.size() != 18 || !parse_number(fields[0], out.event)) return false;
  out.reason = fields[1];
  std::size_t at = 2;
  for (ReportedCall* call : {&out.recorded, &out.actual}) {
    call->function = fields[at++];
    call->module = fields[at++];
    call->build_id = fields[at++];
    if (!parse_number(fields[at++], call->offset)) return false;
    for (auto& value : call->arguments)
      if (!parse_number(fields[at++], value)) return false;
  }
  return true;
}

}  // namespace reprise::engine
