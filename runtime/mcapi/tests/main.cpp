#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

// A universe of their own, so that tests can run beside each other.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("MCAPI_UNIVERSE", ("test-" + std::to_string(getpid())).c_str(), 1);
  return RUN_ALL_TESTS();
}
