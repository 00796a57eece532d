// An access to a window as a program of its own: the origin's side as it was. The log does not have that of the target, nor how
// the two synchronised; so the target has the same datatype, and each way to synchronise is tried.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "flow/reproducer_parts.hpp"

namespace reprise::flow::reproducing {
namespace {

enum class Access : std::uint8_t { Put, Get, Accumulate };
struct AccessCall {
  std::string_view name;
  Access access;
  bool has_request = false;
};
constexpr AccessCall kAccessCalls[] = {
    {"put", Access::Put},
    {"get", Access::Get},
    {"accumulate", Access::Accumulate},
    {"rput", Access::Put, true},
    {"raccumulate", Access::Accumulate, true},
};

AccessCall access_call(const std::string& name) {
  const std::string body = forms_of(name)[0].body;
  const auto* const found = std::ranges::find(kAccessCalls, std::string_view(body), &AccessCall::name);
  if (found == std::end(kAccessCalls)) throw Impossible{fmt::format("nobody has said how to make the call {}", name)};
  return *found;
}

constexpr std::string_view kFence =
    "      MPI_Win_fence(0, window);\n"
    "      if (rank == ORIGIN) access(window);\n"
    "      MPI_Win_fence(0, window);\n";
constexpr std::string_view kPost = R"(      MPI_Comm_group(comm, &all);
      MPI_Group_incl(all, 1, (int[]){ORIGIN}, &origin);
      MPI_Group_incl(all, 1, (int[]){TARGET}, &target);
      if (rank == TARGET) MPI_Win_post(origin, 0, window);
      if (rank == ORIGIN) {
        MPI_Win_start(target, 0, window);
        access(window);
        MPI_Win_complete(window);
      }
      if (rank == TARGET) MPI_Win_wait(window);
      MPI_Group_free(&all);
      MPI_Group_free(&origin);
      MPI_Group_free(&target);
)";
constexpr std::string_view kLock =
    "      if (rank == ORIGIN) {\n"
    "        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);\n"
    "        access(window);\n"
    "        MPI_Win_unlock(TARGET, window);\n"
    "      }\n";

}  // namespace

Plan access_plan(const Violation& violation) {
  const LoggedShape& shape = *violation.members[0].shape;
  const AccessCall call = access_call(shape.call());
  const bool large = forms_of(shape.call())[0].large;
  if (violation.members.size() != 1 || shape.gives.size() != 1) throw Impossible{"an access has one origin"};
  LoggedBlock block = shape.gives[0];
  block.place = 0;
  if (bytes_of(block) == 0) throw Impossible{"nothing was transferred"};
  if (!large && block.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Impossible{"a count is too large for an int"};

  Plan plan;
  plan.remark =
      "How the program synchronised, and what the access was at the target, is not known: here the target has the same\n"
      "// datatype, in the middle of a window that begins at a multiple of 64 bytes, and each way to synchronise has its turn.";
  plan.rounds = call.has_request ? 1 : 3;
  plan.members.resize(2);
  for (Member& member : plan.members) member.shape = &shape;
  const int origin = shape.dest == shape.group->me ? 0 : 1;
  Member& at_origin = plan.members[static_cast<std::size_t>(origin)];
  Member& at_target = plan.members[0];
  const bool accumulates = call.access == Access::Accumulate;
  const bool puts = call.access != Access::Get;
  Span span = span_of({block}, {});
  std::string handle = plan.types.handle(block);
  if (accumulates) {
    plan.element = element_code(block, shape.operation, at_origin.contributes);
    span.to = std::max(span.to, product(static_cast<std::int64_t>(block.count), block.type->flat.extent));  // with its padding
    at_origin.given = at_target.taken = span;
    at_target.results = at_origin.contributes;
    at_target.first_peer = static_cast<std::size_t>(origin);
    at_target.peers = 2;  // the other one: what is in the window before
  } else {
    Member& giver = puts ? at_origin : at_target;
    Member& taker = puts ? at_target : at_origin;
    giver.gives = {block};
    taker.takes = {{block, puts ? origin : 0, 0, false}};
    giver.given = taker.taken = span;
  }

  const char* const own = puts ? "given.at" : "taken.at";
  const char* const window = puts ? "taken" : "given";
  const std::string request = call.has_request ? ", &request" : "";
  // There is more in the window, before and behind. It begins where all libraries like it.
  constexpr std::int64_t kRoom = 64;
  const std::int64_t base = -((kRoom - span.from) / kRoom * kRoom);
  plan.before_call = fmt::format(
      "enum {{ ORIGIN = {}, TARGET = 0 }};\n"
      "static void access(MPI_Win window) {{\n{}{}{}}}\n",
      origin, call.has_request ? "  MPI_Request request;\n" : "",
      wrapped(fmt::format("  {0}({1}, {2}, {3}, TARGET, {4}, {2}, {3}{5}, window{6});", shape.call(), own, block.count, handle, -base,
                          accumulates ? fmt::format(", {}", operation_name(shape.operation)) : "", request)),
      call.has_request ? "  MPI_Wait(&request, MPI_STATUS_IGNORE);\n" : "");
  std::string text = fmt::format(
      "  MPI_Win window;\n"
      "{}{}"
      "  MPI_Win_create({}.at{}, rank == TARGET ? {} : 0, 1, MPI_INFO_NULL, comm, &window);\n"
      "{}",
      call.has_request ? "" : "  MPI_Group all, origin, target;\n", accumulates ? "  if (rank == TARGET) fill_window();\n" : "",
      window, base == 0 ? "" : fmt::format(" {} {}", base < 0 ? '-' : '+', std::abs(base)), span.to + kRoom - base,
      call.has_request ? "" : "  switch (turn) {\n");
  if (call.has_request)
    text +=
        "  if (rank == ORIGIN) {\n    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);\n    access(window);\n"
        "    MPI_Win_unlock(TARGET, window);\n  }\n";
  else
    text += fmt::format("    case 0:\n{}      break;\n    case 1:\n{}      break;\n    default:\n{}  }}\n", kFence, kPost, kLock);
  text += "  MPI_Win_free(&window);\n";
  for (Member& member : plan.members) member.communicate = text;
  return plan;
}

}  // namespace reprise::flow::reproducing
