#include "explore/search.hpp"

namespace reprise::explore {

std::vector<std::uint32_t> Search::Open::options() const {
  if (!path) return {};
  std::vector<std::uint32_t> all;
  all.reserve(length + 1);
  for (std::size_t i = 0; i < length; ++i) all.push_back((*path)[i].option);
  all.push_back(option);
  return all;
}

bool Search::over_limits() const {
  return stopped_.load() || orders_ >= limits_.orders || std::chrono::steady_clock::now() >= limits_.deadline;
}

// False: the search is over. Waits while others may still leave something.
bool Search::take(Open& out) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (over_limits()) {
      limited_ |= !stack_.empty() || busy_ > 0;
      changed_.notify_all();
      return false;
    }
    if (!stack_.empty()) break;
    if (busy_ == 0) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
  out = std::move(stack_.back());
  stack_.pop_back();
  ++busy_;
  return true;
}

void Search::leave_open(const Open& from, RunResult& result) {
  const std::size_t given = from.path ? from.length + 1 : 0;
  // Did the program come to the same choices as before?
  for (std::size_t i = 0; from.path && i <= from.length && i < result.steps.size(); ++i) {
    if (result.steps[i].digest == (*from.path)[i].digest) continue;
    result.problems = {{Category::Unstable, {}, static_cast<std::int64_t>(i), "", false}};
    result.counts = true;
    return;
  }
  auto path = std::make_shared<const std::vector<Step>>(result.steps);
  for (std::size_t i = given; i < path->size(); ++i)
    for (std::uint32_t option = (*path)[i].options; option-- > 1;) stack_.push_back({path, i, option});
}

void Search::work(const Play& play) {
  Open next;
  while (take(next)) {
    RunResult result = play(next.options());
    const std::lock_guard lock(mutex_);
    leave_open(next, result);
    cut_off_ |= result.cut_off;
    if (!result.counts) ++discarded_;
    else if (orders_ < limits_.orders) visit_(++orders_, result);
    else limited_ = true;  // another worker was faster
    --busy_;
    changed_.notify_all();
  }
}

Totals Search::totals() {
  const std::lock_guard lock(mutex_);
  return {orders_, discarded_, stack_.size() + static_cast<std::size_t>(busy_), limited_, cut_off_};
}

}  // namespace reprise::explore
