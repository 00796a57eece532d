// Sockets: how many bytes have gone each way since a connection was made is counted always, so that both ends number
// them alike; what the bytes are is told while somebody listens.
#include <sys/socket.h>
#include <unistd.h>

#include "base/machine_ticks.hpp"
#include "frontends/movements/next.hpp"
#include "frontends/movements/streams.hpp"

namespace reprise::movements {
namespace {

constexpr int kMost = 65536;  // descriptors above are not followed

struct Descriptor {
  std::atomic<std::uint64_t> out{0};
  std::atomic<std::uint64_t> in{0};
  std::atomic<std::uint32_t> generation{0};
};
constinit Descriptor g_descriptors[kMost];

bool is_followed(int fd) { return fd >= 0 && fd < kMost; }

}  // namespace

void forget_stream(int fd) {
  if (!is_followed(fd)) return;
  Descriptor& one = g_descriptors[fd];
  one.out.store(0, std::memory_order_relaxed);
  one.in.store(0, std::memory_order_relaxed);
  one.generation.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t beginning() { return listener() ? machine_ticks() : 0; }

void wrote(int fd, Pieces pieces, ssize_t bytes, std::uint64_t began, const void* caller) {
  if (bytes <= 0 || !is_followed(fd)) return;
  Descriptor& one = g_descriptors[fd];
  const std::uint64_t offset = one.out.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  const KeptErrno kept;
  if (const Hooks* const hooks = listener())
    hooks->sent({fd, one.generation.load(std::memory_order_relaxed), offset, began}, pieces, static_cast<std::size_t>(bytes), caller);
}

void did_read(int fd, Pieces pieces, ssize_t bytes, const void* caller) {
  if (bytes <= 0 || !is_followed(fd)) return;
  Descriptor& one = g_descriptors[fd];
  const std::uint64_t offset = one.in.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  const KeptErrno kept;
  if (const Hooks* const hooks = listener())
    hooks->heard({fd, one.generation.load(std::memory_order_relaxed), offset, 0}, pieces, static_cast<std::size_t>(bytes), caller);
}

}  // namespace reprise::movements

namespace {

using namespace reprise::movements;

constinit Next<ssize_t(int, const void*, std::size_t)> g_write("write");
constinit Next<ssize_t(int, void*, std::size_t)> g_read("read");
constinit Next<ssize_t(int, const iovec*, int)> g_writev("writev");
constinit Next<ssize_t(int, const iovec*, int)> g_readv("readv");
constinit Next<ssize_t(int, const void*, std::size_t, int)> g_send("send");
constinit Next<ssize_t(int, void*, std::size_t, int)> g_recv("recv");
constinit Next<ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t)> g_sendto("sendto");
constinit Next<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)> g_recvfrom("recvfrom");
constinit Next<ssize_t(int, const msghdr*, int)> g_sendmsg("sendmsg");
constinit Next<ssize_t(int, msghdr*, int)> g_recvmsg("recvmsg");
constinit Next<int(int)> g_close("close");
constinit Next<int(int, int, int)> g_socket("socket");
constinit Next<int(int, sockaddr*, socklen_t*)> g_accept("accept");
constinit Next<int(int, sockaddr*, socklen_t*, int)> g_accept4("accept4");
constinit Next<int(int, int)> g_dup2("dup2");

int made(int fd) {
  forget_stream(fd);
  return fd;
}

}  // namespace

REPRISE_EXPORTED ssize_t write(int fd, const void* from, std::size_t bytes) {
  const std::uint64_t began = beginning();
  const ssize_t done = g_write(fd, from, bytes);
  const iovec piece{const_cast<void*>(from), bytes};
  wrote(fd, {&piece, 1}, done, began, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t read(int fd, void* to, std::size_t bytes) {
  const ssize_t done = g_read(fd, to, bytes);
  const iovec piece{to, bytes};
  did_read(fd, {&piece, 1}, done, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t writev(int fd, const iovec* pieces, int count) {
  const std::uint64_t began = beginning();
  const ssize_t done = g_writev(fd, pieces, count);
  wrote(fd, {pieces, static_cast<std::size_t>(count)}, done, began, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t readv(int fd, const iovec* pieces, int count) {
  const ssize_t done = g_readv(fd, pieces, count);
  did_read(fd, {pieces, static_cast<std::size_t>(count)}, done, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t send(int fd, const void* from, std::size_t bytes, int flags) {
  const std::uint64_t began = beginning();
  const ssize_t done = g_send(fd, from, bytes, flags);
  const iovec piece{const_cast<void*>(from), bytes};
  wrote(fd, {&piece, 1}, done, began, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t recv(int fd, void* to, std::size_t bytes, int flags) {
  const ssize_t done = g_recv(fd, to, bytes, flags);
  const iovec piece{to, bytes};
  if (!(flags & MSG_PEEK)) did_read(fd, {&piece, 1}, done, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t sendto(int fd, const void* from, std::size_t bytes, int flags, const sockaddr* to, socklen_t size) {
  const std::uint64_t began = beginning();
  const ssize_t done = g_sendto(fd, from, bytes, flags, to, size);
  const iovec piece{const_cast<void*>(from), bytes};
  wrote(fd, {&piece, 1}, done, began, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t recvfrom(int fd, void* to, std::size_t bytes, int flags, sockaddr* from, socklen_t* size) {
  const ssize_t done = g_recvfrom(fd, to, bytes, flags, from, size);
  const iovec piece{to, bytes};
  if (!(flags & MSG_PEEK)) did_read(fd, {&piece, 1}, done, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const std::uint64_t began = beginning();
  const ssize_t done = g_sendmsg(fd, message, flags);
  if (done > 0) wrote(fd, {message->msg_iov, message->msg_iovlen}, done, began, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t done = g_recvmsg(fd, message, flags);
  if (done > 0 && !(flags & MSG_PEEK)) did_read(fd, {message->msg_iov, message->msg_iovlen}, done, REPRISE_CALLER);
  return done;
}

// A new descriptor has a new stream; the same number may have been another one's.

REPRISE_EXPORTED int close(int fd) {
  forget_stream(fd);
  return g_close(fd);
}

REPRISE_EXPORTED int socket(int domain, int type, int protocol) { return made(g_socket(domain, type, protocol)); }

REPRISE_EXPORTED int accept(int fd, sockaddr* peer, socklen_t* size) { return made(g_accept(fd, peer, size)); }

REPRISE_EXPORTED int accept4(int fd, sockaddr* peer, socklen_t* size, int flags) { return made(g_accept4(fd, peer, size, flags)); }

REPRISE_EXPORTED int dup2(int from, int to) {
  const int made_one = g_dup2(from, to);
  return from == to ? made_one : made(made_one);
}
