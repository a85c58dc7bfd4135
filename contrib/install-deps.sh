#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that this project needs.
#
#   contrib/install-deps.sh build    what is needed to build it and to run the demo (default)
#   contrib/install-deps.sh test     that, and everything the tests need
#
# Does nothing, and fast, when they are all there: every other script calls it first.
set -euo pipefail

build=(gcc meson ninja-build pkgconf libc6-dev linux-libc-dev
       libjson-c-dev libyaml-dev libmount-dev libudev-dev scdoc
       runc busybox-static)
test=(clang clang-format clang-tidy cppcheck valgrind libc6-dbg libclang-rt-14-dev libcmocka-dev libseccomp-dev
      bats jq strace iproute2 python3 debootstrap file binutils git musl-tools patch procps libcap2-bin
      crun podman conmon uidmap buildah zsh fish libelf-dev patchelf
      qemu-system-x86 e2fsprogs)

die() { echo "install-deps.sh: $*" >&2; exit 1; }

case ${1:-build} in
build) wanted=("${build[@]}") ;;
test)  wanted=("${build[@]}" "${test[@]}") ;;
*)     die "usage: install-deps.sh [build|test]" ;;
esac

command -v dpkg-query >/dev/null || die "this is not a Debian system; install by hand what is listed in $0"

# dpkg-query complains about each package that it never heard of: those are missing too.
present=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null |
	sed -n 's/^.i  *//p') || true
missing=()
for package in "${wanted[@]}"; do
	[[ $'\n'$present$'\n' == *$'\n'$package$'\n'* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

((EUID == 0)) || die "run this as root, these packages are missing: ${missing[*]}"

# A machine image often has package lists that are too old to download from, so they are fetched
# when there is something to install, and never otherwise. A third-party source that cannot be
# reached is no reason to stop: what we need comes from Debian itself.
export DEBIAN_FRONTEND=noninteractive
echo "install-deps.sh: installing ${missing[*]}"
apt-get -qq update || echo "install-deps.sh: apt-get update had errors, going on" >&2
apt-get -qq install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
	die "apt-get install did not work"
