# The few commands that one needs. Everything else is CMake's: see CMakePresets.json.
BUILD ?= build
JOBS  ?= $(shell nproc)

.PHONY: build demo check check-long check-cluster bench sanitize fuzz install clean setup

build: setup
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja
	cmake --build $(BUILD) -j $(JOBS)

setup:
	@tools/setup.sh

# A racy program is recorded until it fails; the failure is then replayed three times.
demo: build
	examples/demo.sh $(BUILD)

# All tests: about 32 minutes on 2 cores, beside the build. Those that need no machine of their own run side by side.
check: build
	$(MAKE) --no-print-directory -j $(JOBS) --output-sync=target check-generators check-models check-explorer check-units
	python3 tests/run/run_tests.py --build $(BUILD) --repeat 5 --jobs 3 --seed check

.PHONY: check-generators check-models check-explorer check-units
check-generators:
	python3 -m unittest discover -s tests/generator
	python3 tests/random/test_generate.py
check-models:
	python3 tests/model/test_model.py
	python3 tests/model/test_against_mpi.py
check-explorer:
	python3 tests/model/test_explorer.py --build $(BUILD) --seeds 1-300,515,4542
	python3 tests/model/test_windows.py --build $(BUILD) --seeds 1-60
check-units:
	ctest --test-dir $(BUILD) --output-on-failure

# The same, repeated more often and for longer, and at other places each time.
check-long: build
	python3 -m unittest discover -s tests/generator
	python3 tests/random/test_generate.py
	python3 tests/model/test_model.py
	python3 tests/model/test_against_mpi.py --seeds 1-200 --runs 10
	python3 tests/model/test_explorer.py --build $(BUILD) --seeds 1-10000
	python3 tests/model/test_windows.py --build $(BUILD) --seeds 1-2000
	ctest --test-dir $(BUILD) --output-on-failure
	$(BUILD)/bin/mcapi_stress threads 1000000
	$(BUILD)/bin/mcapi_stress processes 1000000
	python3 tests/run/run_tests.py --build $(BUILD) --repeat 50 --timed
	python3 tests/run/run_tests.py --build $(BUILD) --suite slurm --suite hosts --repeat 5

# Under Slurm's srun, and on two hosts made of network namespaces. What cannot run here is skipped with the reason.
check-cluster: build
	python3 tests/run/run_tests.py --build $(BUILD) --suite slurm --suite hosts --repeat 5

bench: build
	python3 bench/run_bench.py --build $(BUILD)
	python3 bench/run_solo_bench.py --build $(BUILD)
	python3 bench/run_thread_bench.py --build $(BUILD)
	python3 bench/run_explore_bench.py --build $(BUILD)
	python3 bench/run_verify_bench.py --build $(BUILD)
	python3 bench/run_check_bench.py --build $(BUILD)
	python3 bench/run_check_bench.py --build $(BUILD) --flows
	python3 bench/run_onesided_bench.py --build $(BUILD)
	python3 bench/run_mcapi_bench.py --build $(BUILD)
	$(BUILD)/bin/mcapi_runtime_bench

# Our own code and its unit tests under ASan with UBSan, and under TSan.
sanitize: setup
	cmake -S . -B $(BUILD)-asan -G Ninja -DREPRISE_SANITIZE=address,undefined
	cmake --build $(BUILD)-asan -j $(JOBS)
	ctest --test-dir $(BUILD)-asan --output-on-failure
	cmake -S . -B $(BUILD)-tsan -G Ninja -DREPRISE_SANITIZE=thread
	cmake --build $(BUILD)-tsan -j $(JOBS)
	ctest --test-dir $(BUILD)-tsan --output-on-failure

# The reader against made-up files; needs clang.
fuzz: setup
	cmake -S . -B $(BUILD)-fuzz -G Ninja -DREPRISE_FUZZ=ON -DREPRISE_SANITIZE=address,undefined -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang
	cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzz_rank_reader
	$(BUILD)-fuzz/bin/fuzz_rank_reader -max_total_time=60 -rss_limit_mb=4096

install: build
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
