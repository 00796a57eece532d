#include "frontends/mcapi/delivery.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/spin.hpp"
#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/handle_table.hpp"

namespace reprise::mcapi {
namespace {

bool uses_trailers() { return engine::mode() != Mode::Passive && known_by() == KnownBy::Trailer; }
bool uses_own_memory() { return engine::mode() != Mode::Passive && known_by() != KnownBy::Origin; }
std::size_t own_memory_for(std::size_t room) { return std::max(room, kUsualLargest) + kTrailerSize; }

// How many messages endpoints of this process have sent with a trailer. Only those that went count, because a replay makes no others.
struct Sent {
  std::atomic_flag lock;
  HandleTable<std::uint64_t> counts;
};
Sent& sent() {
  static auto* const one = new Sent;  // threads may outlive static objects
  return *one;
}
std::uint64_t next_number(mcapi_endpoint_t from) {
  const Spin spin(&sent().lock);
  const std::uint64_t number = sent().counts.get(key_of(from)).value_or(0) + 1;
  sent().counts.put(key_of(from), number);
  return number;
}
void give_back(mcapi_endpoint_t from, std::uint64_t number) {
  const Spin spin(&sent().lock);
  if (sent().counts.get(key_of(from)) == number) sent().counts.put(key_of(from), number - 1);
}

void put_with_trailer(unsigned char* out, mcapi_endpoint_t from, const void* buffer, std::size_t size, mcapi_priority_t priority, std::uint64_t number) {
  if (size > 0) std::memcpy(out, buffer, size);
  write_trailer(out + size, name_of(from), priority, number);
}

// Takes the trailer off what has come to our memory.
Delivered without_trailer(const unsigned char* bytes, std::size_t size, mcapi_status_t status, void* buffer, std::size_t room) {
  Delivered out;
  out.status = status;
  if (!brought_something(status)) return out;
  if (status == MCAPI_SUCCESS && uses_trailers()) out.origin = origin_from_trailer(bytes, size);
  if (!out.origin) out.digest = digest_of(bytes, seen_of(size, room));
  const std::size_t own = out.origin ? size - kTrailerSize : size;
  if (own > room) out.status = MCAPI_ERR_MSG_TRUNCATED;
  out.size = std::min(own, room);
  if (out.size > 0) std::memcpy(buffer, bytes, out.size);
  return out;
}

std::vector<unsigned char>& room_of_thread(std::size_t size) {
  thread_local std::vector<unsigned char> room;
  if (room.size() < size) room.resize(size);
  return room;
}

bool is_too_large(mcapi_status_t status) { return status == MCAPI_ERR_MSG_LIMIT; }

}  // namespace

// One that is too large only with its trailer goes without, and is known by its digest.
void send_message(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, std::size_t size, mcapi_priority_t priority,
                  mcapi_status_t* status) {
  const auto send = runtime(Function::msg_send, &mcapi_msg_send);
  if (uses_trailers() && buffer) {
    unsigned char* const bytes = room_of_thread(size + kTrailerSize).data();
    const std::uint64_t number = next_number(from);
    put_with_trailer(bytes, from, buffer, size, priority, number);
    send(from, to, bytes, size + kTrailerSize, priority, status);
    if (*status == MCAPI_SUCCESS) return;
    give_back(from, number);
    if (!is_too_large(*status)) return;
  }
  send(from, to, buffer, size, priority, status);
}

void* post_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, std::size_t size, mcapi_priority_t priority,
                mcapi_request_t* request, mcapi_status_t* status) {
  const auto send = runtime(Function::msg_send_i, &mcapi_msg_send_i);
  if (uses_trailers() && buffer) {
    if (auto* const bytes = static_cast<unsigned char*>(std::malloc(size + kTrailerSize))) {
      const std::uint64_t number = next_number(from);
      put_with_trailer(bytes, from, buffer, size, priority, number);
      send(from, to, bytes, size + kTrailerSize, priority, request, status);
      if (*status == MCAPI_PENDING || *status == MCAPI_SUCCESS) return bytes;
      give_back(from, number);
      std::free(bytes);
      if (!is_too_large(*status)) return nullptr;
    }
  }
  send(from, to, buffer, size, priority, request, status);
  return nullptr;
}

Delivered receive_message(mcapi_endpoint_t at, void* buffer, std::size_t room) {
  const auto receive = runtime(Function::msg_recv, &mcapi_msg_recv);
  Delivered out;
  if (uses_own_memory() && (buffer || room == 0)) {
    std::vector<unsigned char>& bytes = room_of_thread(own_memory_for(room));
    std::size_t size = 0;
    receive(at, bytes.data(), own_memory_for(room), &size, &out.status);
    return without_trailer(bytes.data(), size, out.status, buffer, room);
  }
  receive(at, buffer, room, &out.size, &out.status);
  if (brought_something(out.status) && known_by() == KnownBy::Origin) out.origin = origin_from_runtime();
  return out;
}

void* post_receive(mcapi_endpoint_t at, void* buffer, std::size_t room, mcapi_request_t* request, mcapi_status_t* status) {
  const auto receive = runtime(Function::msg_recv_i, &mcapi_msg_recv_i);
  if (uses_own_memory() && (buffer || room == 0)) {
    if (void* const bytes = std::malloc(own_memory_for(room))) {
      receive(at, bytes, own_memory_for(room), request, status);
      if (*status == MCAPI_PENDING || *status == MCAPI_SUCCESS) return bytes;
      std::free(bytes);
      return nullptr;
    }
  }
  receive(at, buffer, room, request, status);
  return nullptr;
}

Delivered deliver(const PendingRequest& request, std::size_t size, mcapi_status_t status) {
  if (request.memory) return without_trailer(static_cast<const unsigned char*>(request.memory), size, status, request.buffer, request.size);
  Delivered out{status, size, std::nullopt, 0};
  if (brought_something(status) && known_by() == KnownBy::Origin) out.origin = origin_from_runtime();
  return out;
}

}  // namespace reprise::mcapi
