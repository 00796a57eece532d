#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if any is missing. As root, or as a user with sudo.
set -euo pipefail

packages=(
  g++ gfortran cmake ninja-build pkg-config python3 python3-mpi4py
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  libzstd-dev libxxhash-dev libfmt-dev libcli11-dev nlohmann-json3-dev libdw-dev libelf-dev
  libgtest-dev
  gfortran python3-mpi4py hpcc  # for tests of programs in other languages
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
