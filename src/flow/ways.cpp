#include "flow/ways.hpp"

#include <algorithm>
#include <set>

namespace reprise::flow {

std::vector<Way> ways_of(const Journey& journey) {
  std::vector<Way> all;
  std::vector<std::vector<std::set<std::uint32_t>>> seen;
  for (const Stretch& one : journey.stretches()) {
    if (!one.arrived) continue;
    const auto links = journey.way(one.hop, one.from);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Way& way) {
      return std::equal(way.stages.begin(), way.stages.end(), links.begin(), links.end(),
                        [&](const Stage& stage, const Link& link) { return is_same(stage, stage_of_hop(journey.hops()[link.hop])); });
    });
    const auto at = static_cast<std::size_t>(found - all.begin());
    if (found == all.end()) {
      Way& way = all.emplace_back();
      for (const Link& link : links) {
        way.stages.push_back(stage_of_hop(journey.hops()[link.hop]));
        way.examples.push_back(&journey.hops()[link.hop]);
      }
      seen.emplace_back(links.size());
    }
    all[at].bytes += one.bytes;
    for (std::size_t i = 0; i < links.size(); ++i) seen[at][i].insert(links[i].hop);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& hops : seen[i]) all[i].movements.push_back(hops.size());
  return all;
}

}  // namespace reprise::flow
