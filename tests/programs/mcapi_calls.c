/* Four nodes that make the calls which the examples do not: time-outs, polls of what is available, priorities, cancelled receives,
 * several endpoints in one wait, packet and scalar channels. Node 1 says what came when, which differs from run to run. */
#include "nodes.h"

#include <sys/syscall.h>
#include <time.h>

enum { kMessages = 12, kPackets = 10 };

static void jitter(unsigned most) {
  unsigned short bits = 0;
  if (syscall(SYS_getrandom, &bits, sizeof bits, 0) != (long)sizeof bits) exit(1);
  const struct timespec pause = {0, (long)(bits % most) * 1000};
  nanosleep(&pause, NULL);
}

static mcapi_endpoint_t endpoint(mcapi_port_t port) {
  mcapi_status_t status;
  const mcapi_endpoint_t made = mcapi_endpoint_create(port, &status);
  must(status, "mcapi_endpoint_create");
  return made;
}

static void finish(mcapi_request_t* request) {
  mcapi_status_t status;
  size_t size;
  mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
  must(status, "mcapi_wait");
}

/* Receives with a time-out of a millisecond. */
static void with_timeouts(node_t* node) {
  const mcapi_uint_t timeout = 1, forever = MCAPI_TIMEOUT_INFINITE;
  mcapi_status_t status;
  mcapi_endpoint_set_attribute(node->own, MCAPI_ENDP_ATTR_TIMEOUT, &timeout, sizeof timeout, &status);
  must(status, "mcapi_endpoint_set_attribute");
  for (int got = 0, timeouts = 0; got < kMessages;) {
    int number = 0;
    size_t size;
    mcapi_msg_recv(node->own, &number, sizeof number, &size, &status);
    if (status == MCAPI_TIMEOUT) {
      ++timeouts;
      continue;
    }
    must(status, "mcapi_msg_recv");
    ++got;
    say(node, "%d after %d time-outs\n", number, timeouts);
  }
  mcapi_endpoint_set_attribute(node->own, MCAPI_ENDP_ATTR_TIMEOUT, &forever, sizeof forever, &status);
}

static void with_available(node_t* node) {
  int got = 0, polls = 0;
  while (got < kMessages) {
    mcapi_status_t status;
    const mcapi_uint_t there = mcapi_msg_available(node->own, &status);
    must(status, "mcapi_msg_available");
    ++polls;
    if (there == 0) continue;
    say(node, "%u available after %d polls:", there, polls);
    for (mcapi_uint_t i = 0; i < there; ++i, ++got) say(node, " %d", receive_number(node));
    say(node, "\n");
  }
}

/* A receive is cancelled if nothing has come within two milliseconds, and then posted again. */
static void with_cancelled(node_t* node) {
  for (int got = 0; got < kMessages;) {
    int number = 0;
    mcapi_request_t request;
    mcapi_status_t status;
    size_t size;
    mcapi_msg_recv_i(node->own, &number, sizeof number, &request, &status);
    must(status, "mcapi_msg_recv_i");
    mcapi_wait(&request, &size, 2, &status);
    if (status == MCAPI_TIMEOUT) {
      mcapi_cancel(&request, &status);
      const int cancelled = status == MCAPI_SUCCESS;
      mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
      if (cancelled) {
        say(node, "cancelled\n");
        continue;
      }
    }
    must(status, "mcapi_wait");
    ++got;
    say(node, "%d\n", number);
  }
}

static void from_several(node_t* node, mcapi_endpoint_t second) {
  int numbers[2] = {0, 0};
  mcapi_request_t requests[2];
  mcapi_request_t* both[2] = {&requests[0], &requests[1]};
  const mcapi_endpoint_t at[2] = {node->own, second};
  mcapi_status_t status;
  int left[2] = {kMessages, kMessages};
  for (int i = 0; i < 2; ++i) mcapi_msg_recv_i(at[i], &numbers[i], sizeof numbers[i], &requests[i], &status);
  while (left[0] > 0 && left[1] > 0) {
    size_t size;
    const mcapi_uint_t which = mcapi_wait_any(2, both, &size, 1, &status);
    if (status == MCAPI_TIMEOUT) {
      say(node, "nothing\n");
      continue;
    }
    must(status, "mcapi_wait_any");
    say(node, "at %u: %d\n", which, numbers[which]);
    if (--left[which] > 0) mcapi_msg_recv_i(at[which], &numbers[which], sizeof numbers[which], &requests[which], &status);
  }
  const int last = left[0] > 0 ? 0 : 1;
  while (left[last] > 0) {
    finish(&requests[last]);
    say(node, "at %d: %d\n", last, numbers[last]);
    if (--left[last] > 0) mcapi_msg_recv_i(at[last], &numbers[last], sizeof numbers[last], &requests[last], &status);
  }
}

static void from_channels(node_t* node, mcapi_endpoint_t packets_at, mcapi_endpoint_t scalars_at) {
  mcapi_pktchan_recv_hndl_t packets;
  mcapi_sclchan_recv_hndl_t scalars;
  mcapi_request_t first, second;
  mcapi_status_t status;
  mcapi_pktchan_recv_open_i(&packets, packets_at, &first, &status);
  must(status, "mcapi_pktchan_recv_open_i");
  mcapi_sclchan_recv_open_i(&scalars, scalars_at, &second, &status);
  must(status, "mcapi_sclchan_recv_open_i");
  finish(&first);
  finish(&second);
  for (int i = 0, polls = 0; i < kPackets; ++i) {
    void* packet = NULL;
    size_t size = 0;
    if (i % 2 == 0) {
      mcapi_request_t request;
      mcapi_pktchan_recv_i(packets, &packet, &request, &status);
      must(status, "mcapi_pktchan_recv_i");
      while (!mcapi_test(&request, &size, &status)) ++polls;
    } else {
      while (mcapi_pktchan_available(packets, &status) == 0) ++polls;
      mcapi_pktchan_recv(packets, &packet, &size, &status);
    }
    must(status, "a packet");
    say(node, "packet %.*s after %d polls, scalar ", (int)size, (char*)packet, polls);
    mcapi_pktchan_release(packet, &status);
    while (mcapi_sclchan_available(scalars, &status) == 0) ++polls;
    say(node, "%u after %d\n", mcapi_sclchan_recv_uint32(scalars, &status), polls);
  }
  mcapi_pktchan_recv_close_i(packets, &first, &status);
  mcapi_sclchan_recv_close_i(scalars, &second, &status);
  finish(&first);
  finish(&second);
}

static void receiver(node_t* node) {
  const mcapi_endpoint_t second = endpoint(2), packets = endpoint(5), scalars = endpoint(6);
  with_timeouts(node);
  for (int i = 2; i <= 4; ++i) send_number(node, i, 0);
  with_available(node);
  for (int i = 2; i <= 4; ++i) send_number(node, i, 0);
  with_cancelled(node);
  for (int i = 2; i <= 4; ++i) send_number(node, i, 0);
  from_several(node, second);
  from_channels(node, packets, scalars);
}

/* Each sends a third of what is expected, some of it with a higher priority. */
static void send_some(node_t* node, mcapi_endpoint_t to, int count) {
  for (int i = 0; i < count; ++i) {
    const int number = node->number * 100 + i;
    mcapi_request_t request;
    mcapi_status_t status;
    jitter(1500);
    if (i % 2 == 0) {
      mcapi_msg_send(node->own, to, &number, sizeof number, (mcapi_priority_t)(i % 3), &status);
      must(status, "mcapi_msg_send");
    } else {
      mcapi_msg_send_i(node->own, to, &number, sizeof number, (mcapi_priority_t)(i % 3), &request, &status);
      must(status, "mcapi_msg_send_i");
      finish(&request);
    }
  }
}

static void sender(node_t* node) {
  mcapi_endpoint_t to[2];
  mcapi_request_t request;
  mcapi_status_t status;
  for (int i = 0; i < 2; ++i) {
    mcapi_endpoint_get_i(0, 1, (mcapi_port_t)i + 1, &to[i], &request, &status);
    must(status, "mcapi_endpoint_get_i");
    finish(&request);
  }
  for (int part = 0; part < 3; ++part) {
    send_some(node, to[0], kMessages / 3);
    receive_number(node);
  }
  for (int i = 0; i < kMessages / 3; ++i) {
    send_some(node, to[0], 1);
    send_some(node, to[1], 1);
  }
  if (node->number == 2) {
    mcapi_pktchan_send_hndl_t handle;
    const mcapi_endpoint_t from = endpoint(5), there = mcapi_endpoint_get(0, 1, 5, MCAPI_TIMEOUT_INFINITE, &status);
    mcapi_pktchan_connect_i(from, there, &request, &status);
    finish(&request);
    mcapi_pktchan_send_open_i(&handle, from, &request, &status);
    finish(&request);
    for (int i = 0; i < kPackets; ++i) {
      char text[16];
      jitter(800);
      mcapi_pktchan_send(handle, text, (size_t)snprintf(text, sizeof text, "number %d", i), &status);
      must(status, "mcapi_pktchan_send");
    }
    mcapi_pktchan_send_close_i(handle, &request, &status);
    finish(&request);
  } else if (node->number == 3) {
    mcapi_sclchan_send_hndl_t handle;
    const mcapi_endpoint_t from = endpoint(6), there = mcapi_endpoint_get(0, 1, 6, MCAPI_TIMEOUT_INFINITE, &status);
    mcapi_sclchan_connect_i(from, there, &request, &status);
    finish(&request);
    mcapi_sclchan_send_open_i(&handle, from, &request, &status);
    finish(&request);
    for (unsigned i = 0; i < kPackets; ++i) {
      jitter(800);
      mcapi_sclchan_send_uint32(handle, i * i, &status);
      must(status, "mcapi_sclchan_send_uint32");
    }
    mcapi_sclchan_send_close_i(handle, &request, &status);
    finish(&request);
  }
}

static void work(node_t* node) { node->number == 1 ? receiver(node) : sender(node); }

int main(int argc, char** argv) {
  own_words(argc, &argv);
  return run_nodes(4, work);
}
