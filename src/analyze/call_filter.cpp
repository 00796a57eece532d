#include "analyze/call_filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace reprise::analyze {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "src/solver.c" is named by "solver.c" and "src/solver.c", not by "olver.c".
bool path_ends_with(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || end.starts_with('/') || path[path.size() - end.size() - 1] == '/';
}

}  // namespace

Result<CallFilter::Values> parse_values(std::string_view text) {
  CallFilter::Values values;
  for (const std::string& part : split(text, ',')) {
    if (lower(part) == "any") {
      values.any = true;
      continue;
    }
    const auto set = NumberSet::parse(part);
    if (!set) return Error{set.error().what + ", or \"any\""};
    values.numbers.add(set->ranges().front());
  }
  return values;
}

Result<std::vector<CallFilter::Communicator>> parse_communicators(std::string_view text) {
  std::vector<CallFilter::Communicator> chosen;
  for (const std::string& word : split(text, ',')) {
    const std::string part = lower(word);
    CallFilter::Communicator one;
    if (part == "world") one.number = 0;
    else if (part == "self") one.number = 1;
    else if (part.starts_with('@') && is_hex(std::string_view(part).substr(1))) one.uid = part.substr(1);
    else if (!(one.number = parse_number(part)))
      return Error{"'" + printable(word) +
                   "' is not a communicator: world, self, a number as in \"comm 2\", or a uid as in @3fa9"};
    chosen.push_back(std::move(one));
  }
  return chosen;
}

Result<std::vector<CallFilter::Place>> parse_places(std::string_view text) {
  std::vector<CallFilter::Place> places;
  for (const std::string& part : split(text, ',')) {
    CallFilter::Place place;
    const std::size_t colon = part.rfind(':');
    place.file = part.substr(0, colon);
    if (colon != std::string::npos) {
      const auto lines = NumberSet::parse(part.substr(colon + 1));
      if (!lines) return lines.error();
      place.lines = *lines;
    }
    if (place.file.empty()) return Error{"'" + printable(part) + "' is not a place such as solver.c or solver.c:12"};
    places.push_back(std::move(place));
  }
  return places;
}

bool call_fits(const std::string& function, const std::string& pattern) {
  const auto fits = [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), function.c_str(), FNM_CASEFOLD) == 0;
  };
  return fits(pattern) || fits("MPI_" + pattern);
}

bool place_fits(const SourceLine& at, const CallFilter::Place& place) {
  if (at.file.empty()) return place.lines.empty() && path_ends_with(at.module, place.file);
  return path_ends_with(at.file, place.file) &&
         (place.lines.empty() || place.lines.contains(static_cast<std::uint64_t>(std::max(at.line, 0))));
}

CallMatcher::Site& CallMatcher::site_of(const Call& call) {
  if (sites_.size() <= call.site) sites_.resize(timeline_.sites().size());
  Site& site = sites_[call.site];
  if (site.decided) return site;
  site.decided = true;
  const std::string& function = timeline_.function_of(call).name;
  site.kind = kind_of(function);
  site.passes = filter_.calls.empty() || std::any_of(filter_.calls.begin(), filter_.calls.end(),
                                                     [&](const auto& one) { return call_fits(function, one); });
  if (site.passes && !filter_.places.empty()) {
    const auto& module = timeline_.module_of(call);
    const SourceLine& at = lines_.find(module.path, module.build_id, timeline_.site_of(call).offset);
    site.passes = std::any_of(filter_.places.begin(), filter_.places.end(),
                              [&](const CallFilter::Place& place) { return place_fits(at, place); });
  }
  return site;
}

bool CallMatcher::passes(const Call& call) {
  if (!filter_.events.empty() && !filter_.events.contains(call.number)) return false;
  const Site& site = site_of(call);
  if (!site.passes) return false;
  const ShownArguments has = shown_arguments(site.kind, call.arguments);
  return communicator_passes(call, has.communicator) && tag_passes(call, has.tag) && peer_passes(call, has.peer);
}

bool CallMatcher::communicator_passes(const Call& call, bool has) const {
  if (filter_.communicators.empty()) return true;
  const std::int64_t number = call.arguments[engine::kComm];
  if (!has || number < 0) return false;
  const auto& known = timeline_.communicators();
  for (const CallFilter::Communicator& wanted : filter_.communicators) {
    if (wanted.number ? *wanted.number == static_cast<std::uint64_t>(number)
                      : static_cast<std::size_t>(number) < known.size() &&
                            hex(known[static_cast<std::size_t>(number)].uid).starts_with(wanted.uid))
      return true;
  }
  return false;
}

// What the program asked for, or what it got: a receive of any tag that got tag 7 is one of tag 7.
bool CallMatcher::tag_passes(const Call& call, bool has) const {
  if (filter_.tags.empty()) return true;
  const std::int64_t tag = call.arguments[engine::kTag];
  if (has && tag == engine::kAnyTag && filter_.tags.any) return true;
  if (has && tag >= 0 && filter_.tags.numbers.contains(static_cast<std::uint64_t>(tag))) return true;
  return std::any_of(call.wildcards.begin(), call.wildcards.end(), [&](const engine::WildcardOutcome& outcome) {
    return outcome.code >= trace::kSourceBase && outcome.tag >= 0 &&
           filter_.tags.numbers.contains(static_cast<std::uint64_t>(outcome.tag));
  });
}

bool CallMatcher::peer_passes(const Call& call, bool has) {
  if (filter_.peers.empty()) return true;
  const std::int64_t comm = call.arguments[engine::kComm];
  const auto wanted = [&](std::int64_t rank) {
    const auto peer = world_.peer(timeline_.communicators(), comm, rank);
    return peer && filter_.peers.numbers.contains(*peer);
  };
  const std::int64_t named = call.arguments[engine::kPeer];
  if (has && named == engine::kAnySource && filter_.peers.any) return true;
  if (has && wanted(named)) return true;
  return std::any_of(call.wildcards.begin(), call.wildcards.end(), [&](const engine::WildcardOutcome& outcome) {
    return outcome.code >= trace::kSourceBase && wanted(outcome.code - trace::kSourceBase);
  });
}

}  // namespace reprise::analyze
