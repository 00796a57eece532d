#include "flow/merged_logs.hpp"

#include <map>
#include <queue>

namespace reprise::flow {
namespace {

constexpr int kTurn = 256;  // events of one rank, before the next one has its turn

struct Head {
  const LogOfRank* of = nullptr;
  Event event;
};
struct Later {
  bool operator()(const Head* one, const Head* other) const { return one->event.time > other->event.time; }
};
using Heads = std::priority_queue<Head*, std::vector<Head*>, Later>;

bool advance(Head& head, const MergeHost& host) {
  auto event = head.of->log->next();
  if (!event) host.trouble(head.of->rank, event.error());
  if (!event || !*event) return false;
  head.event = std::move(**event);
  return true;
}

void read_in_turns(std::vector<Head>& heads, const MergeHost& host) {
  std::vector<Head*> open;
  for (Head& head : heads) open.push_back(&head);
  while (!open.empty()) {
    for (std::size_t i = 0; i < open.size();) {
      bool goes_on = true;
      for (int turn = 0; turn < kTurn && goes_on; ++turn) {
        host.add(open[i]->of->rank, std::move(open[i]->event));
        goes_on = advance(*open[i], host);
      }
      if (goes_on) ++i;
      else open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void read_by_time(std::vector<Head>& heads, const MergeHost& host) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Heads> machines;
  for (Head& head : heads) machines[{head.event.movement.device, head.event.movement.file}].push(&head);
  for (;;) {
    bool any = false;
    bool moved = false;
    for (auto& [machine, queue] : machines) {
      // As long as nothing is waited for that another machine has written.
      for (int turn = 0; turn < kTurn && !queue.empty() && host.is_ready(queue.top()->event); ++turn) {
        Head* const head = queue.top();
        queue.pop();
        host.add(head->of->rank, std::move(head->event));
        if (advance(*head, host)) queue.push(head);
        moved = true;
      }
      any = any || !queue.empty();
    }
    if (!any) return;
    if (moved) continue;
    // Its writer's log is not there, or ends too early.
    for (auto& [machine, queue] : machines) {
      if (queue.empty()) continue;
      Head* const head = queue.top();
      queue.pop();
      host.add(head->of->rank, std::move(head->event));
      if (advance(*head, host)) queue.push(head);
      break;
    }
  }
}

}  // namespace

void read_merged(const std::vector<LogOfRank>& logs, const MergeHost& host) {
  std::vector<Head> heads;
  heads.reserve(logs.size());
  bool timed = true;
  for (const LogOfRank& one : logs) {
    Head head{&one, {}};
    if (!advance(head, host)) continue;
    timed = timed && head.event.kind == trace::IntentionRecord::Process;
    heads.push_back(std::move(head));
  }
  if (timed) read_by_time(heads, host);
  else read_in_turns(heads, host);
}

}  // namespace reprise::flow
