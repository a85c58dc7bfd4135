#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Containers of a plain user as README.md tells it, on a machine of their own (tests/vm/run): the
# hook is registered where podman looks by itself, the administrator allows the device, and the user
# logs in, so that the user's own systemd makes the scopes. tests/e2e/rootless.bats has what needs no
# systemd. What is tagged as long is for tests/run.sh --vm=all.

load ../e2e/helpers
load ../e2e/ldcache-helpers

eval "ldcache_$(declare -f setup_file)"

setup_file() {
	[[ -d /run/oci-cdi-hook-vm ]] ||
		fail "this changes the machine that it runs on: tests/vm/run debian12 vm:rootless"
	ldcache_setup_file
	administrator
	image
	id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/sh "$user"
	log_in
}

# $user stays logged in, and gets the image.
log_in() {
	loginctl enable-linger "$user"
	as_user podman import --quiet - localhost/test <"$BATS_FILE_TMPDIR/image.tar"
}

user=cdi
setup() { since=$(date +%s.%N); }

# What a test changed of the machine is as it was, whatever came of the test.
settings=()
teardown() {
	((${#settings[@]} == 0)) || sysctl --quiet "${settings[@]}"
	! id -nG "$user" | grep -qw disk || gpasswd --delete "$user" disk
}

# What `meson install` and `cdictl allow` do, and a vendor's package.
administrator() {
	local path=/usr/local/libexec/oci/hooks.d/oci-cdi-hook stages=/usr/share/containers/oci/hooks.d
	install -D "$hook" "$path"
	mkdir -p "$stages" /etc/cdi
	sed "s,@HOOK@,$path," "$top/hooks.d/50-oci-cdi-hook-createRuntime.json.in" >"$stages/50-oci-cdi-hook-createRuntime.json"
	install -D -m 644 "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib/vendor/libgadget.so.1
	cat >/etc/cdi/thing.yaml <<-'YAML'
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		containerEdits:
		  mounts:
		  - {hostPath: /usr/lib/vendor/libgadget.so.1, containerPath: /opt/x/lib/libgadget.so.1, options: [ro, nosuid, nodev, bind]}
		devices:
		- {name: everybodys, containerEdits: {deviceNodes: [{path: /dev/thing, hostPath: /dev/fuse}]}}
		- {name: groups, containerEdits: {deviceNodes: [{path: /dev/thing, hostPath: /dev/loop-control}]}}
		- {name: roots, containerEdits: {deviceNodes: [{path: /dev/thing, hostPath: /dev/hwrng}]}}
	YAML
	[[ $(stat -c %a:%U:%G /dev/fuse /dev/loop-control /dev/hwrng) == $'666:root:root\n660:root:disk\n600:root:root' ]] ||
		fail "the machine's devices are others:" "$(ls -l /dev/fuse /dev/loop-control /dev/hwrng)"
	"$top/build/ctl/cdictl" allow 'vendor.example/*'
}

image() {
	rootfs=$BATS_FILE_TMPDIR/rootfs base=$BATS_FILE_TMPDIR options=()
	mkdir -p "$rootfs"/{bin,dev,proc,sys,etc}
	cp /bin/busybox "$rootfs/bin/"
	for applet in sh cat stat test; do
		ln -s busybox "$rootfs/bin/$applet"
	done
	glibc_image
	tar -C "$rootfs" -c -f "$BATS_FILE_TMPDIR/image.tar" .
}

# as_user COMMAND...: as from a login, with a session
as_user() { timeout 300 su -l -c 'exec "$@"' -- "$user" sh "$@"; }

# podman_run DEVICE [OPTION]...: a container that asks for the device, and looks
podman_run() {
	local device=$1
	shift
	as_user podman ${hooks_dir:+--hooks-dir "$hooks_dir"} run --rm --network=none --cgroupns=host \
		--annotation "cdi.k8s.io/x=vendor.example/thing=$device" "$@" localhost/test sh -c "$look" </dev/null
}

look="$opens
	(opens /dev/thing && echo thing opens)
	use libgadget.so.1
	cat /proc/self/cgroup"

# What the hook said since the test began, as the user may read it.
journal() {
	journalctl --sync
	as_user journalctl --quiet --output=cat --identifier=oci-cdi-hook --since="@$since"
}

table() { echo "# table: $(sed -n 's/^PRETTY_NAME="Debian GNU.Linux \([0-9]*\).*/Debian \1/p' /etc/os-release), without root, $1" >&3; }

versions() { echo "podman $(podman --version | sed 's/.* //') with $1 $("$1" --version | sed -n '1s/.* version \([0-9.]*\).*/\1/p')"; }

# opens_with RUNTIME [OPTION]...; $how is for the table
opens_with() {
	run -0 podman_run everybodys --runtime "$@"
	says "thing opens" "gadget of the host" "/user.slice/user-$(id -u "$user").slice/user@$(id -u "$user").service/"
	table "$(versions "$1")${2:+, ${*:2}}${how:+, $how}: node opens, library found by soname"
}

@test "a device of everybody's, crun" { opens_with crun; }
@test "a device of everybody's, runc" { opens_with runc; }

# bats test_tags=long
@test "a device of everybody's, the user keeps its id" {
	opens_with crun --userns=keep-id
	opens_with runc --userns=keep-id
}

# bats test_tags=long
@test "a device of everybody's, the user is not mapped" {
	opens_with crun --userns=nomap
	opens_with runc --userns=nomap
}

@test "a device that only root may open, and one of a group: the sentence says which group would do" {
	run ! podman_run roots --runtime runc
	says "device vendor.example/thing=roots (/etc/cdi/thing.yaml:" "the container's user 0 may not open /dev/hwrng of the host, which is 0600" \
		"no group would do: the node has to be open to that user (udev: " "exit status 6"
	says_not "thing opens"
	table "$(versions runc), a device of root's alone: refused: $(sed -n 's/.*device node \(.*to all\).*/\1/p' <<<"$output" | tail -n 1)"
	run ! podman_run groups --runtime crun
	says "exit code: 6)"
	says_not "thing opens"
	output=$(journal)
	says "the container's user 0 may not open /dev/loop-control of the host, which is 0660" \
		"has to be in that group (stat -c %G /dev/loop-control names it) and keep it (podman: --group-add keep-groups)"
	table "$(versions crun), a device of a group: refused: $(sed -n 's/.*device node //p' <<<"$output" | tail -n 1)"
	[[ -z $(as_user podman ps --all --quiet) ]] || fail "a container is left"

	usermod --append --groups disk "$user"
	run -0 podman_run groups --runtime crun --group-add keep-groups
	says "thing opens" "gadget of the host"
	table "$(versions crun), a device of a group that the user is in, keep-groups: node opens, library found by soname"
}

# bats test_tags=long
@test "the user's own file, for another stage" {
	local hooks_dir=/home/$user/hooks.d how="createContainer by --hooks-dir"
	as_user mkdir "$hooks_dir"
	sed "s,@HOOK@,/usr/local/libexec/oci/hooks.d/oci-cdi-hook," "$top/hooks.d/50-oci-cdi-hook-createContainer.json.in" |
		as_user tee "$hooks_dir/50-oci-cdi-hook-createContainer.json" >/dev/null
	opens_with crun
	opens_with runc
	# And it is this file that does it.
	as_user rm "$hooks_dir/50-oci-cdi-hook-createContainer.json"
	run podman_run everybodys --runtime crun
	says_not "thing opens" "gadget of the host"
}

# plain RUNTIME STAGE DEVICE [OPTION]...: the container of a runtime alone, with the hook in config.json as README.md has it
plain() {
	local bundle=/home/$user/$1 runtime stage=$2 device=$3
	runtime=$(command -v "$1")
	if [[ ! -d $bundle ]]; then
		cp -a "$BATS_FILE_TMPDIR/rootfs" "$BATS_FILE_TMPDIR/bundle"
		mkdir "$bundle"
		mv "$BATS_FILE_TMPDIR/bundle" "$bundle/rootfs"
		chown -R "$user:$user" "$bundle"
		as_user sh -c "cd $bundle && $runtime spec --rootless && mv config.json new.json"
	fi
	jq '.process.terminal = false
		| .process.args = ["sh", "-c", $look]
		| .root.readonly = false
		| .linux.namespaces |= map(select(.type != "cgroup"))
		| .annotations = {"cdi.k8s.io/x": "vendor.example/thing=\($device)", "run.oci.hooks.stderr": "/proc/self/fd/2"}
		| .hooks[$stage] = [{path: "/usr/local/libexec/oci/hooks.d/oci-cdi-hook", args: ["oci-cdi-hook", $stage],
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], timeout: 30}]' \
		--arg look "$look" --arg device "$device" --arg stage "$stage" "$bundle/new.json" >"$bundle/config.json"
	# The runtime opens its standard error by name: it must be the user's own.
	as_user sh -c '{ "$@"; echo $? >status; } 2>&1 | cat; exit $(cat status)' - \
		"$runtime" --root "/run/user/$(id -u "$user")/$1" "${@:4}" run --bundle "$bundle" x </dev/null
}

# plain_opens RUNTIME STAGE [OPTION]...
plain_opens() {
	run -0 plain "$1" "$2" everybodys "${@:3}"
	says "thing opens" "gadget of the host"
	table "$1 alone, $2${3:+, ${*:3}}: node opens, library found by soname"
}

# bats test_tags=long
@test "runc alone" {
	plain_opens runc createRuntime
	plain_opens runc createContainer
	plain_opens runc createRuntime --systemd-cgroup
	says "/user.slice/user-$(id -u "$user").slice/user@$(id -u "$user").service/"
	run ! plain runc createRuntime groups
	says "exit status 6" "may not open /dev/loop-control of the host, which is 0660 of 0:6" "has to be in group 6"
}

# It gives hooks of the earlier stages no rights at all.
# bats test_tags=long
@test "crun alone" {
	plain_opens crun createContainer
	plain_opens crun createContainer --systemd-cgroup
	says "/user.slice/user-$(id -u "$user").slice/user@$(id -u "$user").service/"
	run ! plain crun createRuntime everybodys
	says "the hook has no right to look at the container's process" "an engine without root is served at createContainer"
}

# bats test_tags=long
@test "a user without subordinate ids is mapped alone, and has the device" {
	local how="no subordinate ids"
	user=lone
	useradd --create-home --shell /bin/sh "$user"
	sed -i "/^$user:/d" /etc/subuid /etc/subgid
	log_in
	opens_with crun
}

# no_user_namespaces SETTING=VALUE: each engine says so itself, and the hook never runs
no_user_namespaces() {
	local before name=${1%%=*} engine
	# podman keeps a namespace for its next call.
	as_user podman system migrate
	before=$(sysctl --values "$name")
	settings+=("$name=$before")
	sysctl --quiet "$1"
	since=$(date +%s.%N)
	for engine in podman runc crun; do
		run "$engine"_without_namespaces
		((status != 0)) || fail "$engine runs a container"
		says_not "thing opens"
		table "$engine, $1: the engine's own: $(sed 's/.*msg=//; s/\[[0-9]*\]//' <<<"$output" | paste -sd ' ')"
	done
	sysctl --quiet "$name=$before"
	[[ -z $(journal) ]] || fail "the hook was called:" "$(journal)"
}

podman_without_namespaces() { podman_run everybodys --runtime crun; }
runc_without_namespaces() { plain runc createRuntime everybodys; }
crun_without_namespaces() { plain crun createContainer everybodys; }

# bats test_tags=long
@test "no user namespaces for plain users" {
	no_user_namespaces kernel.unprivileged_userns_clone=0
	no_user_namespaces user.max_user_namespaces=0
	# And it was that alone.
	how="user namespaces again" opens_with crun
}
