#include "flow/alternatives.hpp"

#include <algorithm>

namespace reprise::flow {
namespace {

constexpr std::size_t kMost = 4;

}  // namespace

bool has_alternatives(const Blame& blame, const Journey& journey) {
  return blame.kind == Blame::Kind::NotMoved && (!blame.movement || !blame.is_part) && journey.taker().shape->form == trace::IntentionForm::Collective;
}

std::vector<Stage> alternatives(const Blame& blame, std::span<const Hop> hops) {
  std::vector<Stage> found;
  const auto is_alike = [&](const Labelled& one) {
    if (!blame.before || one.label.hop == kNoHop) return !blame.before && one.label.hop == kNoHop;
    const Hop& other = hops[one.label.hop];
    return other.kind == blame.before->kind && *other.site == *blame.before->site && other.to.kind == blame.before->to.kind;
  };
  for (const Hop& hop : hops) {
    if (found.size() == kMost) break;
    const Stage stage{blame.stage.rank, hop.kind, hop.site};
    if (stage.kind != blame.stage.kind || hop.inferred || is_same(stage, blame.stage)) continue;
    if (std::any_of(found.begin(), found.end(), [&](const Stage& one) { return is_same(one, stage); })) continue;
    if (std::any_of(hop.labels.begin(), hop.labels.end(), is_alike)) found.push_back(stage);
  }
  return found;
}

}  // namespace reprise::flow
