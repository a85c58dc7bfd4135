#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows on a plain Debian 12 what oci-cdi-hook does: builds it, plays a vendor who ships a library
# and a CDI spec for a device, and an administrator who allows it, and starts a container under
# runc that asks for the device. Run it as root. It leaves nothing behind but the packages that it
# installed and the build directory.
set -euo pipefail
umask 022

top=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
hook=$top/build/hook/oci-cdi-hook

die() { echo "demo: $*" >&2; exit 1; }
say() { echo "demo: $*"; }
indent() { sed 's/^/          /'; }

# quietly COMMAND...: its output only matters when it fails
quietly() {
	local output
	output=$("$@" 2>&1 </dev/null) || { echo "$output" >&2; die "failed: $*"; }
}

((EUID == 0)) || die "run this as root: it starts a container with a device"

# -- The program

say "1. builds oci-cdi-hook, in $top/build"
"$top/contrib/install-deps.sh" build
[[ -f $top/build/build.ninja ]] || quietly meson setup "$top/build" "$top"
quietly ninja -C "$top/build" hook/oci-cdi-hook

# -- A place for it all. A tmpfs of its own, since /run is often mounted noexec and nodev, and /tmp
# can be written by everybody: spec files from there would not be trusted.

base=/run
[[ $(stat -c %a /run) == *[2367]? || $(stat -c %a /run) == *[2367] ]] && base=/var/lib # others may write to /run
dir=$(mktemp -d "$base/oci-cdi-hook-demo.XXXXXX")
container=oci-cdi-hook-demo-$$
cleanup() {
	runc --root "$dir/runc" delete -f "$container" 2>/dev/null || true
	umount -l "$dir" 2>/dev/null || true
	rmdir "$dir"
}
trap cleanup EXIT
mount -t tmpfs -o mode=0755 oci-cdi-hook-demo "$dir"
mkdir -p "$dir"/{cdi,vendor,bundle/rootfs/{bin,dev,etc,proc,sys}}
rootfs=$dir/bundle/rootfs

# Two real devices of this machine that no runtime gives to a container unasked.
devices=()
for name in fuse loop-control vsock autofs kvm net/tun vhost-vsock uinput hwrng; do
	if [[ -c /dev/$name ]] && (exec 3<>"/dev/$name") 2>/dev/null; then
		devices+=("/dev/$name")
	fi
done
((${#devices[@]} >= 2)) || die "this machine has no two devices to show it with"
device=${devices[0]} other=${devices[1]}

# -- The vendor

say "2. plays the vendor: a library, and a CDI spec that gives it together with $device"
gcc -shared -fPIC -Wl,-soname,libgadget.so.1 -o "$dir/vendor/libgadget.so.1.2.3" -x c - <<'C'
const char *gadget_hello(void)
{
	return "hello from the vendor's library";
}
C
cat >"$dir/cdi/gadget.yaml" <<YAML
cdiVersion: "0.6.0"
kind: vendor.example/gadget
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/gadget0
      hostPath: $device
    mounts:
    - hostPath: $dir/vendor/libgadget.so.1.2.3
      containerPath: /opt/gadget/lib/libgadget.so.1.2.3
      options: [ro, nosuid, nodev, bind]
YAML
indent <"$dir/cdi/gadget.yaml"

# -- The image: busybox, and a program that wants the library by its soname, as all programs do. It
# knows neither of the device nor of the directory where the library will be; the hook makes the
# library known to the loader, in /etc/ld.so.cache.

gcc -o "$rootfs/bin/use-gadget" -x c - <<'C'
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *lib = dlopen("libgadget.so.1", RTLD_NOW);
	const char *(*hello)(void);

	if (lib == NULL) {
		puts(dlerror());
		return 1;
	}
	hello = (const char *(*)(void))dlsym(lib, "gadget_hello");
	puts(hello != NULL ? hello() : dlerror());
	return hello == NULL;
}
C
cp /bin/busybox "$rootfs/bin/"
for applet in sh ls; do
	ln -s busybox "$rootfs/bin/$applet"
done
# The C library and its loader, at the paths where the program looks for them.
ldd "$rootfs/bin/use-gadget" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$rootfs$(dirname "$library")"
	cp -L "$library" "$rootfs$library"
done
# A node of another device in the image: anybody who builds images can put one there.
read -r major minor < <(stat -c '%Hr %Lr' "$other")
mknod -m 0666 "$rootfs/smuggled" c "$major" "$minor"

# -- The administrator

say "3. plays the administrator: containers may ask for this vendor's gadgets"
echo 'vendor.example/gadget=*' | tee "$dir/allow" | indent

# -- The container

say "4. starts a container that asks for one, by an annotation:"
echo '"cdi.k8s.io/demo": "vendor.example/gadget=0"' | indent
cat >"$dir/bundle/config.json" <<JSON
{
  "ociVersion": "1.0.2",
  "process": {
    "user": {"uid": 0, "gid": 0},
    "args": ["sh", "/look"],
    "env": ["PATH=/bin"],
    "cwd": "/",
    "noNewPrivileges": true
  },
  "root": {"path": "rootfs", "readonly": true},
  "mounts": [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}
  ],
  "linux": {
    "namespaces": [
      {"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}
    ],
    "resources": {"devices": [{"allow": false, "access": "rwm"}]}
  },
  "annotations": {"cdi.k8s.io/demo": "vendor.example/gadget=0"},
  "hooks": {
    "createRuntime": [{
      "path": "$hook",
      "args": ["oci-cdi-hook", "--spec-dir=$dir/cdi", "--allow-file=$dir/allow", "createRuntime"],
      "timeout": 30
    }]
  }
}
JSON
cat >"$rootfs/look" <<'SH'
look() {
	[ -c "$1" ] || echo "$1 is not there"
	[ -c "$1" ] && (exec 3<>"$1") 2>&1 && echo "$1 opens"
}
look /dev/gadget0
look /smuggled
use-gadget
SH

result=$(timeout 60 runc --root "$dir/runc" run --bundle "$dir/bundle" "$container" 2>&1 </dev/null) ||
	{ echo "$result" | indent; die "the container did not run as it should"; }

say "5. what the container sees, inside ($device is there, $other is not):"
echo "$result" | indent
grep -qx '/dev/gadget0 opens' <<<"$result" || die "the device does not open"
grep -q '/smuggled: Operation not permitted' <<<"$result" ||
	die "a device that nobody asked for should be refused"
grep -qx "hello from the vendor's library" <<<"$result" || die "the library is not found"
say "$device opens, the library is found by its name, $other is refused: all as it should be"
