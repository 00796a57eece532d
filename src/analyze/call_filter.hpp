// Which calls a user wants to see. A call must pass every filter that is given; within one filter, any of its values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/call_kind.hpp"
#include "analyze/number_set.hpp"
#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "analyze/world_ranks.hpp"

namespace reprise::analyze {

struct CallFilter {
  // A number is the rank's own, as `show` prints it. A uid is the same in all members ("@" and its first digits).
  struct Communicator {
    std::optional<std::uint64_t> number;
    std::string uid;  // hex digits
  };
  struct Place {
    std::string file;  // a path's last components, or the name of a module without source lines
    NumberSet lines;   // empty: all
  };
  struct Values {
    NumberSet numbers;
    bool any = false;  // the wildcard itself
    bool empty() const { return numbers.empty() && !any; }
  };

  NumberSet events;
  Values tags;
  Values peers;  // world ranks, whatever the communicator
  std::vector<std::string> calls;
  std::vector<Communicator> communicators;
  std::vector<Place> places;

  bool active() const {
    return !(events.empty() && tags.empty() && peers.empty() && calls.empty() && communicators.empty() &&
             places.empty());
  }
};

// What stands on a command line; an error is one sentence without the option's name.
Result<CallFilter::Values> parse_values(std::string_view text);                            // "7", "1,5-9", "any"
Result<std::vector<CallFilter::Communicator>> parse_communicators(std::string_view text);  // "world,2,@3fa9"
Result<std::vector<CallFilter::Place>> parse_places(std::string_view text);                // "solver.c:12-40,io.c"

// Does a function's name fit "MPI_*recv", "recv", "i*"? Upper and lower case are one, "MPI_" may be left out.
bool call_fits(const std::string& function, const std::string& pattern);
bool place_fits(const SourceLine& at, const CallFilter::Place& place);

// One rank's calls against the filter. What depends on the call site alone is decided once per site.
class CallMatcher {
 public:
  CallMatcher(const CallFilter& filter, const Timeline& timeline, SourceLines& lines)
      : filter_(filter), timeline_(timeline), lines_(lines), active_(filter.active()) {}

  bool matches(const Call& call) { return !active_ || passes(call); }
  // No later call can match.
  bool over(const Call& call) const { return !filter_.events.empty() && call.number >= filter_.events.largest(); }

 private:
  struct Site {
    bool decided = false;
    bool passes = false;
    CallKind kind;
  };

  bool passes(const Call& call);
  Site& site_of(const Call& call);
  bool communicator_passes(const Call& call, bool has) const;
  bool tag_passes(const Call& call, bool has) const;
  bool peer_passes(const Call& call, bool has);

  const CallFilter& filter_;
  const Timeline& timeline_;
  SourceLines& lines_;
  bool active_;
  std::vector<Site> sites_;
  WorldRanks world_;
};

}  // namespace reprise::analyze
