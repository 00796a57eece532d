#include "nodes.hpp"

#include <mcapi_origin.h>

#include <cstring>

namespace {

mcapi_status_t send(mcapi_endpoint_t from, mcapi_endpoint_t to, const std::string& text, mcapi_priority_t priority = 0) {
  return status_of([&](mcapi_status_t* s) { mcapi_msg_send(from, to, text.data(), text.size(), priority, s); });
}

std::string receive(mcapi_endpoint_t at) {
  char text[256];
  size_t size = 0;
  mcapi_status_t status;
  mcapi_msg_recv(at, text, sizeof text, &size, &status);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  return {text, size};
}

void set(mcapi_endpoint_t endpoint, mcapi_uint_t number, mcapi_uint_t value) {
  EXPECT_STATUS(MCAPI_SUCCESS, status_of([&](mcapi_status_t* s) { mcapi_endpoint_set_attribute(endpoint, number, &value, sizeof value, s); }));
}

TEST(Messages, ArriveInOrder) {
  for (const bool threads : {true, false}) {
    const std::vector<std::function<void()>> nodes = {[] {
                                                        Node node(1);
                                                        const mcapi_endpoint_t own = node.create(1), other = node.get(2, 1);
                                                        for (int i = 0; i < 1000; ++i) EXPECT_STATUS(MCAPI_SUCCESS, send(own, other, "message " + std::to_string(i)));
                                                        EXPECT_EQ(receive(own), "thanks");
                                                      },
                                                      [] {
                                                        Node node(2);
                                                        const mcapi_endpoint_t own = node.create(1), other = node.get(1, 1);
                                                        for (int i = 0; i < 1000; ++i) {
                                                          EXPECT_EQ(receive(own), "message " + std::to_string(i));
                                                          mcapi_origin_t origin = {};
                                                          EXPECT_TRUE(mcapi_origin_get(&origin));
                                                          EXPECT_EQ(origin.node, 1u);
                                                          EXPECT_EQ(origin.port, 1u);
                                                          EXPECT_EQ(origin.number, i + 1u);
                                                        }
                                                        EXPECT_STATUS(MCAPI_SUCCESS, send(own, other, "thanks"));
                                                      }};
    threads ? as_threads(nodes) : as_processes(nodes);
  }
}

TEST(Messages, HavePriorities) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  send(own, own, "third", 7);
  send(own, own, "first", 0);
  send(own, own, "second", 3);
  EXPECT_EQ(mcapi_msg_available(own, &node.status), 3u);
  EXPECT_EQ(receive(own), "first");
  EXPECT_EQ(receive(own), "second");
  EXPECT_EQ(receive(own), "third");
  EXPECT_STATUS(MCAPI_ERR_PRIORITY, send(own, own, "", MCAPI_MAX_PRIORITIES));
}

TEST(Messages, OfAllSizes) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  for (const size_t size : {0, 1, 63, 64, 65, 448, 449, 4032, 4033, 65535, 65536}) {
    std::string sent(size, 'a'), got(70000, 'b');
    for (size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 7);
    EXPECT_STATUS(MCAPI_SUCCESS, send(own, own, sent));
    size_t received = 0;
    mcapi_msg_recv(own, got.data(), got.size(), &received, &node.status);
    EXPECT_STATUS(MCAPI_SUCCESS, node.status);
    EXPECT_EQ(got.substr(0, received), sent);
    EXPECT_EQ(got[size], 'b');
  }
  EXPECT_STATUS(MCAPI_ERR_MSG_LIMIT, send(own, own, std::string(65537, 'x')));
  char small[4];
  size_t received = 0;
  send(own, own, "too long");
  mcapi_msg_recv(own, small, sizeof small, &received, &node.status);
  EXPECT_STATUS(MCAPI_ERR_MSG_TRUNCATED, node.status);
  EXPECT_EQ(std::string(small, received), "too ");
}

TEST(Messages, WithWrongArguments) {
  EXPECT_STATUS(MCAPI_ERR_NODE_NOTINIT, send(1, 1, "x"));
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  mcapi_request_t request;
  char byte;
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, send(0, own, "x"));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, send(own, 0, "x"));
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status_of([&](mcapi_status_t* s) { mcapi_msg_send(own, own, nullptr, 4, 0, s); }));
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status_of([&](mcapi_status_t* s) { mcapi_msg_recv(own, nullptr, 4, nullptr, s); }));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, status_of([&](mcapi_status_t* s) { mcapi_msg_recv(0, &byte, 1, nullptr, s); }));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, status_of([&](mcapi_status_t* s) { mcapi_msg_recv_i(own, &byte, 1, nullptr, s); }));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, status_of([&](mcapi_status_t* s) { mcapi_msg_recv_i(0, &byte, 1, &request, s); }));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, status_of([&](mcapi_status_t* s) { mcapi_msg_send_i(own, own, &byte, 1, 0, nullptr, s); }));
  mcapi_msg_available(0, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, node.status);
  as_threads({[own] {
    Node other(2);
    char text[4];
    EXPECT_STATUS(MCAPI_ERR_ENDP_NOTOWNER, status_of([&](mcapi_status_t* s) { mcapi_msg_recv(own, text, 4, nullptr, s); }));
    EXPECT_STATUS(MCAPI_ERR_ENDP_NOTOWNER, send(own, own, "x"));
    mcapi_msg_available(own, &other.status);
    EXPECT_STATUS(MCAPI_ERR_ENDP_NOTOWNER, other.status);
  }});
}

TEST(Messages, WaitForRoomOrFail) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  set(own, MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS, 2);
  set(own, MCAPI_ENDP_ATTR_TIMEOUT, 30);
  send(own, own, "1");
  send(own, own, "2");
  EXPECT_STATUS(MCAPI_TIMEOUT, send(own, own, "3"));
  mcapi_request_t request;
  mcapi_msg_send_i(own, own, "3", 1, 0, &request, &node.status);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  EXPECT_EQ(mcapi_test(&request, nullptr, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_TIMEOUT, send(own, own, "4"));  // not before the third
  set(own, MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL);
  EXPECT_STATUS(MCAPI_ERR_MEM_LIMIT, send(own, own, "4"));
  EXPECT_EQ(receive(own), "1");
  EXPECT_EQ(receive(own), "2");
  EXPECT_EQ(receive(own), "3");
  EXPECT_EQ(mcapi_wait(&request, nullptr, 1000, &node.status), MCAPI_TRUE);
  char byte;
  mcapi_msg_recv(own, &byte, 1, nullptr, &node.status);
  EXPECT_STATUS(MCAPI_TIMEOUT, node.status);
  set(own, MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS, 1);
  mcapi_request_t more[5];
  for (auto& one : more) mcapi_msg_send_i(own, own, "x", 1, 0, &one, &node.status);
  EXPECT_STATUS(MCAPI_ERR_MEM_LIMIT, node.status);
}

TEST(Messages, WaitForMemory) {
  const std::string large(65536, 'x');
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  set(own, MCAPI_ENDP_ATTR_TIMEOUT, 30);
  unsigned sent = 0;
  while (send(own, own, large) == MCAPI_SUCCESS) ++sent;
  EXPECT_EQ(sent, 512u);
  mcapi_request_t request;
  mcapi_msg_send_i(own, own, large.data(), large.size(), 0, &request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_MEM_LIMIT, node.status);
  std::string got(65536, ' ');
  mcapi_msg_recv(own, got.data(), got.size(), nullptr, &node.status);
  EXPECT_EQ(got, large);
  EXPECT_STATUS(MCAPI_SUCCESS, send(own, own, large));
}

TEST(Requests, CompleteInTheOrderOfReceives) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  char a = 0, b = 0, c = 0;
  mcapi_request_t first, second;
  mcapi_msg_recv_i(own, &a, 1, &first, &node.status);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  mcapi_msg_recv_i(own, &b, 1, &second, &node.status);
  send(own, own, "1");
  size_t size = 0;
  EXPECT_EQ(mcapi_test(&second, &size, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  send(own, own, "2");
  send(own, own, "3");
  mcapi_msg_recv(own, &c, 1, &size, &node.status);
  EXPECT_EQ(c, '3');
  mcapi_request_t* both[] = {&first, &second};
  EXPECT_EQ(mcapi_wait_any(2, both, &size, MCAPI_TIMEOUT_INFINITE, &node.status), 0u);
  EXPECT_STATUS(MCAPI_SUCCESS, node.status);
  EXPECT_EQ(size, 1u);
  mcapi_origin_t origin;
  EXPECT_TRUE(mcapi_origin_get(&origin));
  EXPECT_EQ(origin.number, 1u);
  EXPECT_EQ(a, '1');
  EXPECT_EQ(mcapi_wait_any(2, both, &size, 0, &node.status), MCAPI_RETURN_VALUE_INVALID);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);  // the first is over
  EXPECT_EQ(mcapi_wait(&second, &size, 0, &node.status), MCAPI_TRUE);
  EXPECT_EQ(b, '2');
  EXPECT_EQ(mcapi_test(&second, &size, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);
}

TEST(Requests, TimeOutAndAreCancelled) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  char byte = 0;
  mcapi_request_t request;
  mcapi_msg_recv_i(own, &byte, 1, &request, &node.status);
  EXPECT_EQ(mcapi_wait(&request, nullptr, 20, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_TIMEOUT, node.status);
  mcapi_cancel(&request, &node.status);
  EXPECT_STATUS(MCAPI_SUCCESS, node.status);
  mcapi_cancel(&request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_CANCELLED, node.status);
  EXPECT_EQ(mcapi_wait(&request, nullptr, 20, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_CANCELLED, node.status);
  mcapi_cancel(&request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);
  send(own, own, "x");
  EXPECT_EQ(receive(own), "x");  // the cancelled one does not take it
  mcapi_msg_recv_i(own, &byte, 1, &request, &node.status);
  send(own, own, "y");
  mcapi_cancel(&request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);  // too late
  EXPECT_EQ(mcapi_wait(&request, nullptr, 20, &node.status), MCAPI_TRUE);
  EXPECT_EQ(mcapi_wait(nullptr, nullptr, 20, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);
  mcapi_cancel(nullptr, &node.status);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_INVALID, node.status);
  EXPECT_EQ(mcapi_wait_any(0, nullptr, nullptr, 20, &node.status), MCAPI_RETURN_VALUE_INVALID);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, node.status);
}

TEST(Requests, AreAwaitedByOneThread) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  char byte = 0;
  mcapi_request_t request;
  mcapi_msg_recv_i(own, &byte, 1, &request, &node.status);
  std::thread waiter([&] {
    mcapi_status_t status;
    do mcapi_wait(&request, nullptr, 20000, &status);
    while (status == MCAPI_ERR_WAIT_PENDING);  // the other one was first
    EXPECT_STATUS(MCAPI_SUCCESS, status);
  });
  mcapi_request_t same = request;
  do {
    mcapi_wait(&same, nullptr, 0, &node.status);
    usleep(100);
  } while (node.status == MCAPI_TIMEOUT);
  EXPECT_STATUS(MCAPI_ERR_WAIT_PENDING, node.status);
  send(own, own, "x");
  waiter.join();
}

TEST(Requests, AreLimited) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  char byte;
  mcapi_request_t request;
  unsigned made = 0;
  for (node.status = MCAPI_PENDING; node.status == MCAPI_PENDING && made < 100000; ++made)
    mcapi_msg_recv_i(own, &byte, 1, &request, &node.status);
  EXPECT_STATUS(MCAPI_ERR_REQUEST_LIMIT, node.status);
  EXPECT_EQ(made, 16385u);
}

TEST(Requests, EndWithTheirEndpoint) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  char byte;
  mcapi_request_t request;
  mcapi_msg_recv_i(own, &byte, 1, &request, &node.status);
  mcapi_endpoint_delete(own, &node.status);
  EXPECT_STATUS(MCAPI_SUCCESS, node.status);
  EXPECT_EQ(mcapi_wait(&request, nullptr, 1000, &node.status), MCAPI_FALSE);
  EXPECT_STATUS(MCAPI_ERR_ENDP_DELETED, node.status);
}

}  // namespace
