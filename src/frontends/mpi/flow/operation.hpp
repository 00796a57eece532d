// A call whose bytes are followed: what it gives is looked at before, what it takes when the library says that it is
// complete.
#pragma once

#include <vector>

#include "base/function_ref.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/flow/guard.hpp"
#include "frontends/mpi/flow/log.hpp"
#include "frontends/mpi/flow/movements.hpp"
#include "frontends/mpi/flow/own_operations.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi::flow {

// What a call gives and takes; by whoever describes it (describe.hpp, point_to_point.hpp).
class Description {
 public:
  using Region = flow::Region;

  explicit Description(MPI_Comm comm) { shape_.group = group_of(comm); }
  // Nothing can be said about a communicator that was never seen made.
  bool follows() const { return shape_.group != nullptr; }

  void sends(int dest, int tag, const void* buffer, MPI_Count count, MPI_Datatype type);
  void receives(int source, int tag, void* buffer, MPI_Count count, MPI_Datatype type);
  void replaces() { shape_.flags |= trace::kReplaces; }
  void probes(int source, int tag);
  void has(std::int64_t flag) { shape_.flags |= flag; }
  // A request of the library's for MPI_PROC_NULL says nothing.
  bool is_empty() const { return shape_.form != trace::IntentionForm::Collective && gives_.empty() && takes_.empty(); }

  // -- collectives: what describe.hpp tells --

  void buffers(const void* given, const void* taken) {
    const bool in_place = given == MPI_IN_PLACE;
    if (in_place || taken == MPI_IN_PLACE) shape_.flags |= trace::kInPlace;
    shape_.given_base = in_place ? taken : given;
    shape_.taken_base = taken == MPI_IN_PLACE ? given : taken;
  }
  static Region region(const void* buffer, MPI_Count count, MPI_Datatype type);
  static const void* at(const void* buffer, MPI_Count place, MPI_Datatype type) {
    return static_cast<const char*>(buffer) + place * type_of(type).flat.extent;
  }
  static void* at(void* buffer, MPI_Count place, MPI_Datatype type) {
    return static_cast<char*>(buffer) + place * type_of(type).flat.extent;
  }
  int size() const { return shape_.group->peers(); }
  int me() const { return shape_.group->me; }
  int local_size() const { return static_cast<int>(shape_.group->local.size()); }
  bool inter() const { return shape_.group->inter(); }
  bool is_grid() const { return std::holds_alternative<virtual_world::Cartesian>(shape_.group->topology); }
  bool is_root(int root) const { return root == MPI_ROOT || (!inter() && root == me()); }
  bool is_served(int root) const { return root >= 0 && (inter() || root != me()); }
  bool takes_part(int root) const { return root != MPI_PROC_NULL; }
  void agrees_on_root(int root);
  void agrees_on_operation(MPI_Op op);
  void gives(const void* buffer, MPI_Count count, MPI_Datatype type) { gives_.push_back({region(buffer, count, type)}); }
  void gives_to(int peer, const Region& from) { gives_.push_back({from, peer}); }
  void takes(int peer, std::size_t block, const Region& to) { takes_.push_back({to, peer, block}); }
  void takes_edge(int peer, std::size_t occurrence, const Region& to) { takes_.push_back({to, peer, occurrence, true}); }
  // It must stay as it is: as if this rank gave it to itself.
  void keeps(const Region& own);
  void is_read_by(int) {}
  void is_read_by_all() {}
  void waits_for_all() {}
  void combines_prefixes() { own_.has_prefixes(); }
  void combines(const std::vector<int>& peers, MPI_Count all, MPI_Count first, MPI_Count count, MPI_Datatype type,
                MPI_Op op, void* to);
  std::pair<int, int> edges() const { return virtual_world::degrees(shape_.group->topology, me()); }
  std::vector<int> outgoing() const { return virtual_world::outgoing(shape_.group->topology, me()); }
  std::vector<std::pair<int, std::size_t>> incoming(bool same_block) const {
    return virtual_world::incoming(shape_.group->topology, me(), same_block);
  }

  // -- what is logged of it --

  // Its shape, at the place where it was first asked for.
  std::uint32_t number();
  bool is_collective() const { return shape_.form == trace::IntentionForm::Collective; }
  const void* address() const { return takes_.empty() ? nullptr : takes_.data()->region.buffer; }
  const void* given_from() const { return gives_.empty() ? nullptr : gives_.data()->region.buffer; }
  void look_at_given(Digests& digests) const;
  void look_at_taken(Digests& digests, const Told& told) const;
  // Samples of what it contributes to a reduction; if the operation is the program's own, another rank hears them.
  std::vector<std::uint8_t> contribute();
  // A reduction that nobody will look at: whoever waits for its contribution is told so.
  void does_not_contribute();
  // Samples of what it gets.
  std::vector<std::uint8_t> result() const;
  // What the program's own operation makes of all contributions, in the rank that tries.
  std::vector<std::uint8_t> expected();
  bool hears() const { return shape_.form != trace::IntentionForm::Collective && shape_.form != trace::IntentionForm::Send; }
  bool is_probe() const { return shape_.form == trace::IntentionForm::Probe; }
  std::span<const Block> given() const { return gives_.all(); }
  std::span<const Block> taken() const { return takes_.all(); }
  // Everything that it writes: also the result of a reduction.
  Blocks written() const {
    Blocks all = takes_;
    if (combined_to_.count > 0) all.push_back({combined_to_});
    return all;
  }

 private:
  std::vector<std::uint8_t> samples(const Region& region, std::uint64_t all, std::uint64_t first) const;
  const Shape& shape();

  Shape shape_;
  std::optional<std::uint32_t> number_;
  Blocks gives_;
  Blocks takes_;
  Region combined_to_;
  OwnReduction own_;
  MPI_Datatype reduced_{};
};

// 2 + trace::Operation; 1: one of the program's own.
std::uint64_t operation_number(MPI_Op op);

// What the library said.
Told told(const MPI_Status& status, int error, bool may_be_cancelled);

// May memory beside what a call writes be looked at?
bool may_guard();
// Where the library may write meanwhile, for operations that are under way.
void each_pending_write(FunctionRef<void(const Region&)> visit);
// Others may write there at any time: it is in a window, or nobody knows where windows are.
bool may_be_in_window(const void* address);

// A call that is complete when it returns; `call` gets the status to be filled. Not a template: there are hundreds of these calls.
int follow(Description& description, MPI_Status* programs, FunctionRef<int(MPI_Status*)> call);

// A call that makes a request. `begun`: its post, if it has one from before the call.
void post(Description&& description, const Digests& given, const std::vector<std::uint8_t>& contribution, MPI_Request request,
          bool persistent, std::optional<std::uint64_t> begun);
int follow_later(Description&& description, const MPI_Request* request, bool persistent, FunctionRef<int()> call);

}  // namespace reprise::mpi::flow
