#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What a container sees in its own /proc: GPU drivers list all cards of the machine there. A spec hides
# them with a tmpfs over their directory, and shows some by binding them into it. The kernel's own
# entries are not a spec's to cover.

load helpers

# A directory that every procfs has, with an entry of a driver's.
directory=/proc/tty/driver

# proc_spec: reads mounts from stdin
proc_spec() {
	{
		cat <<-YAML
			cdiVersion: "0.6.0"
			kind: vendor.example/thing
			devices:
			- name: card
			  containerEdits:
			    mounts:
		YAML
		sed 's/^/    /'
	} | spec proc.yaml
	request vendor.example/thing=card
}

@test "a directory of /proc is hidden, and chosen entries are shown in it" {
	mkdir -p "$base/host/cards/0"
	echo "card 0" >"$base/host/cards/0/information"
	echo "version 5" >"$base/host/version"
	proc_spec <<-YAML
		- {hostPath: tmpfs, containerPath: $directory, type: tmpfs, options: [nosuid, nodev, noexec, mode=0555]}
		- {hostPath: $base/host/cards/0, containerPath: $directory/cards/0, options: [ro, nosuid, nodev, bind]}
		- {hostPath: $base/host/version, containerPath: $directory/version, options: [ro, nosuid, nodev, bind]}
	YAML
	run -0 container "ls $directory $directory/cards; cat $directory/version $directory/cards/0/information"
	says "version 5" "card 0"
	says_not serial
	# The real entries are as they were.
	[[ -e $directory/serial ]]
}

@test "an entry of the host's own /proc is shown" {
	proc_spec <<-YAML
		- {hostPath: tmpfs, containerPath: $directory, type: tmpfs}
		- {hostPath: /proc/version, containerPath: $directory/version, options: [ro, bind]}
	YAML
	run -0 container "ls $directory; cat $directory/version"
	says "Linux version"
	says_not serial
}

@test "one entry of a driver is covered" {
	echo "nothing here" >"$base/host-file"
	proc_spec <<-YAML
		- {hostPath: $base/host-file, containerPath: $directory/serial, options: [ro, bind]}
	YAML
	run -0 container "cat $directory/serial"
	says "nothing here"
}

@test "a second run changes nothing" {
	echo "version 5" >"$base/host-version"
	proc_spec <<-YAML
		- {hostPath: tmpfs, containerPath: $directory, type: tmpfs}
		- {hostPath: $base/host-version, containerPath: $directory/version, options: [ro, bind]}
	YAML
	edit_config '.process.args = ["sleep", "300"]'
	saved=$(<"$bundle/config.json")
	edit_config '.hooks = {createRuntime: [{path: $hook, args: (["oci-cdi-hook"] + $ARGS.positional + ["createRuntime"])}]}' \
		--arg hook "$hook" --args -- "${options[@]}"
	"$runtime" --root "$base/runc" run --detach --bundle "$bundle" "$id" </dev/null >"$base/output" 2>&1 ||
		fail "$(<"$base/output")"
	pid=$("$runtime" --root "$base/runc" state "$id" | jq .pid)
	echo "$saved" >"$bundle/config.json"
	before=$(<"/proc/$pid/mountinfo")
	run -0 by_hand
	[[ $(<"/proc/$pid/mountinfo") == "$before" ]] || fail "$(diff <(echo "$before") "/proc/$pid/mountinfo")"
	pid=
}

# In each line: what a spec may not cover.
@test "processes, sysctls and single control files are never covered" {
	local path
	for path in /proc /proc/1/status /proc/self/status /proc/thread-self/comm /proc/sys/kernel/hostname /proc/sys \
		/proc/sysrq-trigger /proc/cmdline /proc/driver/../sysrq-trigger /sys/kernel/uevent_seqnum; do
		echo text >"$base/text"
		proc_spec <<<"- {hostPath: $base/text, containerPath: $path, options: [ro, bind]}"
		refused 4
		says "mounts containerPath"
	done
}

@test "a link of the image does not lead a mount into /proc" {
	echo text >"$base/text"
	mkdir "$rootfs/opt"
	ln -s /proc/sys/kernel "$rootfs/opt/kernel"
	proc_spec <<<"- {hostPath: $base/text, containerPath: /opt/kernel/hostname, options: [ro, bind]}"
	refused 8
	says "leads into procfs"
}
