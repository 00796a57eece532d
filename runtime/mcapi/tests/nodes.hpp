// Nodes for tests: threads of this process, or processes.
#pragma once

#include <gtest/gtest.h>
#include <mcapi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

inline std::string name_of(mcapi_status_t status) {
  char text[MCAPI_MAX_STATUS_SIZE];
  return mcapi_display_status(status, text, sizeof text);
}

#define EXPECT_STATUS(wanted, got) EXPECT_EQ(name_of(wanted), name_of(got))

// A function of MCAPI, given its arguments but the status: that status.
template <class Call>
mcapi_status_t status_of(Call call) {
  mcapi_status_t status = MCAPI_ERR_GENERAL;
  call(&status);
  return status;
}

struct Node {
  explicit Node(mcapi_node_t number, mcapi_domain_t domain = 0) {
    mcapi_initialize(domain, number, nullptr, nullptr, nullptr, &status);
    EXPECT_STATUS(MCAPI_SUCCESS, status);
  }
  ~Node() { mcapi_finalize(&status); }
  mcapi_endpoint_t create(mcapi_port_t port) {
    const mcapi_endpoint_t made = mcapi_endpoint_create(port, &status);
    EXPECT_STATUS(MCAPI_SUCCESS, status);
    return made;
  }
  mcapi_endpoint_t get(mcapi_node_t node, mcapi_port_t port, mcapi_timeout_t timeout = 20000) {
    const mcapi_endpoint_t found = mcapi_endpoint_get(0, node, port, timeout, &status);
    EXPECT_STATUS(MCAPI_SUCCESS, status);
    return found;
  }
  mcapi_status_t status = MCAPI_ERR_GENERAL;
};

// Each in a thread of its own, or in a process of its own, whose failed expectations count here.
inline void as_threads(const std::vector<std::function<void()>>& nodes) {
  std::vector<std::thread> threads;
  for (const auto& node : nodes) threads.emplace_back(node);
  for (auto& thread : threads) thread.join();
}

inline void as_processes(const std::vector<std::function<void()>>& nodes) {
  std::vector<pid_t> children;
  for (const auto& node : nodes) {
    const pid_t child = fork();
    if (child == 0) {
      node();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a node failed: " << status;
  }
}
