#include "universe.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <new>

#include "blocks.hpp"

namespace mcapi {

std::atomic<Universe*> g_universe{nullptr};

namespace {

// Locks on bytes of the file. They end with the process, however it ends.
constexpr off_t kMaking = 0;      // held while the universe is made or removed
constexpr off_t kAlive = 1;       // shared by all processes in it
constexpr off_t kProcesses = 16;  // one each

std::mutex g_entering;
unsigned g_users = 0;  // nodes of this process
int g_file = -1;
std::string g_name;
std::uint32_t g_process = 0;

std::string universe_name() {
  const char* const given = getenv("MCAPI_UNIVERSE");
  std::string name = "/mcapi-" + std::to_string(getuid()) + "-";
  for (const char* c = given && *given ? given : "default"; *c && name.size() < 200; ++c) name += *c == '/' ? '_' : *c;
  return name;
}

bool lock_byte(off_t byte, short type, int command) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result;
  do result = fcntl(g_file, command, &lock);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_locked_by_another(off_t byte) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return fcntl(g_file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
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

// The file, with kMaking held. One that was removed while it was waited for is left.
bool open_file() {
  for (;;) {
    g_file = shm_open(g_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (g_file < 0) return false;
    struct stat status = {};
    if (lock_byte(kMaking, F_WRLCK, F_OFD_SETLKW) && fstat(g_file, &status) == 0 && status.st_uid == getuid() && status.st_nlink > 0)
      return true;
    close(g_file);
    if (status.st_nlink > 0) return false;
  }
}

// Nobody else is in it: what is there is what a universe left that was killed as a whole.
bool make_universe(std::size_t size) {
  if (ftruncate(g_file, 0) != 0 || ftruncate(g_file, static_cast<off_t>(size)) != 0) return false;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, g_file, 0);
  if (memory == MAP_FAILED) return false;
  Universe* const made = new (memory) Universe;  // the rest is zeros, as files begin
  made->layout = kLayout;
  if (!init_lock(made->lock)) return false;
  made->magic.store(kMagic, std::memory_order_release);
  g_universe.store(made, std::memory_order_release);
  return true;
}

bool join_universe(std::size_t size) {
  struct stat status = {};
  if (fstat(g_file, &status) != 0 || static_cast<std::size_t>(status.st_size) != size) return false;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, g_file, 0);
  if (memory == MAP_FAILED) return false;
  Universe* const found = static_cast<Universe*>(memory);
  if (found->magic.load(std::memory_order_acquire) != kMagic || found->layout != kLayout) {
    munmap(memory, size);
    return false;
  }
  g_universe.store(found, std::memory_order_release);
  return true;
}

bool take_process_slot() {
  for (std::uint32_t i = 0; i < kMaxProcesses; ++i) {
    std::atomic<std::uint32_t>& is_there = universe().processes[i].is_there;
    if (is_there.load(std::memory_order_relaxed) || !lock_byte(kProcesses + i, F_WRLCK, F_OFD_SETLK)) continue;
    is_there.store(1, std::memory_order_release);
    g_process = i;
    return true;
  }
  return false;
}

void unmap() {
  if (Universe* const old = g_universe.exchange(nullptr, std::memory_order_acq_rel)) munmap(old, universe_size());
  close(g_file);  // and with it all locks
  g_file = -1;
}

// A child is nobody until it initializes a node of its own. It must not keep its parent's locks alive.
void forked_child() {
  new (&g_entering) std::mutex;
  g_users = 0;
  if (g_file >= 0) unmap();
}

bool open_universe() {
  static const bool handled = pthread_atfork(nullptr, nullptr, forked_child) == 0;
  g_name = universe_name();
  if (!handled || !open_file()) return false;
  const std::size_t size = universe_size();
  const bool alone = lock_byte(kAlive, F_WRLCK, F_OFD_SETLK);
  const bool there = alone ? make_universe(size) : join_universe(size);
  if (there && lock_byte(kAlive, F_RDLCK, F_OFD_SETLK) && take_process_slot()) {
    lock_byte(kMaking, F_UNLCK, F_OFD_SETLK);
    return true;
  }
  if (alone) shm_unlink(g_name.c_str());
  unmap();
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
  lock_byte(kMaking, F_WRLCK, F_OFD_SETLKW);
  universe().processes[g_process].is_there.store(0, std::memory_order_release);
  if (lock_byte(kAlive, F_WRLCK, F_OFD_SETLK)) shm_unlink(g_name.c_str());  // nobody else is there
  unmap();
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
    if (i == g_process || !all.processes[i].is_there.load(std::memory_order_acquire) || is_locked_by_another(kProcesses + i)) continue;
    const UniverseLock lock;
    if (!all.processes[i].is_there.load(std::memory_order_acquire) || is_locked_by_another(kProcesses + i)) continue;
    for (std::uint32_t node = 0; node < all.nodes_used.load(std::memory_order_acquire); ++node)
      if (all.nodes[node].is_there.load(std::memory_order_acquire) && all.nodes[node].process == i) bury(node);
    give_blocks_of(i);
    all.processes[i].is_there.store(0, std::memory_order_release);
  }
}

}  // namespace mcapi
