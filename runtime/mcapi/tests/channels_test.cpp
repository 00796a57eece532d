#include "nodes.hpp"

namespace {

mcapi_status_t wait(mcapi_request_t& request, mcapi_timeout_t timeout = 20000) {
  mcapi_status_t status;
  mcapi_wait(&request, nullptr, timeout, &status);
  return status;
}

enum class Kind { Packet, Scalar };

mcapi_status_t connect(Kind kind, mcapi_endpoint_t from, mcapi_endpoint_t to) {
  mcapi_request_t request;
  mcapi_status_t status;
  (kind == Kind::Packet ? mcapi_pktchan_connect_i : mcapi_sclchan_connect_i)(from, to, &request, &status);
  return status == MCAPI_PENDING ? wait(request) : status;
}

mcapi_status_t open(Kind kind, bool sends, mcapi_endpoint_t endpoint, uint64_t& handle, mcapi_timeout_t timeout = 20000) {
  mcapi_request_t request;
  mcapi_status_t status;
  if (kind == Kind::Packet) (sends ? mcapi_pktchan_send_open_i : mcapi_pktchan_recv_open_i)(&handle, endpoint, &request, &status);
  else (sends ? mcapi_sclchan_send_open_i : mcapi_sclchan_recv_open_i)(&handle, endpoint, &request, &status);
  return status == MCAPI_PENDING ? wait(request, timeout) : status;
}

mcapi_status_t close(Kind kind, bool sends, uint64_t handle) {
  mcapi_request_t request;
  mcapi_status_t status;
  if (kind == Kind::Packet) (sends ? mcapi_pktchan_send_close_i : mcapi_pktchan_recv_close_i)(handle, &request, &status);
  else (sends ? mcapi_sclchan_send_close_i : mcapi_sclchan_recv_close_i)(handle, &request, &status);
  return status == MCAPI_PENDING ? wait(request) : status;
}

// Both ends are this node's.
struct Channel {
  explicit Channel(Kind kind) : kind(kind), node(1), from(node.create(1)), to(node.create(2)) {
    EXPECT_STATUS(MCAPI_SUCCESS, connect(kind, from, to));
    mcapi_request_t request;
    mcapi_status_t status;
    (kind == Kind::Packet ? mcapi_pktchan_send_open_i : mcapi_sclchan_send_open_i)(&sender, from, &request, &status);
    EXPECT_STATUS(MCAPI_PENDING, status);
    EXPECT_STATUS(MCAPI_SUCCESS, open(kind, false, to, receiver));
    EXPECT_STATUS(MCAPI_SUCCESS, wait(request));
  }
  Kind kind;
  Node node;
  mcapi_endpoint_t from, to;
  uint64_t sender = 0, receiver = 0;
};

TEST(Channels, OfPacketsBetweenNodes) {
  for (const bool threads : {true, false}) {
    const std::vector<std::function<void()>> nodes = {
        [] {
          Node node(1);
          const mcapi_endpoint_t own = node.create(1), other = node.get(2, 1);
          uint64_t handle = 0;
          EXPECT_STATUS(MCAPI_SUCCESS, connect(Kind::Packet, own, other));
          EXPECT_STATUS(MCAPI_SUCCESS, open(Kind::Packet, true, own, handle));
          for (int i = 0; i < 1000; ++i) {
            const std::string text = "packet " + std::to_string(i);
            mcapi_pktchan_send(handle, text.data(), text.size(), &node.status);
            EXPECT_STATUS(MCAPI_SUCCESS, node.status);
          }
          EXPECT_STATUS(MCAPI_SUCCESS, close(Kind::Packet, true, handle));
          mcapi_endpoint_delete(own, &node.status);
          EXPECT_STATUS(MCAPI_SUCCESS, node.status);
        },
        [] {
          Node node(2);
          const mcapi_endpoint_t own = node.create(1);
          uint64_t handle = 0;
          EXPECT_STATUS(MCAPI_SUCCESS, open(Kind::Packet, false, own, handle));
          void* packet;
          size_t size;
          for (int i = 0; i < 1000; ++i) {
            mcapi_pktchan_recv(handle, &packet, &size, &node.status);
            ASSERT_STREQ(name_of(node.status).c_str(), "MCAPI_SUCCESS");
            EXPECT_EQ(std::string(static_cast<char*>(packet), size), "packet " + std::to_string(i));
            mcapi_pktchan_release(packet, &node.status);
            EXPECT_STATUS(MCAPI_SUCCESS, node.status);
          }
          mcapi_pktchan_recv(handle, &packet, &size, &node.status);
          EXPECT_STATUS(MCAPI_ERR_CHAN_CLOSEPENDING, node.status);
          EXPECT_STATUS(MCAPI_SUCCESS, close(Kind::Packet, false, handle));
        }};
    threads ? as_threads(nodes) : as_processes(nodes);
  }
}

TEST(Channels, OfPackets) {
  Channel channel(Kind::Packet);
  mcapi_status_t& status = channel.node.status;
  mcapi_request_t sending, receiving;
  void* packet = nullptr;
  mcapi_pktchan_recv_i(channel.receiver, &packet, &receiving, &status);
  EXPECT_STATUS(MCAPI_PENDING, status);
  mcapi_pktchan_send_i(channel.sender, "hello", 5, &sending, &status);
  EXPECT_STATUS(MCAPI_PENDING, status);
  EXPECT_STATUS(MCAPI_SUCCESS, wait(sending));
  size_t size = 0;
  EXPECT_EQ(mcapi_wait(&receiving, &size, 1000, &status), MCAPI_TRUE);
  EXPECT_EQ(std::string(static_cast<char*>(packet), size), "hello");
  EXPECT_EQ(mcapi_pktchan_release_test(packet, &status), MCAPI_FALSE);
  mcapi_pktchan_release(packet, &status);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  EXPECT_EQ(mcapi_pktchan_release_test(packet, &status), MCAPI_TRUE);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  mcapi_pktchan_release(packet, &status);
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status);
  mcapi_pktchan_release(&size, &status);
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status);
  mcapi_pktchan_release_test(&size, &status);
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status);
  const std::string large(65537, 'x');
  mcapi_pktchan_send(channel.sender, large.data(), large.size(), &status);
  EXPECT_STATUS(MCAPI_ERR_PKT_SIZE, status);
  mcapi_pktchan_send(channel.sender, nullptr, 4, &status);
  EXPECT_STATUS(MCAPI_ERR_BUF_INVALID, status);
  mcapi_pktchan_recv(channel.receiver, nullptr, &size, &status);
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, status);
  mcapi_pktchan_send(channel.sender, "x", 1, &status);
  EXPECT_EQ(mcapi_pktchan_available(channel.receiver, &status), 1u);
  mcapi_pktchan_available(channel.sender, &status);
  EXPECT_STATUS(MCAPI_ERR_CHAN_DIRECTION, status);
}

TEST(Channels, OfScalars) {
  Channel channel(Kind::Scalar);
  mcapi_status_t& status = channel.node.status;
  mcapi_sclchan_send_uint64(channel.sender, 0x123456789abcdef0u, &status);
  mcapi_sclchan_send_uint32(channel.sender, 0x12345678u, &status);
  mcapi_sclchan_send_uint16(channel.sender, 0x1234, &status);
  mcapi_sclchan_send_uint8(channel.sender, 0x12, &status);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  EXPECT_EQ(mcapi_sclchan_available(channel.receiver, &status), 4u);
  EXPECT_EQ(mcapi_sclchan_recv_uint64(channel.receiver, &status), 0x123456789abcdef0u);
  EXPECT_EQ(mcapi_sclchan_recv_uint32(channel.receiver, &status), 0x12345678u);
  EXPECT_EQ(mcapi_sclchan_recv_uint16(channel.receiver, &status), 0x1234u);
  EXPECT_EQ(mcapi_sclchan_recv_uint8(channel.receiver, &status), 0x12u);
  EXPECT_STATUS(MCAPI_SUCCESS, status);
  mcapi_sclchan_send_uint8(channel.sender, 0x12, &status);
  mcapi_sclchan_recv_uint16(channel.receiver, &status);
  EXPECT_STATUS(MCAPI_ERR_PKT_SIZE, status);  // of another width
}

TEST(Channels, AreMisused) {
  for (const Kind kind : {Kind::Packet, Kind::Scalar}) {
    Channel channel(kind);
    const Kind other = kind == Kind::Packet ? Kind::Scalar : Kind::Packet;
    mcapi_status_t& status = channel.node.status;
    uint64_t handle;
    EXPECT_STATUS(MCAPI_ERR_CHAN_CONNECTED, connect(kind, channel.from, channel.to));
    EXPECT_STATUS(MCAPI_ERR_CHAN_OPEN, open(kind, true, channel.from, handle));
    EXPECT_STATUS(MCAPI_ERR_CHAN_TYPE, close(other, true, channel.sender));
    EXPECT_STATUS(MCAPI_ERR_CHAN_DIRECTION, close(kind, false, channel.sender));
    EXPECT_STATUS(MCAPI_ERR_CHAN_INVALID, close(kind, false, 0));
    mcapi_endpoint_delete(channel.from, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_OPEN, status);
    mcapi_msg_send(channel.from, channel.to, "x", 1, 0, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_CONNECTED, status);
    char byte;
    mcapi_msg_recv(channel.to, &byte, 1, nullptr, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_CONNECTED, status);
    mcapi_uint_t priority = 1;
    mcapi_endpoint_set_attribute(channel.from, MCAPI_ENDP_ATTR_PRIORITY, &priority, sizeof priority, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_CONNECTED, status);
    mcapi_uint_t bits = 0, type = 0;
    mcapi_endpoint_get_attribute(channel.from, MCAPI_ENDP_ATTR_STATUS, &bits, sizeof bits, &status);
    EXPECT_EQ(bits, mcapi_uint_t{MCAPI_ENDP_STATUS_CONNECTED | MCAPI_ENDP_STATUS_SENDS | MCAPI_ENDP_STATUS_OPEN});
    mcapi_endpoint_get_attribute(channel.from, MCAPI_ENDP_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT_EQ(type, mcapi_uint_t(kind == Kind::Packet ? MCAPI_ENDP_ATTR_TYPE_PACKET : MCAPI_ENDP_ATTR_TYPE_SCALAR));
    EXPECT_STATUS(MCAPI_SUCCESS, close(kind, false, channel.receiver));
    EXPECT_STATUS(MCAPI_ERR_CHAN_NOTOPEN, close(kind, false, channel.receiver));
    if (kind == Kind::Packet) mcapi_pktchan_send(channel.sender, "x", 1, &status);
    else mcapi_sclchan_send_uint8(channel.sender, 1, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_CLOSEPENDING, status);
    EXPECT_STATUS(MCAPI_SUCCESS, close(kind, true, channel.sender));
    EXPECT_STATUS(MCAPI_SUCCESS, connect(other, channel.to, channel.from));  // they are endpoints as before
    mcapi_endpoint_delete(channel.from, &status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_CONNECTED, status);
    EXPECT_STATUS(MCAPI_ERR_CHAN_TYPE, open(kind, true, channel.to, handle));
    EXPECT_STATUS(MCAPI_ERR_CHAN_DIRECTION, open(other, false, channel.to, handle));
  }
}

TEST(Channels, AreOpenedInAnyOrder) {
  Node node(1);
  const mcapi_endpoint_t from = node.create(1), to = node.create(2), third = node.create(3);
  uint64_t handle;
  mcapi_request_t request;
  mcapi_pktchan_recv_open_i(&handle, to, &request, &node.status);
  EXPECT_STATUS(MCAPI_PENDING, node.status);
  EXPECT_STATUS(MCAPI_TIMEOUT, wait(request, 10));
  EXPECT_STATUS(MCAPI_ERR_CHAN_OPENPENDING, open(Kind::Packet, false, to, handle));
  void* packet;
  mcapi_pktchan_recv(to, &packet, nullptr, &node.status);
  EXPECT_STATUS(MCAPI_ERR_CHAN_OPENPENDING, node.status);
  EXPECT_STATUS(MCAPI_ERR_CHAN_TYPE, connect(Kind::Scalar, from, to));
  EXPECT_STATUS(MCAPI_ERR_CHAN_DIRECTION, connect(Kind::Packet, to, from));
  EXPECT_STATUS(MCAPI_ERR_PARAMETER, connect(Kind::Packet, from, from));
  EXPECT_STATUS(MCAPI_ERR_ENDP_INVALID, connect(Kind::Packet, from, 0));
  const mcapi_uint_t small = 10;
  mcapi_endpoint_set_attribute(third, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, &small, sizeof small, &node.status);
  EXPECT_STATUS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect(Kind::Packet, third, to));
  EXPECT_STATUS(MCAPI_SUCCESS, connect(Kind::Packet, from, to));
  EXPECT_STATUS(MCAPI_SUCCESS, open(Kind::Packet, true, from, handle));
  EXPECT_STATUS(MCAPI_SUCCESS, wait(request));
  mcapi_pktchan_send(third, "x", 1, &node.status);
  EXPECT_STATUS(MCAPI_ERR_CHAN_NOTOPEN, node.status);
}

TEST(Channels, BreakWithTheirNodes) {
  Node node(1);
  const mcapi_endpoint_t own = node.create(1);
  std::thread other([] {
    mcapi_status_t status;
    mcapi_initialize(0, 2, nullptr, nullptr, nullptr, &status);
    const mcapi_endpoint_t from = mcapi_endpoint_create(1, &status), to = mcapi_endpoint_get(0, 1, 1, 20000, &status);
    uint64_t handle = 0;
    EXPECT_STATUS(MCAPI_SUCCESS, connect(Kind::Scalar, from, to));
    EXPECT_STATUS(MCAPI_SUCCESS, open(Kind::Scalar, true, from, handle));
    mcapi_sclchan_send_uint32(handle, 5, &status);
  });
  uint64_t handle = 0;
  EXPECT_STATUS(MCAPI_SUCCESS, open(Kind::Scalar, false, own, handle));
  EXPECT_EQ(mcapi_sclchan_recv_uint32(handle, &node.status), 5u);
  other.join();
  mcapi_sclchan_recv_uint32(handle, &node.status);
  EXPECT_STATUS(MCAPI_ERR_TRANSMISSION, node.status);
}

}  // namespace
