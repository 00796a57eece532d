#include "frontends/mcapi/messages.hpp"

#include <dlfcn.h>
#include <mcapi_origin.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "frontends/mcapi/arrivals.hpp"
#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/values.hpp"

namespace reprise::mcapi {
namespace {

constexpr unsigned kPortBits = 20;
constexpr unsigned kPriorityBits = 3;
constexpr mcapi_domain_t kMaxDomain = 255;
constexpr std::size_t kLargest = 1 << 20;  // of any runtime's messages

mcapi_boolean_t (*origin_function())(mcapi_origin_t*) {
  using Get = mcapi_boolean_t (*)(mcapi_origin_t*);
  static const auto found = reinterpret_cast<Get>(dlsym(RTLD_NEXT, "mcapi_origin_get"));
  return found;
}

engine::WildcardOutcome lane_of(const mcapi_origin_t& origin) {
  return {trace::kSourceBase + origin.node,
          static_cast<std::int32_t>(origin.port | origin.priority << kPortBits | std::min(origin.domain, kMaxDomain) << (kPortBits + kPriorityBits))};
}

bool operator==(const engine::WildcardOutcome& a, const engine::WildcardOutcome& b) { return a.code == b.code && a.tag == b.tag; }

struct Early {
  mcapi_endpoint_t endpoint;
  engine::WildcardOutcome lane;
  std::vector<unsigned char> bytes;
};

// Of one thread: an endpoint's messages are received by its node.
thread_local std::list<Early> t_early;

mcapi_status_t hand_over(const unsigned char* bytes, std::size_t got, void* buffer, std::size_t room, std::size_t& size) {
  size = std::min(got, room);
  if (size > 0) std::memcpy(buffer, bytes, size);
  return got <= room ? MCAPI_SUCCESS : MCAPI_ERR_MSG_TRUNCATED;
}

}  // namespace

void log_origin() {
  mcapi_origin_t origin = {};
  Session& session = Session::get();
  const auto get = origin_function();
  if (!get || !get(&origin)) {
    session.note("not-replayable", "the program's MCAPI library does not say where messages come from");
    return;
  }
  if (origin.domain > kMaxDomain) session.note("not-replayable", "domains above 255");
  const engine::WildcardOutcome lane = lane_of(origin);
  session.recorder().shown(lane.code, lane.tag);
  if (!orders_arrivals()) return;
  const std::int64_t number = next_arrival();
  session.recorder().numbers({&number, 1});
}

namespace {

// The order of arrivals, if the recorded run had one.
std::int64_t arrival_of_then() {
  std::int64_t number = 0;
  return Session::get().replayer().numbers_if_any({&number, 1}) == 1 ? number : 0;
}

mcapi_status_t receive_wanted(mcapi_endpoint_t endpoint, const engine::WildcardOutcome& wanted, void* buffer, std::size_t room, std::size_t& size);

}  // namespace

mcapi_status_t take_message(mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size) {
  Session& session = Session::get();
  engine::WildcardOutcome wanted;
  session.insist(session.replayer().wildcard(wanted));
  const std::int64_t number = arrival_of_then();
  if (t_simulated) return message_of_then(buffer, room, size);
  const mcapi_status_t status = receive_wanted(endpoint, wanted, buffer, room, size);
  if (number > 0 && orders_arrivals()) await_arrival(number);
  return status;
}

namespace {

mcapi_status_t receive_wanted(mcapi_endpoint_t endpoint, const engine::WildcardOutcome& wanted, void* buffer, std::size_t room, std::size_t& size) {
  Session& session = Session::get();
  const auto kept = std::find_if(t_early.begin(), t_early.end(), [&](const Early& one) { return one.endpoint == endpoint && one.lane == wanted; });
  if (kept != t_early.end()) {
    const mcapi_status_t status = hand_over(kept->bytes.data(), kept->bytes.size(), buffer, room, size);
    t_early.erase(kept);
    return status;
  }
  const auto receive = runtime(Function::msg_recv, &mcapi_msg_recv);
  const auto get = origin_function();
  std::vector<unsigned char> bytes(kLargest);
  for (;;) {
    mcapi_status_t status = MCAPI_SUCCESS;
    std::size_t got = 0;
    mcapi_origin_t origin = {};
    receive(endpoint, bytes.data(), bytes.size(), &got, &status);
    if (status == MCAPI_TIMEOUT) continue;  // in the recorded run it came in time
    if (status != MCAPI_SUCCESS || !get || !get(&origin)) {
      session.insist(session.replayer().mismatch("the message that was received then does not come"));
      return status;
    }
    const engine::WildcardOutcome lane = lane_of(origin);
    if (lane == wanted) return hand_over(bytes.data(), got, buffer, room, size);
    t_early.push_back({endpoint, lane, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(got)}});
  }
}

}  // namespace
}  // namespace reprise::mcapi
