#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# podman as root, with the hook in a directory of its own (--hooks-dir) and the JSON files that we
# install. matrix.bats has every stage; here it is createRuntime, and what people do with podman.

load engines

@test "--annotation, several devices in one and in two" {
	use_engine podman+runc
	all_spec
	spec more.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/more
		devices:
		- name: "1"
		  containerEdits:
		    deviceNodes: [{path: /dev/more1, hostPath: $dev1}]
		- name: "2"
		  containerEdits:
		    deviceNodes: [{path: /dev/more2, hostPath: $dev1}]
	YAML
	request vendor.example/more=1 vendor.example/more=2
	start
	sees_all
	run -0 inside 'opens /dev/more1 /dev/more2'
}

# A hook that is called opens its log, whatever it then does.
@test "without an annotation the hook is not called" {
	use_engine podman+runc
	all_spec
	edit_config '.annotations = {}'
	start
	[[ ! -c /proc/$pid/root/dev/thing && ! -e $base/log ]]
}

@test "an annotation of somebody else, whose name only looks like ours, is not matched" {
	use_engine podman+runc
	all_spec
	edit_config '.annotations = {"example.com/cdi.k8s.io/x": "bad", "cdi-k8s-io/x": "bad", "cdixk8s.io/x": "bad"}'
	start
	[[ ! -e $base/log ]]
}

# refuses CODE TEXT...: the container must not start, and podman says why
refuses() {
	local code=$1
	shift
	run start
	((status == 126)) || fail "podman's status is $status, with" "$output"
	if [[ $engine == *runc ]]; then
		says "exit status $code, " "$@"
	else
		says "(exit code: $code)"
	fi
	output=$(sentence)
	says "$@"
	[[ $(pod inspect --format '{{.State.Status}}' "$id") == created ]]
}

@test "a malformed request: the container does not start" {
	local name
	annotate cdi.k8s.io/x bad
	for name in podman+runc podman+crun; do
		use_engine "$name"
		: >"$base/log"
		refuses 3 'annotation cdi.k8s.io/x: device "bad"'
		pod rm "$id" >/dev/null
	done
}

@test "malformed requests of every kind: none starts a container" {
	local value
	use_engine podman+crun
	simple_spec
	for value in '' ' ' ',' 'vendor.example/thing' 'vendor.example/thing=' 'thing=node' \
		'vendor.example/thing=node,' 'vendor.example/thing=node,bad' 'vendor.example/thing=no such'; do
		edit_config '.annotations = {}'
		annotate cdi.k8s.io/x "$value"
		run start
		((status == 126)) || fail "not refused: '$value'" "$output"
		says "(exit code: 3)"
		pod rm "$id" >/dev/null
	done
}

@test "a device that nobody allowed: the sentence reaches the person" {
	use_engine podman+runc
	all_spec
	echo 'vendor.example/other=*' >"$allow"
	refuses 5 vendor.example/thing=all "cdictl allow 'vendor.example/thing="
}

@test "an image that asks for a device by itself needs the administrator's word too" {
	use_engine podman+runc
	all_spec
	printf 'FROM localhost/test\nCMD ["sh"]\n' >"$base/podman/Containerfile"
	pod build --quiet --annotation cdi.k8s.io/image=vendor.example/thing=all --tag localhost/test \
		--file "$base/podman/Containerfile" "$base/podman/tmp" >/dev/null
	edit_config '.annotations = {}'
	echo 'vendor.example/other=*' >"$allow"
	# podman 4.6 and later leave the annotations of images out.
	if [[ $(printf '%s\n' 4.6 "$(podman --version | sed 's/.* //')" | sort -V | head -n 1) == 4.6 ]]; then
		start
		[[ ! -c /proc/$pid/root/dev/thing ]]
	else
		refuses 5 vendor.example/thing=all "cdictl allow 'vendor.example/thing="
	fi
}

@test "--device of podman's own together with the annotation" {
	use_engine podman+crun
	all_spec
	start --device "/dev/${third#/dev/}:/dev/own-device"
	# What podman gave is allowed by podman; the rest is as ever.
	run -0 inside 'opens /dev/own-device && stat -c %t:%T /dev/own-device'
	says "$(stat -c %t:%T "$third")"
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "/dev/thing-r: Operation not permitted" "gadget of the host" "own opens"
}

@test "--device for the same node as the annotation" {
	use_engine podman+crun
	all_spec
	start --device "$dev1:/dev/thing"
	sees_all
}

@test "--device vendor/class=name, podman's own CDI, together with the annotation" {
	use_engine podman+runc
	all_spec
	hooks_d
	podman_annotations
	# Podman reads /etc/cdi only: it gets an /etc that has one, in a mount namespace of its own. The
	# library cache is ours in any case.
	mkdir -p "$base/etc"/{upper,work}
	sed -i 's/cdiVersion: .*/cdiVersion: "0.5.0"/' "$specs/all.yaml"
	cp -r "$specs" "$base/etc/upper/cdi"
	in_another_etc() {
		unshare --mount bash -c '
			mount -t overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" overlay /etc
			shift; "$@"' - "$base/etc" "$@"
	}
	export -f pod
	export base runtime podman
	run -0 in_another_etc bash -c 'pod "$@"' - run --rm --name "$id" --cgroup-parent "$in_cgroup" --cap-add MKNOD \
		"${annotations[@]}" --device vendor.example/thing=all localhost/test \
		sh -c "{ $(look); } 2>&1; grep -c ' /opt/x/lib/libgadget.so.1 ' /proc/self/mountinfo"
	says "thing opens" "thing-r reads" "/dev/thing-r: Operation not permitted" \
		"/dev/own: Operation not permitted" "Read-only file system" "gadget of the host"
	[[ ${lines[-1]} == 1 ]] || fail "mounted ${lines[-1]} times"
}

@test "--read-only" {
	use_engine podman+crun
	all_spec
	read_only=true
	start
	sees_all
	run inside 'touch /x'
	((status != 0))
	says "Read-only file system"
}

@test "--privileged" {
	use_engine podman+crun
	all_spec
	start --privileged
	output=$(<"/proc/$pid/root/dev/shm/seen")
	# The cgroup of such a container allows everything.
	says "thing opens" "own opens" "gadget of the host" "/opt/x/lib/libgadget.so.1: Read-only file system"
	run -0 second_run
}

@test "a user that is not root" {
	use_engine podman+crun
	all_spec
	start --user 1234:1234
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "gadget of the host"
	[[ $(stat -c %u:%g "/proc/$pid/root/dev/thing") == 1234:1234 ]]
}

@test "podman exec" {
	use_engine podman+runc
	all_spec
	start
	run -0 inside "{ $(look); } 2>&1"
	says "thing opens" "thing-r reads" "/dev/thing-r: Operation not permitted" "gadget of the host"
	says_not "thing-r writes" "library writes"
	# /dev/own is there from the first process.
	run inside 'opens /dev/own'
	((status != 0))
	says "Operation not permitted"
}

@test "podman stop and podman start: all of it is there again" {
	local name before
	all_spec
	for name in podman+runc podman+crun; do
		use_engine "$name"
		start
		sees_all
		before=$(device_rules | sed 's/^program [0-9]* /program /')
		stop_container
		pod start "$id"
		podman_process "$id"
		wait_until test -e "/proc/$pid/root/dev/shm/seen"
		sees_all
		[[ $(grep -c " /opt/x/lib/libgadget.so.1 " "/proc/$pid/mountinfo") == 1 ]]
		[[ $(device_rules | sed 's/^program [0-9]* /program /') == "$before" ]]
		run -0 second_run
		pod restart --time 0 "$id"
		podman_process "$id"
		wait_until test -e "/proc/$pid/root/dev/shm/seen"
		sees_all
		pod rm --force --time 0 "$id" >/dev/null
	done
}

@test "podman start after the device has gone: it does not start, and says so" {
	use_engine podman+runc
	all_spec
	start
	stop_container
	rm "$base/vendor/libgadget.so.1"
	run pod start "$id"
	((status != 0))
	says "exit status 6, " "$base/vendor/libgadget.so.1"
}

# image_files NAME: path, type, mode and size of what an image holds
image_files() {
	local directory
	directory=$(pod image mount "$1")
	find "$directory" -mindepth 1 -printf '%P %y %m %s\n' | sort
	pod image unmount "$1" >/dev/null
}

@test "podman commit: of the driver the new image holds mount points, the cache and its conf.d file" {
	local plain with came
	use_engine podman+crun
	includes_conf_d
	podman_image
	all_spec

	# What podman and the runtime leave in an image on their own is none of our business.
	local saved
	saved=$(<"$bundle/config.json")
	edit_config '.annotations = {}'
	start
	pod commit --quiet "$id" localhost/plain >/dev/null
	pod rm --force --time 0 "$id" >/dev/null
	echo "$saved" >"$bundle/config.json"

	start
	sees_all
	pod commit --quiet "$id" localhost/with >/dev/null
	plain=$(image_files localhost/plain)
	with=$(image_files localhost/with)
	came=$(comm -13 <(echo "$plain") <(echo "$with"))
	# The lines of directories that only grew stay out, and the size of the cache. A library's mount
	# point is the head of an ELF file, which a loader without the driver passes over.
	[[ $(sed -E 's/^(etc\/ld\.so\.cache f 644) [0-9]+$/\1/; s/ d ([0-7]+) [0-9]+$/ d \1/' <<<"$came" |
		grep -vxF -f <(sed -E 's/ d ([0-7]+) [0-9]+$/ d \1/' <<<"$plain")) == "etc/ld.so.cache f 644
$conf_d f 644 $(printf '# Written by oci-cdi-hook: directories of mounted libraries.\n/opt/x/lib\n' | wc -c)
opt d 755
opt/x d 755
opt/x/lib d 755
opt/x/lib/libgadget.so.1 f 644 64" ]] || fail "the new image has:" "$came"

	# And a container of it, with its device, is as good as one of the first image.
	pod rm --force --time 0 "$id" >/dev/null
	pod tag localhost/with localhost/test
	start
	sees_all
}

@test "two containers at once, each with a device of its own" {
	local first second
	use_engine podman+runc
	simple_spec
	hooks_d
	both() {
		pod run --detach --name "$id-$1" --cgroup-parent "$in_cgroup" --cap-add MKNOD \
			--annotation "cdi.k8s.io/x=vendor.example/thing=$1" localhost/test sleep 300 >"$base/output.$1" 2>&1
	}
	both node 3>&- & first=$!
	both spare 3>&- & second=$!
	wait "$first" || fail "$(<"$base/output.node")"
	wait "$second" || fail "$(<"$base/output.spare")"

	run -0 pod exec "$id-node" sh -c "$opens opens /dev/thing && test ! -e /dev/spare && mknod /dev/spare $num2"
	run pod exec "$id-node" sh -c "$opens opens /dev/spare"
	says "Operation not permitted"
	run -0 pod exec "$id-spare" sh -c "$opens opens /dev/spare && test ! -e /dev/thing && mknod /dev/thing $num1"
	run pod exec "$id-spare" sh -c "$opens opens /dev/thing"
	says "Operation not permitted"
}

# The rules of the cgroup that this test itself is in.
rules_here() { pid=$BASHPID device_rules; }

@test "--cgroups=disabled: nodes and mounts come, the cgroup, which is the caller's, stays as it is" {
	local before
	# podman can do this with crun only.
	use_engine podman+crun
	all_spec
	in_cgroup=
	before=$(rules_here)
	start --cgroups=disabled
	[[ $(rules_here) == "$before" ]] || fail "the caller's rules changed:" "$(rules_here)" "before:" "$before"
	[[ $(sed 's/^[0-9]*://' "/proc/$pid/cgroup") == "$(sed 's/^[0-9]*://' /proc/self/cgroup)" ]] ||
		fail "this container has a cgroup of its own:" "$(<"/proc/$pid/cgroup")"
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "gadget of the host" "/opt/x/lib/libgadget.so.1: Read-only file system"
	run -0 second_run
	[[ $(rules_here) == "$before" ]]
}

# one_node PATH: a device that is $dev1 at this path
one_node() {
	spec node.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: node
		  containerEdits:
		    deviceNodes: [{path: $1, hostPath: $dev1}]
	YAML
	edit_config '.annotations = {}'
	request vendor.example/thing=node
}

@test "the host's /dev as a volume: what is there is used, nothing is made in it" {
	use_engine podman+runc
	look() { echo :; } # it would make a node in the host's /dev
	one_node "$dev1"
	start --volume /dev:/dev
	run -0 inside "opens $dev1"
	stop_container
	pod rm "$id" >/dev/null

	one_node "/dev/$id"
	run start --volume /dev:/dev
	[[ ! -e /dev/$id ]] || { rm -f "/dev/$id"; fail "made on the host"; }
	((status == 126)) || fail "it started"
	says "exit status 8, " "/dev/$id is missing in the container"
}

@test "a destination in a directory of the host: what is there is mounted on, nothing is made in it" {
	use_engine podman+runc
	mkdir "$base/volume"
	all_spec
	sed -i 's,containerPath: [^,]*,containerPath: /volume/libgadget.so.1,' "$specs/all.yaml"
	run start --volume "$base/volume:/volume"
	((status == 126)) || fail "it started"
	says "exit status 8, " /volume/libgadget.so.1
	[[ -z $(ls -A "$base/volume") ]] || fail "made in the host's directory:" "$(ls -lA "$base/volume")"
	pod rm "$id" >/dev/null

	touch "$base/volume/libgadget.so.1"
	start --volume "$base/volume:/volume"
	run -0 inside 'use libgadget.so.1'
	says "gadget of the host"
	[[ $(ls -A "$base/volume") == libgadget.so.1 && ! -s $base/volume/libgadget.so.1 ]]
}
