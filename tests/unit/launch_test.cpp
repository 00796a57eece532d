// How a command is understood and prepared, with a tree of fake launchers and programs.
#include "cli/launch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/process.hpp"
#include "cli/libraries.hpp"

namespace reprise::cli {
namespace {

namespace fs = std::filesystem;

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_), nullptr);
    old_path_ = std::getenv("PATH");
    ::setenv("PATH", (root() + "/bin").c_str(), 1);
    ::unsetenv("OMPI_MCA_mca_base_env_list");
    ::unsetenv("LD_PRELOAD");
    fs::create_directories(root() + "/bin");
    script("orterun");
    script("mpiexec.hydra");
    script("srun");
    fs::create_symlink("orterun", root() + "/bin/mpirun");
    fs::create_symlink("mpiexec.hydra", root() + "/bin/mpiexec");
    script("app.sh");
  }
  void TearDown() override {
    ::setenv("PATH", old_path_.c_str(), 1);
    ::unsetenv("OMPI_MCA_mca_base_env_list");
    fs::remove_all(root());
  }

  std::string root() const { return directory_; }
  void script(const std::string& name) {
    const std::string path = root() + "/bin/" + name;
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), 0755);
  }

  static Launch prepare(const std::vector<std::string>& command) {
    return prepare_launch(command, find_mpi(command), "/lib/ours.so", {{"REPRISE_MODE", "record"}});
  }
  static std::string variable(const Launch& launch, const std::string& name) {
    for (const std::string& entry : launch.environment)
      if (entry.starts_with(name + '=')) return entry.substr(name.size() + 1);
    return "(unset)";
  }

 private:
  char directory_[64] = "/tmp/reprise-launch-XXXXXX";
  std::string old_path_;
};

using Words = std::vector<std::string>;

TEST_F(LaunchTest, LaunchersAreKnownByWhatTheyAre) {
  EXPECT_EQ(launcher_kind(root() + "/bin/mpirun"), LauncherKind::OpenMpi);
  EXPECT_EQ(launcher_kind(root() + "/bin/mpiexec"), LauncherKind::Hydra);
  EXPECT_EQ(launcher_kind(root() + "/bin/srun"), LauncherKind::Slurm);
  EXPECT_EQ(launcher_kind(root() + "/bin/app.sh"), std::nullopt);
  EXPECT_EQ(launcher_kind(""), std::nullopt);
}

TEST_F(LaunchTest, TheLauncherDecidesForScripts) {
  const FoundMpi open_mpi = find_mpi({"mpirun", "-n", "4", "app.sh"});
  EXPECT_EQ(open_mpi.mpi, "openmpi");
  EXPECT_EQ(open_mpi.program, 3u);
  EXPECT_TRUE(open_mpi.program_is_script);
  EXPECT_EQ(find_mpi({"mpiexec", "app.sh"}).mpi, "mpich");
  EXPECT_EQ(find_mpi({"srun", "app.sh"}).mpi, "");
  EXPECT_EQ(find_mpi({"mpirun", "-n", "4", "nothing-like-this"}).program, std::nullopt);
}

TEST_F(LaunchTest, TheLauncherMayStandBehindOthers) {
  const Words command = {"app.sh", "mpirun", "-x", "A", "app.sh"};
  const FoundMpi found = find_mpi(command);
  EXPECT_EQ(found.launcher, 1u);
  EXPECT_EQ(found.program, 4u);
  EXPECT_EQ(prepare(command).command,
            (Words{"app.sh", "mpirun", "-x", "LD_PRELOAD", "-x", "REPRISE_MODE", "-x", "A", "app.sh"}));
}

TEST_F(LaunchTest, LibraryNamesTellTheMpi) {
  EXPECT_EQ(mpi_of_library("libmpi.so.40"), "openmpi");
  EXPECT_EQ(mpi_of_library("libmpi.so.12"), "mpich");
  EXPECT_EQ(mpi_of_library("libmpich.so.12"), "mpich");
  EXPECT_EQ(mpi_of_library("libmpi_cxx.so.40"), "");
}

TEST_F(LaunchTest, OurLibraryComesBeforeTheUsers) {
  EXPECT_EQ(variable(prepare({"mpirun", "app.sh"}), "LD_PRELOAD"), "/lib/ours.so");
  ::setenv("LD_PRELOAD", "", 1);
  EXPECT_EQ(variable(prepare({"mpirun", "app.sh"}), "LD_PRELOAD"), "/lib/ours.so");
  const Launch given = prepare({"mpirun", "-x", "LD_PRELOAD=/theirs.so", "app.sh"});
  EXPECT_EQ(given.command[6], "LD_PRELOAD=/lib/ours.so:/theirs.so");
  const Launch hydra = prepare({"mpiexec", "-genv", "LD_PRELOAD", "/theirs.so", "app.sh"});
  EXPECT_EQ(hydra.command[3], "/lib/ours.so:/theirs.so");
}

TEST_F(LaunchTest, OpenMpiIsToldByAList) {
  const Launch launch = prepare({"mpirun", "-n", "4", "app.sh"});
  EXPECT_EQ(launch.command, (Words{"mpirun", "-n", "4", "app.sh"}));
  EXPECT_EQ(variable(launch, "OMPI_MCA_mca_base_env_list"), "LD_PRELOAD;REPRISE_MODE");
  EXPECT_EQ(variable(prepare({"mpiexec", "app.sh"}), "OMPI_MCA_mca_base_env_list"), "(unset)");
}

TEST_F(LaunchTest, OpenMpiIsToldByOptionsWhereTheUserUsesThem) {
  const Launch launch = prepare({"mpirun", "-x", "A", "app.sh", ":", "-n", "2", "app.sh"});
  EXPECT_EQ(launch.command, (Words{"mpirun", "-x", "LD_PRELOAD", "-x", "REPRISE_MODE", "-x", "A", "app.sh", ":", "-x",
                                   "LD_PRELOAD", "-x", "REPRISE_MODE", "-n", "2", "app.sh"}));
  EXPECT_EQ(variable(launch, "OMPI_MCA_mca_base_env_list"), "(unset)");
}

TEST_F(LaunchTest, TheUsersListIsExtended) {
  const Launch option = prepare({"mpirun", "--mca", "mca_base_env_list", "A;B=1", "app.sh", "-x"});
  EXPECT_EQ(option.command[3], "A;B=1;LD_PRELOAD;REPRISE_MODE");
  EXPECT_EQ(option.command.size(), 6u);  // the program's own -x is left alone
  ::setenv("OMPI_MCA_mca_base_env_list", "A;", 1);
  EXPECT_EQ(variable(prepare({"mpirun", "app.sh", "-x"}), "OMPI_MCA_mca_base_env_list"), "A;LD_PRELOAD;REPRISE_MODE");
}

TEST_F(LaunchTest, TracesAreNamedAfterTheProgram) {
  const Words command = {"mpirun", "-n", "4", "app.sh"};
  EXPECT_EQ(trace_name(command, find_mpi(command)), "app.sh");
  EXPECT_EQ(trace_name({"../x y"}, FoundMpi{}), "x_y");
  EXPECT_EQ(trace_name({".hidden"}, FoundMpi{}), "run.hidden");
}

TEST_F(LaunchTest, MissingPreloadLibraryIsOneSentence) {
  const auto library = find_preload_library("nosuchmpi");
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().what.find("built without support"), std::string::npos);
}

}  // namespace
}  // namespace reprise::cli
