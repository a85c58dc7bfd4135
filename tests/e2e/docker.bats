#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# docker before 25: no CDI, no annotations, and no way to register a hook. What works is a runtime of
# its own name, contrib/examples/docker/cdi-runtime, which puts the devices into config.json before runc
# reads it. That script is called here as dockerd calls it, and with LONG=1, or where it is cached, by
# Debian's dockerd itself.

load engines

eval "engines_$(declare -f teardown)"

teardown() {
	[[ -z ${world_parent:-} ]] || stop_docker
	engines_teardown
}

cdi_runtime=$BATS_TEST_DIRNAME/../../contrib/examples/docker/cdi-runtime

# The script as it is, but for where the test has cdictl and its spec files.
runtime_of_test() {
	cat >"$base/bin/cdictl" <<-SH
		#!/bin/sh
		command=\$1
		shift
		exec "$top/build/ctl/cdictl" "\$command" --spec-dir="$specs" --spec-dir="$specs2" "\$@"
	SH
	chmod +x "$base/bin/cdictl"
	sed "s,^PATH=,PATH=$base/bin:," "$cdi_runtime" >"$base/bin/cdi-runtime"
	chmod +x "$base/bin/cdi-runtime"
}

@test "the runtime for docker, called as docker calls it" {
	local call
	runtime_of_test
	all_spec
	sed -i '/containerEdits:/a\    env: [THING=all]' "$specs/all.yaml"
	use_engine runc
	edit_config '.annotations = {} | .process.args = ["sleep", "300"]'
	call=("$base/bin/cdi-runtime" vendor.example/thing=all -- --root "$base/runc" --log "$base/log.json" --log-format json)
	"${call[@]}" create --bundle "$bundle" --pid-file "$base/pid" "$id" </dev/null >/dev/null 2>&1
	"${call[@]}" start "$id"
	pid=$(<"$base/pid")
	run -0 "${call[@]}" exec "$id" sh -c "${opens}opens /dev/thing && : </dev/thing-r && echo it is \$THING"
	says "it is all"
	"${call[@]}" delete --force "$id"
	pid=

	# It has said why, and runc was never called.
	call[1]=vendor.example/thing=none
	run "${call[@]}" create --bundle "$bundle" --pid-file "$base/pid" "$id"
	((status != 0))
	says "cdictl: device vendor.example/thing=none"
	[[ ! -e $base/runc/$id ]]
	[[ $(tail -n 1 "$base/log.json" | jq -r .msg) == "cdictl: device vendor.example/thing=none"* ]] || fail "$(<"$base/log.json")"
	call[1]='a"b'
	run ! "${call[@]}" create --bundle "$bundle" --pid-file "$base/pid" "$id"
	[[ $(tail -n 1 "$base/log.json" | jq -r .msg) == "$output"* && $output == *'"'* ]] || fail "$output" "$(<"$base/log.json")"
}

# dockerd in namespaces of its own, which end with the test (containerd.bash says why).
start_docker() {
	local build=--if-cached containerd tools=$BATS_TEST_DIRNAME/../cri-tools.sh
	[[ -z ${LONG:-} ]] || build=
	# shellcheck disable=SC2086 # none or one word
	docker=$("$tools" $build docker 2>"$base/why") || skip "$(<"$base/why")"
	containerd=$("$tools" debian-containerd 2>"$base/why") || skip "$(<"$base/why")"
	mkdir -p "$base/docker" /run/containerd /run/docker
	cat >"$base/docker/daemon.json" <<-JSON
		{"ip-forward": false,
		 "deprecated-key-path": "$base/docker/key.json",
		 "runtimes": {
		  "thing": {"path": "$base/bin/cdi-runtime", "runtimeArgs": ["vendor.example/thing=all", "--"]},
		  "none": {"path": "$base/bin/cdi-runtime", "runtimeArgs": ["vendor.example/thing=none", "--"]}}}
	JSON
	setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child --mount-proc -- sh -c '
		mount --make-rshared / || exit
		# Where it and its containerd write whatever they are told.
		for dir in /run/containerd /run/docker /opt; do mount -t tmpfs tmpfs "$dir" || exit; done
		PATH=$1:$PATH dockerd --config-file "$2/daemon.json" --iptables=false --bridge=none --storage-driver=vfs \
			--data-root "$2/data" --exec-root "$2/exec" --host "unix://$2/socket" --pidfile "$2/pid" --cgroup-parent "$3" &
		wait; sleep infinity' - "$docker:$containerd" "$base/docker" "$in_cgroup" </dev/null >"$base/docker/log" 2>&1 3>&- &
	world_parent=$!
	wait_until answers || fail "dockerd does not answer:" "$(tail -n 20 "$base/docker/log")"
	tar -C "$rootfs" -c -f "$base/docker/image.tar" .
	client import "$base/docker/image.tar" test >/dev/null
}

answers() { client version 2>/dev/null; }
client() { timeout 60 env HOME="$base/docker" "$docker/docker" --host "unix://$base/docker/socket" "$@" </dev/null; }

stop_docker() {
	client rm --force "$id" >/dev/null 2>&1 || true
	kill -KILL "$world_parent"
	wait "$world_parent" 2>/dev/null || true
	rmdir /run/containerd /run/docker 2>/dev/null || true
}

@test "docker 20.10 itself: with the runtime, and without it" {
	local config
	runtime_of_test
	all_spec
	sed -i '/containerEdits:/a\    env: [THING=all]' "$specs/all.yaml"
	start_docker
	table="# table: docker $(client version --format '{{.Server.Version}}' | sed 's/+.*//'), $cgroups,"

	# What newer releases have, and what a hook could be asked by, is not there.
	run ! client run --network none --device vendor.example/thing=all test true
	says "not an absolute path"
	run ! client run --network none --annotation cdi.k8s.io/x=vendor.example/thing=all test true
	says "unknown flag: --annotation"

	client run --detach --name "$id" --network none --runtime thing --label cdi.k8s.io/x=vendor.example/thing=all \
		test sleep 300 >/dev/null
	# (docker exec has an environment of its own.)
	run -0 client exec "$id" sh -c "${opens}opens /dev/thing && : </dev/thing-r && grep -q THING=all /proc/1/environ && echo all there
		(: >/dev/thing-r) || true"
	says "all there" "/dev/thing-r: Operation not permitted"
	config=$(echo "$base"/docker/exec/containerd/daemon/io.containerd.runtime.v2.task/moby/*/config.json)
	# docker's own hook is still there, a label has become no annotation, and all is there once.
	[[ $(jq -c '[(.hooks.prestart | map(.args[0])), .annotations, (.linux.devices | length)]' "$config") == '[["libnetwork-setkey"],null,2]' ]] ||
		fail "$(jq . "$config")"
	client restart --time 0 "$id" >/dev/null
	run -0 client exec "$id" sh -c "${opens}opens /dev/thing && ls -l /opt/x/lib"
	says "libgadget.so.1"
	config=$(echo "$base"/docker/exec/containerd/daemon/io.containerd.runtime.v2.task/moby/*/config.json)
	[[ $(jq '[.mounts[] | select(.destination == "/opt/x/lib/libgadget.so.1")] | length' "$config") == 1 ]]
	# v2 has no controllers here that could be changed.
	if [[ $cgroups == v1 ]]; then
		client update --cpu-shares 512 "$id" >/dev/null
		run -0 client exec "$id" sh -c "${opens}opens /dev/thing"
	fi
	echo "$table runtime of its own name with cdictl inject: node opens, variable set, docker's own hook kept, also after a restart" >&3

	run ! client run --network none --runtime none test true
	says "cdictl: device vendor.example/thing=none"
	echo "$table a device that there is not: docker says \"$(sed -n 's/.*\(cdictl: .*\)/\1/p' <<<"$output" | sed "s,$base,/run/test,g; 1q")\"" >&3
}
