// One rank's log as a person thinks of it: calls in order, each with everything that became known of it.
//
// engine::CallStream gives calls and outcomes as they lie in the log; here they are gathered, so that reports need not
// know about records. Reads forward, keeps one call in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/call_stream.hpp"

namespace reprise::analyze {

struct PollOutcome {
  std::uint64_t failures = 0;
  bool succeeded = false;  // false: the series broke off
};

// What a clock, a random source or the like said.
struct ReadOutcome {
  std::vector<std::int64_t> numbers;
  std::uint64_t bytes = 0;
  int error = 0;  // errno, if it failed
};

struct Call {
  std::uint64_t number = 0;
  std::uint32_t site = 0;
  engine::Arguments arguments{};
  std::vector<engine::WildcardOutcome> wildcards;
  std::optional<PollOutcome> poll;
  bool reports_indices = false;
  std::vector<std::uint32_t> indices;  // empty and reports_indices: MPI_UNDEFINED, no request was active
  std::optional<double> time;
  std::optional<ReadOutcome> read;
  bool unfinished = false;  // the rank ended inside this call

  void clear();  // of outcomes
};

class Timeline {
 public:
  // Of a thread other than the main one, `known` are the communicators that the main thread's log has defined.
  static Result<Timeline> open(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t thread = 0,
                               const std::vector<engine::CommunicatorRecord>& known = {});

  // nullopt after the last call. Definitions and notes known so far are complete for the call returned.
  Result<std::optional<Call>> next();
  // The same into memory that is used again, for long logs. False after the last call.
  Result<bool> next(Call& call);

  const engine::FunctionDefinition& function_of(const Call& call) const;
  const engine::SiteDefinition& site_of(const Call& call) const { return stream_->sites()[call.site]; }
  const engine::ModuleDefinition& module_of(const Call& call) const;
  // The name of a named event; null for every other call.
  const std::string* event_name(const Call& call) const;

  const std::vector<engine::SiteDefinition>& sites() const { return stream_->sites(); }
  const std::vector<engine::CommunicatorRecord>& communicators() const { return stream_->communicators(); }
  const std::vector<engine::NoteRecord>& notes() const { return stream_->notes(); }
  const std::vector<std::string>& names() const { return stream_->names(); }
  const trace::RankReader& reader() const { return stream_->reader(); }

 private:
  explicit Timeline(trace::RankReader reader);
  Result<void> add_outcome(Call& call);

  std::unique_ptr<engine::CallStream> stream_;  // large, and not to be moved about
};

}  // namespace reprise::analyze
