#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/fresh-debian.sh [--tests]
#
# Proves that a checkout and a minimal Debian 12 are enough: makes such a system, copies in what git
# knows of this checkout, and runs contrib/demo.sh in it twice, the second time with an eye on the
# clock. With --tests it runs tests/run.sh in there as well.
#
# The system is mounted like a booted one (proc, sysfs, cgroups, the host's /dev, and /run as Debian
# has it: nosuid, nodev, noexec). Its packages come from wherever this machine's apt takes its own.
# The bare system and downloaded packages are kept below /var/cache/oci-cdi-hook-tests.
set -euo pipefail

top=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cache=/var/cache/oci-cdi-hook-tests
suite=bookworm
seconds_allowed=5

die() { echo "fresh-debian: $*" >&2; exit 1; }

if [[ ${1:-} != --inside ]]; then
	[[ $# -eq 0 || ${1:-} == --tests ]] || die "usage: fresh-debian.sh [--tests]"
	((EUID == 0)) || die "needs root"
	"$top/contrib/install-deps.sh" test
	# A namespace of its own: whatever happens, its mounts are gone when it ends.
	exec unshare --mount --propagation private -- "$0" --inside "$@"
fi
shift

# -- Where this machine's apt gets Debian from

# sources DIRECTORY: a sources.list for the release that we want, and apt's settings for the way to it
sources() {
	local etc=$1 uri release component file
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Identifier: Packages' "Origin: Debian" |
		grep -E " $suite(-updates|-security)? main\$" | sort -u |
		while read -r uri release component; do
			echo "deb $uri $release $component"
		done >"$etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until|ForceIPv[46])\b' \
		>"$etc/apt/apt.conf.d/90from-host" || true
	# Certificates that these settings name, and the usual place, for mirrors behind https.
	for file in /etc/ssl/certs/ca-certificates.crt \
		$(sed -n 's/.*::CaInfo "\(.*\)";/\1/p' "$etc/apt/apt.conf.d/90from-host"); do
		[[ -f $file ]] || continue
		mkdir -p "$etc/..$(dirname "$file")"
		cp -L "$file" "$etc/..$file"
	done
}

# -- The bare system, made once

base=$("$top/tests/debian-root.sh")
mkdir -p "$cache/archives/partial"

# -- A copy of it that may be changed, mounted like a booted system

root=$(mktemp -d /run/oci-cdi-hook-fresh.XXXXXX)
trap 'umount -l "$root" 2>/dev/null; rmdir "$root"' EXIT
mount -t tmpfs -o mode=0755 oci-cdi-hook-fresh "$root"
mkdir "$root"/{upper,work,root}
mount -t overlay -o "lowerdir=$base,upperdir=$root/upper,workdir=$root/work" overlay "$root/root" 2>/dev/null ||
	{ cp -a "$base/." "$root/root/" && mount --bind "$root/root" "$root/root"; }
fresh=$root/root

cp -L /etc/resolv.conf "$fresh/etc/resolv.conf"
cp -L /etc/hosts "$fresh/etc/hosts"
sources "$fresh/etc"
mkdir -p "$fresh/src"
git -c safe.directory='*' -C "$top" ls-files -z --cached --others --exclude-standard |
	(cd "$top" && tar -c --null --ignore-failed-read --files-from=-) | tar -x -C "$fresh/src" --no-same-owner

mount -t proc proc "$fresh/proc"
mount --rbind /sys "$fresh/sys"
mount --rbind /dev "$fresh/dev"
mount -t tmpfs -o nosuid,nodev,noexec,mode=0755 tmpfs "$fresh/run"
mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$fresh/tmp"
mount --bind "$cache/archives" "$fresh/var/cache/apt/archives"

# inside COMMAND...: in that system, with it as the root of the mount namespace (a chroot would not
# do: who enters a mount namespace by setns finds itself at the root of the namespace)
inside() {
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --propagation private -- bash -c '
		cd "$1" && shift
		mkdir -p mnt/old && pivot_root . mnt/old && umount -l /mnt/old && rmdir /mnt/old
		mount --make-rshared /
		cd /src && exec "$@"' - "$fresh" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

inside contrib/demo.sh

started=$(date +%s%N)
inside contrib/demo.sh >"$root/second" 2>&1 || { cat "$root/second"; die "the demo works only once"; }
took=$((($(date +%s%N) - started) / 1000000))
((took < seconds_allowed * 1000)) || die "the second demo took $took ms instead of $seconds_allowed s at most"
echo "fresh-debian: the demo works, the second time in $took ms"

if [[ ${1:-} == --tests ]]; then
	# The tests ask git what belongs to the source.
	inside bash -c 'contrib/install-deps.sh test && git init -q . && tests/run.sh'
fi
