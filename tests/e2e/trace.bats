#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The trace that a grant leaves with the host's log daemon, and what a failure tells it. The runtime runs on a host, as
# far as it can see, that has the daemons of the test: their sockets lie in a /run and a /dev of its own mount namespace.

load helpers

# host: makes that host. `runtime` and `by_hand` run there from then on; `on_host COMMAND...` does what its name says.
host() {
	local name=${base#/run/}
	journal=$base/run/systemd/journal/socket syslog=$base/dev/log
	mkdir -p "$base/run/$name" "${journal%/*}" "$base/dev"
	cp -ax /dev/. "$base/dev/"
	rm -f "$syslog"
	cat >"$base/on-host" <<-END
		#!/bin/bash
		exec unshare --mount --propagation private -- bash -c '
			mount --rbind "$base" "$base/run/$name" && mount --rbind "$base/run" /run &&
				mount --rbind "$base/dev" /dev && exec "\$@"' on-host "\$@"
	END
	printf '#!/bin/bash\nexec "%s/on-host" "%s" "$@"\n' "$base" "$runtime" >"$base/runtime"
	printf '#!/bin/bash\nexec "%s/on-host" "%s" "$@"\n' "$base" "$hook" >"$base/hook-on-host"
	chmod +x "$base/on-host" "$base/runtime" "$base/hook-on-host"
	runtime=$base/runtime
}

on_host() { "$base/on-host" "$@"; }
by_hand_on_host() { hook=$base/hook-on-host by_hand "$@"; }

# daemon journal|syslog|full SOCKET [FILE]
daemon() {
	[[ $1 == full ]] || : >>"$3"
	"$BATS_TEST_DIRNAME/log-socket" "$@" 3>&- &
	daemons+=($!)
	until [[ -S $2 ]]; do
		sleep 0.02
	done
}

# written FILE [LINES]: what was sent has arrived when its sender has ended, but has yet to be written down
written() {
	local i
	for ((i = 0; i < 100; i++)); do
		(($(wc -l <"$1") < ${2:-1})) || return 0
		sleep 0.02
	done
	fail "not ${2:-1} lines in $1:" "$(<"$1")"
}

# entry FILTER: the one entry that journald got must be so
entry() {
	written "$base/journal"
	jq -se "length == 1 and (.[0] | $1)" "$base/journal" >/dev/null || fail "not so: $1" "in:" "$(<"$base/journal")"
}

# end_daemons: what stays after this was never sent
end_daemons() {
	((${#daemons[@]} == 0)) || kill "${daemons[@]}"
	daemons=()
}

daemons=()

@test "journald gets a grant as fields, and syslog nothing" {
	simple_spec
	request vendor.example/thing=node,vendor.example/thing=spare
	host
	daemon journal "$journal" "$base/journal"
	daemon syslog "$syslog" "$base/syslog"
	run -0 container 'opens /dev/thing /dev/spare'
	entry '.MESSAGE_ID == ["05ffc8fa4c164eeea299f79fa3609d38"] and .PRIORITY == ["5"]'
	entry '.SYSLOG_IDENTIFIER == ["oci-cdi-hook"] and .SYSLOG_FACILITY == ["3"] and .CDI_STAGE == ["createRuntime"]'
	entry ".CDI_CONTAINER_ID == [\"$id\"]"
	entry '.CDI_DEVICE == ["vendor.example/thing=node", "vendor.example/thing=spare"]'
	entry '.CDI_ALLOWED_BY == ["vendor.example/*", "vendor.example/*"]'
	entry '.CDI_NODES == ["2"] and .CDI_MOUNTS == ["0"] and .CDI_DEVICE_RULES == ["2"] and .CDI_NET_DEVICES == ["0"]'
	entry ".MESSAGE == [\"container $id: gave vendor.example/thing=node (allowed by vendor.example/*), vendor.example/thing=spare (allowed by vendor.example/*): 2 nodes, 0 mounts, 2 device rules\"]"
	end_daemons
	[[ ! -s $base/syslog ]] || fail "$(<"$base/syslog")"
}

@test "without journald, syslog gets a line" {
	simple_spec
	request vendor.example/thing=node
	host
	daemon syslog "$syslog" "$base/syslog"
	run -0 container true
	written "$base/syslog"
	run jq -r . "$base/syslog"
	[[ $output =~ ^'<29>oci-cdi-hook['[0-9]+']: container '"$id"': gave vendor.example/thing=node (allowed by vendor.example/*): 1 node, 0 mounts, 1 device rule'$ ]] ||
		fail "$output"
	end_daemons
}

@test "a journald that is gone but for its socket's name: syslog" {
	simple_spec
	request vendor.example/thing=node
	host
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind(sys.argv[1])' "$journal"
	daemon syslog "$syslog" "$base/syslog"
	run -0 container true
	written "$base/syslog"
	end_daemons
}

@test "a device of the command line was allowed by nobody" {
	simple_spec
	options+=(--device=vendor.example/thing=node)
	host
	daemon journal "$journal" "$base/journal"
	run -0 container true
	entry '.CDI_DEVICE == ["vendor.example/thing=node"] and (has("CDI_ALLOWED_BY") | not)'
	entry '.MESSAGE[0] | contains("vendor.example/thing=node (command line)")'
	end_daemons
}

@test "the sentence of a failure" {
	simple_spec
	request vendor.example/thing=missing
	host
	daemon journal "$journal" "$base/journal"
	run ! container true
	entry ".PRIORITY == [\"3\"] and .CDI_CONTAINER_ID == [\"$id\"] and (has(\"MESSAGE_ID\") or has(\"CDI_DEVICE\") | not)"
	entry '.MESSAGE[0] | contains("vendor.example/thing=missing") and contains("node") and contains("spare")'
	end_daemons
}

@test "a malformed request too, and a mistake in the command line" {
	annotate cdi.k8s.io/x bad
	host
	daemon journal "$journal" "$base/journal"
	run ! container true
	entry '.PRIORITY == ["3"] and (.MESSAGE[0] | contains("annotation cdi.k8s.io/x"))'
	: >"$base/journal"
	run -2 on_host "$hook" --no-such-option createRuntime </dev/null
	entry '.PRIORITY == ["3"] and .MESSAGE == ["unknown option --no-such-option"]'
	end_daemons
}

@test "a warning" {
	spec env.yaml <<-'YAML'
		cdiVersion: "0.6.0"
		kind: vendor.example/env
		devices:
		- {name: x, containerEdits: {env: [NAME=value]}}
	YAML
	request vendor.example/env=x
	host
	daemon journal "$journal" "$base/journal"
	run -0 container true
	written "$base/journal" 2
	end_daemons
	run -0 jq -s '[.[] | .PRIORITY[0]]' -c "$base/journal"
	[[ $output == '["4","5"]' ]] || fail "$(<"$base/journal")"
	jq -se '.[0].MESSAGE[0] | contains("env NAME=value cannot be set")' "$base/journal"
}

@test "at createContainer, where the image has sockets at the same places" {
	simple_spec
	request vendor.example/thing=node
	stage=createContainer
	mkdir -p "$rootfs/run/systemd/journal"
	daemon journal "$rootfs/run/systemd/journal/socket" "$base/image"
	daemon syslog "$rootfs/dev/log" "$base/image"
	host
	daemon journal "$journal" "$base/journal"
	run -0 container true
	entry '.CDI_STAGE == ["createContainer"]'
	end_daemons
	[[ ! -s $base/image ]] || fail "$(<"$base/image")"
}

@test "an id with a newline adds no field" {
	simple_spec
	request vendor.example/thing=missing
	pid=1 id=$'x\nCDI_DEVICE=all'
	host
	daemon journal "$journal" "$base/journal"
	run -3 by_hand_on_host
	pid=
	entry '.CDI_CONTAINER_ID == ["x\nCDI_DEVICE=all"] and (has("CDI_DEVICE") | not)'
	entry '.MESSAGE[0] | startswith("container x\\x0aCDI_DEVICE=all: ")'
	end_daemons
}

@test "a daemon that does not read holds up nobody" {
	simple_spec
	request vendor.example/thing=node
	host
	daemon full "$journal"
	options+=(--timeout=5)
	run -0 container 'opens /dev/thing'
	end_daemons
	rm "$journal"
	daemon full "$syslog"
	run -0 container 'opens /dev/thing'
	end_daemons
}
