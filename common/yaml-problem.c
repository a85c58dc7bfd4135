/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml says what its grammar wanted ("did not find expected key while parsing a block mapping"),
 * which tells little to somebody who used a tab. Those that people meet have a sentence of their
 * own here; all others pass as they are.
 */
#include "yaml-problem.h"

#include <stdio.h>
#include <string.h>

#define TAB "a tab, where YAML takes only blanks to indent"
#define NOT_UTF_8 "the file is not UTF-8 here"
#define CHECK "look for wrong indentation, or for a quote or bracket too many or too few above"

static const struct {
	const char *problem;
	const char *context; /* NULL: whatever it is */
	const char *text;    /* a %u stands for the line where the context began */
} sentences[] = {
	{"found a tab character that violates indentation", NULL, TAB},
	{"found a tab character where an indentation space is expected", NULL, TAB},
	{"invalid leading UTF-8 octet", NULL, NOT_UTF_8},
	{"invalid trailing UTF-8 octet", NULL, NOT_UTF_8},
	{"incomplete UTF-8 octet sequence", NULL, NOT_UTF_8},
	{"invalid length of a UTF-8 sequence", NULL, NOT_UTF_8},
	{"control characters are not allowed", NULL, "a control character"},
	{"mapping values are not allowed in this context", NULL,
	 "a \": \" cannot stand here: the line is indented too far, or the value needs quotes"},
	{"block sequence entries are not allowed in this context", NULL,
	 "a \"- \" cannot stand here: an item of a list begins on a line of its own"},
	{"did not find expected ',' or ']'", NULL,
	 "a comma or ] is missing in the list that begins on line %u"},
	{"did not find expected ',' or '}'", NULL,
	 "a comma or } is missing in the map that begins on line %u"},
	{"did not find expected key", "while parsing a block mapping",
	 "this does not fit the map that begins on line %u: " CHECK},
	{"did not find expected '-' indicator", NULL,
	 "this does not fit the list that begins on line %u: " CHECK},
	{"could not find expected ':'", NULL, "a \":\" is missing behind the key on line %u"},
	{"did not find expected node content", NULL, "a value is missing here"},
	{"found unexpected end of stream", "while scanning a quoted scalar",
	 "the file ends inside the quotes that open on line %u"},
	{"found unexpected document indicator", "while scanning a quoted scalar",
	 "the document ends inside the quotes that open on line %u"},
	{"found unknown escape character", NULL,
	 "there is no such escape: between double quotes a backslash is written \\\\"},
	{"found invalid Unicode character escape code", NULL,
	 "this escape stands for no character"},
	{"did not find expected <document start>", NULL,
	 "a line --- is missing behind those that begin with %%"},
};

/* What no value begins with: which character it is decides what is meant. */
static const char *cannot_start(char buffer[static YAML_PROBLEM_MAX], int found)
{
	if (found == '\t')
		return TAB;
	if (found <= ' ' || found >= 0x7f)
		return "no value can begin like this unless it is in quotes";
	snprintf(buffer, YAML_PROBLEM_MAX, "no value can begin with %c unless it is in quotes",
		 found);
	return buffer;
}

/* As libyaml has it. */
static const char *pass_on(char buffer[static YAML_PROBLEM_MAX], const struct yaml_problem *problem)
{
	const char *text = problem->problem ? problem->problem : "not readable as YAML";

	if (!problem->context)
		return text;
	if (problem->context_line == problem->line)
		snprintf(buffer, YAML_PROBLEM_MAX, "%s %s", text, problem->context);
	else
		snprintf(buffer, YAML_PROBLEM_MAX, "%s %s that begins on line %u", text,
			 problem->context, problem->context_line);
	return buffer;
}

/* `text` with the first %u in it filled in. */
static const char *with_line(char buffer[static YAML_PROBLEM_MAX], const char *text, unsigned line)
{
	const char *at = strchr(text, '%');

	if (!at)
		return text;
	if (at[1] == 'u')
		snprintf(buffer, YAML_PROBLEM_MAX, "%.*s%u%s", (int)(at - text), text, line,
			 at + 2);
	else
		snprintf(buffer, YAML_PROBLEM_MAX, "%.*s%s", (int)(at - text), text, at + 1);
	return buffer;
}

const char *yaml_problem_text(char buffer[static YAML_PROBLEM_MAX],
			      const struct yaml_problem *problem)
{
	const char *text = problem->problem ? problem->problem : "";
	const char *context = problem->context ? problem->context : "";

	if (strcmp(text, "found character that cannot start any token") == 0)
		return cannot_start(buffer, problem->found);
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		if (strcmp(sentences[i].problem, text) != 0)
			continue;
		if (sentences[i].context && strcmp(sentences[i].context, context) != 0)
			continue;
		return with_line(buffer, sentences[i].text, problem->context_line);
	}
	return pass_on(buffer, problem);
}
