#include "frontends/mcapi/values.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "frontends/mcapi/call.hpp"

namespace reprise::mcapi {
namespace {

thread_local std::vector<void*> t_packets;

void keep(const void* bytes, std::size_t size, mcapi_status_t status) {
  if (!t_keeps_values) return;
  const std::int64_t fields[] = {status};
  const std::uint64_t parts[] = {size};
  const engine::DataRun runs[] = {{bytes, size}};
  Session::get().data().add(engine::DataKind::Call, fields, parts, runs);
}

engine::DataEntry value_of_then() {
  Session& session = Session::get();
  engine::DataEntry entry;
  switch (session.values().call(entry)) {
    case engine::DataReplayer::Got::Entry:
      if (entry.parts.size() == 1) return entry;
      session.insist(session.replayer().mismatch("the recorded value is of another kind"));
      break;
    case engine::DataReplayer::Got::End: session.insist(engine::Replayer::Fit::AtEnd); break;
    default: session.insist(session.replayer().mismatch(session.values().why().c_str()));
  }
  return entry;
}

}  // namespace

void keep_message(const void* bytes, std::size_t size, mcapi_status_t status) { keep(bytes, size, status); }

mcapi_status_t message_of_then(void* buffer, std::size_t room, std::size_t& size) {
  const engine::DataEntry entry = value_of_then();
  size = std::min(room, entry.parts[0]->size());
  if (size > 0) std::memcpy(buffer, entry.parts[0]->data(), size);
  return static_cast<mcapi_status_t>(entry.field(0));
}

void keep_or_take_value(void* value, std::size_t size) {
  if (!t_simulated) return keep(value, size, MCAPI_SUCCESS);
  std::size_t got = 0;
  message_of_then(value, size, got);
}

void keep_or_take_packet(void** packet, std::size_t& size) {
  if (!t_simulated) return keep(*packet, size, MCAPI_SUCCESS);
  const engine::DataEntry entry = value_of_then();
  size = entry.parts[0]->size();
  *packet = std::malloc(std::max<std::size_t>(1, size));
  if (size > 0) std::memcpy(*packet, entry.parts[0]->data(), size);
  t_packets.push_back(*packet);
}

bool free_made_up_packet(void* packet) {
  const auto found = std::find(t_packets.begin(), t_packets.end(), packet);
  if (found == t_packets.end()) return false;
  t_packets.erase(found);
  std::free(packet);
  return true;
}

}  // namespace reprise::mcapi
