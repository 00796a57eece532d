#include "flow/reproducer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "flow/reproducer_parts.hpp"

namespace reprise::flow {
namespace reproducing {

// More is not a program that somebody would want to run.
constexpr std::int64_t kLargestSpan = std::int64_t{1} << 36;
constexpr std::uint64_t kMostPieces = 1u << 20;

std::int64_t sum(std::int64_t one, std::int64_t other) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(one, other, &result)) throw Impossible{"a place in memory is beyond all bounds"};
  return result;
}

std::int64_t product(std::int64_t one, std::int64_t other) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(one, other, &result)) throw Impossible{"a place in memory is beyond all bounds"};
  return result;
}

std::int64_t bytes_of(const LoggedBlock& block) {
  if (block.count == 0) return 0;
  if (!block.type || !block.type->flat.known) throw Impossible{"a datatype cannot be taken apart"};
  return product(static_cast<std::int64_t>(block.count), static_cast<std::int64_t>(block.type->flat.size));
}

bool is_root(const LoggedShape& shape) {
  return shape.root == -2 || (!shape.group->inter() && shape.root == shape.group->me);
}

bool is_in_place(const Collective& kind, const LoggedShape& shape) {
  return (shape.flags & trace::kInPlace) != 0 && (!kind.rooted || is_root(shape));
}

bool gets_result(const LoggedShape& shape) { return shape.combines >= 0; }

namespace {

Span span_of_one(const LoggedBlock& block) {
  const engine::FlatType& flat = block.type->flat;
  const std::int64_t steps = product(static_cast<std::int64_t>(block.count) - 1, flat.extent);
  const std::int64_t first = sum(block.place, flat.true_lower);
  return {sum(first, std::min<std::int64_t>(steps, 0)), sum(sum(first, flat.true_extent), std::max<std::int64_t>(steps, 0))};
}

}  // namespace

Span span_of(const std::vector<LoggedBlock>& gives, const std::vector<Take>& takes) {
  std::optional<Span> all;
  const auto add = [&](const LoggedBlock& block) {
    if (bytes_of(block) == 0) return;
    const Span one = span_of_one(block);
    all = all ? Span{std::min(all->from, one.from), std::max(all->to, one.to)} : one;
  };
  for (const LoggedBlock& block : gives) add(block);
  for (const Take& take : takes) add(take.block);
  if (!all) return {};
  if (sum(all->to, -all->from) > kLargestSpan) throw Impossible{"its memory is spread too widely for one buffer"};
  return *all;
}

namespace {

void check_topology(const LoggedGroup& group) {
  const std::size_t size = group.local.size();
  const auto are_members = [&](const std::vector<int>& ranks) {
    return std::ranges::all_of(ranks, [&](int rank) { return rank >= 0 && static_cast<std::size_t>(rank) < size; });
  };
  bool sound = true;
  if (const auto* grid = std::get_if<virtual_world::Cartesian>(&group.topology)) {
    std::size_t cells = 1;
    for (const int extent : grid->dims) cells = extent > 0 && cells <= size ? cells * static_cast<std::size_t>(extent) : 0;
    sound = cells == size && grid->periodic.size() == grid->dims.size();
  } else if (const auto* graph = std::get_if<virtual_world::Graph>(&group.topology)) {
    sound = graph->index.size() == size && std::ranges::is_sorted(graph->index) && are_members(graph->edges) &&
            graph->index.front() >= 0 && static_cast<std::size_t>(graph->index.back()) == graph->edges.size();
  } else if (const auto* free = std::get_if<virtual_world::DistributedGraph>(&group.topology)) {
    sound = are_members(free->sources) && are_members(free->destinations);
  }
  if (!sound) throw Impossible{"the topology of the communicator makes no sense"};
}

// The k-th rank of the new program is the k-th member of the communicator, as the first one sees it.
class CollectivePlan {
 public:
  explicit CollectivePlan(const Violation& violation) : view_(*violation.members[0].shape->group) {
    order_ = view_.local;
    order_.insert(order_.end(), view_.remote.begin(), view_.remote.end());
    plan_.local = view_.inter() ? view_.local.size() : 0;
    plan_.topology = view_.topology;
    for (const int rank : order_) add(violation, rank);
  }

  Plan make() {
    for (std::size_t rank = 0; rank < plan_.members.size(); ++rank) {
      Member& member = plan_.members[rank];
      if (!call_.kind->reduces) gives_and_takes(member);
      else reduces(member);
      member.first_peer = rank < plan_.local ? plan_.local : 0;  // those of the other group
    }
    if (call_.kind->reduces) plan_.element = element_code(plan_);
    if (call_.mode != Mode::Blocking) plan_.rounds = kRounds;
    write_collective(plan_);
    return std::move(plan_);
  }

 private:
  void add(const Violation& violation, int rank) {
    const auto found = std::ranges::find(violation.members, static_cast<std::uint32_t>(rank), &Part::rank);
    if (found == violation.members.end()) throw Impossible{fmt::format("what rank {} did in this call is not known", rank)};
    const LoggedShape& shape = *found->shape;
    const LoggedGroup& group = *shape.group;
    const bool is_there = plan_.members.size() >= view_.local.size();  // in the other group
    const bool same = group.local == (is_there ? view_.remote : view_.local) &&
                      group.remote == (is_there ? view_.local : view_.remote) && group.me >= 0 &&
                      static_cast<std::size_t>(group.me) == plan_.members.size() - (is_there ? view_.local.size() : 0) &&
                      group.topology.index() == view_.topology.index();
    if (!same) throw Impossible{"the members do not agree on who they are"};
    check_topology(group);
    const CollectiveCall call = collective_call(shape.call());
    if (plan_.members.empty()) call_ = call;
    if (call.kind != call_.kind || call.mode != call_.mode) throw Impossible{"the members do not make the same call"};
    if (shape.form != trace::IntentionForm::Collective) throw Impossible{"it is not a collective"};
    Member member;
    member.shape = &shape;
    plan_.members.push_back(std::move(member));
  }

  int program_rank(int world_rank) const {
    return static_cast<int>(std::ranges::find(order_, world_rank) - order_.begin());
  }

  void gives_and_takes(Member& member) {
    const LoggedShape& shape = *member.shape;
    member.one_buffer = call_.kind->name == "bcast" || is_in_place(*call_.kind, shape);
    member.gives = shape.gives;
    for (LoggedBlock& block : member.gives)
      if (block.count == 0) block.place = 0;  // where there is no edge it may be anything
    for (const LoggedBlock& block : shape.takes) {
      const Take take = taken(shape, block);
      if (bytes_of(block) > 0) member.takes.push_back(take);
    }
    member.given = span_of(member.gives, member.one_buffer ? member.takes : std::vector<Take>());
    if (!member.one_buffer) member.taken = span_of({}, member.takes);
  }

  Take taken(const LoggedShape& shape, const LoggedBlock& block) const {
    const auto& peers = shape.group->peers();
    if (block.peer < 0 || static_cast<std::size_t>(block.peer) >= peers.size()) throw Impossible{"a block comes from nobody"};
    Take take{block, program_rank(peers[static_cast<std::size_t>(block.peer)]), 0, call_.kind->numbered()};
    const LoggedShape& there = *plan_.members[static_cast<std::size_t>(take.from)].shape;
    std::uint64_t seen = 0;
    for (; take.number < there.gives.size(); ++take.number) {
      const bool counts = !block.by_edge || there.gives[take.number].peer == shape.group->me;
      if (counts && seen++ == block.number) break;
    }
    if (take.number == there.gives.size() || bytes_of(there.gives[take.number]) != bytes_of(block))
      throw Impossible{"the members do not agree on how much is sent"};
    if (take.is_mine && take.number != static_cast<std::uint64_t>(shape.group->me))
      throw Impossible{"a block is not the one that its taker's number tells"};
    return take;
  }

  void reduces(Member& member) const {
    const LoggedShape& shape = *member.shape;
    member.one_buffer = is_in_place(*call_.kind, shape);
    member.gives = shape.gives;
    if (!member.gives.empty()) member.contributes = member.gives[0].count;
    if (member.gives.size() > 1 || (!member.gives.empty() && member.gives[0].place != 0))
      throw Impossible{"what is combined does not begin where the buffer does"};
    std::vector<Take> result;
    if (gets_result(shape)) {
      LoggedBlock block;
      block.count = member.results = shape.count;
      block.type = shape.element;
      result.push_back({block});
      member.first = shape.first;
      member.peers = shape.combines;
      const auto& peers = shape.group->peers();
      if (shape.combines > static_cast<std::int64_t>(peers.size()) || !shape.element)
        throw Impossible{"a reduction of more ranks than there are"};
      for (std::int64_t i = 0; i < shape.combines; ++i) {
        const Member& giver = plan_.members[static_cast<std::size_t>(program_rank(peers[static_cast<std::size_t>(i)]))];
        if (giver.shape->gives.empty() || giver.shape->gives[0].count != shape.all)
          throw Impossible{"the members do not agree on how much is combined"};
      }
    }
    member.given = span_of(member.gives, member.one_buffer ? result : std::vector<Take>());
    if (!member.one_buffer) member.taken = span_of({}, result);
  }

  const LoggedGroup& view_;
  std::vector<int> order_;  // world ranks
  CollectiveCall call_;
  Plan plan_;
};

// What MPI_Pack makes of one element.
Plan type_plan(const LoggedType& type) {
  static const std::string kPlace = "MPI_Pack|";
  Plan plan;
  plan.invented = std::make_shared<LoggedShape>();
  plan.invented->place = &kPlace;
  plan.bytes = std::make_shared<LoggedType>();
  plan.bytes->tree.made = engine::TypeTree::Made::Named;
  plan.bytes->tree.name = "MPI_BYTE";
  plan.bytes->tree.size = 1;
  plan.bytes->tree.extent = 1;
  plan.bytes->flat = engine::flatten(plan.bytes->tree, 1);
  Member member;
  member.shape = plan.invented.get();
  member.gives = {{0, 1, &type}};
  member.takes = {{{0, static_cast<std::uint64_t>(bytes_of(member.gives[0])), plan.bytes.get()}}};
  member.given = span_of(member.gives, {});
  member.taken = span_of({}, member.takes);
  member.communicate = fmt::format(
      "  int place = 0;\n"
      "  MPI_Pack(given.at, 1, {}, taken.at, {} + GUARD, &place, comm);\n",
      plan.types.handle(member.gives[0]), member.takes[0].block.count);
  plan.members.push_back(std::move(member));
  return plan;
}

// Then nobody can say what must be there.
void check_overlaps(const Member& member) {
  std::vector<Span> pieces;
  for (const Take& take : member.takes) {
    const engine::FlatType& flat = take.block.type->flat;
    const std::uint64_t elements = flat.solid ? 1 : take.block.count;
    if (elements > kMostPieces || flat.runs.size() * elements > kMostPieces - pieces.size()) return;
    for (std::uint64_t i = 0; i < elements; ++i)
      for (const engine::FlatType::Run& run : flat.runs) {
        const std::int64_t from = take.block.place + static_cast<std::int64_t>(i) * flat.extent + run.offset;
        pieces.push_back({from, from + (flat.solid ? bytes_of(take.block) : static_cast<std::int64_t>(run.size))});
      }
  }
  std::ranges::sort(pieces, {}, &Span::from);
  const auto meets = [](const Span& one, const Span& next) { return one.to > next.from; };
  if (std::ranges::adjacent_find(pieces, meets) != pieces.end())
    throw Impossible{"the program lets two blocks come to the same memory"};
}

}  // namespace
}  // namespace reproducing

namespace {

reproducing::Plan plan_of(const Violation& violation, const LoggedType* blamed) {
  using namespace reproducing;
  if (!violation.excuse.empty()) throw Impossible{"the program broke a rule: " + violation.excuse};
  if (blamed) return type_plan(*blamed);
  if (violation.members.empty()) throw Impossible{"it is not about a call"};
  for (const Part& part : violation.members)
    if (!part.shape || !part.shape->group || !part.shape->place) throw Impossible{"a call is not known"};
  switch (violation.members[0].shape->form) {
    case trace::IntentionForm::Collective: return CollectivePlan(violation).make();
    case trace::IntentionForm::Access: return access_plan(violation);
    default: return message_plan(violation);
  }
}

}  // namespace

std::optional<Reproducer> reproducer(const Violation& violation, const LoggedType* blamed, const std::string& name,
                                     std::string& why) {
  using namespace reproducing;
  why.clear();
  try {
    Plan plan = plan_of(violation, blamed);
    for (const Member& member : plan.members) check_overlaps(member);
    return Reproducer{program(plan, violation, name), static_cast<int>(plan.members.size())};
  } catch (const Impossible& reason) {
    why = reason.why;
    return std::nullopt;
  }
}

}  // namespace reprise::flow
