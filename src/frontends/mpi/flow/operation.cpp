#include "frontends/mpi/flow/operation.hpp"

#include <algorithm>

#include "engine/session.hpp"

namespace reprise::mpi::flow {

using trace::IntentionForm;

Region Description::region(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return {static_cast<std::uint8_t*>(const_cast<void*>(buffer)), static_cast<std::uint64_t>(count > 0 ? count : 0), &type_of(type)};
}

void Description::sends(int dest, int tag, const void* buffer, MPI_Count count, MPI_Datatype type) {
  shape_.form = shape_.form == IntentionForm::Receive ? IntentionForm::SendReceive : IntentionForm::Send;
  if (dest == MPI_PROC_NULL) return;
  shape_.dest = dest;
  shape_.send_tag = tag;
  shape_.given_base = buffer;
  gives_.push_back({region(buffer, count, type), dest});
}

void Description::receives(int source, int tag, void* buffer, MPI_Count count, MPI_Datatype type) {
  shape_.form = shape_.form == IntentionForm::Send ? IntentionForm::SendReceive : IntentionForm::Receive;
  if (source == MPI_PROC_NULL) return;
  shape_.source = source == MPI_ANY_SOURCE ? -1 : source;
  shape_.receive_tag = tag == MPI_ANY_TAG ? -1 : tag;
  shape_.taken_base = buffer;
  takes_.push_back({region(buffer, count, type), shape_.source});
}

void Description::probes(int source, int tag) {
  shape_.form = IntentionForm::Probe;
  shape_.source = source == MPI_ANY_SOURCE ? -1 : source;
  shape_.receive_tag = tag == MPI_ANY_TAG ? -1 : tag;
}

void Description::agrees_on_root(int root) {
  shape_.root = root == MPI_ROOT ? -2 : root == MPI_PROC_NULL ? -3 : root;
}

std::uint64_t operation_number(MPI_Op op) {
  if (!is_predefined(op)) return 1;
#ifdef OPEN_MPI
  // Its numbers for Fortran are the same in all versions: programs are compiled with them.
  const int number = library_function<MPI_Fint (*)(MPI_Op)>(Function::Op_c2f)(op);
  constexpr trace::Operation kNumbered[] = {
      trace::Operation::Max,  trace::Operation::Min,  trace::Operation::Sum,    trace::Operation::Prod,
      trace::Operation::Land, trace::Operation::Band, trace::Operation::Lor,    trace::Operation::Bor,
      trace::Operation::Lxor, trace::Operation::Bxor, trace::Operation::Maxloc, trace::Operation::Minloc,
      trace::Operation::Replace, trace::Operation::NoOp};
  if (number < 1 || number > static_cast<int>(std::size(kNumbered))) return 1;
  return 2 + static_cast<std::uint64_t>(kNumbered[number - 1]);
#else
  switch (op) {
    case MPI_MAX: return 2 + static_cast<std::uint64_t>(trace::Operation::Max);
    case MPI_MIN: return 2 + static_cast<std::uint64_t>(trace::Operation::Min);
    case MPI_SUM: return 2 + static_cast<std::uint64_t>(trace::Operation::Sum);
    case MPI_PROD: return 2 + static_cast<std::uint64_t>(trace::Operation::Prod);
    case MPI_LAND: return 2 + static_cast<std::uint64_t>(trace::Operation::Land);
    case MPI_BAND: return 2 + static_cast<std::uint64_t>(trace::Operation::Band);
    case MPI_LOR: return 2 + static_cast<std::uint64_t>(trace::Operation::Lor);
    case MPI_BOR: return 2 + static_cast<std::uint64_t>(trace::Operation::Bor);
    case MPI_LXOR: return 2 + static_cast<std::uint64_t>(trace::Operation::Lxor);
    case MPI_BXOR: return 2 + static_cast<std::uint64_t>(trace::Operation::Bxor);
    case MPI_MINLOC: return 2 + static_cast<std::uint64_t>(trace::Operation::Minloc);
    case MPI_MAXLOC: return 2 + static_cast<std::uint64_t>(trace::Operation::Maxloc);
    case MPI_REPLACE: return 2 + static_cast<std::uint64_t>(trace::Operation::Replace);
    case MPI_NO_OP: return 2 + static_cast<std::uint64_t>(trace::Operation::NoOp);
    default: return 1;
  }
#endif
}

void Description::agrees_on_operation(MPI_Op op) {
  shape_.operation = operation_number(op);
  own_.is(op);
}

void Description::keeps(const Region& own) {
  gives_.push_back({own, me()});
  takes_.push_back({own, me(), 0, true});
}

// What it gives is looked at apart: a digest of a contribution says nothing about a sum.
void Description::combines(const std::vector<int>& peers, MPI_Count all, MPI_Count first, MPI_Count count, MPI_Datatype type,
                           MPI_Op, void* to) {
  shape_.combines = static_cast<std::int64_t>(peers.size());
  shape_.all = static_cast<std::uint64_t>(all);
  shape_.first = static_cast<std::uint64_t>(first);
  shape_.count = static_cast<std::uint64_t>(count);
  shape_.element = &type_of(type);
  reduced_ = type;
  combined_to_ = region(to, count, type);
}

// A copy of this has its blocks elsewhere.
const Shape& Description::shape() {
  shape_.gives = gives_.data();
  shape_.gives_count = gives_.size();
  shape_.takes = takes_.data();
  shape_.takes_count = takes_.size();
  return shape_;
}

std::uint32_t Description::number() {
  if (!number_) number_ = number_of(shape());
  return *number_;
}

void Description::look_at_given(Digests& digests) const {
  if (shape_.operation != 0) return;
  for (const Block& block : gives_) digests.add(block.region, block.region.bytes(), shape_.group->most_pieces());
}

void Description::look_at_taken(Digests& digests, const Told& told) const {
  for (const Block& block : takes_) {
    const std::uint64_t bytes = hears() ? std::min(told.bytes, block.region.bytes()) : block.region.bytes();
    if (!told.cancelled) digests.add(block.region, bytes, shape_.group->most_pieces());
  }
}

// Of an array that has `all` elements together with those of others, those from `first` on.
std::vector<std::uint8_t> Description::samples(const Region& region, std::uint64_t all, std::uint64_t first) const {
  std::vector<std::uint8_t> bytes;
  if (!region.known() || !uses_messages()) return bytes;
  for (std::uint64_t i = 0; i < trace::samples_of(all); ++i) {
    const std::uint64_t element = trace::sample(all, i);
    if (element < first || element >= first + region.count) continue;
    const Region one{region.buffer + static_cast<std::ptrdiff_t>(element - first) * region.type->flat.extent, 1, region.type};
    visit(one, one.bytes(), [&](const std::uint8_t* from, std::size_t size) { bytes.insert(bytes.end(), from, from + size); });
  }
  return bytes;
}

std::vector<std::uint8_t> Description::contribute() {
  if (shape_.operation == 0) return {};
  std::vector<std::uint8_t> bytes;
  if (!gives_.empty()) bytes = samples(gives_.data()->region, gives_.data()->region.count, 0);
  if (shape_.operation == 1) own_.contribute(shape(), bytes, reduced_);
  return bytes;
}

void Description::does_not_contribute() {
  if (shape_.operation == 1) own_.contribute(shape(), {}, reduced_);
}

std::vector<std::uint8_t> Description::result() const {
  if (shape_.combines <= 0) return {};
  return samples(combined_to_, shape_.all, shape_.first);
}

std::vector<std::uint8_t> Description::expected() {
  if (shape_.operation != 1) return {};
  return own_.expected(shape());
}

Told told(const MPI_Status& status, int error, bool may_be_cancelled) {
  MPI_Count count = 0;
  library_function<int (*)(const MPI_Status*, MPI_Datatype, MPI_Count*)>(Function::Get_elements_x)(&status, handles().byte,
                                                                                                   &count);
  return {error, status.MPI_SOURCE, status.MPI_TAG, count > 0 ? static_cast<std::uint64_t>(count) : 0,
          may_be_cancelled && was_cancelled(status)};
}

}  // namespace reprise::mpi::flow
