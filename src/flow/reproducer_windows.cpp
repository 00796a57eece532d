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

const std::string kFence =
    "  MPI_Win_fence(0, window);\n"
    "  if (rank == ORIGIN) access(window);\n"
    "  MPI_Win_fence(0, window);\n";
const std::string kPost = R"(  MPI_Comm_group(comm, &all);
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
const std::string kLock =
    "  if (rank == ORIGIN) {\n"
    "    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);\n"
    "    access(window);\n"
    "    MPI_Win_unlock(TARGET, window);\n"
    "  }\n";

class AccessPlan {
 public:
  explicit AccessPlan(const Violation& violation)
      : shape_(*violation.members[0].shape), call_(access_call(shape_.call())), origin_(shape_.dest == shape_.group->me ? 0 : 1) {
    if (violation.members.size() != 1 || shape_.gives.size() != 1) throw Impossible{"an access has one origin"};
    block_ = shape_.gives[0];
    block_.place = 0;
    if (bytes_of(block_) == 0) throw Impossible{"nothing was transferred"};
    const bool large = forms_of(shape_.call())[0].large;
    if (!large && block_.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      throw Impossible{"a count is too large for an int"};
  }

  Plan make() {
    plan_.remark =
        "How the program synchronised, and what the access was at the target, is not known: here the target has the same\n"
        "// datatype, in the middle of a window that begins at a multiple of 64 bytes, and each way to synchronise has its turn.";
    plan_.rounds = call_.has_request ? 1 : 3;
    sides();
    plan_.before_call = access();
    for (Member& member : plan_.members) member.communicate = epochs();
    return std::move(plan_);
  }

 private:
  bool accumulates() const { return call_.access == Access::Accumulate; }
  bool puts() const { return call_.access != Access::Get; }
  // The window begins where all libraries like it, and there is more in it, before and behind.
  std::int64_t base() const { return -((kRoom - span_.from) / kRoom * kRoom); }

  void sides() {
    plan_.members.resize(2);
    for (Member& member : plan_.members) member.shape = &shape_;
    Member& at_origin = plan_.members[static_cast<std::size_t>(origin_)];
    Member& at_target = plan_.members[0];
    span_ = span_of({block_}, {});
    if (accumulates()) {
      plan_.element = element_code(plan_.types, block_, shape_.operation, at_origin.contributes);
      span_.to = std::max(span_.to, product(static_cast<std::int64_t>(block_.count), block_.type->flat.extent));  // with its padding
      at_origin.given = at_target.taken = span_;
      at_target.results = at_origin.contributes;
      at_target.first_peer = static_cast<std::size_t>(origin_);
      at_target.peers = 2;  // the other one: what is in the window before
    } else {
      Member& giver = puts() ? at_origin : at_target;
      Member& taker = puts() ? at_target : at_origin;
      giver.gives = {block_};
      taker.takes = {{block_, puts() ? origin_ : 0, 0, false}};
      giver.given = taker.taken = span_;
    }
  }

  std::string access() {
    const std::string what = fmt::format("{}, {}", block_.count, plan_.types.handle(block_));
    return fmt::format("enum {{ ORIGIN = {}, TARGET = 0 }};\nstatic void access(MPI_Win window) {{\n{}{}{}}}\n", origin_,
                       call_.has_request ? "  MPI_Request request;\n" : "",
                       wrapped(fmt::format("  {0}({1}, {2}, TARGET, {3}, {2}{4}, window{5});", shape_.call(),
                                           puts() ? "given.at" : "taken.at", what, -base(),
                                           accumulates() ? fmt::format(", {}", operation_name(shape_.operation)) : "",
                                           call_.has_request ? ", &request" : "")),
                       call_.has_request ? "  MPI_Wait(&request, MPI_STATUS_IGNORE);\n" : "");
  }

  std::string epochs() const {
    std::string text = "  MPI_Win window;\n";
    if (!call_.has_request) text += "  MPI_Group all, origin, target;\n";
    if (accumulates()) text += "  if (rank == TARGET) fill_window();\n";
    text += fmt::format("  MPI_Win_create({}.at{}, rank == TARGET ? {} : 0, 1, MPI_INFO_NULL, comm, &window);\n", puts() ? "taken" : "given",
                        base() == 0 ? "" : fmt::format(" {} {}", base() < 0 ? '-' : '+', std::abs(base())), span_.to + kRoom - base());
    if (call_.has_request) text += kLock;  // such calls are for nothing else
    else
      text += fmt::format("  switch (turn) {{\n    case 0:\n{}      break;\n    case 1:\n{}      break;\n    default:\n{}  }}\n",
                          indented(kFence, 4), indented(kPost, 4), indented(kLock, 4));
    return text + "  MPI_Win_free(&window);\n";
  }

  static constexpr std::int64_t kRoom = 64;
  const LoggedShape& shape_;
  AccessCall call_;
  int origin_;
  LoggedBlock block_;
  Span span_;
  Plan plan_;
};

}  // namespace

Plan access_plan(const Violation& violation) { return AccessPlan(violation).make(); }

}  // namespace reprise::flow::reproducing
