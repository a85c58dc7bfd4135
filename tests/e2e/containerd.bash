# SPDX-License-Identifier: Apache-2.0
#
# A containerd of the test's own, spoken to as a kubelet does, on top of engines.bash. It has neither
# systemd nor network: pods are in the host's network, images are made here.
#
#   use_containerd [DIRECTORY]  a containerd with our hook in its base_runtime_spec, and our annotations
#                       on its lists; from DIRECTORY, or Debian's. Tests may set before: $cri_runtime
#                       (runc or crun), $snapshotter, $stages, $options, $container_annotations and
#                       $pod_annotations (lists as TOML has them)
#   start_pod [HANDLER] a pod with the annotations of $pod_asks (JSON); the handler "closed" has no lists
#   start_cri           a container in it with those of config.json, as `start` of engines.bash; sets $pid.
#                       $cri_devices (JSON) is the field by which a kubelet asks. Use it with bats' run
#                       only where it must fail.
#   cri ...             crictl
#   in_world COMMAND    runs it where containerd runs
#
# containerd, its shims and all containers live in a process namespace and a mount namespace whose
# first process dies with the test. Whatever happens to the test, the kernel then ends them all, and
# takes the mounts off.

load "${BASH_SOURCE[0]%/*}/engines"

eval "engines_$(declare -f setup)"
eval "engines_$(declare -f teardown)"

setup() {
	local tools=$BATS_TEST_DIRNAME/../cri-tools.sh why=$BATS_TEST_TMPDIR/why
	crictl=$("$tools" crictl 2>"$why")/crictl || skip "$(<"$why")"
	debian_containerd=$("$tools" debian-containerd 2>"$why") || skip "$(<"$why")"
	engines_setup
	container_annotations='["cdi.k8s.io/*"]' pod_annotations='["cdi.k8s.io/*"]'
	snapshotter=overlayfs cri_runtime=runc pod_asks={} cri_devices=[]
	world= pod_id= container_id=
	ln -s busybox "$rootfs/bin/env"
}

teardown() {
	[[ -d ${base:-} ]] || return 0
	local problem=
	[[ -z $world ]] || stop_containerd || problem="containers cannot be removed, or leave processes"
	engines_teardown
	[[ -z $problem ]] || fail "$problem"
}

# Without its containers nothing of containerd's must be left but itself.
stop_containerd() {
	local problem=
	wait_until remove_pods || problem=yes
	wait_until no_shim || { problem=yes; in_world ps -eo args; }
	kill -KILL "$world_parent"
	wait "$world_parent" 2>/dev/null || true
	rmdir /run/containerd 2>/dev/null || true
	world= pod_id= container_id= pid=
	[[ -z $problem ]]
}

remove_pods() { cri rm --all --force >/dev/null 2>&1 && cri rmp --all --force >/dev/null 2>&1; }
no_shim() { ! in_world pgrep --full containerd-shim; }

cri() {
	timeout 60 "$crictl" --config "$base/containerd/crictl.yaml" --runtime-endpoint "unix://$base/containerd/socket" \
		--image-endpoint "unix://$base/containerd/socket" --timeout 30s "$@" </dev/null
}

in_world() { nsenter --target "$world" --mount --pid -- "$@"; }

use_containerd() {
	engine=containerd
	containerd_bin=${1:-$debian_containerd}
	mkdir -p "$base/containerd" "$base/logs" /run/containerd
	echo 'timeout: 30' >"$base/containerd/crictl.yaml"
	runtime_for_containerd
	"$containerd_bin/ctr" oci spec >"$base/containerd/spec.json"
	hooks_for_containerd
	if [[ -z ${1:-} ]]; then config_of_1; else config_of_2; fi >"$base/containerd/config.toml"
	start_containerd
	images
}

# Where cgroup v2 has no cpu controller, as beside cgroup v1, no runtime can set the weight that containerd
# gives to each pod.
runtime_for_containerd() {
	local command edit=true
	command=$(command -v "$cri_runtime")
	runtime_path=$command
	[[ $cri_runtime != crun ]] || locked_memory crun
	[[ $cgroups != v2 || " $(</sys/fs/cgroup/cgroup.controllers) " == *" cpu "* ]] || edit=without_cpu
	[[ $command != "$runtime_path" || $edit != true ]] || return 0
	runtime_path=$base/bin/$cri_runtime-of-containerd
	cat >"$runtime_path" <<-SH
		#!/bin/bash
		without_cpu() {
			[[ ! -e \$1 ]] || { jq -c 'del(.linux.resources.cpu)' "\$1" >"\$1.new" && mv "\$1.new" "\$1"; }
		}
		for ((i = 1; i < \$#; i++)); do
			n=\$((i + 1))
			[[ \${!i} != --bundle ]] || $edit "\${!n}/config.json"
		done
		exec $command "\$@"
	SH
	chmod +x "$runtime_path"
}

# The hook where containerd takes the specs of all its containers from.
hooks_for_containerd() {
	hooks_in_config
	jq '.hooks = $hooks' --argjson hooks "$(jq .hooks "$bundle/config.json")" \
		"$base/containerd/spec.json" >"$base/containerd/base.json"
}

config_of_1() {
	cat <<-TOML
		version = 2
		root = "$base/containerd/root"
		state = "$base/containerd/state"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$base/containerd/opt"
		[grpc]
		  address = "$base/containerd/socket"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "localhost/pause:1"
		  restrict_oom_score_adj = true
		  tolerate_missing_hugetlb_controller = true
		[plugins."io.containerd.grpc.v1.cri".containerd]
		  snapshotter = "$snapshotter"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		  base_runtime_spec = "$base/containerd/base.json"
		  container_annotations = $container_annotations
		  pod_annotations = $pod_annotations
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		  BinaryName = "$runtime_path"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.closed]
		  runtime_type = "io.containerd.runc.v2"
		  base_runtime_spec = "$base/containerd/base.json"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.closed.options]
		  BinaryName = "$runtime_path"
	TOML
}

# That with CDI of its own, which reads the same spec files.
config_of_2() {
	cat <<-TOML
		version = 3
		root = "$base/containerd/root"
		state = "$base/containerd/state"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$base/containerd/opt"
		# Its socket is the machine's, whatever else stands here.
		[plugins."io.containerd.nri.v1.nri"]
		  disable = true
		[grpc]
		  address = "$base/containerd/socket"
		[plugins."io.containerd.cri.v1.images"]
		  snapshotter = "$snapshotter"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		  sandbox = "localhost/pause:1"
		[plugins."io.containerd.cri.v1.runtime"]
		  restrict_oom_score_adj = true
		  tolerate_missing_hugetlb_controller = true
		  cdi_spec_dirs = ["$specs", "$specs2"]
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		  base_runtime_spec = "$base/containerd/base.json"
		  container_annotations = $container_annotations
		  pod_annotations = $pod_annotations
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
		  BinaryName = "$runtime_path"
	TOML
}

# Its first process takes in what the shims leave behind, as a host's does. /run/containerd is where
# shims have their sockets, whatever the configuration says.
start_containerd() {
	setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child --mount-proc -- sh -c '
		mount --make-rshared / && mount -t tmpfs tmpfs /run/containerd || exit
		PATH=$1:$PATH "$1/containerd" --config "$2/config.toml" &
		wait; sleep infinity' - "$containerd_bin" "$base/containerd" \
		</dev/null >"$base/containerd/log" 2>&1 3>&- &
	world_parent=$!
	wait_until pgrep --parent "$world_parent"
	world=$(pgrep --parent "$world_parent")
	wait_until cri version 2>/dev/null || fail "containerd does not answer:" "$(tail -n 20 "$base/containerd/log")"
}

# image NAME DIRECTORY: a tar as `docker save` makes it
image() {
	local dir=$base/containerd/image
	rm -rf "$dir"
	mkdir "$dir"
	tar -C "$2" -c -f "$dir/layer.tar" .
	jq -n '{architecture: $arch, os: "linux", config: {Cmd: ["sleep", "infinity"], Env: ["PATH=/bin"]},
		rootfs: {type: "layers", diff_ids: ["sha256:" + $layer]}}' \
		--arg arch "$(dpkg --print-architecture)" --arg layer "$(sha256sum <"$dir/layer.tar" | cut -d' ' -f1)" >"$dir/config.json"
	jq -n '[{Config: "config.json", RepoTags: [$name], Layers: ["layer.tar"]}]' --arg name "$1" >"$dir/manifest.json"
	tar -C "$dir" -c -f "$dir.tar" config.json manifest.json layer.tar
	in_world "$containerd_bin/ctr" --address "$base/containerd/socket" --namespace k8s.io images import \
		--snapshotter "$snapshotter" "$dir.tar" >/dev/null
}

images() {
	mkdir -p "$base/pause/bin"
	cp /bin/busybox "$base/pause/bin/sleep"
	image localhost/pause:1 "$base/pause"
	image localhost/test:1 "$rootfs"
	# The side of it that kubelets see learns of them a moment later.
	wait_until cri inspecti localhost/pause:1
	wait_until cri inspecti localhost/test:1
}

start_pod() {
	pods=$((${pods:-0} + 1))
	jq -n '{metadata: {name: $id, namespace: "default", uid: $id, attempt: $n}, log_directory: $logs,
		annotations: $asks,
		linux: {cgroup_parent: $cgroup, security_context: {namespace_options: {network: 2, pid: 1}}}}' \
		--arg id "$id" --arg logs "$base/logs" --arg cgroup "$in_cgroup" --argjson asks "$pod_asks" --argjson n "$pods" >"$base/pod.json"
	pod_id=$(cri runp --runtime "${1:-runc}" "$base/pod.json")
}

start_cri() {
	local text
	text="{ $(look); } >/dev/shm/seen.new 2>&1; echo seen >>/dev/shm/seen.new; mv /dev/shm/seen.new /dev/shm/seen; exec sleep 300"
	[[ -n $pod_id ]] || start_pod
	containers=$((${containers:-0} + 1))
	jq '{metadata: {name: "c\($n)"}, image: {image: "localhost/test:1"}, command: ["sh", "-c", $text],
		annotations: .annotations, CDI_devices: $devices, log_path: "log.\($n)",
		linux: {security_context: {namespace_options: {network: 2, pid: 1}, readonly_rootfs: $read_only, capabilities: {add_capabilities: ["SYSLOG"]}}}}' \
		--arg text "$text" --argjson read_only "$read_only" --argjson devices "$cri_devices" --argjson n "$containers" \
		"$bundle/config.json" >"$base/container.json"
	container_id=$(cri create --no-pull "$pod_id" "$base/container.json" "$base/pod.json") || return
	# /dev/shm is the pod's, and may have what an earlier container saw.
	in_world rm -f "$base/containerd/state/io.containerd.grpc.v1.cri/sandboxes/$pod_id/shm/seen"
	cri start "$container_id" >"$base/output" 2>&1 || { cat "$base/output"; return 1; }
	container_process
	wait_until test -e "/proc/$pid/root/dev/shm/seen" || fail "the container's first process does nothing"
}

# $pid is the container's first process by its number here, $inner_pid by that where containerd runs.
container_process() {
	local process numbers
	running_bundle=$base/containerd/state/io.containerd.runtime.v2.task/k8s.io/$container_id
	while read -r process; do
		read -ra numbers < <(sed -n 's/^NSpid://p' "/proc/$process/status")
		[[ ${#numbers[@]} -lt 3 || ${numbers[-1]} != 1 ]] || { pid=$process inner_pid=${numbers[1]}; return; }
	done <"$(find /sys/fs/cgroup -path "*/$id/$container_id/cgroup.procs" | head -n 1)"
	fail "the container has no first process"
}

# The hook, called by hand on the running container.
second_run() {
	local bundle=$running_bundle pid=$inner_pid
	state | in_world timeout 30 "$hook" "${options[@]}" "$@" createRuntime
}
