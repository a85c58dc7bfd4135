#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Many containers, one after the other and two at a time: each has its device and its library, and
# nothing of any is left. (teardown also compares the host's mounts.)

load engines

# lane NAME N: a bundle of its own, in which N containers run one after the other; what they print,
# and what the runtime says, goes to $base/NAME.out
lane() {
	local i
	for ((i = 1; i <= $2; i++)); do
		"$runtime" --root "$base/runc" run --bundle "$base/$1" "$id-$1-$i" </dev/null ||
			echo "container $i: status $?"
	done >"$base/$1.out" 2>&1
}

prepare_lane() {
	cp -a "$bundle" "$base/$1"
	local bundle=$base/$1
	edit_config '.linux.cgroupsPath = $path' --arg path "$in_cgroup/$1"
}

all_printed() {
	local wanted
	wanted=$(for ((i = 1; i <= $2; i++)); do echo "gadget of the host"; done)
	[[ $(<"$base/$1.out") == "$wanted" ]] ||
		fail "lane $1:" "$(grep -n -v '^gadget of the host$' "$base/$1.out" | head -n 20)" \
			"$(grep -c '^gadget of the host$' "$base/$1.out") of $2 are good"
}

# Cgroups of containers, processes in them or with our directory as an argument, states of the
# runtime, and files of the hook's, such as a temporary one beside the library cache.
nothing_left() {
	local left
	left=$(find /sys/fs/cgroup -path "*$id/*" -type d
		pgrep --full --list-full -- "$base/|$id-" || true
		grep -l -- "$id" /proc/[0-9]*/cgroup 2>/dev/null || true
		find "$base/runc" -mindepth 1
		find "$base" -mindepth 1 -name '*oci-cdi-hook*' ! -path "*/$conf_d")
	[[ -z $left ]] || { echo "$left"; return 1; }
}

prepare() {
	use_engine runc
	includes_conf_d
	all_spec
	hooks_in_config
	edit_config '.process.args = ["sh", "-c", $text]' \
		--arg text "$opens opens /dev/thing && test -c /dev/thing-r && use libgadget.so.1"
}

@test "200 containers in a row" {
	prepare
	prepare_lane one
	lane one 200
	all_printed one 200
	nothing_left || fail "left:" "$(nothing_left)"
}

@test "200 containers, two at a time" {
	local other
	prepare
	prepare_lane one
	prepare_lane two
	lane one 100 3>&- & other=$!
	lane two 100
	wait "$other"
	all_printed one 100
	all_printed two 100
	nothing_left || fail "left:" "$(nothing_left)"
}
