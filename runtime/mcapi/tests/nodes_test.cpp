#include "nodes.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>

namespace {

bool universe_is_there() {
  const std::string wanted = "@mcapi-" + std::to_string(getuid()) + "-" + getenv("MCAPI_UNIVERSE");
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.find(wanted) != std::string::npos) return true;
  return false;
}

TEST(Nodes, ComeAndGo) {
  mcapi_status_t status;
  mcapi_info_t info = {};
  EXPECT_EQ(mcapi_node_id_get(&status), MCAPI_NODE_INVALID);
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status);
  EXPECT_EQ(mcapi_domain_id_get(&status), MCAPI_DOMAIN_INVALID);
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status);
  mcapi_initialize(3, 7, nullptr, nullptr, &info, &status);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  EXPECT_EQ(info.mcapi_version, 2015u);
  EXPECT_GT(info.number_of_nodes, 0u);
  EXPECT_GT(info.number_of_domains, 0u);
  EXPECT_GT(info.number_of_ports, 0u);
  EXPECT_EQ(mcapi_node_id_get(&status), 7u);
  EXPECT_EQ(mcapi_domain_id_get(&status), 3u);
  EXPECT_STATUS(MCAPI_ERR_NODE_INITIALIZED, status_of([](mcapi_status_t* s) { mcapi_initialize(3, 8, nullptr, nullptr, nullptr, s); }));
  EXPECT_TRUE(universe_is_there());
  mcapi_finalize(&status);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  EXPECT_FALSE(universe_is_there());
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status_of([](mcapi_status_t* s) { mcapi_finalize(s); }));
}

TEST(Nodes, HaveNumbersOfTheirOwn) {
  EXPECT_STATUS(MCAPI_ERR_NODE_INVALID,
                status_of([](mcapi_status_t* s) { mcapi_initialize(0, MCAPI_NODE_INVALID, nullptr, nullptr, nullptr, s); }));
  EXPECT_STATUS(MCAPI_ERR_DOMAIN_INVALID,
                status_of([](mcapi_status_t* s) { mcapi_initialize(MCAPI_DOMAIN_INVALID, 0, nullptr, nullptr, nullptr, s); }));
  const Node node(1);
  as_threads({[] {
    EXPECT_STATUS(MCAPI_ERR_NODE_INITIALIZED, status_of([](mcapi_status_t* s) { mcapi_initialize(0, 1, nullptr, nullptr, nullptr, s); }));
    const Node other(1, 1);  // in another domain
  }});
}

TEST(Nodes, ThreadsBelongToTheOnlyOne) {
  Node node(4);
  as_threads({[] {
    mcapi_status_t status;
    EXPECT_EQ(mcapi_node_id_get(&status), 4u);
  }});
}

TEST(Nodes, HaveAttributes) {
  mcapi_node_attributes_t attributes;
  mcapi_uint_t type = MCAPI_NODE_ATTR_TYPE_REGULAR;
  EXPECT_STATUS(MCAPI_SUCCESS, status_of([&](mcapi_status_t* s) { mcapi_node_init_attributes(&attributes, s); }));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, status_of([&](mcapi_status_t* s) { mcapi_node_init_attributes(nullptr, s); }));
  const auto set = [&](mcapi_uint_t number, void* value, size_t size) {
    return status_of([&](mcapi_status_t* s) { mcapi_node_set_attribute(&attributes, number, value, size, s); });
  };
  EXPECT_STATUS(MCAPI_SUCCESS, set(MCAPI_NODE_ATTR_TYPE, &type, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, set(MCAPI_NODE_ATTR_TYPE, nullptr, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_ATTR_NUM, set(99, &type, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_ATTR_SIZE, set(MCAPI_NODE_ATTR_TYPE, &type, 1));
  mcapi_uint_t wrong = 77;
  EXPECT_STATUS(MCAPI_ERR_ATTR_VALUE, set(MCAPI_NODE_ATTR_TYPE, &wrong, sizeof wrong));

  const auto get = [&](mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t number, void* value, size_t size) {
    return status_of([&](mcapi_status_t* s) { mcapi_node_get_attribute(domain, node, number, value, size, s); });
  };
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, get(0, 1, MCAPI_NODE_ATTR_TYPE, &type, sizeof type));
  mcapi_status_t status;
  mcapi_initialize(0, 1, &attributes, nullptr, nullptr, &status);
  wrong = 5;
  EXPECT_STATUS(MCAPI_SUCCESS, get(0, 1, MCAPI_NODE_ATTR_TYPE, &wrong, sizeof wrong));
  EXPECT_EQ(wrong, mcapi_uint_t{MCAPI_NODE_ATTR_TYPE_REGULAR});
  EXPECT_STATUS(MCAPI_ERR_NODE_INVALID, get(0, 2, MCAPI_NODE_ATTR_TYPE, &type, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_DOMAIN_INVALID, get(MCAPI_DOMAIN_INVALID, 1, MCAPI_NODE_ATTR_TYPE, &type, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_ATTR_NUM, get(0, 1, 99, &type, sizeof type));
  EXPECT_STATUS(MCAPI_ERR_ATTR_SIZE, get(0, 1, MCAPI_NODE_ATTR_TYPE, &type, 1));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, get(0, 1, MCAPI_NODE_ATTR_TYPE, nullptr, sizeof type));
  mcapi_finalize(&status);
}

// The second is killed while the first waits for its message.
TEST(Nodes, HearThatOthersDied) {
  int to_parent[2];
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  if (child == 0) {
    Node node(2);
    const mcapi_endpoint_t own = node.create(1), other = node.get(1, 1);
    mcapi_msg_send(own, other, "hello", 5, 0, &node.status);
    if (write(to_parent[1], "x", 1) != 1) _exit(1);
    pause();
  }
  {
    Node node(1);
    const mcapi_endpoint_t own = node.create(1), other = node.get(2, 1);
    char text[8];
    EXPECT_EQ(read(to_parent[0], text, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    size_t size;
    mcapi_msg_recv(own, text, sizeof text, &size, &node.status);  // what it had sent is there
    EXPECT_STATUS(MCAPI_SUCCESS, node.status);
    EXPECT_EQ(size, 5u);
    mcapi_msg_recv(own, text, sizeof text, &size, &node.status);
    EXPECT_STATUS(MCAPI_ERR_TRANSMISSION, node.status);
    mcapi_msg_send(own, other, "hello", 5, 0, &node.status);
    EXPECT_STATUS(MCAPI_ERR_ENDP_DELETED, node.status);
    as_threads({[] { const Node again(2); }});  // its number is free
  }
  EXPECT_FALSE(universe_is_there());
}

// All at once; nothing is left.
TEST(Nodes, MayAllBeKilled) {
  const pid_t child = fork();
  if (child == 0) {
    Node node(1);
    node.create(1);
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(universe_is_there());
  Node node(1);
  node.create(1);
}

TEST(Nodes, ThreadsThatEndWithoutFinalizeDie) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  as_threads({[] {
    mcapi_status_t status;
    mcapi_initialize(0, 2, nullptr, nullptr, nullptr, &status);
    mcapi_endpoint_get(0, 1, 1, 1000, &status);
    EXPECT_STATUS(MCAPI_SUCCESS, status);
  }});
  char text[8];
  size_t size;
  mcapi_msg_recv(own, text, sizeof text, &size, &node.status);
  EXPECT_STATUS(MCAPI_ERR_TRANSMISSION, node.status);
}

TEST(Nodes, AreForgottenByForkedChildren) {
  Node node(1);
  as_processes({[] {
    mcapi_status_t status;
    mcapi_node_id_get(&status);
    EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status);
    Node other(2);
    other.create(1);
  }});
  EXPECT_EQ(mcapi_node_id_get(&node.status), 1u);
}

TEST(Status, HasANameForEach) {
  char text[MCAPI_MAX_STATUS_SIZE];
  std::vector<std::string> names;
  for (int status = MCAPI_SUCCESS; status <= MCAPI_ERR_GENERAL; ++status)
    names.emplace_back(mcapi_display_status(static_cast<mcapi_status_t>(status), text, sizeof text));
  EXPECT_EQ(names.front(), "MCAPI_SUCCESS");
  EXPECT_EQ(names.back(), "MCAPI_ERR_GENERAL");
  EXPECT_EQ(names.size(), 43u);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(mcapi_display_status(MCAPI_SUCCESS, nullptr, 8), nullptr);
  EXPECT_STREQ(mcapi_display_status(MCAPI_SUCCESS, text, 6), "MCAPI");
}

}  // namespace
