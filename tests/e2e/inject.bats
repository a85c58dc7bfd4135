#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What a container gets that asks for devices.

load helpers

@test "a device node opens for reading and writing" {
	simple_spec
	request vendor.example/thing=node
	run -0 container 'opens /dev/thing && stat -c "%F %t:%T" /dev/thing'
	says "character special file $(stat -c %t:%T "$dev1")"
}

@test "a device that was not asked for is refused by the cgroup" {
	simple_spec
	request vendor.example/thing=node
	# /dev/spare is in the same spec file, but nobody asked for it. The container makes a node of
	# its own, so nothing but the device cgroup is in its way.
	run container "opens /dev/thing && echo asked for && test ! -e /dev/spare &&
		mknod /dev/own $num2 && echo made && opens /dev/own"
	((status != 0))
	says "asked for" made "/dev/own: Operation not permitted"
}

@test "permissions r: reading is allowed, writing is not" {
	spec thing.json <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/thing", "devices": [{"name": "r",
		 "containerEdits": {"deviceNodes": [
			{"path": "/dev/thing", "hostPath": "$dev1", "permissions": "r"}]}}]}
	JSON
	request vendor.example/thing=r
	run -0 container 'exec 3</dev/thing; echo read'
	says read
	run container 'exec 3>/dev/thing'
	((status != 0))
	says "/dev/thing: Operation not permitted"
}

@test "a node without hostPath has the path of the host's node" {
	spec thing.yaml <<-YAML
		cdiVersion: "0.3.0"
		kind: vendor.example/thing
		devices:
		- name: same
		  containerEdits:
		    deviceNodes:
		    - path: $dev1
	YAML
	request vendor.example/thing=same
	run -0 container "opens $dev1 && stat -c %t:%T $dev1"
	says "$(stat -c %t:%T "$dev1")"
}

@test "a node that is complete in the spec need not exist on the host" {
	read -r _ major minor <<<"$num1"
	spec thing.json <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/thing", "devices": [{"name": "made",
		 "containerEdits": {"deviceNodes": [{"path": "/dev/not-on-this-host", "type": "c",
			"major": $major, "minor": $minor}]}}]}
	JSON
	request vendor.example/thing=made
	run -0 container 'opens /dev/not-on-this-host && stat -c %t:%T /dev/not-on-this-host'
	says "$(stat -c %t:%T "$dev1")"
}

@test "mode and owner of a node are those of the spec" {
	spec thing.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: owned
		  containerEdits:
		    deviceNodes:
		    - path: /dev/thing
		      hostPath: $dev1
		      fileMode: 0640
		      uid: 1234
		      gid: 5678
	YAML
	request vendor.example/thing=owned
	run -0 container 'stat -c "%a %u:%g" /dev/thing'
	says "640 1234:5678"
}

@test "a mode that the spec leaves out is the host node's, the owner is the container's user" {
	mkdir "$base/host"
	mknod -m 0604 "$base/host/node" $num1
	chown 4321:8765 "$base/host/node"
	spec thing.json <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/thing", "devices": [{"name": "like-host",
		 "containerEdits": {"deviceNodes": [
			{"path": "/dev/thing", "hostPath": "$base/host/node"}]}}]}
	JSON
	request vendor.example/thing=like-host
	run -0 container 'stat -c "%a %u:%g" /dev/thing'
	says "604 0:0"
	edit_config '.process.user = {uid: 1000, gid: 1001}'
	run -0 container 'stat -c "%a %u:%g" /dev/thing'
	says "604 1000:1001"
}

@test "directories above a node are made with mode 0755, whatever the umask" {
	simple_spec
	sed -i 's,path: /dev/thing,path: /dev/made/for/it/thing,' "$specs/thing.yaml"
	request vendor.example/thing=node
	umask 077
	run -0 container 'opens /dev/made/for/it/thing && stat -c "%a %u:%g %n" /dev/made /dev/made/for/it'
	says "755 0:0 /dev/made" "755 0:0 /dev/made/for/it"
}

@test "a node that the container has already stays as it is" {
	spec thing.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: "null"
		  containerEdits:
		    deviceNodes:
		    - path: /dev/null
		    - path: /dev/thing
		      hostPath: $dev1
	YAML
	request vendor.example/thing=null
	run -0 container 'echo x >/dev/null && opens /dev/thing && stat -c "%t:%T %a" /dev/null'
	says "1:3 666"
}

# mount_spec OPTIONS HOST CONTAINER [TYPE]: a spec whose device "mount" has one mount
mount_spec() {
	spec mount.json <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/thing", "devices": [{"name": "mount",
		 "containerEdits": {"mounts": [{"hostPath": "$2", "containerPath": "$3",
			"options": $1 ${4:+, \"type\": \"$4\"}}]}}]}
	JSON
	request vendor.example/thing=mount
}

@test "a file is mounted where no directory was, and cannot be written" {
	echo 'from the host' >"$base/data"
	mount_spec '["ro", "nosuid", "nodev", "bind"]' "$base/data" /opt/vendor/share/data
	run -0 container 'cat /opt/vendor/share/data; stat -c "%a %n" /opt /opt/vendor/share'
	says "from the host" "755 /opt" "755 /opt/vendor/share"
	run container 'echo x >/opt/vendor/share/data'
	((status != 0))
	says "Read-only file system"
	[[ $(<"$base/data") == 'from the host' ]]
}

@test "a mount without ro can be written" {
	echo before >"$base/data"
	mount_spec '["bind"]' "$base/data" /data
	run -0 container 'echo after >/data'
	[[ $(<"$base/data") == after ]]
}

@test "a file is mounted over one that the image has" {
	echo 'from the host' >"$base/data"
	echo 'from the image' >"$rootfs/etc/data"
	mount_spec '["ro", "bind"]' "$base/data" /etc/data
	run -0 container 'cat /etc/data'
	says "from the host"
	[[ $(<"$rootfs/etc/data") == 'from the image' ]]
}

@test "the options of a mount show in the container" {
	echo x >"$base/data"
	mount_spec '["ro", "nosuid", "nodev", "noexec", "bind"]' "$base/data" /data
	run -0 container 'grep " /data " /proc/mounts'
	[[ $output =~ \ ro, && $output =~ nosuid && $output =~ nodev && $output =~ noexec ]] ||
		fail "$output"
}

@test "a directory is mounted" {
	mkdir -p "$base/dir/sub"
	echo deep >"$base/dir/sub/file"
	mount_spec '["ro", "bind"]' "$base/dir" /opt/dir
	run -0 container 'cat /opt/dir/sub/file'
	says deep
}

@test "a socket is mounted" {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$base/socket"
	mount_spec '["bind"]' "$base/socket" /run/vendor/socket
	run -0 container 'test -S /run/vendor/socket && echo it is a socket'
	says "it is a socket"
}

@test "a tmpfs is mounted" {
	mount_spec '["nosuid", "nodev", "mode=0711", "size=64k"]' tmpfs /scratch tmpfs
	run -0 container 'touch /scratch/x && stat -c %a /scratch && grep " /scratch " /proc/mounts'
	says 711 " /scratch tmpfs rw,nosuid,nodev," "size=64k"
	[[ ! -e $rootfs/scratch/x ]]
}

@test "a mount does not come back to the host" {
	mkdir "$base/dir"
	mount_spec '["bind"]' "$base/dir" /opt/dir
	# teardown compares the host's mounts; here the container has to be alive meanwhile
	run -0 container 'grep -c " /opt/dir " /proc/mounts; grep " /opt/dir " /proc/self/mountinfo'
	says_not " shared:"
}

@test "devices of two annotations, two files and two directories" {
	echo one >"$base/one"
	spec a.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/a
		containerEdits:
		  mounts:
		  - {hostPath: $base/one, containerPath: /one, options: [ro, bind]}
		devices:
		- name: first
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/first, hostPath: $dev1}
		- name: "1"
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/digit, hostPath: $dev1}
	YAML
	spec ../specs2/b.json <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/b", "devices": [{"name": "second",
		 "containerEdits": {"deviceNodes": [{"path": "/dev/second", "hostPath": "$dev2"}]}}]}
	JSON
	request vendor.example/a=first vendor.example/a=1
	request vendor.example/b=second
	run -0 container 'opens /dev/first /dev/digit /dev/second && cat /one'
	says one
}

@test "a device that is asked for twice is given once" {
	echo x >"$base/data"
	simple_spec
	mount_spec '["bind"]' "$base/data" /data
	request vendor.example/thing=node vendor.example/thing=mount vendor.example/thing=node
	request vendor.example/thing=node
	run -0 container 'opens /dev/thing && grep -c " /data " /proc/mounts'
	says 1
}

@test "a later spec directory wins" {
	simple_spec
	mkdir -p "$specs2"
	sed "s,/dev/thing,/dev/later," "$specs/thing.yaml" >"$specs2/thing.yaml"
	request vendor.example/thing=node
	run -0 container 'opens /dev/later && test ! -e /dev/thing'
}

@test "a read-only root file system is no obstacle" {
	echo 'from the host' >"$base/data"
	mount_spec '["ro", "bind"]' "$base/data" /opt/vendor/data
	simple_spec
	request vendor.example/thing=node
	edit_config '.root.readonly = true'
	run -0 container 'opens /dev/thing && cat /opt/vendor/data && touch /x 2>&1 | grep Read-only'
	says "from the host" "Read-only file system"
}

@test "a device that the command line asks for needs no allow file" {
	simple_spec
	rm "$allow"
	options+=(--device=vendor.example/thing=node)
	run -0 container 'opens /dev/thing'
}

@test "a process that enters the container later has the device too" {
	simple_spec
	request vendor.example/thing=node
	container 'sleep 60' 3>&- &
	pid=$!
	local i
	for i in {1..100}; do
		[[ $("$runtime" --root "$base/runc" state "$id" 2>/dev/null | jq -r .status) == running ]] && break
		sleep 0.05
	done
	run -0 "$runtime" --root "$base/runc" exec "$id" sh -c 'test -c /dev/thing && exec 3<>/dev/thing && echo opened'
	says opened
}

@test "a grant leaves a trace: the device and the pattern that allowed it" {
	simple_spec
	request vendor.example/thing=node
	options+=(--log-file="$base/log")
	run -0 container 'opens /dev/thing'
	grep -F vendor.example/thing=node "$base/log" | grep -F 'vendor.example/*' ||
		fail "$(cat "$base/log")"
}

@test "without a request the container starts and nothing is looked at" {
	options=(--spec-dir=/nonexistent --allow-file=/nonexistent/allow)
	run -0 container 'echo started'
	says started
}

# AppArmor's likewise: a runtime confines the container's process alone, as the last thing before it starts it.
@test "what the container's seccomp profile forbids is not forbidden to the hook" {
	mkdir "$base/data"
	echo 'from the host' >"$base/data/file"
	mount_spec '["ro", "bind"]' "$base/data" /opt/vendor/data
	simple_spec
	request vendor.example/thing=node
	edit_config '.linux.seccomp = {
		defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{
			names: ["mknod", "mknodat", "mount", "move_mount", "open_tree", "mount_setattr", "fsopen", "bpf", "unshare"],
			action: "SCMP_ACT_ERRNO", errnoRet: 38
		}]
	}'
	for stage in createRuntime createContainer; do
		edit_config '.hooks = {}'
		run -0 container "opens /dev/thing && cat /opt/vendor/data/file; mknod /dev/own $num2 || true"
		says "from the host" "/dev/own: Function not implemented"
	done
}
