/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class may be shared by many, so its schemata are compared and never written: runtime-spec wants
 * an error where they differ. The kernel shows a line per resource, "    L3:0=00ff0;1=00ff0", with blanks in
 * front and as many digits as the cache has ways.
 */
#include "resctrl.h"

#include <stddef.h>
#include <string.h>

struct word {
	const char *text;
	size_t len;
};

/* Up to the first of `ends`, without blanks around it; `*at` moves behind that end. */
static struct word next_word(const char **at, const char *limit, char end)
{
	const char *found = memchr(*at, end, (size_t)(limit - *at));
	const char *stop = found ? found : limit;
	struct word word = {*at, (size_t)(stop - *at)};

	*at = found ? found + 1 : limit;
	while (word.len > 0 && strchr(" \t\r", word.text[0]))
		word.text++, word.len--;
	while (word.len > 0 && strchr(" \t\r", word.text[word.len - 1]))
		word.len--;
	return word;
}

static bool same(struct word a, struct word b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

static struct word without_zeros(struct word word)
{
	while (word.len > 1 && word.text[0] == '0')
		word.text++, word.len--;
	return word;
}

/* The value that the list "0=ff0;1=ff0" has for a domain; an empty word for none. */
static struct word domain_value(struct word list, struct word domain)
{
	const char *limit = list.text + list.len;

	for (const char *at = list.text; at < limit;) {
		struct word pair = next_word(&at, limit, ';');
		const char *end = pair.text + pair.len;
		struct word name = next_word(&pair.text, end, '=');

		if (same(name, domain))
			return next_word(&pair.text, end, '\n');
	}
	return (struct word){NULL, 0};
}

/* The list of the resource with this name, or an empty word. */
static struct word resource_list(const char *schemata, struct word resource)
{
	const char *limit = schemata + strlen(schemata);

	for (const char *at = schemata; at < limit;) {
		struct word line = next_word(&at, limit, '\n');
		const char *end = line.text + line.len;
		struct word name = next_word(&line.text, end, ':');

		if (same(name, resource))
			return (struct word){line.text, (size_t)(end - line.text)};
	}
	return (struct word){NULL, 0};
}

static bool line_allots(const char *actual, struct word line)
{
	const char *at = line.text, *limit = line.text + line.len;
	struct word has = resource_list(actual, next_word(&at, limit, ':'));
	bool any = false;

	while (at < limit) {
		struct word pair = next_word(&at, limit, ';');
		const char *value = pair.text, *end = pair.text + pair.len;
		struct word domain = next_word(&value, end, '=');
		struct word wants = next_word(&value, end, '\n');

		any = any || pair.len > 0;
		if (pair.len > 0 &&
		    (wants.len == 0 ||
		     !same(without_zeros(domain_value(has, domain)), without_zeros(wants))))
			return false;
	}
	return any;
}

bool resctrl_allots(const char *actual, const char *wanted)
{
	const char *limit = wanted + strlen(wanted);

	for (const char *at = wanted; at < limit;) {
		struct word line = next_word(&at, limit, '\n');

		if (line.len > 0 && !line_allots(actual, line))
			return false;
	}
	return true;
}
