#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# cdictl inject: config.json edited before a runtime reads it, and a container that sees all of it
# without any hook of ours.

load helpers

eval "helpers_$(declare -f setup)"

setup() {
	helpers_setup
	cdictl=${CDICTL:-$top/build/ctl/cdictl}
	[[ -x $cdictl ]] || fail "no cdictl at $cdictl: build it first"
	config=$bundle/config.json
}

inject() { "$cdictl" inject --spec-dir="$specs" --spec-dir="$specs2" "$@"; }

# A device that is all that a device can be.
full_spec() {
	mkdir -p "$base/vendor"
	echo data >"$base/vendor/file"
	cat >"$base/note" <<-SH
		#!/bin/sh
		cat >/dev/null
		echo "\$1" >>$base/hooks-ran
	SH
	chmod +x "$base/note"
	spec full.yaml <<-YAML
		cdiVersion: "0.7.0"
		kind: vendor.example/full
		containerEdits:
		  env: [VENDOR=all of them]
		devices:
		- name: one
		  containerEdits:
		    env: [DEVICE=one, TERM=vendor]
		    additionalGids: [4242]
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /dev/thing-r, hostPath: $dev2, permissions: r}
		    mounts:
		    - {hostPath: $base/vendor, containerPath: /opt/vendor, options: [ro]}
		    hooks:
		    - {hookName: createRuntime, path: $base/note, args: [note, createRuntime]}
		    - {hookName: poststop, path: $base/note, args: [note, poststop]}
	YAML
}

# run_bundle TEXT: the bundle as it is, with a process of the test's own and no hook of ours
run_bundle() {
	edit_config '.process.args = ["sh", "-c", $text]' --arg text "$opens$1"
	timeout 60 "$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
}

# The directory of FILE has nothing else in it.
alone() { [[ $(ls -A "$(dirname "$1")") == "$(basename "$1")" ]]; }

@test "--in-place on a bundle, then plain runc run: the container sees all of it" {
	full_spec
	ln -s busybox "$rootfs/bin/env"
	inject --in-place "$bundle" one
	run -0 run_bundle 'env; id; opens /dev/thing && echo thing opens; (: </dev/thing-r) && echo thing-r reads
		(: >/dev/thing-r) || echo thing-r does not write
		cat /opt/vendor/file; (: >/opt/vendor/new) || echo vendor is read-only'
	says "VENDOR=all of them" DEVICE=one TERM=vendor 4242 "thing opens" "thing-r reads" \
		"thing-r does not write" data "vendor is read-only"
	[[ $(grep -c ^TERM= <<<"$output") == 1 ]]
	[[ $(<"$base/hooks-ran") == $'createRuntime\npoststop' ]] || fail "hooks ran:" "$(<"$base/hooks-ran")"
}

@test "a second time, and a device given twice: nothing changes" {
	full_spec
	inject --in-place "$bundle" one vendor.example/full=one
	cp "$config" "$base/once"
	touch -d 2001-01-01 "$config"
	inject --in-place "$config" one
	cmp "$config" "$base/once"
	# Not even written.
	[[ $(stat -c %y "$config") == 2001-01-01* ]]
	[[ $(jq '.linux.devices | length' "$config") == 2 ]]
}

@test "injected, and the hook registered too: once" {
	full_spec
	inject --in-place "$bundle" one
	request vendor.example/full=one
	edit_config '.hooks.createRuntime |= [{path: $hook, args: (["oci-cdi-hook"] + $ARGS.positional + ["createRuntime"])}] + .' \
		--arg hook "$hook" --args -- "${options[@]}"
	run -0 run_bundle 'opens /dev/thing && cat /opt/vendor/file; grep -c " /opt/vendor " /proc/self/mountinfo'
	says data
	says_not warning
	[[ ${lines[-1]} == 1 ]]
	[[ $(<"$base/hooks-ran") == $'createRuntime\npoststop' ]] || fail "hooks ran:" "$(<"$base/hooks-ran")"
}

@test "a file, a bundle directory and standard input give the same on standard output" {
	local before
	full_spec
	before=$(<"$config")
	inject "$config" one >"$base/file"
	inject "$bundle" one | cmp - "$base/file"
	inject "$bundle/" one | cmp - "$base/file"
	inject - one <"$config" | cmp - "$base/file"
	[[ $(<"$config") == "$before" ]]
	jq -e '.process.env | index("DEVICE=one")' "$base/file"
}

@test "--no-hooks leaves the hooks of specs out" {
	full_spec
	inject --no-hooks "$config" one >"$base/file"
	[[ $(jq .hooks "$base/file") == null ]]
	jq -e '.linux.devices | length == 2' "$base/file"
}

@test "--in-place keeps owner, mode and attributes, and a link stays a link" {
	full_spec
	mkdir "$base/dir"
	cp "$config" "$base/dir/real.json"
	chmod 0640 "$base/dir/real.json"
	chown 33:44 "$base/dir/real.json"
	python3 -c 'import os, sys; os.setxattr(sys.argv[1], "trusted.test", b"1")' "$base/dir/real.json"
	ln -s "$base/dir/real.json" "$base/link.json"
	inject --in-place "$base/link.json" one
	[[ -L $base/link.json ]]
	[[ $(stat -c '%a %u:%g' "$base/dir/real.json") == "640 33:44" ]]
	[[ $(python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "trusted.test"))' "$base/dir/real.json") == "b'1'" ]]
	jq -e '.linux.devices | length == 2' "$base/dir/real.json"
	alone "$base/dir/real.json"
}

@test "a full disk: the old file stays whole" {
	full_spec
	mkdir "$base/small"
	mount -t tmpfs -o size=16k oci-cdi-hook-test "$base/small"
	cp "$config" "$base/small/config.json"
	head -c 100000 /dev/zero >"$base/small/fill" 2>/dev/null || true
	run -1 inject --in-place "$base/small" one
	says "cdictl: write $base/small/config.json: No space left on device"
	cmp "$config" "$base/small/config.json"
	[[ $(ls -A "$base/small") == $'config.json\nfill' ]]
	umount "$base/small"
	run -1 bash -c "'$cdictl' inject --spec-dir='$specs' '$config' one >/dev/full"
	says "write to standard output: No space left on device"
}

@test "where nothing can be written: the old file stays" {
	full_spec
	mkdir "$base/ro"
	cp "$config" "$base/ro/"
	mount --bind "$base/ro" "$base/ro"
	mount -o remount,bind,ro "$base/ro"
	run inject --in-place "$base/ro" one
	((status == 7))
	says "cdictl: make $base/ro/config.json.cdictl-new: Read-only file system"
	umount "$base/ro"
	cmp "$config" "$base/ro/config.json"

	# Another one at work, or killed.
	touch "$base/ro/config.json.cdictl-new"
	run inject --in-place "$base/ro" one
	((status != 0))
	says "$base/ro/config.json.cdictl-new is there: another cdictl is at work, or one was killed"
	cmp "$config" "$base/ro/config.json"
}

# bad CODE SENTENCE TEXT...: a config of TEXT is refused, in place and on standard input
bad() {
	local code=$1 sentence=$2
	mkdir -p "$base/bad"
	printf '%s' "$3" >"$base/bad/config.json"
	run inject --in-place "$base/bad" one
	((status == code)) || fail "status $status, with" "$output"
	[[ $output == "cdictl: $base/bad/config.json: $sentence" ]] || fail "said:" "$output"
	[[ $(<"$base/bad/config.json") == "$3" ]]
	alone "$base/bad/config.json"
	run inject - one <"$base/bad/config.json"
	((status == code))
	[[ $output == "cdictl: standard input: $sentence" ]] || fail "said:" "$output"
}

@test "configs that are none" {
	full_spec
	bad 7 "config.json:1:2: expected a key in double quotes or '}', found '''" "{'root': {}}"
	bad 7 "config.json:1:7: expected a value, found 'N'" '{"a": NaN}'
	bad 7 'config.json:1:9: the member "a" stands twice in one object' '{"a":1, "a":1}'
	bad 7 "config.json:1:28: expected ',' or '}', found the end" '{"root": {"path": "rootfs"}'
	bad 7 "config.json:1:1: expected a value, found the end" ''
	bad 7 "config.json: expected an object" '[]'
	bad 7 "config.json: root: is missing" '{}'
	bad 7 "config.json: mounts: expected an array" '{"root": {"path": "r"}, "mounts": {}}'
	bad 7 "config.json: linux.devices: expected an array" '{"root": {"path": "r"}, "linux": {"devices": 1}}'
}

@test "a config of more than 16 MiB, and one of nearly that" {
	full_spec
	python3 - "$config" "$base/large" <<-'PY'
		import json, sys
		config = json.load(open(sys.argv[1]))
		config["annotations"] = {"a%d" % i: "x" * 900000 for i in range(18)}
		json.dump(config, open(sys.argv[2], "w"))
	PY
	(($(stat -c %s "$base/large") > 16000000))
	inject "$base/large" one >"$base/large.new"
	[[ $(jq '.annotations | length' "$base/large.new") == 18 ]]
	jq -e '.linux.devices | length == 2' "$base/large.new"
	head -c 1000000 /dev/zero | tr '\0' ' ' >>"$base/large"
	run -7 inject "$base/large" one
	says "more than 16777216 bytes"
}

@test "what is no config, and no device" {
	full_spec
	mkdir "$base/empty"
	run -7 inject "$base/empty" one
	says "cdictl: open $base/empty/config.json: No such file or directory"
	run -7 inject --in-place "$base/nothing" one
	says "cdictl: open $base/nothing: No such file or directory"
	run -3 inject "$config" two
	says two "$specs"
	run -3 inject --in-place "$config" vendor.example/full=two
	says vendor.example/full=two
	run -2 inject
	says "cdictl: inject: no config given: a file, a bundle directory, or -"
	run -2 inject "$config"
	says "cdictl: inject: no device given"
	run -2 inject --in-place - one
	says "cdictl: inject: --in-place needs a file, not -"
	rm "$base/note"
	run -6 inject "$config" one
	says "hook createRuntime $base/note: No such file or directory" "hook poststop $base/note"
}
