#include "universe.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <new>

#include "blocks.hpp"
#include "rendezvous.hpp"

namespace mcapi {

std::atomic<Universe*> g_universe{nullptr};

namespace {

std::mutex g_entering;
unsigned g_users = 0;  // nodes of this process
int g_memory = -1;
int g_socket = -1;  // at which others find this process
std::uint32_t g_process = 0;

// Each process in the universe holds a lock on one byte of its memory, which ends with it, however it ends.
struct flock byte_of(std::uint32_t process) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = process;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(std::uint32_t process) {
  struct flock lock = byte_of(process);
  return fcntl(g_memory, F_OFD_SETLK, &lock) == 0;
}

void unlock_byte(std::uint32_t process) {
  struct flock lock = byte_of(process);
  lock.l_type = F_UNLCK;
  fcntl(g_memory, F_OFD_SETLK, &lock);
}

bool is_locked_by_another(std::uint32_t process) {
  struct flock lock = byte_of(process);
  return fcntl(g_memory, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool init_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const bool made = pthread_mutex_init(&lock, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return made;
}

bool map_memory(bool is_new) {
  const std::size_t size = universe_size();
  struct stat status = {};
  if (fstat(g_memory, &status) != 0 || static_cast<std::size_t>(status.st_size) != size) return false;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, g_memory, 0);
  if (memory == MAP_FAILED) return false;
  Universe* const mapped = is_new ? new (memory) Universe : static_cast<Universe*>(memory);  // what is new is zeros
  g_universe.store(mapped, std::memory_order_release);
  if (!is_new) return mapped->magic.load(std::memory_order_acquire) == kMagic && mapped->layout == kLayout;
  mapped->layout = kLayout;
  if (!init_lock(mapped->lock)) return false;
  mapped->magic.store(kMagic, std::memory_order_release);
  return true;
}

bool take_process_slot(const std::string& name) {
  for (std::uint32_t i = 0; i < kMaxProcesses; ++i) {
    std::atomic<std::uint32_t>& is_there = universe().processes[i].is_there;
    if (is_there.load(std::memory_order_relaxed) || !lock_byte(i)) continue;
    g_socket = be_found(name, i);
    if (g_socket < 0) {  // somebody who has left still listens there, or a child that was just forked does
      unlock_byte(i);
      continue;
    }
    is_there.store(1, std::memory_order_release);
    g_process = i;
    return true;
  }
  return false;
}

void leave() {
  if (Universe* const old = g_universe.exchange(nullptr, std::memory_order_acq_rel)) munmap(old, universe_size());
  for (int* const file : {&g_socket, &g_memory}) {  // the place is free when its lock is
    if (*file >= 0) close(*file);
    *file = -1;
  }
}

// A child is nobody until it initializes a node of its own. It must not keep its parent's locks alive.
void forked_child() {
  new (&g_entering) std::mutex;
  g_users = 0;
  leave();
}

bool open_universe() {
  static const bool handled = pthread_atfork(nullptr, nullptr, forked_child) == 0;
  const std::string name = universe_name();
  const RendezvousLock lock(name);
  if (!handled || !lock.is_held()) return false;
  g_memory = find_memory(name, kMaxProcesses);
  const bool is_new = g_memory < 0;
  if (is_new) g_memory = make_memory(name, universe_size());
  if (g_memory >= 0 && map_memory(is_new) && take_process_slot(name)) return true;
  leave();
  return false;
}

}  // namespace

bool enter_universe() {
  const std::lock_guard guard(g_entering);
  if (g_users == 0 && !open_universe()) return false;
  ++g_users;
  return true;
}

void leave_universe() {
  const std::lock_guard guard(g_entering);
  if (--g_users > 0) return;
  universe().processes[g_process].is_there.store(0, std::memory_order_release);
  leave();
}

std::uint32_t own_process() { return g_process; }

UniverseLock::UniverseLock() {
  // Its owner died: what it was doing is undone when its process is buried.
  if (pthread_mutex_lock(&universe().lock) == EOWNERDEAD) pthread_mutex_consistent(&universe().lock);
}

UniverseLock::~UniverseLock() { pthread_mutex_unlock(&universe().lock); }

std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1000000;
}

void look_for_dead() {
  constexpr std::int64_t kOften = 20;
  Universe& all = universe();
  std::int64_t last = all.looked_for_dead.load(std::memory_order_relaxed);
  const std::int64_t time = now();
  if (time - last >= kOften && all.looked_for_dead.compare_exchange_strong(last, time, std::memory_order_relaxed)) look_for_dead_now();
}

void look_for_dead_now() {
  Universe& all = universe();
  for (std::uint32_t i = 0; i < kMaxProcesses; ++i) {
    if (i == g_process || !all.processes[i].is_there.load(std::memory_order_acquire) || is_locked_by_another(i)) continue;
    const UniverseLock lock;
    if (!all.processes[i].is_there.load(std::memory_order_acquire) || is_locked_by_another(i)) continue;
    for (std::uint32_t node = 0; node < all.nodes_used.load(std::memory_order_acquire); ++node)
      if (all.nodes[node].is_there.load(std::memory_order_acquire) && all.nodes[node].process == i) bury(node);
    give_blocks_of(i);
    all.processes[i].is_there.store(0, std::memory_order_release);
  }
}

}  // namespace mcapi
