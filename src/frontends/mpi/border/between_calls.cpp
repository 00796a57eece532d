#include "frontends/mpi/border/between_calls.hpp"

#include <algorithm>
#include <optional>

#include "engine/scout.hpp"
#include "engine/session.hpp"

namespace reprise::mpi {

using engine::ScoutReport;
using engine::Session;

namespace {

constexpr unsigned kEnough = 200;  // scouts that all found the same

}  // namespace

// What it did next where nothing was new, after two calls as these.
void BetweenCalls::passed(bool nothing_new) {
  engine::Replayer& log = Session::get().replayer();
  const std::uint64_t here = log.last_site();
  pair_ = before_ << 32 | here;
  before_ = here;
  next_ = log.next_site();
  std::vector<std::uint32_t>& usual = usual_[pair_];
  const bool known = std::find(usual.begin(), usual.end(), next_) != usual.end();
  if (nothing_new && !known) usual.push_back(next_);
  something_else_ = !known && !usual.empty();
}

// A scout that cannot read it either makes the call that comes next, or it does not. If it is stopped on its way there, one that
// can read it may tell. Otherwise the program has read it if it did something then that it never did where nothing was new.
bool BetweenCalls::was_read() {
  if (engine::has_threads() || engine::g_scouting) return something_else_;
  Past& past = scouted_[pair_ * 0x9e3779b97f4a7c15u ^ next_];
  if (past.blind) return something_else_;
  if (past.fits >= kEnough && !past.mattered) return false;
  std::optional<ScoutReport> report = engine::send_scout();
  if (!report) return false;  // a scout, which cannot
  if (*report == ScoutReport::Fits) {
    ++past.fits;
    return false;
  }
  past.mattered = true;
  if (*report == ScoutReport::Differs) return true;
  if (*report == ScoutReport::Stopped) {
    report = engine::send_scout();
    if (!report) return true;  // one that can
    if (*report == ScoutReport::Fits) return true;
    if (*report == ScoutReport::Differs) return false;
  }
  past.blind = *report == ScoutReport::Lost;
  return something_else_;
}

}  // namespace reprise::mpi
