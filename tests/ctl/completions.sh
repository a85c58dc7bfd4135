#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# completions.sh CDICTL DIRECTORY: what the shells complete, with the files of DIRECTORY. Each case is
# a command line up to the cursor and the words that come out.
set -euo pipefail

[[ -w /run ]] || { echo "needs a directory below /run, where spec files are trusted"; exit 77; }
base=$(mktemp -d /run/cdictl-completions.XXXXXX)
trap 'rm -rf "$base"' EXIT
chmod 0755 "$base"
mkdir "$base/bin" "$base/specs"
ln -s "$(readlink -f "$1")" "$base/bin/cdictl"
completions=$(readlink -f "$2")
export PATH=$base/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd "$base"
cat >"$base/specs/gadget.yaml" <<'YAML'
cdiVersion: "0.6.0"
kind: vendor.example/gadget
devices:
- {name: "0", containerEdits: {env: [A=b]}}
- {name: "10", containerEdits: {env: [A=b]}}
- {name: "a:b", containerEdits: {env: [A=b]}}
YAML

# bash LINE: completed words; the ends that bash itself would put in, which begin behind = and :
complete_bash() {
	# shellcheck disable=SC2016 # for the inner bash
	bash --norc -c '
		source "$1/cdictl.bash"
		COMP_LINE=$2 COMP_POINT=${#2}
		_cdictl
		printf "%s\n" "${COMPREPLY[@]}"' - "$completions" "$1"
}

complete_zsh() {
	# shellcheck disable=SC2016 # for the inner zsh; completion functions of zsh run in its line editor alone
	zsh -f -c '
		setopt extendedglob
		line=$2
		words=(${(z)line}) CURRENT=${#words}
		[[ $line != *" " ]] || { words+=("") CURRENT=$((CURRENT + 1)); }
		PREFIX=${words[CURRENT]}
		compset() { PREFIX=${PREFIX#*=}; }
		compadd() {
			while [[ $1 != -- ]]; do shift; done
			for word in ${@[2,-1]}; do [[ $word != ${(b)PREFIX}* ]] || print -r -- $word; done
		}
		_files() { [[ $1 != -/ ]] || { print -l -- *(/); return; }; print -l -- *; }
		source "$1/_cdictl"' - "$completions" "$1"
}

complete_fish() {
	# shellcheck disable=SC2016 # for fish
	HOME=$base fish --no-config -c 'source $argv[1]/cdictl.fish; complete -C $argv[2]' "$completions" "$1" | cut -f 1
}

number=0 failed=0
# same SHELL LINE WORD...: the words, in any order
same() {
	local shell=$1 line=$2 got wanted
	shift 2
	number=$((number + 1))
	got=$("complete_$shell" "$line" 2>&1 | sort) || true
	wanted=$(printf '%s\n' "$@" | sort)
	if [[ $got == "$wanted" ]]; then
		echo "ok $number $shell: $line"
	else
		diff <(echo "$wanted") <(echo "$got") | sed 's/^/# /' || true
		echo "not ok $number $shell: $line"
		failed=1
	fi
}

commands=$(cdictl --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
dir="--spec-dir=$base/specs"
all=(vendor.example/gadget=0 vendor.example/gadget=10 vendor.example/gadget=a:b)

echo 1..51
for shell in bash zsh fish; do
	command -v "$shell" >/dev/null || { echo "no $shell here"; exit 1; }
	# shellcheck disable=SC2086 # a word each
	same $shell "cdictl " $commands --help --version
	same $shell "cdictl va" validate
	same $shell "cdictl show $dir vendor.example/" "${all[@]}"
	if [[ $shell == bash ]]; then
		# bash replaces only what stands behind the last = or :
		same bash "cdictl show $dir vendor.example/gadget=1" 10
		same bash "cdictl show $dir vendor.example/gadget=a:" b
	else
		same $shell "cdictl show $dir vendor.example/gadget=1" vendor.example/gadget=10
		same $shell "cdictl show $dir vendor.example/gadget=a:" vendor.example/gadget=a:b
	fi
	same $shell "cdictl plan --bundle=/x $dir vendor.example/gadget=0 vendor.example/gad" "${all[@]}"
	case $shell in
	bash) same bash "cdictl list --output=" table json name ;;
	zsh) same zsh "cdictl list --output=" table json name ;;
	fish) same fish "cdictl list --output=" --output={table,json,name} ;;
	esac
	same $shell "cdictl list -o " table json name
	same $shell "cdictl check --p" --pid=
	same $shell "cdictl check --r" --repair
	same $shell "cdictl check --ho" --hook=
	same $shell "cdictl show --h" --help
	case $shell in
	fish) same fish "cdictl inject s" specs/ ;;
	bash) same bash "cdictl inject s" specs ;;
	zsh) same zsh "cdictl inject " bin specs ;;
	esac
	same $shell "cdictl inject $dir specs " "${all[@]}"
	if [[ $shell == bash ]]; then
		same bash "cdictl allow $dir vendor.example/gadget=" 0 10 a:b '*'
	else
		same $shell "cdictl allow $dir vendor.example/gadget=" "${all[@]}" 'vendor.example/gadget=*'
	fi
	case $shell in
	bash | zsh) same $shell "cdictl plan --stage=create" createRuntime createContainer ;;
	fish) same fish "cdictl plan --stage=create" --stage=create{Runtime,Container} ;;
	esac
	case $shell in
	bash) same bash "cdictl list --spec-dir=s" specs ;;
	zsh) same zsh "cdictl list --spec-dir=" bin specs ;;
	fish) same fish "cdictl list --spec-dir=s" --spec-dir=specs/ ;;
	esac
done
exit $failed
