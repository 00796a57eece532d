// What a library says about its parameters, as runs of the sweep.
#include <gtest/gtest.h>

#include "cli/sweep_settings.hpp"

namespace reprise::cli {
namespace {

const SweepSetting* named(const std::vector<SweepSetting>& settings, std::string_view name) {
  for (const SweepSetting& one : settings)
    if (one.name() == name) return &one;
  return nullptr;
}

TEST(SweepSettings, TheLibraryAsItIsComesFirst) {
  for (const char* const text : {"", "nonsense", "OMPI_MCA_coll_tuned_bcast_algorithm\t3\tchain\n"}) {
    const auto settings = sweep_settings(text);
    ASSERT_FALSE(settings.empty());
    EXPECT_EQ(settings.front().name(), "default");
    EXPECT_TRUE(settings.front().families.empty());
  }
}

TEST(SweepSettings, OpenMpi) {
  const auto settings = sweep_settings(
      "OMPI_MCA_coll_tuned_bcast_algorithm\t3\tchain\nOMPI_MCA_coll_libnbc_iallreduce_algorithm\t1\tring\n"
      "OMPI_MCA_fs_ufs_lock_algorithm\t1\tnone\ncomponent\tcoll\tbasic\ncomponent\tcoll\tself\ncomponent\tosc\tucx\n");
  EXPECT_EQ(settings.size(), 5u);
  const auto* tuned = named(settings, "OMPI_MCA_coll_tuned_bcast_algorithm=3 OMPI_MCA_coll_tuned_use_dynamic_rules=1");
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->families, "bcast");
  EXPECT_EQ(tuned->variants, "blocking");
  const auto* nonblocking = named(settings, "OMPI_MCA_coll_libnbc_iallreduce_algorithm=1");
  ASSERT_TRUE(nonblocking);
  EXPECT_EQ(nonblocking->families, "allreduce");
  EXPECT_EQ(nonblocking->variants, "nonblocking,persistent");
  const auto* basic = named(settings, "OMPI_MCA_coll_basic_priority=100");
  ASSERT_TRUE(basic);
  EXPECT_TRUE(basic->is_broad);
  EXPECT_EQ(settings[1].is_broad, true) << "broad ones come before single algorithms";
  const auto* windows = named(settings, "OMPI_MCA_osc=^ucx");
  ASSERT_TRUE(windows);
  EXPECT_EQ(windows->families, "windows");
}

TEST(SweepSettings, Mpich) {
  const auto settings = sweep_settings(
      "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM\tpairwise\tpairwise\nMPIR_CVAR_IGATHER_INTER_ALGORITHM\tsched_long\tsched_long\n"
      "MPIR_CVAR_NEIGHBOR_ALLGATHER_INTER_ALGORITHM\tnb\tnb\nMPIR_CVAR_DEVICE_COLLECTIVES\tnone\tnone\n");
  EXPECT_EQ(settings.size(), 4u);  // no neighbourhoods on intercommunicators
  const auto* pairwise = named(settings, "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM=pairwise MPIR_CVAR_DEVICE_COLLECTIVES=none");
  ASSERT_TRUE(pairwise);
  EXPECT_EQ(pairwise->families, "reduce_scatter");
  EXPECT_EQ(pairwise->comms, "intra");
  const auto* gather = named(settings, "MPIR_CVAR_IGATHER_INTER_ALGORITHM=sched_long MPIR_CVAR_DEVICE_COLLECTIVES=none");
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->families, "gather");
  EXPECT_EQ(gather->comms, "inter");
  EXPECT_EQ(gather->variants, "nonblocking,persistent");
}

}  // namespace
}  // namespace reprise::cli
