#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# One test for each way in which container software was broken and that no other file of tests has:
# tests/SECURITY-TESTS.md is the list. The hook is called by hand here, beside a process in namespaces
# of its own, where that is enough.

load helpers
load ldcache-helpers

# What a program of the vendor's sees of its surroundings goes to $base/seen.
probe_spec() {
	mkdir -p "$base/vendor"
	gcc -Wall -o "$base/vendor/probe" "$BATS_TEST_DIRNAME/hook-probe.c"
	cat >"$base/vendor/status" <<-SH
		#!/bin/sh
		grep -E '^Cap(Inh|Amb)' /proc/self/status >$base/seen.status
		exec "\$@"
	SH
	chmod +x "$base/vendor/status"
	spec hooked.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: hooked
		  containerEdits:
		    hooks:
		    - hookName: createRuntime
		      path: $base/vendor/status
		      args: [status, $base/vendor/probe]
		      env: [OUT=$base/seen]
	YAML
	request vendor.example/thing=hooked
}

# An ldconfig that takes its time, some 20 seconds at most. It sees no clock and no file of the host's, so
# it counts; the test looks at it from outside, where it is $ldconfig.
waiting_ldconfig() {
	mkdir -p "$base/sbin"
	gcc -static -O1 -o "$base/sbin/waiting" -x c - <<-'C'
		#include <unistd.h>

		int main(void)
		{
			for (volatile unsigned long i = 0; i < 40000000000; i++)
				;
			return 1;
		}
	C
	options+=(--ldconfig="$base/sbin/waiting" --timeout=10)
}

# start_waiting COMMAND...: runs the hook with it, in the background, until ldconfig is there.
start_waiting() {
	local i exe
	setup_image
	with_hook
	rm -f "$rootfs/etc/ld.so.cache"
	waiting_ldconfig
	process_with_namespace
	state >"$base/state"
	"$@" "$hook" "${options[@]}" --no-cgroup "$stage" <"$base/state" >"$base/out" 2>&1 3>&- &
	caller=$!
	for ((i = 0; i < 400; i++)); do
		for exe in /proc/[0-9]*/exe; do
			# A clone of the file: another mount, the same inode.
			[[ ! $exe -ef $base/sbin/waiting ]] || { ldconfig=${exe%/exe} && return 0; }
		done
		sleep 0.02
	done
	fail "no ldconfig: $(cat "$base/out")"
}

end_waiting() {
	kill "$caller"
	wait "$caller" || true
}

setup_image() {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
}

# with_leftovers COMMAND...: as from a careless runtime: 97 descriptors (files, directories, sockets, pipes),
# inheritable and ambient capabilities, a working directory of somebody's
with_leftovers() {
	python3 - "$@" 3>&- <<-'PY'
		import ctypes, os, socket, struct, sys

		kinds = [lambda: os.open("/etc/passwd", os.O_RDONLY), lambda: os.open("/", os.O_RDONLY),
		         lambda: socket.socket().detach(), lambda: os.pipe()[0]]
		for fd in range(3, 100):
		    made = kinds[fd % 4]()
		    os.dup2(made, fd, inheritable=True) if made != fd else os.set_inheritable(fd, True)
		libc = ctypes.CDLL(None, use_errno=True)
		header, data = struct.pack("=Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
		assert libc.capget(header, data) == 0
		sets = list(struct.unpack("=6I", data.raw))
		sets[2], sets[5] = sets[1], sets[4]
		assert libc.capset(header, struct.pack("=6I", *sets)) == 0
		# PR_CAP_AMBIENT_RAISE of CAP_CHOWN
		assert libc.prctl(47, 2, ctypes.c_ulong(0), 0, 0) == 0
		os.chdir("/usr/lib")
		# The state, which the caller left in a file: standard input is this script.
		os.dup2(os.open(os.environ["STATE"], os.O_RDONLY), 0)
		os.execv(sys.argv[1], sys.argv[1:])
	PY
}

@test "descriptors 3 to 99 and capabilities are left open: a vendor's hook sees 0, 1 and 2, and has none to pass on" {
	probe_spec
	process_with_namespace
	state >"$base/state"
	STATE=$base/state with_leftovers "$hook" "${options[@]}" --no-cgroup "$stage"
	grep -x "fds 0 1 2" "$base/seen"
	grep -x "session own" "$base/seen"
	[[ $(<"$base/seen.status") == "$(printf 'CapInh:\t%016d\nCapAmb:\t%016d' 0 0)" ]] || fail "$(<"$base/seen.status")"
}

@test "descriptors 3 to 99 and capabilities are left open: ldconfig has none of them, and stands in its own root" {
	STATE=$base/state start_waiting with_leftovers
	[[ $(ls "$ldconfig/fd" | tr '\n' ' ') == "0 1 2 " ]] || fail "$(ls -l "$ldconfig/fd")"
	run -0 grep -E '^(Cap...|NoNewPrivs|Seccomp):' "$ldconfig/status"
	[[ $output == "$(printf 'Cap%s:\t0000000000000000\n' Inh Prm Eff Bnd Amb; printf 'NoNewPrivs:\t1\nSeccomp:\t2')" ]] ||
		fail "$output"
	# Its root is a clone of the container's, and it stands where its output goes: in a tmpfs there.
	[[ $ldconfig/root/. -ef $rootfs && $ldconfig/cwd/. -ef $ldconfig/root/proc &&
		$(stat --file-system --format %T "$ldconfig/cwd/.") == tmpfs ]] || fail "$(ls -l "$ldconfig")"
	# Fields 5 and 6 of stat are process group and session.
	read -r _ _ _ _ group session _ <"$ldconfig/stat"
	[[ $group == "${ldconfig#/proc/}" && $session == "$group" ]] || fail "$(<"$ldconfig/stat")"
	# Nothing of it can be written to but one tmpfs.
	! grep -vE '^[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ ro,' "$ldconfig/mountinfo" | grep -v ' - tmpfs ' ||
		fail "$(<"$ldconfig/mountinfo")"
	end_waiting
}

@test "ldconfig's file cannot be written to by way of /proc/PID/exe, also by somebody with all rights" {
	local before
	start_waiting env
	before=$(sha256sum <"$base/sbin/waiting")
	python3 - "$ldconfig" "$caller" <<-'PY' || fail "could be written to"
		import errno, os, signal, sys, time

		held = os.open(sys.argv[1] + "/exe", os.O_RDONLY)
		os.kill(int(sys.argv[2]), signal.SIGTERM)
		while os.path.exists(sys.argv[1]):
		    time.sleep(0.01)
		for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
		    try:
		        os.open(f"/proc/self/fd/{held}", flags)
		    except OSError as error:
		        assert error.errno == errno.EROFS, error
		    else:
		        sys.exit(1)
	PY
	wait "$caller" || true
	[[ $(sha256sum <"$base/sbin/waiting") == "$before" ]]
}

@test "a vendor's hook in the container's pid namespace: its file cannot be reached by a root with a container's rights" {
	local before i exe=
	mkdir -p "$base/vendor"
	cp /bin/busybox "$base/vendor/busybox"
	before=$(sha256sum <"$base/vendor/busybox")
	spec hooked.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: hooked
		  containerEdits:
		    hooks:
		    - {hookName: createContainer, path: $base/vendor/busybox, args: [sleep, "30"]}
	YAML
	request vendor.example/thing=hooked
	process_with_namespace
	by_hand --no-cgroup 3>&- &
	caller=$!
	for ((i = 0; i < 400; i++)); do
		for exe in /proc/[0-9]*/exe ""; do
			[[ ! $exe -ef $base/vendor/busybox ]] || break 2
		done
		sleep 0.02
	done
	[[ -n $exe ]] || fail "the vendor's hook did not start"
	# What runc, crun and podman leave to a container's root by default.
	run -0 capsh --drop="$(capsh --print | sed -n 's/^Bounding set *=//p' | tr , '\n' |
		grep -vxE 'cap_(chown|dac_override|fowner|fsetid|kill|net_bind_service|setfcap|setgid|setpcap|setuid|sys_chroot|mknod|audit_write)' |
		paste -sd,)" -- -c '
		for how in "<" ">>" "<>"; do
			eval "exec 9$how$0" 2>/dev/null && echo "opened by $how"
		done
		true' "$exe"
	says_not opened
	kill "${exe//[^0-9]/}"
	wait "$caller" || true
	[[ $(sha256sum <"$base/vendor/busybox") == "$before" ]]
}

#
# Strings
#

# Every string of the JSON file $1 in turn gets a line break and words of an attacker's; `$2...` is called.
each_string() {
	local file=$1 path n=0
	cp "$file" "$base/whole.json"
	while read -r path; do
		jq --argjson path "$path" 'setpath($path; getpath($path) + "\nINJECTED c 1:1 rwm\n")' "$base/whole.json" >"$file"
		"${@:2}" "$path"
		n=$((n + 1))
	done < <(jq -c 'paths(strings)' "$base/whole.json")
	cp "$base/whole.json" "$file"
	((n > 0)) || fail "no strings"
}

# by_file PATH: calls the hook; whatever it does, no line of what it wrote starts with the words.
by_file() {
	local code=0
	: >"$base/log"
	"$hook" "${options[@]}" "$stage" <"$base/state" >"$base/out" 2>&1 || code=$?
	((code <= 11)) || fail "$1: exit code $code" "$(<"$base/out")"
	! grep -n '^INJECTED' "$base/out" "$base/log" || fail "$1: a line of its own in the log"
	! grep -rIn '^INJECTED' "$rootfs/etc" || fail "$1: a line of its own in a file of the container's"
	[[ $(<"$cgroup/devices.list") == "$rules" ]] || fail "$1: $(<"$cgroup/devices.list")"
}

@test "a line break in any string of a spec, of the state or of config.json never starts a line in a log, in ld.so.conf.d or in devices.allow" {
	local rules
	[[ -d /sys/fs/cgroup/devices ]] || skip "looks at the device list of cgroup v1"
	setup_image
	includes_conf_d
	options+=(--log-level=debug)
	cat >"$specs/library.yaml" <<-JSON
		{"cdiVersion": "1.0.0", "kind": "vendor.example/thing", "annotations": {"a": "b"},
		 "devices": [{"name": "lib", "annotations": {"c": "d"}, "containerEdits": {
		   "env": ["A=b"],
		   "deviceNodes": [{"path": "/dev/thing", "hostPath": "$dev1", "type": "c", "permissions": "rw"}],
		   "mounts": [{"hostPath": "$base/vendor/libgadget.so.1", "containerPath": "/opt/x/lib/libgadget.so.1", "type": "bind",
		     "options": ["ro", "bind"]}],
		   "hooks": [
		     {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache",
		      "--folder", "/opt/x/lib"], "env": ["B=c"]},
		     {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "create-symlinks",
		      "--link", "libgadget.so.1::/opt/x/lib/libgadget.so"]},
		     {"hookName": "createRuntime", "path": "/bin/true", "args": ["true", "x"], "env": ["C=d"]}]}}]}
	JSON
	mkdir "$cgroup"
	process_with_namespace
	echo "$pid" >"$cgroup/cgroup.procs"
	state >"$base/state"
	# Once as it is: then nothing that follows can add a rule. (A spec that goes on may still make a file.)
	rules=$(<"$cgroup/devices.list")
	by_file "as it is"
	[[ -f $rootfs/$conf_d ]] || fail "$(<"$base/out")"
	rules=$(<"$cgroup/devices.list")
	each_string "$specs/library.yaml" by_file
	each_string "$base/state" by_file
	each_string "$bundle/config.json" by_file
}

@test "what chooses devices is the annotation alone: no variable, label or other annotation, of the image or of the hook" {
	local before
	simple_spec
	# As runtimes for the vendor's devices, and CRI-O's and podman's own, take them.
	edit_config '.process.env += ["NVIDIA_VISIBLE_DEVICES=all", "CDI_DEVICES=vendor.example/thing=node", "cdi.k8s.io/x=vendor.example/thing=node"]
		| .annotations += {"io.kubernetes.cri-o.Labels": "{\"cdi.k8s.io/x\":\"vendor.example/thing=node\"}",
			"io.kubernetes.cri-o.Annotations": "{\"cdi.k8s.io/x\":\"vendor.example/thing=node\"}",
			"org.opencontainers.image.cdi.k8s.io/x": "vendor.example/thing=node",
			"cdi.k8s.io": "vendor.example/thing=node", "Cdi.k8s.io/x": "vendor.example/thing=node",
			"xcdi.k8s.io/x": "vendor.example/thing=node", " cdi.k8s.io/x": "vendor.example/thing=node"}
		| .labels = {"cdi.k8s.io/x": "vendor.example/thing=node"}'
	process_with_namespace
	before=$(tree)
	export NVIDIA_VISIBLE_DEVICES=all CDI_DEVICES=vendor.example/thing=node LD_PRELOAD= PATH
	run -0 by_hand --no-cgroup
	[[ -z $output && $(tree) == "$before" ]] || fail "$output" "$(diff <(echo "$before") <(tree))"
	# The test can fail.
	request vendor.example/thing=node
	run -0 by_hand --no-cgroup
	[[ -c $rootfs/dev/thing ]]
}

@test "a container that is restored, or whose metadata is somebody else's: what is allowed decides" {
	simple_spec
	echo 'vendor.example/thing=spare' >"$allow"
	process_with_namespace
	edit_config '.annotations = {"cdi.k8s.io/from-a-checkpoint": "vendor.example/thing=node",
		"io.podman.annotations.checkpoint": "true", "io.kubernetes.cri-o.annotations.checkpoint.name": "x",
		"vendor.example/allowed": "vendor.example/*", "oci-cdi-hook/allow": "*"}'
	for status in creating created running; do
		run -5 by_hand --no-cgroup < <(state | jq --arg status "$status" '.status = $status')
		says "vendor.example/thing=node" "cdictl allow"
	done
	[[ ! -e $rootfs/dev/thing ]]
}

@test "a mount source below the container's root is refused, also by a link of the host's" {
	local source
	mkdir -p "$rootfs/srv"
	ln -s "$rootfs/srv" "$base/link"
	process_with_namespace
	for source in "$rootfs/srv" "$base/link" "$rootfs"; do
		spec thing.yaml <<-YAML
			cdiVersion: "0.6.0"
			kind: vendor.example/thing
			devices:
			- name: own
			  containerEdits:
			    mounts:
			    - {hostPath: $source, containerPath: /opt/own, options: [bind]}
		YAML
		requests=0
		request vendor.example/thing=own
		run -6 by_hand --no-cgroup
		says "lies in the container's own root"
	done
}

#
# Files that somebody mounted over the kernel's
#

@test "another file is mounted over /proc/PID/cgroup: it is not believed" {
	[[ -d /sys/fs/cgroup/devices ]] || skip "looks at the device list of cgroup v1"
	simple_spec
	request vendor.example/thing=node
	mkdir "$cgroup" "$cgroup.other"
	process_with_namespace
	echo "$pid" >"$cgroup/cgroup.procs"
	for path in "$cgroup" "$cgroup.other"; do
		echo a >"$path/devices.deny"
	done
	sed "s,:devices:.*,:devices:/${cgroup##*/}.other," "/proc/$pid/cgroup" >"$base/fake"
	state >"$base/state"
	run -0 unshare --mount sh -c 'mount --bind "$1" "/proc/$2/cgroup" && mount --bind "$1" /proc/self/cgroup && shift 2 &&
		exec "$@" <"$0"' "$base/state" "$base/fake" "$pid" "$hook" "${options[@]}" "$stage"
	grep -x "c $(stat -c '%Hr:%Lr' "$dev1") rwm*" "$cgroup/devices.list" || fail "$(<"$cgroup/devices.list")"
	[[ ! -s $cgroup.other/devices.list ]] || fail "$(<"$cgroup.other/devices.list")"
	rmdir "$cgroup.other"
}

#
# Quantity
#

# costs_little COMMAND...: less than a second of the processor and 32 MiB; prints what COMMAND prints
costs_little() {
	python3 - "$base/state" "$@" <<-'PY'
		import os, resource, subprocess, sys

		with open(sys.argv[1]) as state:
		    done = subprocess.run(sys.argv[2:], stdin=state, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(done.returncode, done.stdout.decode())
		if used.ru_utime + used.ru_stime >= 1 or used.ru_maxrss >= 32 * 1024:
		    sys.exit(f"took {used.ru_utime + used.ru_stime:.2f} s of the processor and {used.ru_maxrss} KiB")
	PY
}

@test "a gigabyte in place of each text: less than a second of the processor, and 32 MiB" {
	local file
	setup_image
	simple_spec
	request vendor.example/thing=node
	process_with_namespace
	state >"$base/state"
	run -0 costs_little "$hook" "${options[@]}" --no-cgroup "$stage"
	says "0 "

	# The files of the host, then those of the image, one after the other.
	for file in "$bundle/config.json" "$allow" "$specs/thing.yaml" "$specs/library.yaml" \
		"$rootfs/etc/ld.so.conf" "$rootfs/etc/ld.so.cache" "$rootfs/etc/ld.so.conf.d/x.conf"; do
		mkdir -p "$(dirname "$file")"
		[[ ! -e $file ]] || mv "$file" "$base/saved"
		truncate -s 1G "$file"
		run costs_little "$hook" "${options[@]}" --no-cgroup "$stage"
		((status == 0)) || fail "$file: $output"
		case $file in
		"$rootfs"/*) says "0 " ;;
		*) says "${file##*/}" ;;
		esac
		rm "$file"
		[[ ! -e $base/saved ]] || mv "$base/saved" "$file"
	done

	# musl's path file, which is there in place of glibc's loader.
	rm -rf "$rootfs"/lib* "$rootfs"/usr/lib*
	mkdir -p "$rootfs/lib"
	touch "$rootfs/lib/ld-musl-x86_64.so.1"
	truncate -s 1G "$rootfs/etc/ld-musl-x86_64.path"
	run -0 costs_little "$hook" "${options[@]}" --no-cgroup "$stage"

	# The state itself, as one string, and as nothing that could be one.
	{ printf '{"id":"' && tr '\0' x </dev/zero | head -c 1G; } >"$base/state"
	run -0 costs_little "$hook" "${options[@]}" --no-cgroup "$stage"
	says "3 " "state"
	rm "$base/state"
	truncate -s 1G "$base/state"
	run -0 costs_little "$hook" "${options[@]}" --no-cgroup "$stage"
	says "3 " "state"
}
