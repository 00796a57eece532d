// Whose code is it: the rule on made-up processes, and on this one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/module_graph.hpp"

namespace reprise {
namespace {

class Process {
 public:
  Process& add(const char* name, std::initializer_list<const char*> needs, ModuleSort sort = ModuleSort::Library,
               const char* path = nullptr) {
    last_ = graph_->add(name, path ? path : name, sort);
    for (const char* need : needs) graph_->add_need(need);
    names_.push_back(name);
    return *this;
  }
  void at(std::uintptr_t start) { graph_->place(*last_, start, start + 1); }
  Process& again() {
    graph_->clear();
    names_.clear();
    return *this;
  }
  // The names of those that are the program's.
  std::string programs() {
    graph_->decide();
    std::string names;
    for (std::size_t i = 0; i < graph_->size(); ++i)
      if ((*graph_)[i].programs) names += (names.empty() ? "" : " ") + names_[i];
    return names;
  }

 private:
  std::unique_ptr<ModuleGraph> graph_ = std::make_unique<ModuleGraph>();
  std::vector<std::string> names_;
  ModuleGraph::Module* last_ = nullptr;
};

TEST(ModuleGraph, WhatOnlyMpiNeedsIsNotThePrograms) {
  Process process;
  process.add("app", {"libmpi.so.40", "libm.so.6", "libc.so.6"}, ModuleSort::Executable)
      .add("libreprise.so", {"libc.so.6"}, ModuleSort::Own)
      .add("libmpi.so.40", {"libopen-pal.so.40", "libhwloc.so.15", "libc.so.6"}, ModuleSort::Mpi)
      .add("libm.so.6", {"libc.so.6"})
      .add("libc.so.6", {})
      .add("libopen-pal.so.40", {"libevent.so", "libc.so.6"})
      .add("libevent.so", {"libc.so.6"})
      .add("libhwloc.so.15", {"libudev.so", "libm.so.6"})
      .add("libudev.so", {"libc.so.6"});
  EXPECT_EQ(process.programs(), "app libm.so.6 libc.so.6");
}

TEST(ModuleGraph, ALibraryThatBothNeedIsThePrograms) {
  Process process;
  process.add("app", {"libmpi.so", "libsolver.so"}, ModuleSort::Executable)
      .add("libmpi.so", {"libhwloc.so", "libz.so"}, ModuleSort::Mpi)
      .add("libsolver.so", {"libmpi.so", "libz.so"})
      .add("libhwloc.so", {})
      .add("libz.so", {});
  EXPECT_EQ(process.programs(), "app libsolver.so libz.so");
}

TEST(ModuleGraph, TheFortranLayerIsMpis) {
  Process process;
  process.add("app", {"libmpi_mpifh.so.40", "libgfortran.so.5"}, ModuleSort::Executable)
      .add("libmpi_mpifh.so.40", {"libmpi.so.40", "libopen-pal.so.40"}, ModuleSort::Mpi)
      .add("libmpi.so.40", {"libopen-pal.so.40"}, ModuleSort::Mpi)
      .add("libopen-pal.so.40", {})
      .add("libgfortran.so.5", {});
  EXPECT_EQ(process.programs(), "app libgfortran.so.5");
}

TEST(ModuleGraph, WhatPythonLoadsIsThePrograms) {
  Process process;
  process.add("python3", {"libc.so.6"}, ModuleSort::Executable)
      .add("libc.so.6", {})
      .add("MPI.so", {"libmpi.so"}, ModuleSort::Library, "/usr/lib/python3/mpi4py/MPI.so")
      .add("libmpi.so", {"libopen-pal.so"}, ModuleSort::Mpi)
      .add("libopen-pal.so", {})
      .add("_random.so", {"libcrypto.so"}, ModuleSort::Library, "/usr/lib/python3/_random.so")
      .add("libcrypto.so", {});
  EXPECT_EQ(process.programs(), "python3 libc.so.6 MPI.so _random.so libcrypto.so");
}

TEST(ModuleGraph, PluginsOfMpiBringTheirLibraries) {
  Process process;
  process.add("app", {"libmpi.so"}, ModuleSort::Executable)
      .add("libmpi.so", {"libopen-pal.so"}, ModuleSort::Mpi)
      .add("libopen-pal.so", {})
      .add("mca_pmix_ext3x.so", {"libpmix.so"}, ModuleSort::Library, "/usr/lib/openmpi/lib/openmpi3/mca_pmix_ext3x.so")
      .add("libpmix.so", {"libmunge.so"})
      .add("libmunge.so", {})
      .add("plugin.so", {"libown.so"}, ModuleSort::Library, "/home/me/plugin.so")
      .add("libown.so", {});
  EXPECT_EQ(process.programs(), "app plugin.so libown.so");
}

TEST(ModuleGraph, ModulesThatServeEverybodyAreNobodys) {
  Process process;
  process.add("app", {"libjemalloc.so.2", "libmine.so"}, ModuleSort::Executable)
      .add("libjemalloc.so.2", {"libm.so.6"})
      .add("libmine.so", {})
      .add("libm.so.6", {})
      .add("libnss_systemd.so.2", {"libcap.so.2"})
      .add("libcap.so.2", {})
      .add("libtcmalloc_minimal.so.4", {});
  EXPECT_EQ(process.programs(), "app libmine.so");
}

// When a plugin is unloaded, what it brought may stay behind, needed by nobody.
TEST(ModuleGraph, WhatMpiBroughtStaysMpis) {
  Process process;
  process.add("app", {"libmpi.so"}, ModuleSort::Executable).add("libmpi.so", {}, ModuleSort::Mpi);
  process.add("mca_pmix.so", {"libpmix.so"}, ModuleSort::Library, "/lib/openmpi/mca_pmix.so");
  process.add("libpmix.so", {}).at(0x7000);
  EXPECT_EQ(process.programs(), "app");
  process.again().add("app", {"libmpi.so"}, ModuleSort::Executable).add("libmpi.so", {}, ModuleSort::Mpi);
  process.add("libpmix.so", {}).at(0x7000);
  process.add("libmine.so", {}).at(0x9000);
  EXPECT_EQ(process.programs(), "app libmine.so");
  process.again().add("app", {"libmpi.so", "libpmix.so"}, ModuleSort::Executable);
  process.add("libpmix.so", {}).at(0x7000);  // but the program may need it, too
  EXPECT_EQ(process.programs(), "app libpmix.so");
}

TEST(ModuleGraph, PluginsAreKnownByTheirPlace) {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_vader.so", "/usr/lib/pmix2/lib/pmix/pmix_mca_x.so",
        "/usr/lib/x86_64-linux-gnu/ucx/libuct_ib.so.0.0.0", "/opt/libfabric/libverbs-fi.so",
        "/usr/lib/hwloc/hwloc_pci.so", "/usr/lib/libibverbs/libmlx5-rdmav34.so"})
    EXPECT_TRUE(is_mpi_plugin(path)) << path;
  for (const char* path : {"", "app", "/home/me/openmpi/libsolver.so", "/home/me/hwloc/libmine.so", "linux-vdso.so.1",
                           "/usr/lib/libucs.so.0"})
    EXPECT_FALSE(is_mpi_plugin(path)) << path;
}

TEST(ModuleGraph, ThisProcess) {
  const auto graph = std::make_unique<ModuleGraph>();
  graph->read_loaded(nullptr);
  ASSERT_GT(graph->size(), 3u);
  const auto* here = graph->find(reinterpret_cast<const void*>(&is_mpi_plugin));
  ASSERT_NE(here, nullptr);
  EXPECT_EQ(here->sort, ModuleSort::Executable);
  EXPECT_TRUE(here->programs);
  const auto* library = graph->find(dlsym(RTLD_DEFAULT, "dlsym"));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->name, name_hash("libc.so.6"));
  EXPECT_TRUE(library->programs && library->needed);
  int on_the_stack = 0;
  EXPECT_EQ(graph->find(&on_the_stack), nullptr);
  EXPECT_TRUE(graph->is_programs(&on_the_stack));                     // code of no module
  graph->read_loaded(reinterpret_cast<const void*>(&is_mpi_plugin));  // nothing new: nothing is read again
  EXPECT_EQ(here->sort, ModuleSort::Executable);
}

// The MPI libraries are recognised by what they define, whatever they are called.
TEST(ModuleGraph, ARealMpi) {
  void* library = nullptr;
  for (const char* name : {"libmpi.so.40", "libmpich.so.12"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "no MPI library to load";
  const auto graph = std::make_unique<ModuleGraph>();
  graph->read_loaded(nullptr);
  const auto* mpi = graph->find(dlsym(library, "PMPI_Init"));
  ASSERT_NE(mpi, nullptr);
  EXPECT_EQ(mpi->sort, ModuleSort::Mpi);
  EXPECT_FALSE(mpi->programs);
  const auto* clock = graph->find(dlsym(RTLD_DEFAULT, "clock_gettime"));
  ASSERT_NE(clock, nullptr);
  EXPECT_TRUE(clock->programs);
}

}  // namespace
}  // namespace reprise
