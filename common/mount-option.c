/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount options are words in a spec and bits in the kernel. The words are mount(8)'s, which is what
 * every runtime takes: a spec that works natively must mean the same here. Nothing is added to what
 * the spec says.
 */
#include "mount-option.h"

#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "bounds.h"
#include "near.h"

struct word {
	const char *name;
	uint64_t set, clear;
};

/* atime words exclude each other: each clears the whole field first. */
static const struct word attribute_words[] = {
	{"ro", MOUNT_ATTR_RDONLY, 0},
	{"rw", 0, MOUNT_ATTR_RDONLY},
	{"nosuid", MOUNT_ATTR_NOSUID, 0},
	{"suid", 0, MOUNT_ATTR_NOSUID},
	{"nodev", MOUNT_ATTR_NODEV, 0},
	{"dev", 0, MOUNT_ATTR_NODEV},
	{"noexec", MOUNT_ATTR_NOEXEC, 0},
	{"exec", 0, MOUNT_ATTR_NOEXEC},
	{"relatime", MOUNT_ATTR_RELATIME, MOUNT_ATTR__ATIME},
	{"noatime", MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME},
	{"strictatime", MOUNT_ATTR_STRICTATIME, MOUNT_ATTR__ATIME},
	{"nodiratime", MOUNT_ATTR_NODIRATIME, 0},
	{"diratime", 0, MOUNT_ATTR_NODIRATIME},
	{"nosymfollow", MOUNT_ATTR_NOSYMFOLLOW, 0},
	{"symfollow", 0, MOUNT_ATTR_NOSYMFOLLOW},
};

/* Both forms: without the r for the mount alone, with it for the mounts below too. */
static const struct word propagation_words[] = {
	{"private", MS_PRIVATE, 0},       {"rprivate", MS_PRIVATE | MS_REC, 0},
	{"shared", MS_SHARED, 0},         {"rshared", MS_SHARED | MS_REC, 0},
	{"slave", MS_SLAVE, 0},           {"rslave", MS_SLAVE | MS_REC, 0},
	{"unbindable", MS_UNBINDABLE, 0}, {"runbindable", MS_UNBINDABLE | MS_REC, 0},
};

static const char *const other_words[] = {"bind", "rbind", "defaults"};

/* Parameters of a tmpfs, as tmpfs(5) has them. */
static const char *const tmpfs_keys[] = {"size", "nr_blocks", "nr_inodes", "mode",
					 "uid",  "gid",       "mpol",      "huge"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct word *find_word(const struct word *words, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	return NULL;
}

static int unknown_word(const char *word, struct error *err)
{
	const char *known[COUNT(attribute_words) + COUNT(propagation_words) + COUNT(other_words)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(attribute_words); i++)
		known[n++] = attribute_words[i].name;
	for (size_t i = 0; i < COUNT(propagation_words); i++)
		known[n++] = propagation_words[i].name;
	for (size_t i = 0; i < COUNT(other_words); i++)
		known[n++] = other_words[i];

	const char *near = near_word(word, known, n);
	if (near)
		return error_say(err, EXIT_CODE_SPEC,
				 "mount option \"%s\" is unknown; did you mean \"%s\"?", SHOW(word),
				 near);
	return error_say(err, EXIT_CODE_SPEC, "mount option \"%s\" is unknown", SHOW(word));
}

/* "size=64k": the key must be one of a tmpfs. */
static int add_parameter(struct arena *arena, const char *word, const char *equals,
			 struct mount_options *options, struct error *err)
{
	const char *key = arena_strndup(arena, word, (size_t)(equals - word));
	struct mount_parameter *parameter = key ? array_add(arena, &options->parameters) : NULL;

	if (!parameter)
		return error_memory(err);
	*parameter = (struct mount_parameter){.key = key, .value = equals + 1};
	for (size_t i = 0; i < COUNT(tmpfs_keys); i++)
		if (strcmp(key, tmpfs_keys[i]) == 0)
			return 0;
	return unknown_word(word, err);
}

static int add_word(struct arena *arena, const char *name, bool tmpfs,
		    struct mount_options *options, struct error *err)
{
	const struct word *word = find_word(attribute_words, COUNT(attribute_words), name);
	if (word) {
		options->attr_set = (options->attr_set & ~word->clear) | word->set;
		options->attr_clear = (options->attr_clear & ~word->set) | word->clear;
		return 0;
	}
	word = find_word(propagation_words, COUNT(propagation_words), name);
	if (word) {
		options->propagation = word->set;
		return 0;
	}
	if (strcmp(name, "bind") == 0 || strcmp(name, "rbind") == 0) {
		options->bind = true;
		options->recursive = name[0] == 'r';
		return 0;
	}
	if (strcmp(name, "defaults") == 0)
		return 0;

	const char *equals = strchr(name, '=');
	if (equals && tmpfs)
		return add_parameter(arena, name, equals, options, err);
	return unknown_word(name, err);
}

int mount_options_parse(struct arena *arena, const struct string_list *words, bool tmpfs,
			struct mount_options *ret_options, struct error *err)
{
	struct mount_options options = {.propagation = MS_PRIVATE};

	for (size_t i = 0; i < words->n; i++) {
		int r = add_word(arena, words->items[i], tmpfs, &options, err);
		if (r < 0)
			return r;
	}
	/* "private" of a recursive bind means all that comes along: a mount below must not leak
	 * into the host either. */
	if (options.recursive && options.propagation == MS_PRIVATE)
		options.propagation |= MS_REC;
	*ret_options = options;
	return 0;
}

bool mount_option_is_runtimes(const char *word)
{
	static const char *const words[] = {
		"idmap", "ridmap", "tmpcopyup", "copy-symlink", "src-nofollow", "dest-nofollow",
	};

	for (size_t i = 0; i < COUNT(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	if (strncmp(word, "idmap=", 6) == 0 || strncmp(word, "ridmap=", 7) == 0)
		return true;
	/* "rro": the attribute, for the mounts below too. */
	return word[0] == 'r' &&
	       find_word(attribute_words, COUNT(attribute_words), word + 1) != NULL;
}

static const char *append(struct arena *arena, const char *text, const char *word)
{
	if (!text)
		return NULL;
	return text[0] ? arena_printf(arena, "%s,%s", text, word) : arena_strdup(arena, word);
}

const char *mount_options_text(struct arena *arena, const struct mount_options *options)
{
	const char *text = "";

	if (options->bind)
		text = append(arena, text, options->recursive ? "rbind" : "bind");
	for (size_t i = 0; i < COUNT(attribute_words); i++) {
		const struct word *word = &attribute_words[i];
		/* relatime is no bit but the zero of a field: it shows when the field was cleared
		 * and nothing set. */
		bool set = word->set && (options->attr_set & word->set) == word->set;
		bool cleared = !word->set && (options->attr_clear & word->clear) == word->clear;
		if (word->clear == MOUNT_ATTR__ATIME)
			set = (options->attr_clear & MOUNT_ATTR__ATIME) == MOUNT_ATTR__ATIME &&
			      (options->attr_set & MOUNT_ATTR__ATIME) == word->set;
		if (set || cleared)
			text = append(arena, text, word->name);
	}
	for (size_t i = 0; i < COUNT(propagation_words); i++)
		if (options->propagation == propagation_words[i].set)
			text = append(arena, text, propagation_words[i].name);
	for (size_t i = 0; i < options->parameters.n; i++) {
		const struct mount_parameter *parameter = &options->parameters.items[i];
		const char *word = arena_printf(arena, "%s=%s", parameter->key, parameter->value);
		text = word ? append(arena, text, word) : NULL;
	}
	return text;
}
