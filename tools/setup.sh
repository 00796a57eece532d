#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if any is missing. As root, or as a user with sudo.
set -euo pipefail

packages=(
  g++ gfortran clang cmake ninja-build pkg-config python3 python3-mpi4py
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  libzstd-dev libxxhash-dev libfmt-dev libcli11-dev nlohmann-json3-dev libdw-dev libelf-dev
  libgtest-dev
  hpcc                          # a program of others, for the tests
  libcoarrays-openmpi-dev libcoarrays-mpich-dev  # the same for coarrays, and the library
  gdb gdbserver                 # reprise replay --gdb, --gdb-server
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

stop() {
  echo "These packages are missing: ${missing[*]}" >&2
  echo "$1" >&2
  exit 1
}
command -v apt-get >/dev/null || stop "This is no Debian: install their like, and build with cmake (see README.md)."
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || stop "Without sudo only root can install them: apt-get install ${missing[*]}"
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)  # sudo keeps the environment from what it starts
fi

echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
