/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines stand in files that packages ship and that nobody looks at again: an option that is
 * not understood, or not built yet, is refused, never ignored.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "allow.h"
#include "bounds.h"
#include "cdi-registry.h"
#include "near.h"

const char options_help[] =
	"Usage: oci-cdi-hook [OPTION]... STAGE\n"
	"\n"
	"Gives a container the CDI devices that its annotations ask for. An OCI runtime\n"
	"calls this as a hook: the container's state comes on stdin.\n"
	"\n"
	"Stages: prestart, createRuntime (the usual one), createContainer; poststart and\n"
	"poststop for hooks of specs; and podman's precreate, which gets config.json on\n"
	"stdin and hands back an edited one\n"
	"\n"
	"  --spec-dir=DIR           directory of CDI specs, repeatable, later ones win\n"
	"                           (default: /etc/cdi and /var/run/cdi)\n"
	"  --annotation-prefix=PFX  annotations that ask for devices, repeatable\n"
	"                           (default: cdi.k8s.io/)\n"
	"  --device=NAME            a device besides those of the annotations, repeatable\n"
	"  --allow=PATTERN          devices that annotations may ask for, repeatable\n"
	"  --allow-file=FILE        more such patterns, one a line\n"
	"                           (default: /etc/oci-cdi-hook/allow)\n"
	"  --ldconfig=auto|PATH|none\n"
	"                           the container's library cache: merged, or made by\n"
	"                           the host's ldconfig where it must be; always by that\n"
	"                           of PATH; left alone (default: auto)\n"
	"  --no-cgroup              leave the container's device cgroup alone\n"
	"  --vendor-hooks=builtin|exec|none\n"
	"                           hooks of specs: do those that are built in and run\n"
	"                           the rest; run all; leave all out (default: builtin)\n"
	"  --disable-hook=NAME      leave one out, by its program or command, repeatable\n"
	"  --unsupported=fail|warn  edits that this stage cannot make (default: warn)\n"
	"  --lenient                unknown keys of specs and stale device numbers warn\n"
	"  --timeout=SECONDS        deadline of the whole run (default: 20)\n"
	"  --dry-run                print what would be done, touch nothing\n"
	"  --log-level=LEVEL        error, warning, info or debug (default: warning)\n"
	"  --log-file=FILE          log there too\n"
	"  --help, --version\n";

enum {
	OPTION_SPEC_DIR = 256,
	OPTION_ANNOTATION_PREFIX,
	OPTION_DEVICE,
	OPTION_ALLOW,
	OPTION_ALLOW_FILE,
	OPTION_LDCONFIG,
	OPTION_NO_CGROUP,
	OPTION_VENDOR_HOOKS,
	OPTION_DISABLE_HOOK,
	OPTION_UNSUPPORTED,
	OPTION_LENIENT,
	OPTION_TIMEOUT,
	OPTION_DRY_RUN,
	OPTION_LOG_LEVEL,
	OPTION_LOG_FILE,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{"spec-dir", required_argument, NULL, OPTION_SPEC_DIR},
	{"annotation-prefix", required_argument, NULL, OPTION_ANNOTATION_PREFIX},
	{"device", required_argument, NULL, OPTION_DEVICE},
	{"allow", required_argument, NULL, OPTION_ALLOW},
	{"allow-file", required_argument, NULL, OPTION_ALLOW_FILE},
	{"ldconfig", required_argument, NULL, OPTION_LDCONFIG},
	{"no-cgroup", no_argument, NULL, OPTION_NO_CGROUP},
	{"vendor-hooks", required_argument, NULL, OPTION_VENDOR_HOOKS},
	{"disable-hook", required_argument, NULL, OPTION_DISABLE_HOOK},
	{"unsupported", required_argument, NULL, OPTION_UNSUPPORTED},
	{"lenient", no_argument, NULL, OPTION_LENIENT},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"dry-run", no_argument, NULL, OPTION_DRY_RUN},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"log-file", required_argument, NULL, OPTION_LOG_FILE},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static int usage(struct error *err, const char *option, const char *value, const char *expected)
{
	return error_say(err, EXIT_CODE_USAGE, "option --%s=%s: expected %s", option, SHOW(value),
			 expected);
}

static int add(struct arena *arena, struct string_list *list, const char *option, const char *value,
	       struct error *err)
{
	const char **slot;

	if (!*value)
		return error_say(err, EXIT_CODE_USAGE, "option --%s has an empty value", option);
	if (list->n >= LIMIT_OPTION_REPEATS)
		return error_say(err, EXIT_CODE_USAGE, "option --%s is given more than %d times",
				 option, LIMIT_OPTION_REPEATS);
	slot = array_add(arena, list);
	if (!slot)
		return error_memory(err);
	*slot = value;
	return 0;
}

static int set_path(const char **path, const char *option, const char *value, struct error *err)
{
	if (value[0] != '/')
		return usage(err, option, value, "an absolute path");
	*path = value;
	return 0;
}

static int set_timeout(struct options *options, const char *value, struct error *err)
{
	size_t digits = strspn(value, "0123456789");
	unsigned seconds = 0;

	if (digits == 0 || digits > 4 || value[digits])
		return usage(err, "timeout", value, "whole seconds from 1 to 3600");
	for (size_t i = 0; i < digits; i++)
		seconds = seconds * 10 + (unsigned)(value[i] - '0');
	if (seconds < 1 || seconds > LIMIT_TIMEOUT)
		return usage(err, "timeout", value, "whole seconds from 1 to 3600");
	options->timeout = seconds;
	return 0;
}

static int set_log_level(struct options *options, const char *value, struct error *err)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};

	for (unsigned i = 0; i < 4; i++) {
		if (strcmp(value, names[i]) == 0) {
			options->log_level = (enum log_level)i;
			return 0;
		}
	}
	return usage(err, "log-level", value, "error, warning, info or debug");
}

static int set_ldconfig(struct options *options, const char *value, struct error *err)
{
	options->ldconfig_none = strcmp(value, "none") == 0;
	options->ldconfig = NULL;
	if (options->ldconfig_none || strcmp(value, "auto") == 0)
		return 0;
	if (value[0] != '/')
		return usage(err, "ldconfig", value, "auto, none or an absolute path");
	options->ldconfig = value;
	return 0;
}

static int set_vendor_hooks(struct options *options, const char *value, struct error *err)
{
	if (strcmp(value, "builtin") == 0)
		options->vendor_hooks = PLAN_VENDOR_HOOKS_BUILTIN;
	else if (strcmp(value, "exec") == 0)
		options->vendor_hooks = PLAN_VENDOR_HOOKS_EXEC;
	else if (strcmp(value, "none") == 0)
		options->vendor_hooks = PLAN_VENDOR_HOOKS_NONE;
	else
		return usage(err, "vendor-hooks", value, "builtin, exec or none");
	return 0;
}

static int set_unsupported(struct options *options, const char *value, struct error *err)
{
	if (strcmp(value, "fail") != 0 && strcmp(value, "warn") != 0)
		return usage(err, "unsupported", value, "fail or warn");
	options->unsupported_fails = value[0] == 'f';
	return 0;
}

static int set_flag(int option, struct options *options)
{
	switch (option) {
	case OPTION_NO_CGROUP:
		options->cgroup = false;
		return 0;
	case OPTION_LENIENT:
		options->lenient = true;
		return 0;
	case OPTION_DRY_RUN:
		options->dry_run = true;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	default:
		options->version = true;
		return 0;
	}
}

static int set_option(struct arena *arena, int option, const char *value, struct options *options,
		      struct error *err)
{
	switch (option) {
	case OPTION_SPEC_DIR:
		if (value[0] != '/')
			return usage(err, "spec-dir", value, "an absolute path");
		return add(arena, &options->spec_dirs, "spec-dir", value, err);
	case OPTION_ANNOTATION_PREFIX:
		return add(arena, &options->annotation_prefixes, "annotation-prefix", value, err);
	case OPTION_DEVICE:
		return add(arena, &options->devices, "device", value, err);
	case OPTION_ALLOW:
		return add(arena, &options->allow, "allow", value, err);
	case OPTION_ALLOW_FILE:
		return set_path(&options->allow_file, "allow-file", value, err);
	case OPTION_LDCONFIG:
		return set_ldconfig(options, value, err);
	case OPTION_VENDOR_HOOKS:
		return set_vendor_hooks(options, value, err);
	case OPTION_DISABLE_HOOK:
		return add(arena, &options->disabled_hooks, "disable-hook", value, err);
	case OPTION_UNSUPPORTED:
		return set_unsupported(options, value, err);
	case OPTION_TIMEOUT:
		return set_timeout(options, value, err);
	case OPTION_LOG_LEVEL:
		return set_log_level(options, value, err);
	case OPTION_LOG_FILE:
		return set_path(&options->log_file, "log-file", value, err);
	default:
		return set_flag(option, options);
	}
}

/* getopt says only that something is wrong; the user needs to know what. */
static int bad_option(const char *arg, int problem, struct error *err)
{
	const char *names[sizeof(long_options) / sizeof(long_options[0])];
	char word[64];
	size_t n = 0, len;

	if (problem == ':')
		return error_say(err, EXIT_CODE_USAGE, "option %s needs a value", SHOW(arg));
	if (optopt > 0 && optopt < OPTION_SPEC_DIR)
		return error_say(err, EXIT_CODE_USAGE,
				 "unknown option -%s; all options begin with --",
				 SHOW(((char[]){(char)optopt, '\0'})));
	for (size_t i = 0; long_options[i].name; i++) {
		len = strlen(long_options[i].name);
		if (strncmp(arg + 2, long_options[i].name, len) == 0 && arg[2 + len] == '=')
			return error_say(err, EXIT_CODE_USAGE, "option --%s takes no value",
					 long_options[i].name);
		names[n++] = long_options[i].name;
	}
	len = strcspn(arg + 2, "=");
	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1),
		 arg + 2);
	const char *near = near_word(word, names, n);
	if (near)
		return error_say(err, EXIT_CODE_USAGE, "unknown option --%s; did you mean --%s?",
				 SHOW(word), near);
	return error_say(err, EXIT_CODE_USAGE, "unknown option --%s", SHOW(word));
}

/* A word that stands for exactly what one of our options is called; getopt_long would take any
 * unique beginning of it. */
static bool is_abbreviated(const char *arg)
{
	size_t len = strncmp(arg, "--", 2) == 0 ? strcspn(arg + 2, "=") : 0;

	for (size_t i = 0; len && long_options[i].name; i++)
		if (strlen(long_options[i].name) == len &&
		    strncmp(arg + 2, long_options[i].name, len) == 0)
			return false;
	return len > 0;
}

static int set_stage(int argc, char **argv, struct options *options, struct error *err)
{
	const char *names[STAGE_COUNT];
	int stage;

	if (argc < 1)
		return error_say(
			err, EXIT_CODE_USAGE,
			"no stage given: the hook's args end with one, such as createRuntime");
	if (argc > 1)
		return error_say(err, EXIT_CODE_USAGE, "more than one stage given: %s and %s",
				 SHOW(argv[0]), SHOW(argv[1]));
	stage = stage_from_name(argv[0]);
	if (stage < 0) {
		for (int i = 0; i < STAGE_COUNT; i++)
			names[i] = stage_name((enum stage)i);
		const char *near = near_word(argv[0], names, STAGE_COUNT);
		if (near)
			return error_say(err, EXIT_CODE_USAGE, "unknown stage %s; did you mean %s?",
					 SHOW(argv[0]), near);
		return error_say(err, EXIT_CODE_USAGE, "unknown stage %s", SHOW(argv[0]));
	}
	if (stage == STAGE_START_CONTAINER)
		return error_say(err, EXIT_CODE_USAGE,
				 "stage startContainer runs programs of the container: register "
				 "the hook at createRuntime");
	options->stage = (enum stage)stage;
	return 0;
}

static int add_defaults(struct arena *arena, struct options *options, struct error *err)
{
	static const char *const dirs[] = {CDI_DEFAULT_DIRS};
	bool use_dirs = options->spec_dirs.n == 0;
	int r = 0;

	for (size_t i = 0; use_dirs && r == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = add(arena, &options->spec_dirs, "spec-dir", dirs[i], err);
	if (r == 0 && options->annotation_prefixes.n == 0)
		r = add(arena, &options->annotation_prefixes, "annotation-prefix", "cdi.k8s.io/",
			err);
	return r;
}

int options_parse(struct arena *arena, int argc, char **argv, struct options *ret_options,
		  struct error *err)
{
	struct options options = {
		.allow_file = ALLOW_FILE_DEFAULT,
		.vendor_hooks = PLAN_VENDOR_HOOKS_BUILTIN,
		.log_level = LOG_LEVEL_WARNING,
		.timeout = DEFAULT_TIMEOUT,
		.cgroup = true,
	};
	int option, r;

	opterr = 0;
	/* ":": tell a missing value from an unknown option. */
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		const char *arg = argv[optind - 1];
		const char *value = optarg ? optarg : ""; /* of a flag: none */
		if (value == arg)                         /* --option VALUE */
			arg = argv[optind - 2];
		if (option == '?' || option == ':' || is_abbreviated(arg))
			return bad_option(arg, option, err);
		r = set_option(arena, option, value, &options, err);
		if (r < 0)
			return r;
	}
	if (!options.help && !options.version) {
		r = set_stage(argc - optind, argv + optind, &options, err);
		if (r < 0)
			return r;
	}
	r = add_defaults(arena, &options, err);
	if (r < 0)
		return r;
	*ret_options = options;
	return 0;
}
