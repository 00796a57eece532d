// C++: std::random_device, std::chrono and file streams; objects that are made before main.
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "common.h"

static std::random_device early_device;
static const unsigned early_number = early_device();
static std::mt19937 early_engine{std::random_device{}()};
static const auto early_time = std::chrono::system_clock::now();

static std::string numbers() {
  std::ostringstream text;
  std::random_device one, other("/dev/urandom");
  text << one() << ' ' << one() << ' ' << other() << ' ' << early_engine();
  std::ifstream device("/dev/urandom", std::ios::binary);
  unsigned number = 0;
  device.read(reinterpret_cast<char*>(&number), sizeof number);
  text << ' ' << number << ' ' << device.get();
  return text.str();
}

int main(int argc, char** argv) {
  const std::string early = numbers();
  start(&argc, &argv);
  say("early: %u, %lld, %s", early_number, static_cast<long long>(early_time.time_since_epoch().count()), early.c_str());
  std::uniform_int_distribution<int> distribution(0, 1000);
  for (int i = 0; i < 10; ++i) {
    const auto from = std::chrono::steady_clock::now();
    jitter(100);
    const auto to = std::chrono::steady_clock::now();
    const auto fine = std::chrono::high_resolution_clock::now();
    say("%d: %s, %lld ns, %lld", distribution(early_engine), numbers().c_str(),
        static_cast<long long>(std::chrono::nanoseconds(to - from).count()),
        static_cast<long long>(fine.time_since_epoch().count()));
  }
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(2));
  finish();
}
