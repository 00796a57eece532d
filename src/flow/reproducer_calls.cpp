// The calls of a reproducer, with the arguments that the program must have had.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "flow/reproducer_parts.hpp"

namespace reprise::flow::reproducing {
namespace {

constexpr Collective kCollectives[] = {
    {"bcast", Side::One, Side::One, true},
    {"gather", Side::One, Side::Even, true},
    {"gatherv", Side::One, Side::Varying, true},
    {"scatter", Side::Even, Side::One, true},
    {"scatterv", Side::Varying, Side::One, true},
    {"allgather", Side::One, Side::Even},
    {"allgatherv", Side::One, Side::Varying},
    {"alltoall", Side::Even, Side::Even},
    {"alltoallv", Side::Varying, Side::Varying},
    {"alltoallw", Side::Typed, Side::Typed},
    {"neighbor_allgather", Side::One, Side::Even, false, true},
    {"neighbor_allgatherv", Side::One, Side::Varying, false, true},
    {"neighbor_alltoall", Side::Even, Side::Even, false, true},
    {"neighbor_alltoallv", Side::Varying, Side::Varying, false, true},
    {"neighbor_alltoallw", Side::Typed, Side::Typed, false, true},
    {"reduce", Side::One, Side::One, true, false, true},
    {"allreduce", Side::One, Side::One, false, false, true},
    {"reduce_scatter", Side::One, Side::One, false, false, true},
    {"reduce_scatter_block", Side::One, Side::One, false, false, true},
    {"scan", Side::One, Side::One, false, false, true},
    {"exscan", Side::One, Side::One, false, false, true},
};

std::string ending(Mode mode, std::string_view request) {
  return mode == Mode::Blocking      ? std::string()
         : mode == Mode::Nonblocking ? fmt::format(", &{}", request)
                                     : fmt::format(", MPI_INFO_NULL, &{}", request);
}

// Per block of the arguments; nothing: there is no such neighbour.
using Slots = std::vector<std::optional<LoggedBlock>>;

// The call of one member.
class Call {
 public:
  Call(Plan& plan, std::size_t rank)
      : plan_(plan), shape_(*plan.members[rank].shape), call_(collective_call(shape_.call())), rank_(rank) {}

  void write() {
    const Collective& kind = *call_.kind;
    std::string arguments;
    if (kind.name == "bcast") arguments = broadcast();
    else if (kind.reduces) arguments = reduction();
    else arguments = both_sides();
    if (kind.rooted)
      arguments += shape_.root == -2 ? ", MPI_ROOT" : shape_.root == -3 ? ", MPI_PROC_NULL" : fmt::format(", {}", shape_.root);
    const std::string statement =
        wrapped(fmt::format("  {}({}, comm{});", shape_.call(), arguments, ending(call_.mode, "request")));
    Member& member = plan_.members[rank_];
    (call_.mode == Mode::Persistent ? member.prepare : member.communicate) = declarations_ + statement;
    if (call_.mode == Mode::Persistent) {
      member.communicate = "  MPI_Start(&request);\n";
      member.release = "  MPI_Request_free(&request);\n";
    }
    if (call_.mode != Mode::Blocking) member.communicate += "  complete(&request);\n";
  }

 private:
  std::string one(const char* buffer, const LoggedBlock& block) {
    return fmt::format("{}, {}, {}", buffer, count(block.count), plan_.types.handle(block));
  }
  static std::string nothing(Side side, const std::string& type) {
    return (side == Side::Varying ? "NULL, NULL, NULL, " : "NULL, 0, ") + type;
  }

  std::string broadcast() {
    const std::vector<LoggedBlock>& blocks = shape_.gives.empty() ? shape_.takes : shape_.gives;
    return blocks.empty() ? nothing(Side::One, "MPI_BYTE") : one("given.at", blocks[0]);
  }

  std::string both_sides() {
    const Collective& kind = *call_.kind;
    const Slots given = slots(kind.send, shape_.gives, kind.neighbours && kind.send != Side::One);
    const Slots taken = kind.neighbours ? edges_in() : slots(kind.receive, shape_.takes, false);
    const bool in_place = is_in_place(kind, shape_);
    const bool scatters = kind.rooted && kind.receive == Side::One;
    // Types that do not matter must be valid all the same.
    const std::string given_type = type_of(given, type_of(taken, "MPI_BYTE"));
    const std::string taken_type = type_of(taken, given_type);
    std::string send, receive;
    if (in_place && scatters) receive = fmt::format("MPI_IN_PLACE, 0, {}", given_type);
    else receive = side(kind.receive, taken, "taken.at", "receive", taken_type);
    if (!in_place || scatters) send = side(kind.send, given, "given.at", "send", given_type);
    else if (kind.send == Side::Varying) send = fmt::format("MPI_IN_PLACE, receive_counts, receive_places, {}", taken_type);
    else if (kind.send == Side::Typed) send = "MPI_IN_PLACE, receive_counts, receive_places, receive_types";
    else send = fmt::format("MPI_IN_PLACE, 0, {}", taken_type);
    return send + ", " + receive;
  }

  // Only the root has the arguments of a rooted call that are about everybody.
  Slots slots(Side side, const std::vector<LoggedBlock>& blocks, bool by_edge) const {
    const std::size_t peers = by_edge ? virtual_world::outgoing(shape_.group->topology, shape_.group->me).size()
                                      : shape_.group->peers().size();
    if (side == Side::One && blocks.size() > 1) throw Impossible{"a call has more blocks than it can have"};
    const bool is_whole = side == Side::One || blocks.size() == peers;
    const bool may_be_none = call_.kind->rooted && !is_root(shape_) && blocks.empty();
    if (!is_whole && !may_be_none) throw Impossible{"a call has not the blocks that it must have"};
    Slots all;
    for (const LoggedBlock& block : blocks) {
      if (by_edge && block.peer < 0) all.emplace_back();
      else all.emplace_back(block);
    }
    return all;
  }

  Slots edges_in() const {
    Slots all;
    std::size_t used = 0;
    for (const auto& [peer, number] : virtual_world::incoming(shape_.group->topology, shape_.group->me, false)) {
      all.emplace_back();
      if (peer < 0) continue;
      if (used == shape_.takes.size() || shape_.takes[used].peer != peer)
        throw Impossible{"the blocks of a call are not those of its neighbours"};
      all.back() = shape_.takes[used++];
    }
    if (used < shape_.takes.size()) throw Impossible{"the blocks of a call are not those of its neighbours"};
    return all;
  }

  std::string type_of(const Slots& slots, const std::string& otherwise) {
    const LoggedBlock* found = nullptr;
    for (const auto& slot : slots)
      if (slot && (!found || (found->count == 0 && slot->count > 0))) found = &*slot;
    return found ? plan_.types.handle(*found) : otherwise;
  }

  std::string side(Side side, const Slots& slots, const char* buffer, const char* prefix, const std::string& type) {
    if (slots.empty() && (call_.kind->rooted || side == Side::One)) return nothing(side, type);
    switch (side) {
      case Side::One: return one(buffer, *slots[0]);
      case Side::Even: return fmt::format("{}, {}, {}", buffer, even_count(slots, prefix), type);
      case Side::Varying: lists(slots, prefix, false); break;
      case Side::Typed: lists(slots, prefix, true); break;
    }
    return fmt::format("{0}, {1}_counts, {1}_places, {2}", buffer, prefix, side == Side::Typed ? std::string(prefix) + "_types" : type);
  }

  std::string even_count(const Slots& slots, std::string_view prefix) {
    const auto first = std::ranges::find_if(slots, [](const auto& slot) { return slot.has_value(); });
    if (first == slots.end()) return "0";
    const LoggedBlock& block = **first;
    if (bytes_of(block) > 0 && slots.size() > 1) plan_.types.relies_on_extent(*block.type);
    std::vector<LoggedBlock> all;  // there is memory also where there is no neighbour
    for (std::size_t i = 0; i < slots.size() && bytes_of(block) > 0; ++i) {
      const std::int64_t step = product(static_cast<std::int64_t>(block.count), block.type->flat.extent);
      all.push_back(block);
      all.back().place = product(static_cast<std::int64_t>(i), step);
      if (slots[i] && (slots[i]->count != block.count || slots[i]->type != block.type || slots[i]->place != all.back().place))
        throw Impossible{"blocks of equal size are not one behind the other"};
    }
    Member& member = plan_.members[rank_];
    if (!member.one_buffer) (prefix == "send" ? member.given : member.taken) = span_of(all, {});
    return count(block.count);
  }

  void lists(const Slots& slots, const char* prefix, bool typed) {
    std::vector<std::int64_t> counts, places;
    std::vector<std::string> types;
    const bool large = call_.large;
    const bool far = large || (typed && call_.kind->neighbours);  // places are MPI_Aint
    for (const auto& slot : slots) {
      const bool counts_here = slot && slot->count > 0;
      counts.push_back(counts_here ? static_cast<std::int64_t>(slot->count) : 0);
      if (counts_here) count(slot->count);
      std::int64_t place = counts_here && bytes_of(*slot) > 0 ? slot->place : 0;
      if (!typed && place != 0) {
        const std::int64_t extent = slot->type->flat.extent;
        if (extent == 0 || place % extent != 0) throw Impossible{"a displacement is not a multiple of the extent"};
        plan_.types.relies_on_extent(*slot->type);
        place /= extent;
      }
      if (!far && (place > std::numeric_limits<int>::max() || place < std::numeric_limits<int>::min()))
        throw Impossible{"a displacement is too large for an int"};
      places.push_back(place);
      types.push_back(slot ? plan_.types.handle(*slot) : "MPI_BYTE");
    }
    list(fmt::format("static const {} {}_counts", large ? "MPI_Count" : "int", prefix), counts);
    list(fmt::format("static const {} {}_places", far ? "MPI_Aint" : "int", prefix), places);
    if (!typed) return;
    if (types.empty()) types.emplace_back("MPI_BYTE");  // C has no empty lists
    const std::string all = fmt::format("{}", fmt::join(types, ", "));
    if (call_.mode == Mode::Blocking) {
      declarations_ += wrapped(fmt::format("  const MPI_Datatype {}_types[] = {{{}}};", prefix, all));
    } else {  // it must be there until the operation is complete
      declarations_ += fmt::format("  static MPI_Datatype {}_types[{}];\n", prefix, types.size());
      declarations_ += wrapped(fmt::format("  memcpy({0}_types, (MPI_Datatype[]){{{1}}}, sizeof {0}_types);", prefix, all));
    }
  }

  std::string reduction() {
    const auto type_in = [](const LoggedShape& shape) { return shape.gives.empty() ? shape.element : shape.gives[0].type; };
    LoggedBlock block;
    block.count = !shape_.gives.empty() ? shape_.gives[0].count : gets_result(shape_) ? shape_.count : 0;
    block.type = type_in(shape_);
    // Libraries ask whether type and operation fit even those who only watch.
    for (std::size_t i = 0; !block.type && i < plan_.members.size(); ++i) block.type = type_in(*plan_.members[i].shape);
    std::string counts = count(block.count);
    if (call_.kind->name == "reduce_scatter_block") counts = count(shape_.count);
    if (call_.kind->name == "reduce_scatter") counts = shares();
    // MPICH 4.0 wants to see a buffer even where it does not count.
    return fmt::format("{}, taken.at, {}, {}, {}", is_in_place(*call_.kind, shape_) ? "MPI_IN_PLACE" : "given.at", counts,
                       plan_.types.handle(block), operation_name(shape_.operation));
  }

  std::string shares() {
    std::vector<std::int64_t> counts;
    const std::size_t first = plan_.local > 0 && rank_ >= plan_.local ? plan_.local : 0;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < shape_.group->local.size(); ++i) {
      const LoggedShape& shape = *plan_.members[first + i].shape;
      count(shape.count);
      if (shape.first != all) throw Impossible{"the members do not agree on who gets what"};
      all += shape.count;
      counts.push_back(static_cast<std::int64_t>(shape.count));
    }
    if (all != shape_.all) throw Impossible{"the members do not agree on who gets what"};
    list(fmt::format("static const {} receive_counts", call_.large ? "MPI_Count" : "int"), counts);
    return "receive_counts";
  }

  void list(const std::string& what, const std::vector<std::int64_t>& values) {
    declarations_ += wrapped(fmt::format("  {}[] = {{{}}};", what, numbers(values)));
  }
  std::string count(std::uint64_t value) const {
    const auto most = call_.large ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<int>::max();
    if (value > static_cast<std::uint64_t>(most)) throw Impossible{"a count is too large for an int"};
    return fmt::format("{}", value);
  }

  Plan& plan_;
  const LoggedShape& shape_;
  CollectiveCall call_;
  std::size_t rank_;
  std::string declarations_;
};

}  // namespace

const char* operation_name(std::uint64_t number) {
  constexpr const char* kNames[] = {"MPI_MAX", "MPI_MIN",  "MPI_SUM", "MPI_PROD", "MPI_LAND",   "MPI_BAND",
                                    "MPI_LOR", "MPI_BOR", "MPI_LXOR", "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC",
                                    "MPI_REPLACE"};
  return number >= 2 && number - 2 < std::size(kNames) ? kNames[number - 2] : "MPI_OP_NULL";
}

std::vector<Form> forms_of(const std::string& call) {
  std::string body = call.starts_with("MPI_") ? call.substr(4) : std::string();
  const auto strip = [&](std::string_view end) {
    if (!body.ends_with(end)) return false;
    body.resize(body.size() - end.size());
    return true;
  };
  const bool large = strip("_c");
  const bool persistent = strip("_init");
  if (!body.empty() && body[0] >= 'A' && body[0] <= 'Z') body[0] = static_cast<char>(body[0] - 'A' + 'a');
  std::vector<Form> forms{{body, persistent ? Mode::Persistent : Mode::Blocking, large}};
  if (!persistent && body.starts_with('i')) forms.push_back({body.substr(1), Mode::Nonblocking, large});
  return forms;
}

CollectiveCall collective_call(const std::string& name) {
  for (const Form& form : forms_of(name)) {
    const auto* const found = std::ranges::find(kCollectives, std::string_view(form.body), &Collective::name);
    if (found != std::end(kCollectives)) return {found, form.mode, form.large};
  }
  throw Impossible{fmt::format("nobody has said how to make the call {}", name)};
}

void write_collective(Plan& plan) {
  for (std::size_t rank = 0; rank < plan.members.size(); ++rank) Call(plan, rank).write();
}

}  // namespace reprise::flow::reproducing
