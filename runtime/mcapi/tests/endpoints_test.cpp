#include "nodes.hpp"

namespace {

TEST(Endpoints, AreMadeAndDeleted) {
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status_of([](mcapi_status_t* s) { mcapi_endpoint_create(1, s); }));
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, status_of([](mcapi_status_t* s) { mcapi_endpoint_delete(1, s); }));
  Node node(1);
  const mcapi_endpoint_t first = node.create(5);
  EXPECT_STATUS(MCAPI_ERR_ENDP_EXISTS, status_of([](mcapi_status_t* s) { mcapi_endpoint_create(5, s); }));
  EXPECT_STATUS(MCAPI_ERR_PORT_INVALID, status_of([](mcapi_status_t* s) { mcapi_endpoint_create(MCAPI_MAX_PORT + 1, s); }));
  const mcapi_endpoint_t any = node.create(MCAPI_PORT_ANY), another = node.create(MCAPI_PORT_ANY);
  EXPECT_NE(any, another);
  EXPECT_STATUS(MCAPI_SUCCESS, status_of([&](mcapi_status_t* s) { mcapi_endpoint_delete(first, s); }));
  EXPECT_STATUS(MCAPI_ERR_ENDP_DELETED, status_of([&](mcapi_status_t* s) { mcapi_endpoint_delete(first, s); }));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, status_of([&](mcapi_status_t* s) { mcapi_endpoint_delete(0, s); }));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, status_of([&](mcapi_status_t* s) { mcapi_endpoint_delete(~0ull, s); }));
  EXPECT_NE(node.create(5), first);
}

TEST(Endpoints, AreGotWhenTheyAreThere) {
  Node node(1);
  mcapi_endpoint_get(0, 2, 1, MCAPI_TIMEOUT_IMMEDIATE, &node.status);
  EXPECT_STATUS(MCAPI_TIMEOUT, node.status);
  mcapi_endpoint_get(0, 2, 1, 30, &node.status);
  EXPECT_STATUS(MCAPI_TIMEOUT, node.status);
  mcapi_endpoint_get(MCAPI_DOMAIN_INVALID, 2, 1, 30, &node.status);
  EXPECT_STATUS(MCAPI_ERR_DOMAIN_INVALID, node.status);
  mcapi_endpoint_get(0, MCAPI_NODE_INVALID, 1, 30, &node.status);
  EXPECT_STATUS(MCAPI_ERR_NODE_INVALID, node.status);
  mcapi_endpoint_get(0, 2, MCAPI_PORT_ANY, 30, &node.status);
  EXPECT_STATUS(MCAPI_ERR_PORT_INVALID, node.status);

  mcapi_request_t request;
  mcapi_endpoint_t found = 0;
  mcapi_endpoint_get_i(0, 2, 1, &found, &request, &node.status);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  EXPECT_EQ(mcapi_test(&request, nullptr, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  std::thread other([] {
    Node second(2);
    second.create(1);
    const mcapi_endpoint_t later = second.get(1, 9);
    EXPECT_NE(later, 0u);
  });
  EXPECT_EQ(mcapi_wait(&request, nullptr, 20000, &node.status), MCAPI_TRUE);
  EXPECT_STATUS(MCAPI_SUCCESS, node.status);
  EXPECT_NE(found, 0u);
  mcapi_endpoint_delete(found, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ENDP_NOTOWNER, node.status);
  const mcapi_endpoint_t own = node.create(9);
  other.join();
  mcapi_uint_t gets = 0;
  mcapi_endpoint_get_attribute(own, MCAPI_ENDP_ATTR_GET_COUNT, &gets, sizeof gets, &node.status);
  EXPECT_EQ(gets, 1u);
  mcapi_endpoint_get_i(0, 2, 1, nullptr, &request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, node.status);
  mcapi_endpoint_get_i(0, 2, 1, &found, nullptr, &node.status);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, node.status);
}

TEST(Endpoints, AreReleased) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  mcapi_endpoint_release(own, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, node.status);  // nobody has got it
  for (int i = 0; i < 65535; ++i) node.get(1, 1);
  mcapi_endpoint_get(0, 1, 1, 0, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ENDP_GET_LIMIT, node.status);
  mcapi_endpoint_release(own, &node.status);
  EXPECT_STATUS(MCAPI_SUCCESS, node.status);
  node.get(1, 1);
}

TEST(Endpoints, HaveAttributes) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  const auto get = [&](mcapi_endpoint_t endpoint, mcapi_uint_t number) {
    mcapi_uint_t value = 4711;
    mcapi_endpoint_get_attribute(endpoint, number, &value, sizeof value, &node.status);
    EXPECT_STATUS(MCAPI_SUCCESS, node.status);
    return value;
  };
  const auto set = [&](mcapi_uint_t number, mcapi_uint_t value, size_t size = sizeof(mcapi_uint_t)) {
    return status_of([&](mcapi_status_t* s) { mcapi_endpoint_set_attribute(own, number, &value, size, s); });
  };
  EXPECT_EQ(get(own, MCAPI_ENDP_ATTR_TYPE), mcapi_uint_t{MCAPI_ENDP_ATTR_TYPE_MESSAGE});
  EXPECT_EQ(get(own, MCAPI_ENDP_ATTR_GET_COUNT), 0u);
  EXPECT_EQ(get(own, MCAPI_ENDP_ATTR_GET_SOURCE), mcapi_uint_t{MCAPI_FALSE});
  EXPECT_EQ(get(own, MCAPI_ENDP_ATTR_BUFFER_TYPE), mcapi_uint_t{MCAPI_ENDP_ATTR_FIFO_BUFFER});
  EXPECT_EQ(get(own, MCAPI_ENDP_ATTR_STATUS), 0u);
  const struct {
    mcapi_uint_t number, value, wrong;
  } settable[] = {{MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 100, 1 << 20},
                  {MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL, 7},
                  {MCAPI_ENDP_ATTR_NUM_PRIORITIES, 3, 99},
                  {MCAPI_ENDP_ATTR_PRIORITY, 2, 3},
                  {MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS, 9, 0},
                  {MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS, 9, 0}};
  for (const auto& one : settable) {
    EXPECT_STATUS(MCAPI_SUCCESS, set(one.number, one.value));
    EXPECT_EQ(get(own, one.number), one.value);
    EXPECT_STATUS(MCAPI_ERR_ATTR_VALUE, set(one.number, one.wrong));
    EXPECT_STATUS(MCAPI_ERR_ATTR_SIZE, set(one.number, one.value, 1));
  }
  EXPECT_STATUS(MCAPI_SUCCESS, set(MCAPI_ENDP_ATTR_TIMEOUT, 12));
  for (const mcapi_uint_t number : {MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_GET_COUNT, MCAPI_ENDP_ATTR_GET_SOURCE, MCAPI_ENDP_ATTR_STATUS})
    EXPECT_STATUS(MCAPI_ERR_ATTR_READONLY, set(number, 1));
  EXPECT_STATUS(MCAPI_ERR_ATTR_NOTSUPPORTED, set(MCAPI_ENDP_ATTR_BUFFER_TYPE, 1));
  EXPECT_STATUS(MCAPI_ERR_ATTR_NUM, set(99, 1));
  mcapi_uint_t value;
  mcapi_endpoint_get_attribute(own, 99, &value, sizeof value, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ATTR_NUM, node.status);
  mcapi_endpoint_get_attribute(own, 0, &value, 1, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ATTR_SIZE, node.status);
  mcapi_endpoint_get_attribute(own, 0, nullptr, sizeof value, &node.status);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, node.status);
  mcapi_endpoint_set_attribute(own, 0, nullptr, sizeof value, &node.status);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, node.status);
  mcapi_endpoint_get_attribute(0, 0, &value, sizeof value, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, node.status);
  as_threads({[] {
    Node other(2);
    const mcapi_endpoint_t got = other.get(1, 1);
    mcapi_uint_t source = 0;
    mcapi_endpoint_get_attribute(got, MCAPI_ENDP_ATTR_GET_SOURCE, &source, sizeof source, &other.status);
    EXPECT_EQ(source, mcapi_uint_t{MCAPI_TRUE});
    mcapi_endpoint_set_attribute(got, MCAPI_ENDP_ATTR_PRIORITY, &source, sizeof source, &other.status);
    EXPECT_STATUS(MCAPI_ERR_ENDP_REMOTE, other.status);
  }});
}

}  // namespace
