#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The hooks of specs that are programs: at which stage each runs, what it is given, and what becomes of
# a container whose hook goes wrong.

load engines

all_stages=(prestart createRuntime createContainer poststart poststop)

# hook_spec LINE...: the device "hooked" with these entries of `hooks`, and a node; asks for it
hook_spec() {
	local line
	{
		cat <<-YAML
			cdiVersion: "0.6.0"
			kind: vendor.example/thing
			devices:
			- name: hooked
			  containerEdits:
			    deviceNodes:
			    - {path: /dev/thing, hostPath: $dev1}
			    hooks:
		YAML
		for line; do
			echo "    - $line"
		done
	} >"$specs/hooked.yaml"
	edit_config '.annotations = {"cdi.k8s.io/test": "vendor.example/thing=hooked", "own": "a b\"c"}'
}

# script NAME: a vendor's program from stdin, in $vendor
script() {
	cat >"$vendor/$1"
	chmod +x "$vendor/$1"
}

# Five hooks that write down what they see, one a stage.
probes() {
	local name lines=()
	gcc -Wall -o "$vendor/probe" "$BATS_TEST_DIRNAME/hook-probe.c"
	for name in "${all_stages[@]}"; do
		lines+=("{hookName: $name, path: $vendor/probe, args: [probe, $name, 'x y', ''], env: [OUT=$base/seen/$name, A=b=c]}")
	done
	hook_spec "${lines[@]}"
}

setup_vendor() {
	vendor=$base/vendor-bin
	mkdir -p "$vendor" "$base/seen"
}

seen() { cat "$base/seen/$1" 2>/dev/null || true; }

# runs_of STAGE: how often its hook ran
runs_of() { seen "$1" | grep -c '^run$' || true; }

namespaces_of() { local n; for n in mnt pid net ipc uts cgroup user; do readlink "/proc/$1/ns/$n"; done; }

# given STAGE FILE: what every hook is given, whatever its stage
given() {
	[[ $(runs_of "$1") == 1 ]] || fail "the hook of $1 ran $(runs_of "$1") times"
	[[ $(seen "$1" | grep '^arg ') == "$(printf 'arg %s\n' probe "$1" 'x y' '')" ]] || fail "$(seen "$1")"
	[[ $(seen "$1" | grep '^env ' | sort) == "$(printf 'env %s\n' A=b=c "OUT=$base/seen/$1" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)" ]] || fail "$(seen "$1")"
	[[ $(seen "$1" | grep '^fds') == "fds 0 1 2" ]] || fail "$(seen "$1")"
	! seen "$1" | grep -E '^(blocked|ignored)' || fail "signals"
	seen "$1" | grep -x "umask 022"
	seen "$1" | grep -x "session own"
	seen "$1" | grep -x "root /"
	seen "$1" | grep -x "exe $vendor/probe"
	[[ $(jq -r '[.id, .bundle, .annotations.own] | join("|")' "$base/seen/$1.json") == "$id|$bundle|a b\"c" ]] ||
		fail "$(cat "$base/seen/$1.json")"
}

is_in_host() { [[ $(seen "$1" | sed -n 's/^ns //p') == "$host_ns" ]] || fail "$1 is not in the host's:" "$(seen "$1")"; }
is_in_container() {
	[[ $(seen "$1" | sed -n 's/^ns //p') == "$container_ns" ]] || fail "$1 is not in the container's:" "$(seen "$1")"
}

state_says() {
	[[ $(jq -r "$2" "$base/seen/$1.json") == "$3" ]] || fail "$1: $2 is not $3:" "$(cat "$base/seen/$1.json")"
}

run_all() {
	options+=(--log-file="$base/log")
	use_engine "$1"
	probes
	host_ns=$(namespaces_of self)
	start
	container_ns=$(namespaces_of "$pid")
	wait_until test -e "$base/seen/createContainer.json"
	inside 'opens /dev/thing'
}

look() { echo "$opens opens /dev/thing && echo thing opens"; }

five_stages() {
	local container_pid name creating=creating
	setup_vendor
	stages=("${all_stages[@]}")
	run_all "$1"
	container_pid=$pid
	[[ $1 != crun ]] || creating=created

	for name in prestart createRuntime poststart; do
		given $name
		is_in_host $name
		state_says $name .pid "$container_pid"
	done
	given createContainer
	is_in_container createContainer
	# By the runtime itself: runc tells the pid of the container's namespace, crun none.
	[[ $1 == crun ]] || state_says createContainer .pid 1
	for name in prestart createRuntime createContainer; do
		state_says $name .status $creating
	done
	# runc before 1.6 runs this one while it creates the container.
	[[ $1 != crun ]] || state_says poststart .status running
	[[ $(runs_of poststop) == 0 ]]

	stop_container
	given poststop
	is_in_host poststop
	state_says poststop .status stopped
	for name in prestart createRuntime createContainer poststart; do
		given $name
	done
}

@test "runc: hooks of five stages, registered at all of them" { five_stages runc; }
@test "crun: hooks of five stages, registered at all of them" { five_stages crun; }

one_stage() {
	local name
	setup_vendor
	stages=("$2")
	run_all "$1"
	for name in prestart createRuntime; do
		given $name
		is_in_host $name
		state_says $name .pid "$pid"
	done
	given createContainer
	is_in_container createContainer
	state_says createContainer .pid 1
	seen createContainer | grep -x "cwd $bundle"
	seen createRuntime | grep -x "cwd $bundle"
	for name in poststart poststop; do
		grep "vendor.example/thing=hooked.*hook $name $vendor/probe is not run: oci-cdi-hook is not registered" "$base/log"
	done
	stop_container
	[[ $(runs_of poststart)$(runs_of poststop) == 00 ]]
}

@test "runc: registered at createRuntime alone, it runs createContainer's hook in the container's namespaces" {
	one_stage runc createRuntime
}
@test "crun: registered at createRuntime alone, it runs createContainer's hook in the container's namespaces" {
	one_stage crun createRuntime
}
@test "crun: registered at prestart alone" { one_stage crun prestart; }

@test "in a user namespace createContainer's hook is the container's root, and createRuntime's is the host's" {
	local engine_name
	setup_vendor
	edit_config '
		.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings'
	chown -R --no-dereference 100000:100000 "$rootfs"
	# The node is the host's own, mounted: one that is open to all.
	mknod -m 666 "$base/open" $num1
	dev1=$base/open
	for engine_name in runc crun; do
		rm -rf "$base/seen"
		mkdir "$base/seen"
		chmod 777 "$base/seen"
		run_all "$engine_name"
		given createRuntime
		is_in_host createRuntime
		given createContainer
		is_in_container createContainer
		[[ $(stat -c %u:%g "$base/seen/createRuntime") == 0:0 ]]
		[[ $(stat -c %u:%g "$base/seen/createContainer") == 100000:100000 ]]
		seen createContainer | grep -x "user 0 0 groups 0"
		stop_container
	done
}

@test "registered at createContainer alone, hooks for the host's namespaces are named" {
	setup_vendor
	stages=(createContainer)
	options+=(--log-file="$base/log")
	use_engine runc
	probes
	start
	given createContainer
	[[ $(runs_of prestart)$(runs_of createRuntime) == 00 ]]
	grep "hook createRuntime $vendor/probe is not run: oci-cdi-hook is not registered" "$base/log"
	stop_container
}

@test "a container that is started again gets its hooks again, and the same" {
	local first
	setup_vendor
	run_all runc
	first=$(seen createContainer)
	stop_container
	rm "$base"/seen/*
	start
	given createContainer
	[[ $(seen createContainer | grep -v '^ns') == "$(grep -v '^ns' <<<"$first")" ]]
	stop_container
}

@test "a hook that config.json has is left to the runtime" {
	setup_vendor
	use_engine runc
	probes
	eval "hooks_were() $(declare -f hooks_in_config | tail -n +2)"
	hooks_in_config() {
		hooks_were
		edit_config '.hooks.createRuntime += [{path: $probe, args: ["probe", "createRuntime", "x y", ""],
			env: ["OUT=\($out)", "A=b=c"]}]' --arg probe "$vendor/probe" --arg out "$base/seen/createRuntime"
	}
	start
	[[ $(runs_of createRuntime) == 1 ]]
	stop_container
}

@test "--unsupported=fail names hooks that get no turn" {
	setup_vendor
	hook_spec "{hookName: startContainer, path: /bin/true}"
	options+=(--unsupported=fail)
	refused 1
	says "hook startContainer /bin/true is not run: its program lies in the container"
}

@test "--vendor-hooks=none and --disable-hook leave hooks out" {
	setup_vendor
	hook_spec "{hookName: createRuntime, path: $vendor/missing}"
	options+=(--vendor-hooks=none)
	run -0 container 'opens /dev/thing'
	options=("${options[@]/--vendor-hooks=none/--disable-hook=missing}")
	run -0 container 'opens /dev/thing'
}

# ---------------------------------------------------------------------------------------------
# Hooks that go wrong. Each is tried where the host's namespaces are its place, and where the
# container's are.

# goes_wrong SENTENCE...: the hook $vendor/bad, at both stages
goes_wrong() {
	local stage_of_hook text
	for stage_of_hook in createRuntime createContainer; do
		hook_spec "{hookName: $stage_of_hook, path: $vendor/bad, args: [bad, one]${more:-}}"
		refused 11
		for text; do
			says "vendor.example/thing=hooked ($specs/hooked.yaml:9:7): hook $stage_of_hook" "$text"
		done
	done
}

none_left() {
	wait_until no_process_of "$1" || fail "still there: $(pgrep --full --list-full -- "$1")"
}
no_process_of() { ! pgrep --full -- "$1"; }

@test "a hook that is not there" {
	setup_vendor
	goes_wrong "$vendor/bad: open $vendor/bad: No such file or directory"
}

@test "a hook that others may write" {
	setup_vendor
	script bad <<<'#!/bin/sh'
	chmod 777 "$vendor/bad"
	goes_wrong "$vendor/bad: $vendor/bad: not trusted: writable by its group and others (mode 0777)"
	chmod 755 "$vendor/bad"
	chmod 775 "$vendor"
	goes_wrong "$vendor: not trusted: writable by its group (mode 0775)"
}

@test "a hook that is not executable, and one whose interpreter is missing or untrusted" {
	setup_vendor
	script bad <<<'#!/bin/sh'
	chmod 644 "$vendor/bad"
	goes_wrong "$vendor/bad: not executable (mode 0644)"
	script bad <<<'#!/no/such/interpreter'
	goes_wrong "$vendor/bad: its interpreter /no/such/interpreter: open /no: No such file or directory"
	script bad <<<"#!$vendor/sh"
	cp /bin/busybox "$vendor/sh"
	chmod 757 "$vendor/sh"
	goes_wrong "$vendor/bad: its interpreter $vendor/sh: $vendor/sh: not trusted: writable by others"
	script bad <<<"echo no first line"
	goes_wrong "hook" "$vendor/bad: execute it: Exec format error"
}

@test "a hook that fails says why in its own words" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		cat >/dev/null
		echo "no function in slot 3"
		echo "of this $1" >&2
		exit 7
	SH
	goes_wrong "$vendor/bad: exit code 7: no function in slot 3 of this one"
}

@test "a hook that dies by a signal" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		kill -SEGV $$
	SH
	goes_wrong "$vendor/bad: ended by signal 11 (SEGV)"
}

@test "a hook that hangs, with a timeout of its own" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		echo waiting for the card
		sleep 987
		echo too late
	SH
	more=', timeout: 1'
	goes_wrong "$vendor/bad: not done within the 1 seconds that its timeout allows: waiting for the card"
	none_left 'sleep 98[7]'
}

@test "a hook that hangs until our deadline" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		sleep 986
	SH
	options+=(--timeout=1)
	goes_wrong "$vendor/bad: not done within the time that --timeout allows for all"
	none_left 'sleep 98[6]'
}

@test "a hook that floods its output" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		yes "no card, no card"
	SH
	goes_wrong "$vendor/bad: wrote too much, and was ended: "
	none_left 'yes no car[d]'
}

@test "a hook that leaves a process behind which holds its output" {
	setup_vendor
	script bad <<-'SH'
		#!/bin/sh
		setsid sleep 985 &
		echo started
	SH
	goes_wrong "$vendor/bad: has ended, but a process that it started keeps its output open, and was ended too: started"
	none_left 'sleep 98[5]'
}

@test "a hook with a relative path, a line break or a NUL in its arguments" {
	setup_vendor
	hook_spec "{hookName: createRuntime, path: bin/bad}"
	refused 11
	says "hook createRuntime bin/bad: not an absolute path"
	hook_spec "{hookName: createRuntime, path: /bin/true, args: [x, \"a\\nb\"]}"
	refused 11
	says 'hook createRuntime /bin/true: its argument \"a\\x0ab\" has a line break in it'
	hook_spec "{hookName: createRuntime, path: /bin/true, args: [x, \"a\\0b\"]}"
	refused 4
	says "text with a NUL byte in it"
}

@test "a hook that reads nothing of a large state, and one that says much, harm nobody" {
	setup_vendor
	script fine <<-'SH'
		#!/bin/sh
		head -c 300000 /dev/zero | tr '\0' x
	SH
	hook_spec "{hookName: createRuntime, path: $vendor/fine}" "{hookName: createContainer, path: $vendor/fine}"
	edit_config '.annotations.large = ("x" * 200000)'
	run -0 container 'opens /dev/thing'
}

@test "the image's loader and libraries are not used, whatever lies in its root and its environment" {
	setup_vendor
	gcc -shared -fPIC -o "$rootfs/evil.so" -x c - <<-C
		#include <fcntl.h>
		__attribute__((constructor)) static void evil(void) { creat("$base/canary", 0644); }
	C
	mkdir -p "$rootfs/lib64" "$rootfs/lib/x86_64-linux-gnu"
	cp "$rootfs/evil.so" "$rootfs/lib64/ld-linux-x86-64.so.2"
	cp "$rootfs/evil.so" "$rootfs/lib/x86_64-linux-gnu/libc.so.6"
	edit_config '.process.env += ["LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/lib"]'
	gcc -o "$vendor/probe" "$BATS_TEST_DIRNAME/hook-probe.c"
	hook_spec "{hookName: createContainer, path: $vendor/probe, env: [OUT=$base/seen/createContainer]}"
	for stage in createRuntime createContainer; do
		rm -f "$base"/seen/*
		run container true
		[[ $(runs_of createContainer) == 1 ]] || fail "$output"
		[[ ! -e $base/canary ]]
	done
}

@test "where the container's root is in place of the host's, nothing of it is run" {
	setup_vendor
	hook_spec "{hookName: createContainer, path: /bin/own}"
	printf '#!/bin/sh\necho ran >/ran\n' >"$rootfs/bin/own"
	chmod +x "$rootfs/bin/own"
	cp "$hook" "$rootfs/hook"
	# Such an image knows the names of our directories, too.
	mkdir -p "$rootfs$bundle/rootfs"
	cp -r "$specs" "$allow" "$rootfs$base/"
	sed -i '/deviceNodes/,+1d' "$rootfs$specs/hooked.yaml"
	stage=createContainer
	hook=/hook
	for stages in "createRuntime createContainer" createContainer; do
		# shellcheck disable=SC2206
		stages=($stages)
		hooks_in_config
		cp "$bundle/config.json" "$rootfs$bundle/"
		pid=1 state >"$base/state"
		run unshare --mount sh -c 'mount --bind /proc "$0/proc" && exec chroot "$0" /hook "$@"' \
			"$rootfs" "${options[@]}" createContainer <"$base/state"
		[[ $status == 7 ]] || fail "exit status $status:" "$output"
		says "container's root $bundle/rootfs is not a mount"
		[[ ! -e $rootfs/ran ]]
	done
}

@test "kill -9 of the hook ends the vendor's program" {
	local killed i
	setup_vendor
	script slow <<-'SH'
		#!/bin/sh
		exec sleep 984
	SH
	hook_spec "{hookName: createContainer, path: $vendor/slow}"
	process_with_namespace
	by_hand 3>&- &
	local caller=$!
	wait_until pgrep --full 'sleep 98[4]'
	for killed in $(pgrep --full -- "$hook.*--allow-file=$allow"); do
		kill -9 "$killed" || true
	done
	none_left 'sleep 98[4]'
	wait "$caller" || true
}
