#include "analyze/blocked.hpp"

#include <algorithm>
#include <tuple>

#include "analyze/world_ranks.hpp"

namespace reprise::analyze {

using trace::EndKind;

namespace {

bool posts_request(const CallKind& kind) {
  if (kind.role == Role::Start) return true;
  return (kind.role == Role::Send || kind.role == Role::Receive) && !kind.blocking && !kind.persistent;
}

bool in_collective(const Position& position) {
  return position.place == RankPlace::InCall && position.call && position.call->kind.role == Role::Collective &&
         position.call->kind.blocking;
}

// Equal for ranks that a reader would call "in the same place".
std::string key_of(const Position& position) {
  std::string key = std::to_string(static_cast<int>(position.place)) + (position.moved ? "+" : "-") + position.ended +
                    '\n' + position.trouble;
  if (!position.call) return key;
  const PlacedCall& call = *position.call;
  key += '\n' + call.function + '\n' + call.event + '\n' + call.at.module + '\n';
  key += call.at.file.empty() ? std::to_string(call.at.offset) : call.at.file + ':' + std::to_string(call.at.line);
  if (in_collective(position)) key += '\n' + std::to_string(call.communicator);
  return key;
}

// Who waits for one other rank forms chains; those that come back to themselves are circles.
std::vector<std::vector<std::uint32_t>> find_circles(const std::vector<Position>& positions) {
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Position& position : positions)
    if (position.waits_for && position.place == RankPlace::InCall) next[position.rank] = *position.waits_for;
  std::vector<std::vector<std::uint32_t>> circles;
  std::map<std::uint32_t, std::uint32_t> visited;  // rank -> in whose walk
  for (const auto& [start, ignored] : next) {
    std::vector<std::uint32_t> walk;
    std::uint32_t at = start;
    while (next.contains(at) && !visited.contains(at)) {
      visited[at] = start;
      walk.push_back(at);
      at = next[at];
    }
    if (!visited.contains(at) || visited[at] != start) continue;
    walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
    std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
    circles.push_back(std::move(walk));
  }
  return circles;
}

}  // namespace

PlacedCall BlockedFinder::placed(const Call& call, const Timeline& timeline) {
  PlacedCall out;
  out.number = call.number;
  out.function = timeline.function_of(call).name;
  out.kind = kind_of(out.function);
  out.arguments = call.arguments;
  const auto& module = timeline.module_of(call);
  out.at = lines_.find(module.path, module.build_id, timeline.site_of(call).offset);
  if (const std::string* name = timeline.event_name(call)) out.event = *name;
  const auto number = static_cast<std::uint64_t>(call.arguments[engine::kComm]);
  if (number < timeline.communicators().size()) out.communicator = timeline.communicators()[number].uid;
  return out;
}

bool BlockedFinder::add(int dir_fd, std::uint64_t trace_id, const RankEnd& rank) {
  Position position;
  position.rank = rank.rank;
  if (!rank.running) position.ended = rank_end_words(rank);
  auto timeline = Timeline::open(dir_fd, rank.rank, trace_id);
  Call call;
  Call last;
  Call posted;
  bool any = false;
  bool any_posted = false;
  if (!timeline) position.trouble = timeline.error().what;
  std::vector<signed char> posts;  // by call site; -1: not known yet
  while (timeline) {
    const auto have = timeline->next(call);
    if (!have) position.trouble = have.error().what;
    if (!have || !*have) break;
    if (posts.size() <= call.site) posts.resize(timeline->sites().size(), -1);
    if (posts[call.site] < 0) posts[call.site] = posts_request(kind_of(timeline->function_of(call).name));
    if (posts[call.site] != 0) {
      posted = call;
      any_posted = true;
    }
    std::swap(last, call);
    any = true;
  }
  if (!position.trouble.empty()) {
    position.place = RankPlace::Unreadable;
  } else if (any) {
    place(position, rank, last, *timeline);
    const bool waits = position.place == RankPlace::InCall && position.call->kind.role == Role::Completion;
    if (any_posted && (waits || position.place == RankPlace::Polling))
      position.posted = placed(posted, *timeline);
  }
  const bool readable = position.trouble.empty();
  positions_.push_back(std::move(position));
  return readable;
}

void BlockedFinder::place(Position& position, const RankEnd& rank, const Call& last, const Timeline& timeline) {
  const trace::End& end = timeline.reader().end();
  position.call = placed(last, timeline);
  if (end.kind == EndKind::Finalized || end.kind == EndKind::Exited || end.kind == EndKind::Aborted) {
    position.place = RankPlace::Ended;
    RankEnd now = rank;
    now.end = end;
    position.ended = rank_end_words(now);
  } else if (last.poll && !last.poll->succeeded) {
    position.place = RankPlace::Polling;
    position.failed_polls = last.poll->failures;
  } else {
    position.place = end.in_call ? RankPlace::InCall : RankPlace::Computing;
  }
  if (position.place != RankPlace::InCall && position.place != RankPlace::Polling) return;
  const Role role = position.call->kind.role;
  if ((role == Role::Send || role == Role::Receive || role == Role::Probe) && position.call->kind.peer) {
    WorldRanks world;
    position.waits_for =
        world.peer(timeline.communicators(), last.arguments[engine::kComm], last.arguments[engine::kPeer]);
  }
  if (in_collective(position) && position.call->communicator != 0 && !members_.contains(position.call->communicator))
    members_[position.call->communicator] =
        WorldRanks::members(timeline.communicators()[static_cast<std::size_t>(last.arguments[engine::kComm])]);
}

void BlockedFinder::add_without_log(std::uint32_t rank) {
  Position position;
  position.rank = rank;
  positions_.push_back(std::move(position));
}

void BlockedFinder::look_again(int dir_fd, std::uint64_t trace_id) {
  for (Position& position : positions_) {
    if (!position.ended.empty() || !position.call) continue;
    const auto reader = trace::RankReader::open(dir_fd, position.rank, trace_id);
    if (reader) position.moved = reader->total_events() != position.call->number + 1;
  }
}

// Who is not in the call, although it takes all members.
std::vector<std::uint32_t> BlockedFinder::missing_in(const PlacedCall& call) const {
  const auto known = members_.find(call.communicator);
  if (known == members_.end()) return {};
  std::vector<std::uint32_t> members = known->second;
  std::sort(members.begin(), members.end());
  std::vector<std::uint32_t> present;
  for (const Position& position : positions_)
    if (in_collective(position) && position.call->communicator == call.communicator &&
        position.call->function == call.function)
      present.push_back(position.rank);
  std::sort(present.begin(), present.end());
  std::vector<std::uint32_t> missing;
  std::set_difference(members.begin(), members.end(), present.begin(), present.end(), std::back_inserter(missing));
  return missing;
}

Blocked BlockedFinder::finish() {
  Blocked blocked;
  std::sort(positions_.begin(), positions_.end(), [](const Position& a, const Position& b) { return a.rank < b.rank; });
  blocked.circles = find_circles(positions_);
  std::map<std::string, PositionGroup> groups;
  for (const Position& position : positions_) groups[key_of(position)].ranks.push_back(position);
  for (auto& [key, group] : groups) {
    if (in_collective(group.ranks.front())) group.missing = missing_in(*group.ranks.front().call);
    blocked.groups.push_back(std::move(group));
  }
  const auto order = [](const PositionGroup& group) {
    return std::tuple(group.ranks.size(), group.ranks.front().place, group.ranks.front().rank);
  };
  std::sort(blocked.groups.begin(), blocked.groups.end(),
            [&](const PositionGroup& a, const PositionGroup& b) { return order(a) < order(b); });
  return blocked;
}

}  // namespace reprise::analyze
