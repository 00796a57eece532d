#include "virtual/trace_provider.hpp"

#include "engine/session.hpp"

namespace reprise::virtual_world {

using engine::DataEntry;
using engine::DataReplayer;
using engine::Session;

namespace {

DataReplayer& values() { return Session::get().values(); }

// At the end of the values the rank is at its end. Anything else that does not fit is a difference like any other.
void insist(DataReplayer::Got got) {
  if (got == DataReplayer::Got::Entry) return;
  Session& session = Session::get();
  if (got == DataReplayer::Got::End && values().stopped())
    session.supervisor().trouble("the values that reached this rank were recorded up to here only (--max-size)");
  if (got == DataReplayer::Got::End) session.at_end();
  if (got == DataReplayer::Got::Damaged) session.supervisor().trouble(values().why());
  session.insist(session.replayer().mismatch(values().why().c_str()));
}

}  // namespace

std::size_t StoredOutcome::put(std::int64_t* fields, int error, const Status* status) {
  fields[0] = error;
  fields[1] = status != nullptr;
  if (!status) return 2;
  fields[2] = status->source;
  fields[3] = status->tag;
  fields[4] = status->bytes;
  fields[5] = status->cancelled;
  fields[6] = status->error;
  return kFields;
}

Outcome StoredOutcome::take(const std::vector<std::int64_t>& fields, std::size_t first,
                            std::vector<Part> parts) {
  const auto field = [&](std::size_t index) { return first + index < fields.size() ? fields[first + index] : 0; };
  Outcome outcome;
  outcome.error = static_cast<int>(field(0));
  if (field(1) != 0)
    outcome.status = Status{static_cast<int>(field(2)), static_cast<int>(field(3)), field(4), field(5) != 0,
                            static_cast<int>(field(6))};
  for (std::size_t i = first + (field(1) != 0 ? kFields : 2); i < fields.size(); ++i)
    outcome.numbers.push_back(fields[i]);
  outcome.parts = std::move(parts);
  return outcome;
}

void TraceProvider::begin() {
  DataEntry entry;
  const DataReplayer::Got got = values().world(entry);
  if (got == DataReplayer::Got::End) {  // it was killed at the end of MPI_Init: nothing will be asked
    rank_ = static_cast<int>(*Session::get().configuration().solo_rank);
    ranks_ = static_cast<int>(Session::get().recorded_ranks());
    return;
  }
  if (got != DataReplayer::Got::Entry)
    Session::get().give_up("the values that reached this rank cannot be read: " + values().why());
  rank_ = static_cast<int>(entry.field(0));
  ranks_ = static_cast<int>(entry.field(1));
  for (std::size_t i = 0; i < static_cast<std::size_t>(Attribute::kCount); ++i)
    if (entry.field(2 + 2 * i) != 0) attributes_[i] = entry.field(3 + 2 * i);
}

std::optional<Communicator> TraceProvider::new_communicator() {
  Session& session = Session::get();
  const engine::CommunicatorRecord* const record = session.replayer().new_communicator();
  if (!record && session.replayer().nothing_left()) session.at_end();  // it never returned from this call
  if (!record) return std::nullopt;
  std::vector<int> members;
  for (const engine::MemberRange& range : record->members)
    for (std::uint64_t i = 0; i < range.count && members.size() < record->size; ++i)
      members.push_back(static_cast<int>(range.first + static_cast<std::int64_t>(i) * range.stride));
  Communicator made;
  made.rank = static_cast<int>(record->my_rank);
  const std::size_t local = members.size() - std::min<std::size_t>(record->remote, members.size());
  if (record->remote > 0) made.remote = Group({members.begin() + static_cast<std::ptrdiff_t>(local), members.end()});
  members.resize(local);
  made.local = Group(std::move(members));
  return made;
}

void TraceProvider::deliver_arrived() {
  for (DataEntry& entry : values().take_arrived())
    if (arrived)
      arrived(static_cast<Ticket>(entry.field(0)), StoredOutcome::take(entry.fields, 1, std::move(entry.parts)));
}

Outcome TraceProvider::call() {
  DataEntry entry;
  insist(values().call(entry));
  deliver_arrived();
  return StoredOutcome::take(entry.fields, 0, std::move(entry.parts));
}

std::optional<Outcome> TraceProvider::failure(std::int64_t number) {
  DataEntry entry;
  const bool failed = values().failure(number, entry);
  deliver_arrived();
  if (!failed) return std::nullopt;
  return StoredOutcome::take(entry.fields, 1, std::move(entry.parts));
}

Message TraceProvider::sent() {
  DataEntry entry;
  insist(values().sent(entry));
  return {entry.field(0), static_cast<std::uint32_t>(entry.field(1))};
}

void TraceProvider::learn_tags() {
  Session::get().each_completion([this](DataEntry& entry) {
    const auto outcome = StoredOutcome::take(entry.fields, 1, {});
    if (outcome.status) tags_[static_cast<Ticket>(entry.field(0))] = outcome.status->tag;
  });
}

std::optional<int> TraceProvider::tag(Ticket ticket) {
  const auto found = tags_.find(ticket);
  return found == tags_.end() ? std::nullopt : std::optional(found->second);
}

Outcome TraceProvider::completion(Ticket ticket) {
  DataEntry entry;
  insist(values().completion(ticket, entry));
  deliver_arrived();
  return StoredOutcome::take(entry.fields, 1, std::move(entry.parts));
}

Outcome TraceProvider::partition(Ticket ticket, int partition) {
  DataEntry entry;
  insist(values().partition(ticket, partition, entry));
  deliver_arrived();
  return StoredOutcome::take(entry.fields, 2, std::move(entry.parts));
}

std::optional<Outcome> TraceProvider::freed(Ticket ticket) {
  DataEntry entry;
  if (!values().freed(ticket, entry)) return std::nullopt;
  return StoredOutcome::take(entry.fields, 1, std::move(entry.parts));
}

}  // namespace reprise::virtual_world
