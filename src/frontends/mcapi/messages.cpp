#include "frontends/mcapi/messages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "frontends/mcapi/arrivals.hpp"
#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/handle_table.hpp"
#include "frontends/mcapi/mailbox.hpp"
#include "frontends/mcapi/values.hpp"

namespace reprise::mcapi {
namespace {

constexpr std::size_t kLargest = 1 << 20;  // of any runtime's messages

struct Mailboxes {
  std::atomic_flag making;
  std::atomic<std::uint32_t> version{1};
  HandleTable<Mailbox*> all;
};
Mailboxes& mailboxes() {
  static auto* const one = new Mailboxes;  // threads may outlive static objects
  return *one;
}

Mailbox& find_mailbox(std::uint64_t key) {
  if (const auto known = mailboxes().all.get(key)) return **known;
  const Spin spin(&mailboxes().making);
  if (const auto known = mailboxes().all.get(key)) return **known;
  auto* const made = new Mailbox;
  mailboxes().all.put(key, made);
  return *made;
}

Mailbox& mailbox_of(mcapi_endpoint_t endpoint) {
  thread_local Remembered<Mailbox*> t_boxes;
  const std::uint64_t key = key_of(endpoint);
  return *t_boxes.get(key, mailboxes().version, [key] { return &find_mailbox(key); });
}

// Of each thread, for any message. Only what messages reach of it is ever there.
class Room {
 public:
  Room() : bytes_(mmap(nullptr, kLargest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Room() {
    if (bytes_ != MAP_FAILED) munmap(bytes_, kLargest);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  unsigned char* bytes() const { return bytes_ == MAP_FAILED ? nullptr : static_cast<unsigned char*>(bytes_); }

 private:
  void* bytes_;
};

mcapi_status_t hand_over(const unsigned char* bytes, std::size_t got, void* buffer, std::size_t room, std::size_t& size) {
  size = std::min(got, room);
  if (size > 0) std::memcpy(buffer, bytes, size);
  return got <= room ? MCAPI_SUCCESS : MCAPI_ERR_MSG_TRUNCATED;
}

mcapi_status_t receive_wanted(mcapi_endpoint_t endpoint, const WantedMessage& wanted, void* buffer, std::size_t& size) {
  thread_local const Room t_room;
  Session& session = Session::get();
  Mailbox& box = mailbox_of(endpoint);
  for (;;) {
    const std::uint32_t changes = box.changes();
    if (const auto kept = box.take(wanted)) return hand_over(kept->data(), kept->size(), buffer, wanted.room, size);
    if (!box.begin_to_receive()) {
      box.wait(changes);
      continue;
    }
    const Delivered come = receive_message(endpoint, t_room.bytes(), kLargest);
    const bool is_it = come.status == MCAPI_SUCCESS && wanted.is(come.origin, t_room.bytes(), come.size);
    if (come.status == MCAPI_SUCCESS && !is_it) box.keep(come.origin, t_room.bytes(), come.size);
    box.end_to_receive();
    if (is_it) return hand_over(t_room.bytes(), come.size, buffer, wanted.room, size);
    if (come.status == MCAPI_SUCCESS || come.status == MCAPI_TIMEOUT) continue;  // in the recorded run it came in time
    session.insist(session.replayer().mismatch("the message that was received then does not come"));
    return come.status;
  }
}

std::int64_t next_number() {
  std::int64_t number = 0;
  return Session::get().replayer().numbers_if_any({&number, 1}) == 1 ? number : 0;
}

}  // namespace

void log_message(const Delivered& message, bool in_order) {
  engine::Recorder& log = Session::get().recorder();
  const Lane lane = message.origin ? message.origin->lane : kByDigest;
  log.shown(lane.code, lane.tag);
  if (!message.origin) {
    const auto digest = static_cast<std::int64_t>(message.digest);
    log.numbers({&digest, 1});
  } else if (!in_order) {
    const auto which = -static_cast<std::int64_t>(message.origin->number);
    log.numbers({&which, 1});
  }
  if (!orders_arrivals()) return;
  const std::int64_t number = next_arrival();
  log.numbers({&number, 1});
}

mcapi_status_t take_message(mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size) {
  Session& session = Session::get();
  Lane lane;
  session.insist(session.replayer().wildcard(lane));
  return take_message(lane, endpoint, buffer, room, size);
}

mcapi_status_t take_message(const Lane& lane, mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size) {
  WantedMessage wanted{lane, 0, 0, room};
  if (wanted.lane == kByDigest) wanted.digest = static_cast<std::uint64_t>(next_number());
  std::int64_t number = next_number();
  if (number < 0) {
    wanted.number = static_cast<std::uint64_t>(-number);
    number = next_number();
  }
  if (t_simulated) return message_of_then(buffer, room, size);
  const mcapi_status_t status = receive_wanted(endpoint, wanted, buffer, size);
  if (number > 0 && orders_arrivals()) await_arrival(number);  // the recorded run had an order of all arrivals
  return status;
}

void drop_messages(mcapi_endpoint_t endpoint) {
  const auto box = mailboxes().all.take(key_of(endpoint));
  if (!box) return;
  mailboxes().version.fetch_add(1, std::memory_order_acq_rel);
  delete *box;
}

}  // namespace reprise::mcapi
