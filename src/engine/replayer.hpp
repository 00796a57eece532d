// Replay mode: obey the log to its end, and notice the first call that does not fit it.
//
// Mirrors Recorder verb by verb. A verb answers Follows when the log agrees and has filled in the outcome; AtEnd when
// the recorded run was cut off here; Differs when this run is not the recorded one (report() says how).
#pragma once

#include <array>
#include <vector>

#include "engine/call_stream.hpp"
#include "engine/event_names.hpp"
#include "engine/sites.hpp"
#include "engine/supervision.hpp"

namespace reprise::engine {

class Replayer {
 public:
  enum class Fit { Follows, AtEnd, Differs };

  Replayer(CallStream stream, const FunctionTable& functions);

  Fit call(FunctionId function, const void* caller, const Arguments& arguments) {
    const std::uint32_t number = stream_.next_predicted_site();
    if (number < sites_.size() && sites_[number].address == caller && sites_[number].function == function &&
        stream_.take_repeated(number, arguments)) [[likely]] {
      last_ = {stream_.next_number() - 1, number, arguments};
      function_ = function;
      caller_ = caller;
      arguments_ = arguments;
      return Fit::Follows;
    }
    return call_with_care(function, caller, arguments);
  }

  Fit wildcard(WildcardOutcome& out);
  Fit poll(FunctionId function, const void* caller, const Arguments& arguments, bool& success);
  // Would that test be one more of a series that has begun?
  bool poll_is_open(FunctionId function, const void* caller) const {
    const std::uint32_t number = index_.find(function, caller);
    return number != kNoSite && sites_[number].poll.open;
  }
  Fit indices(std::vector<std::uint32_t>& out, bool& undefined);
  Fit time(double& out);
  // Was the operation with this number (counted as while recording) cancelled in time?
  Fit cancelled(std::uint64_t post, bool& out);
  // What the last call brought. `error`: the errno of a call that failed, else 0. Numbers must be as many as recorded;
  // of the bytes there are at most as many as there is room.
  Fit numbers(std::span<std::int64_t> out, int& error);
  // The same numbers again that such a call got last. Differs: there was none.
  Fit numbers_again(FunctionId function, const Arguments& arguments, std::span<std::int64_t> out, int& error) const;
  Fit bytes(std::span<std::uint8_t> room, std::size_t& size, int& error);
  // The numbers that follow the last call, if there are any: how many (at most as many as there is room for).
  std::size_t numbers_if_any(std::span<std::int64_t> room);

  // Is the next call in the log this one?
  bool comes_next(FunctionId function, const void* caller);
  // Where the last call of the log came from, and where the next one does: numbers of sites. kNoSite: there is none.
  std::uint32_t last_site() const { return last_.site; }
  std::uint32_t next_site() { return stream_.peek() == CallStream::Step::Call ? stream_.peek_site() : kNoSite; }
  // Is the next call in the log a read (FunctionTable::first_read)?
  bool read_comes();
  // The same as call(), after the reads that lie in the log before it. They are counted.
  Fit call_past_reads(FunctionId function, const void* caller, const Arguments& arguments, std::uint64_t& passed);

  // Without a call: the reads that lie in the log before the next one.
  void pass_reads();

  // Solo replay: the communicator that the recorded call made; null if it made none, or never returned.
  const CommunicatorRecord* new_communicator();
  bool nothing_left() { return stream_.peek() == CallStream::Step::End; }
  // The current call has made the communicator with this name, or none.
  Fit communicator(const std::uint64_t* uid);
  Fit named_event(const char* name, const void* caller);

  // The outcome in the log cannot be given to this call.
  Fit mismatch(const char* reason) { return differs(reason, &last_); }

  // The program has ended: is there anything left that it should have done?
  Fit end_of_program();
  bool was_cut_off() const;
  // It has done everything, but ends in another way.
  Fit other_end(std::string reason) { return differs(std::move(reason), nullptr); }

  // Number of the next call; calls made so far.
  std::uint64_t next_event() const { return stream_.next_number(); }
  bool at_last_event() const { return next_event() == total_events_; }
  // True while in the last recorded call, if the recorded run never returned from it.
  bool in_unfinished_call() const { return next_event() == unfinished_event_; }
  const DivergenceReport& report() const { return report_; }
  const CallStream& stream() const { return stream_; }

 private:
  struct LocalSite {
    const void* address = nullptr;
    FunctionId function = kUnknownFunction;
    PollSeries poll;
  };
  static constexpr FunctionId kUnknownFunction = UINT16_MAX;

  void pass_reads(std::uint64_t& passed);
  Fit all_polls_were_made();
  std::uint64_t polls_left(std::uint32_t site) const;
  std::string and_polls() const;
  std::string why_another_place(std::uint32_t module) const;
  Fit call_with_care(FunctionId function, const void* caller, const Arguments& arguments);
  LocalSite& local(std::uint32_t site);
  FunctionId function_id(std::uint32_t number);
  Fit outcome(trace::Kind kind, trace::Record& out);
  Fit differs(std::string reason, const LoggedCall* recorded);
  void name_event(ReportedCall& report) const;
  ReportedCall describe(const LoggedCall& call) const;

  CallStream stream_;
  FunctionTable functions_;
  std::vector<FunctionId> function_ids_;
  std::vector<LocalSite> sites_;
  SiteIndex index_;
  EventNames names_;
  std::uint32_t names_known_ = 0;  // of those in the log so far
  std::string unknown_name_;       // of the event that this run has, and the log does not
  std::uint64_t total_events_;
  std::uint64_t unfinished_event_;  // the number after the call that the recorded run never left; none: UINT64_MAX
  // What the program is doing now, in case it has to be reported.
  FunctionId function_ = kUnknownFunction;
  const void* caller_ = nullptr;
  Arguments arguments_{};
  LoggedCall last_;
  DivergenceReport report_;
  std::vector<std::int64_t> numbers_;
  struct LastNumbers {
    FunctionId function = kUnknownFunction;
    std::int64_t about = 0;
    std::array<std::int64_t, 4> values{};
  };
  std::array<LastNumbers, 16> last_numbers_;
  static std::size_t last_numbers_at(FunctionId function, std::int64_t about) {
    return (function * 5u + static_cast<std::uint64_t>(about)) % 16;
  }
  std::size_t communicators_made_ = 0;  // by this thread
};

}  // namespace reprise::engine
