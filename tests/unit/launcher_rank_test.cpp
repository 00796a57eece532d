// Which variable says the rank, when there are several, none, or nonsense.
#include <gtest/gtest.h>

#include "engine/launcher_rank.hpp"

namespace reprise::engine {
namespace {

class LauncherRank : public testing::Test {
 protected:
  LauncherRank() { clear(); }
  ~LauncherRank() override { clear(); }
  static void clear() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) unsetenv(name);
  }
};

TEST_F(LauncherRank, NoLauncher) { EXPECT_EQ(launcher_rank(), std::nullopt); }

TEST_F(LauncherRank, EachLauncher) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    clear();
    setenv(name, "17", 1);
    EXPECT_EQ(launcher_rank(), 17u) << name;
  }
}

TEST_F(LauncherRank, MpirunInsideASlurmJob) {
  setenv("SLURM_PROCID", "0", 1);
  setenv("PMI_RANK", "3", 1);
  EXPECT_EQ(launcher_rank(), 3u);
}

TEST_F(LauncherRank, Nonsense) {
  for (const char* text : {"", "-1", "3x", " 3", "99999999999"}) {
    setenv("PMI_RANK", text, 1);
    EXPECT_EQ(launcher_rank(), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace reprise::engine
