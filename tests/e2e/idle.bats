#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What every container pays for the hook that asks for nothing. How long it takes depends on the machine and is measured by
# hand (tests/bench/idle.c); what it does is the same everywhere.

load helpers

setup() {
	state='{"ociVersion":"1.0.2","id":"idle","status":"creating","pid":1,"bundle":"/run/bundle",
		"annotations":{"org.example.title":"idle"}}'
}

teardown() { :; }

# The system calls that look a path up, open a connection or start a process, but for the start of the hook itself and its
# C library's look at /proc/self/exe. (What asks for the type of stdin counts as such a call too.)
calls() {
	strace -f -o /dev/stdout -e trace=%file,%network,%process,openat2,open_tree,clone3 \
		"$hook" "$@" <<<"$state" | grep -vE ' (execve\(.* = 0$|exit_group\(0\)|arch_prctl\(|\+\+\+ exited with 0)|readlink\("/proc/self/exe"|fstat(at)?\(0, '
}

@test "no file is opened, no daemon is called, no process started" {
	local stage
	for stage in prestart createRuntime createContainer; do
		run calls "$stage"
		[[ -z $output ]] || fail "$stage:" "$output"
	done
	# The filter above does not hide everything.
	run calls --spec-dir=/nonexistent --device=vendor.example/thing=x createRuntime
	says '/run/systemd/journal/socket' '/dev/log' '"/"'
}

# Most of what a start costs are page faults. The hook has no more than a program that only reads its standard input, give or
# take one; 19 more before hook/idle.ld said where things lie.
@test "hardly more page faults than the least that any hook has" {
	local bench=$top/build/tests/bench
	run -0 "$bench/idle" "$hook" "$bench/idle-floor" 20
	[[ $output =~ hook\ .*\ ([0-9]+)\ page\ faults.*floor\ .*\ ([0-9]+)\ page\ faults ]] || fail "$output"
	((BASH_REMATCH[1] <= BASH_REMATCH[2] + 8)) || fail "$output"
}
