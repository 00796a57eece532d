// What an MPI library lets one choose, as runs of the sweep: which variables, and which calls they concern.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/launch.hpp"

namespace reprise::cli {

struct SweepSetting {
  Variables environment;  // empty: as the library is
  // Of the sweep program: what the setting concerns. Empty: everything.
  std::string families;
  std::string variants;
  std::string comms;
  bool is_broad = false;  // not one algorithm of one call

  std::string name() const;  // "MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial"
};

// `parameters`: what `sweep --parameters` prints (share/sweep/parameters.c). The first one is the library as it is.
std::vector<SweepSetting> sweep_settings(std::string_view parameters);

}  // namespace reprise::cli
