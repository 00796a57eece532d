#include "analyze/run_summary.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include "engine/sites.hpp"
#include "trace/node_lane.hpp"

namespace reprise::analyze {

namespace {

constexpr std::size_t kMostDistinct = 1u << 16;  // senders or indices that are told apart at one place
constexpr std::size_t kMostNames = 1000;

std::uint64_t not_negative(std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)); }

void insert_some(std::set<std::uint32_t>& set, std::uint32_t value) {
  if (set.size() < kMostDistinct) set.insert(value);
}

bool larger(const Pair& a, const Pair& b) {
  return std::tuple(b.traffic.bytes, b.traffic.messages, a.from, a.to) <
         std::tuple(a.traffic.bytes, a.traffic.messages, b.from, b.to);
}

}  // namespace

// What one rank did at one call site.
struct Summarizer::Site {
  bool known = false;
  CallKind kind;
  FunctionCount count;
  std::unique_ptr<RacingSite> racing;      // few sites decide anything
  std::uint32_t last_sender = UINT32_MAX;  // spares most look-ups in the set
};

// One sender's messages.
struct Summarizer::Row {
  WorldRanks world;
  std::unordered_map<std::uint32_t, Traffic> to;
  std::uint32_t last_to = UINT32_MAX;
  Traffic* last = nullptr;            // &to[last_to]: messages come in series
  std::vector<std::uint64_t> events;  // by number of the name
  Traffic by_nodes;                   // MCAPI

  Traffic& traffic_to(std::uint32_t rank) {
    if (rank != last_to || !last) last = &to[last_to = rank];
    return *last;
  }
};

Summarizer::Summarizer(std::uint32_t world, const CallFilter& filter, SourceLines& lines)
    : world_(world), filter_(filter), lines_(lines), received_(world) {
  TrafficMatrix& matrix = summary_.matrix;
  matrix.complete = world <= TrafficMatrix::kMostRanks;
  if (!matrix.complete) matrix.group_size = (world + TrafficMatrix::kGroups - 1) / TrafficMatrix::kGroups;
}

bool Summarizer::add(int dir_fd, std::uint64_t trace_id, const RankEnd& rank) {
  RankSummary& facts = summary_.ranks.emplace_back();
  facts.end = rank;
  std::vector<engine::CommunicatorRecord> known;  // by the main thread
  Row all;
  add_thread(Timeline::open(dir_fd, rank.rank, trace_id), rank.rank, facts, all, &known);
  for (const std::uint32_t thread : trace::streams_of(dir_fd, rank.rank))
    if (thread > 0)
      add_thread(Timeline::open(dir_fd, rank.rank, trace_id, thread, known), rank.rank, facts, all, nullptr);
  for (const auto& [to, traffic] : all.to) facts.sent.add(traffic);
  facts.sent.add(all.by_nodes);
  summary_.sent_by_nodes.add(all.by_nodes);
  summary_.calls += facts.calls;
  add_row(rank.rank, all);
  return facts.trouble.empty();
}

// `known`: filled with the communicators that the thread has made.
void Summarizer::add_thread(Result<Timeline> timeline, std::uint32_t rank, RankSummary& facts, Row& all,
                            std::vector<engine::CommunicatorRecord>* known) {
  if (!timeline) {
    facts.trouble = timeline.error().what;
    return;
  }
  std::vector<Site> sites;
  Row row;
  CallMatcher matcher(filter_, *timeline, lines_);
  Call call;
  for (;;) {
    const auto have = timeline->next(call);
    if (!have) facts.trouble = have.error().what;
    if (!have || !*have) break;
    if (matcher.matches(call)) {
      if (sites.size() <= call.site) sites.resize(timeline->sites().size());
      ++facts.calls;
      count(call, *timeline, sites[call.site], row);
    }
    if (matcher.over(call)) break;
  }
  summary_.notes += timeline->notes().size();
  add_sites(rank, sites, *timeline);
  for (std::size_t number = 0; number < row.events.size(); ++number) {
    if (row.events[number] == 0) continue;
    const std::string& name = timeline->names()[number];
    if (summary_.events.size() < kMostNames || summary_.events.contains(name))
      summary_.events[name] += row.events[number];
    else summary_.events_left_out += row.events[number];
  }
  for (const auto& [to, traffic] : row.to) all.traffic_to(to).add(traffic);
  all.by_nodes.add(row.by_nodes);
  if (known) *known = timeline->communicators();
}

void Summarizer::count(const Call& call, const Timeline& timeline, Site& site, Row& row) {
  if (!site.known) {
    site.known = true;
    site.kind = kind_of(timeline.function_of(call).name);
  }
  ++site.count.calls;
  const CallKind& kind = site.kind;
  if (kind.role == Role::Event) {
    const auto number = static_cast<std::uint64_t>(call.arguments[engine::kTag]);
    if (number >= timeline.names().size()) {
      ++summary_.events_left_out;
      return;
    }
    if (row.events.size() <= number) row.events.resize(timeline.names().size());
    ++row.events[number];
    return;
  }
  const std::uint64_t bytes = not_negative(call.arguments[engine::kBytes]);
  if (kind.moves_bytes) site.count.bytes += bytes;
  if (kind.of_nodes && kind.role == Role::Send) {
    row.by_nodes.add({1, bytes});
  } else if (kind.role == Role::Send && !kind.persistent && call.arguments[engine::kPeer] != engine::kProcNull) {
    summary_.sent.add({1, bytes});
    const auto to =
        row.world.peer(timeline.communicators(), call.arguments[engine::kComm], call.arguments[engine::kPeer]);
    if (to && *to < world_) row.traffic_to(*to).add({1, bytes});
    else ++summary_.to_unknown;
  }
  if (kind.role == Role::Start) ++summary_.persistent_starts;
  if (kind.role == Role::Collective) ++summary_.collective_calls;
  if (call.time) ++summary_.clock_reads;
  count_outcomes(call, timeline, site, row);
}

void Summarizer::count_outcomes(const Call& call, const Timeline& timeline, Site& site, Row& row) {
  if (call.wildcards.empty() && !call.poll && !call.reports_indices) return;
  if (!site.racing) site.racing = std::make_unique<RacingSite>();
  RacingSite& racing = *site.racing;
  for (const engine::WildcardOutcome& outcome : call.wildcards) {
    if (outcome.code == trace::kRefused) continue;
    ++racing.receives;
    const bool matched = outcome.code >= trace::kSourceBase;
    if (site.kind.of_nodes) {
      const std::uint32_t source = outcome.code - trace::kSourceBase;
      if (!matched || trace::kind_of_lane(source) != trace::LaneKind::Sender) ++racing.unknown;
      else insert_some(racing.senders, trace::value_of_lane(source));
      continue;
    }
    const auto sender = matched ? row.world.peer(timeline.communicators(), call.arguments[engine::kComm],
                                                 outcome.code - trace::kSourceBase)
                                : std::nullopt;
    if (!sender) ++racing.unknown;
    else if (*sender != site.last_sender) insert_some(racing.senders, site.last_sender = *sender);
  }
  if (call.poll) {
    ++racing.polls;
    racing.failed_polls += call.poll->failures;
    site.count.failed_polls += call.poll->failures;
    summary_.failed_polls += call.poll->failures;
  }
  if (call.reports_indices && !call.indices.empty()) {
    ++racing.completions;
    insert_some(racing.indices, call.indices.front());
  }
}

void Summarizer::add_sites(std::uint32_t rank, const std::vector<Site>& sites, const Timeline& timeline) {
  std::map<std::string, FunctionCount> functions;
  for (std::size_t number = 0; number < sites.size(); ++number) {
    const Site& site = sites[number];
    if (!site.known) continue;
    Call call;
    call.site = static_cast<std::uint32_t>(number);
    const std::string& name = timeline.function_of(call).name;
    FunctionCount& function = functions[name];
    function.calls += site.count.calls;
    function.bytes += site.count.bytes;
    function.failed_polls += site.count.failed_polls;
    if (!site.racing) continue;
    const RacingSite& own = *site.racing;
    const auto& module = timeline.module_of(call);
    const SourceLine& at = lines_.find(module.path, module.build_id, timeline.site_of(call).offset);
    // Two calls in one line are one place for a reader, and so are the places of all ranks.
    const std::string place =
        at.file.empty() ? at.module + '+' + std::to_string(at.offset) : at.file + ':' + std::to_string(at.line);
    RacingSite& racing = racing_[name + '\n' + place];
    racing.function = name;
    racing.at = at;
    if (racing.ranks == 0 || racing.last_rank != rank) ++racing.ranks;
    racing.last_rank = rank;
    racing.receives += own.receives;
    racing.unknown += own.unknown;
    for (const std::uint32_t sender : own.senders) insert_some(racing.senders, sender);
    racing.most_senders = std::max(racing.most_senders, static_cast<std::uint32_t>(own.senders.size()));
    racing.polls += own.polls;
    racing.failed_polls += own.failed_polls;
    racing.completions += own.completions;
    for (const std::uint32_t index : own.indices) insert_some(racing.indices, index);
  }
  for (const auto& [name, own] : functions) {
    FunctionCount& total = summary_.functions[name];
    total.calls += own.calls;
    total.bytes += own.bytes;
    total.failed_polls += own.failed_polls;
    ++total.ranks;
  }
}

void Summarizer::add_row(std::uint32_t sender, const Row& row) {
  TrafficMatrix& matrix = summary_.matrix;
  for (const auto& [to, traffic] : row.to) {
    received_[to].add(traffic);
    matrix.pairs.push_back({sender, to, traffic});
    if (!matrix.complete) groups_[{sender / matrix.group_size, to / matrix.group_size}].add(traffic);
  }
  if (matrix.complete || matrix.pairs.size() <= TrafficMatrix::kTopPairs) return;
  std::partial_sort(matrix.pairs.begin(), matrix.pairs.begin() + TrafficMatrix::kTopPairs, matrix.pairs.end(), larger);
  matrix.pairs.resize(TrafficMatrix::kTopPairs);
}

RunSummary Summarizer::finish() {
  TrafficMatrix& matrix = summary_.matrix;
  if (matrix.complete)
    std::sort(matrix.pairs.begin(), matrix.pairs.end(),
              [](const Pair& a, const Pair& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  else std::sort(matrix.pairs.begin(), matrix.pairs.end(), larger);
  for (const auto& [groups, traffic] : groups_) matrix.group_pairs.push_back({groups.first, groups.second, traffic});
  for (RankSummary& rank : summary_.ranks)
    if (rank.end.rank < received_.size()) rank.received = received_[rank.end.rank];
  for (auto& [key, site] : racing_) summary_.racing.push_back(std::move(site));
  const auto weight = [](const RacingSite& site) {
    return std::pair(site.varied(), site.receives + site.polls + site.completions);
  };
  std::stable_sort(summary_.racing.begin(), summary_.racing.end(),
                   [&](const RacingSite& a, const RacingSite& b) { return weight(a) > weight(b); });
  return std::move(summary_);
}

}  // namespace reprise::analyze
