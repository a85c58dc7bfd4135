#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh BUILD: installs the build into an empty tree (DESTDIR), compares what is there with the
# list below, and runs both programs from there.
set -euo pipefail

build=$(readlink -f "$1")
[[ -w /run ]] || { echo "needs a directory below /run, where spec files are trusted"; exit 77; }
tree=$(mktemp -d /run/oci-cdi-hook-install.XXXXXX)
trap 'rm -rf "$tree"' EXIT
chmod 0755 "$tree"
umask 022

number=0 failed=0
# good NAME COMMAND...: a case that passes when the command does. (In there bash does not stop at
# the first failure by itself.)
good() {
	local name=$1 output
	shift
	number=$((number + 1))
	if output=$("$@" 2>&1); then
		echo "ok $number $name"
	else
		sed 's/^/# /' <<<"$output"
		echo "not ok $number $name"
		failed=1
	fi
}

# option NAME: of the build's configuration
options=$(meson introspect --buildoptions "$build")
option() { jq -r --arg name "$1" '.[] | select(.name == $name).value' <<<"$options"; }
prefix=$(option prefix) bin=$(option bindir) libexec=$(option libexecdir) data=$(option datadir) man=$(option mandir)
hooks=$(option hooksdir) precreate=$(option precreatehooksdir) drop_ins=$(option containersconfdir)
precreate=${precreate:-$data/containers/oci/hooks.precreate.d}
drop_ins=${drop_ins:-$(option sysconfdir)/containers/containers.conf.d}
# Where an option is an absolute path that counts, else below the prefix.
at() { [[ $1 == /* ]] && echo "$1" || echo "$prefix/$1"; }

expected() {
	local page
	echo "755 $(at "$bin")/cdictl"
	echo "755 $(at "$libexec")/oci/hooks.d/oci-cdi-hook"
	echo "644 $(at "${hooks:-$data/containers/oci/hooks.d}")/50-oci-cdi-hook-createRuntime.json"
	echo "644 $(at "$precreate")/50-oci-cdi-hook-precreate.json"
	echo "644 $(at "$drop_ins")/50-oci-cdi-hook.conf"
	echo "644 $(at "$data")/doc/oci-cdi-hook/hooks.d/50-oci-cdi-hook-createContainer.json"
	echo "644 $(at "$data")/doc/oci-cdi-hook/hooks.d/50-oci-cdi-hook-poststart.json"
	echo "644 $(at "$data")/doc/oci-cdi-hook/hooks.d/50-oci-cdi-hook-poststop.json"
	echo "644 $(at "$data")/doc/oci-cdi-hook/hooks.d/50-oci-cdi-hook-prestart.json"
	echo "644 $(at "$data")/bash-completion/completions/cdictl"
	echo "644 $(at "$data")/zsh/site-functions/_cdictl"
	echo "644 $(at "$data")/fish/vendor_completions.d/cdictl.fish"
	for page in cdictl.1 oci-cdi-hook.8 oci-cdi-hook-allow.5; do
		echo "644 $(at "$man")/man${page##*.}/$page"
	done
}

same_files() { diff <(expected | sort) <(cd "$tree" && find . -type f -printf '%m /%P\n' | sort); }
only_files() { [[ -z $(find "$tree" ! -type f ! -type d) ]]; }

# Each registration names the hook at its place, without the tree.
registrations() {
	local file
	for file in "$tree$(at "${hooks:-$data/containers/oci/hooks.d}")"/*.json "$tree$(at "$precreate")"/*.json \
		"$tree$(at "$data")"/doc/oci-cdi-hook/hooks.d/*.json; do
		[[ $(jq -r .hook.path "$file") == "$(at "$libexec")/oci/hooks.d/oci-cdi-hook" ]] || return 1
	done
	# What CRI-O and buildah read has nothing that they do not know.
	! grep -l precreate "$tree$(at "${hooks:-$data/containers/oci/hooks.d}")"/* &&
		grep -qxF "hooks_dir = [\"$(at "${hooks:-$data/containers/oci/hooks.d}")\", \"$(at "$precreate")\"]" \
			"$tree$(at "$drop_ins")/50-oci-cdi-hook.conf"
}

pages() {
	local page
	for page in "$tree$(at "$man")"/man*/*; do
		grep -q '^\.TH ' "$page" || return 1
	done
}

mkdir "$tree.specs"
trap 'rm -rf "$tree" "$tree.specs"' EXIT
cat >"$tree.specs/gadget.yaml" <<'YAML'
cdiVersion: "0.6.0"
kind: vendor.example/gadget
devices:
- {name: "0", containerEdits: {deviceNodes: [{path: /dev/gadget0, hostPath: /dev/null}]}}
YAML

cdictl=$tree$(at "$bin")/cdictl
hook=$tree$(at "$libexec")/oci/hooks.d/oci-cdi-hook

runs_cdictl() {
	[[ $("$cdictl" --version) == "cdictl $(meson introspect --projectinfo "$build" | jq -r .version)" ]] &&
		[[ $("$cdictl" list --spec-dir="$tree.specs" -o name) == vendor.example/gadget=0 ]] &&
		"$cdictl" validate "$tree.specs"
}

runs_hook() {
	local state='{"ociVersion":"1.0.2","id":"x","status":"creating","pid":1,"bundle":"/none","annotations":{"cdi.k8s.io/x":"vendor.example/gadget=0"}}'
	# With the host's mode: a linker that root has write to /dev/null makes that executable.
	"$hook" --dry-run --spec-dir="$tree.specs" --allow='*' createRuntime <<<"$state" |
		grep "^node /dev/gadget0 c 1:3 0$(stat -c %a /dev/null) 0:0"
}

completes() {
	# shellcheck disable=SC2016 # for the inner bash
	PATH=$(dirname "$cdictl"):$PATH bash --norc -c '
		source "$1"
		COMP_LINE="cdictl show $2 " COMP_POINT=999
		_cdictl
		[[ ${COMPREPLY[*]} == vendor.example/gadget=0 ]]' - \
		"$tree$(at "$data")/bash-completion/completions/cdictl" "--spec-dir=$tree.specs"
}

echo 1..8
good "meson install" env DESTDIR="$tree" meson install -C "$build" --no-rebuild
good "every file is at its place, with its mode, and no other" same_files
good "nothing but files" only_files
good "registrations name the installed hook" registrations
good "manual pages" pages
good "cdictl runs from there" runs_cdictl
good "the hook runs from there" runs_hook
good "the completion for bash works from there" completes
exit $failed
