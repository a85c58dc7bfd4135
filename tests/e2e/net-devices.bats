#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Interfaces and cache classes. Each test runs in a network namespace of its own, which plays the
# host's, with a pair of connected virtual interfaces: "cdi0", which a container may get, and
# "peer0", which stays.

load helpers

# on_host COMMAND...: in the namespace that plays the host's network
on_host() { nsenter --net="/proc/$network/ns/net" "$@"; }

host_network() {
	unshare --net sleep 300 3>&- &
	network=$!
	until [[ $(<"/proc/$network/comm") == sleep ]]; do
		sleep 0.02
	done
	on_host ip link add cdi0 type veth peer name peer0
	on_host ip addr add 192.0.2.7/24 brd + dev cdi0
	on_host ip addr add 2001:db8::7/64 dev cdi0 nodad
	on_host ip link set cdi0 up
	on_host ip link set peer0 up
	# The container's runtime and its hook are in that network.
	runtime=$base/runtime
	printf '#!/bin/sh\nexec nsenter --net=/proc/%s/ns/net runc "$@"\n' "$network" >"$runtime"
	chmod +x "$runtime"
}

end_network() { kill "$network" && wait "$network" || true; }

net_spec() {
	spec net.yaml <<-YAML
		cdiVersion: "1.1.0"
		kind: vendor.example/net
		devices:
		- name: port
		  containerEdits:
		    netDevices:
		    - hostInterfaceName: cdi0
		      name: net1
		$(printf '    %s\n' "$@")
	YAML
	request vendor.example/net=port
}

@test "an interface moves with its lasting addresses, renamed and up" {
	host_network
	net_spec
	ln -s busybox "$rootfs/bin/ip"
	run -0 container 'ip addr show net1'
	says "<BROADCAST,MULTICAST,UP" "inet 192.0.2.7/24 brd 192.0.2.255 scope global net1" "inet6 2001:db8::7/64 scope global"
	# The link-local address is made anew by the kernel and never carried over.
	[[ $(grep -c 'inet6 2001' <<<"$output") == 1 ]]
	end_network
}

@test "a failure behind the move gives the interface back as it was" {
	host_network
	net_spec
	on_host ip -o addr show dev cdi0 scope global | sed 's/^[0-9]*: //' >"$base/before"
	spec bad.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: unmountable
		  containerEdits:
		    mounts:
		    - {hostPath: $base/specs, containerPath: /etc/in-the-way, options: [ro, bind]}
	YAML
	request vendor.example/thing=unmountable
	echo 'a file' >"$rootfs/etc/in-the-way"
	refused 8
	says vendor.example/thing=unmountable /etc/in-the-way
	on_host ip -o addr show dev cdi0 scope global | sed 's/^[0-9]*: //' >"$base/after"
	[[ -s $base/before ]]
	diff "$base/before" "$base/after"
	on_host ip link show cdi0 | grep -q '[<,]UP[,>]'
	end_network
}

@test "an interface that the host does not have" {
	host_network
	net_spec
	on_host ip link del cdi0
	refused 6
	says "device vendor.example/net=port (" "net.yaml:7:7): the host has no network interface cdi0"
	end_network
}

@test "a name that the container has already" {
	host_network
	net_spec
	# A second device wants the name of the loopback interface, which each container has.
	spec lo.yaml <<-YAML
		cdiVersion: "1.1.0"
		kind: vendor.example/lo
		devices:
		- {name: lo, containerEdits: {netDevices: [{hostInterfaceName: peer0, name: lo}]}}
	YAML
	request vendor.example/lo=lo
	refused 7
	says "network interface peer0 cannot become lo: the container has an interface of that name"
	on_host ip link show cdi0 >/dev/null
	on_host ip link show peer0 >/dev/null
	end_network
}

@test "a container that shares the host's network" {
	host_network
	net_spec
	edit_config 'del(.linux.namespaces[] | select(.type == "network"))'
	refused 7
	says "the container shares the host's network, so it cannot be given an interface of it"
	end_network
}

@test "what is in the container already stays, by hand and a second time" {
	host_network
	net_spec
	nsenter --net="/proc/$network/ns/net" unshare --net --mount sh -c \
		'mount --bind "$0" "$0" && exec sleep 300' "$rootfs" 3>&- &
	pid=$!
	until [[ $(<"/proc/$pid/comm") == sleep ]]; do
		sleep 0.02
	done
	options+=(--no-cgroup --log-level=debug)
	state >"$base/state.json"
	for round in 1 2; do
		run -0 on_host "$hook" "${options[@]}" "$stage" <"$base/state.json"
		nsenter --net="/proc/$pid/ns/net" ip -o addr show dev net1 scope global >"$base/round$round"
	done
	says "network interface net1 is in the container already"
	[[ $(wc -l <"$base/round1") == 2 ]]
	diff "$base/round1" "$base/round2"
	run ! on_host ip link show cdi0
	end_network
}

@test "from inside the container it cannot be done, which --unsupported decides" {
	host_network
	net_spec
	stage=createContainer
	run -0 container 'true'
	on_host ip link show cdi0
	options+=(--unsupported=fail)
	refused 1
	says "netDevices cdi0:net1 cannot be set at createContainer"
	end_network
}

# A directory that plays the kernel's resctrl file system, for COMMAND...
with_resctrl() {
	unshare --mount --propagation=slave bash -c '
		tree=$1; shift
		mkdir "$tree"
		mount --rbind /sys/fs/cgroup "$tree"
		mount -t tmpfs -o mode=755 resctrl /sys/fs
		mkdir /sys/fs/cgroup /sys/fs/resctrl
		mount --rbind "$tree" /sys/fs/cgroup
		mount --bind "$0" /sys/fs/resctrl
		"$@"' "$base/resctrl" "$base/cgroups" "$@"
}

rdt_spec() {
	spec rdt.yaml <<-YAML
		cdiVersion: "1.1.0"
		kind: vendor.example/cache
		devices:
		- name: class
		  containerEdits:
		    intelRdt: {$1}
	YAML
	request vendor.example/cache=class
	mkdir -p "$base/resctrl/gold" "$base/resctrl/info"
	: >"$base/resctrl/gold/tasks"
	printf '    L3:0=00ff0;1=fffff\n' >"$base/resctrl/gold/schemata"
	process_with_namespace
	options+=(--no-cgroup)
}

@test "a cache class is joined by all threads of the container's process" {
	rdt_spec 'closID: gold, l3CacheSchema: "L3:0=ff0"'
	export -f by_hand state
	export hook stage bundle id pid
	run -0 with_resctrl bash -c 'state | "$hook" "$@" "$stage"' - "${options[@]}"
	[[ $(<"$base/resctrl/gold/tasks") == "$pid" ]]
}

@test "a cache class that allots something else, or is not there" {
	rdt_spec 'closID: gold, schemata: ["L3:0=ff"]'
	export -f by_hand state
	export hook stage bundle id pid
	run -6 with_resctrl bash -c 'state | "$hook" "$@" "$stage"' - "${options[@]}"
	says "device vendor.example/cache=class (" 'intelRdt: class gold of /sys/fs/resctrl does not allot "L3:0=ff"'
	[[ ! -s $base/resctrl/gold/tasks ]]

	rmdir "$base/cgroups"
	sed -i 's/closID: gold/closID: info/' "$specs/rdt.yaml"
	run -6 with_resctrl bash -c 'state | "$hook" "$@" "$stage"' - "${options[@]}"
	says "intelRdt: there is no class info in /sys/fs/resctrl, and a hook can only join one that is there"
}

@test "no resctrl file system at all" {
	rdt_spec 'closID: gold'
	[[ ! -d /sys/fs/resctrl/info ]] || skip "this host has classes of its own"
	run -6 by_hand
	says "intelRdt: " /sys/fs/resctrl
}
