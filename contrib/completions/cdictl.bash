# SPDX-License-Identifier: Apache-2.0
#
# bash completion for cdictl. Commands, options and devices come from cdictl itself (its help texts,
# and `cdictl list`), so that there is no second list of them. Needs nothing but bash.

# _cdictl_option_value OPTION HELP: what the help says stands behind "--OPTION=" ("table|json")
_cdictl_option_value() { sed -n "s/^ .*--$1=\([^ ]*\).*/\1/p" <<<"$2"; }

_cdictl() {
	local line=${COMP_LINE:0:COMP_POINT} current='' command='' arguments=0 help usage value word
	local -a words dirs=()

	# bash takes device names apart at = and :, so the words are made anew from the line.
	read -ra words <<<"$line"
	if [[ $line != *[[:space:]] ]]; then
		current=${words[-1]}
		unset 'words[-1]'
	fi
	for word in "${words[@]:1}"; do
		[[ $word == -* || -z $command ]] || arguments=$((arguments + 1))
		[[ $word == -* || -n $command ]] || command=$word
		[[ $word != --spec-dir=* ]] || dirs+=("$word")
	done

	COMPREPLY=()
	if [[ -z $command ]]; then
		help=$(cdictl --help 2>/dev/null) || return
		word=$(sed -n 's/^  \([a-z]\+\) .*/\1/p; s/^ .*\(--[a-z-]\+\).*/\1/p' <<<"$help")
		mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
		return
	fi

	help=$(cdictl "$command" --help 2>/dev/null) || return
	usage=${help%%$'\n'*}
	if [[ $current == --*=* ]]; then
		word=${current%%=*}
		value=$(_cdictl_option_value "${word#--}" "$help")
	elif [[ ${words[-1]} == -o && $help == *"  -o, "* ]]; then
		value=$(_cdictl_option_value output "$help")
	elif [[ $current == -* ]]; then
		# Those that take a value end with "=", and no blank follows.
		word=$(sed -n 's/^ .*\(--[a-z-]\+=\?\).*/\1/p' <<<"$help")
		mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
		[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
		return
	elif [[ $usage == *"CONFIG "* ]] && ((arguments == 0)); then
		value=FILE
	elif [[ $usage == *DEVICE* ]]; then
		value=DEVICE
	else
		value=${usage##*' '}
	fi

	[[ $current != --*=* ]] || current=${current#*=}
	# compgen -W expands its words as a command line, and names of devices have nothing to expand.
	case $value in
	DEVICE)
		mapfile -t COMPREPLY < <(compgen -W "$(cdictl list -o name "${dirs[@]}" 2>/dev/null)" -- "$current")
		;;
	*PATTERN*)
		word=$(cdictl list -o name "${dirs[@]}" 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "$word $(sed 's/=.*/=*/' <<<"$word" | sort -u)" -- "$current")
		;;
	DIR) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
	*FILE*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	STAGE) mapfile -t COMPREPLY < <(compgen -W "precreate prestart createRuntime createContainer" -- "$current") ;;
	*'|'*) mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$current") ;;
	esac

	# What stands before the last = or : is not part of the word that bash replaces.
	if [[ $current == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then
		word=${current%"${current##*[=:]}"}
		COMPREPLY=("${COMPREPLY[@]#"$word"}")
	fi
}

complete -F _cdictl cdictl
