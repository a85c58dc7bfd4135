/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec files are YAML, also those called .json: that is how the reference reads them, so files
 * exist that are only half JSON. libyaml's events rather than its document API: they carry the
 * place of everything, and leave anchors and merge keys, and so the bounds on what they expand to,
 * to us.
 *
 * What is JSON to the last byte is read as JSON, since YAML lacks some of it (a character written as
 * two escapes, a tab before a value, long keys), and since it is several times faster.
 */
#include "spec-reader.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "json-scan.h"
#include "spec-scalar.h"
#include "spec-text.h"
#include "yaml-problem.h"

struct reader {
	struct spec_tree tree;
	struct spec_text text;
	yaml_parser_t parser;
};

static int check_root(const struct reader *r)
{
	const struct value *root = r->tree.root;

	return spec_scalar_is_null(root) ? spec_tree_fail(&r->tree, root->line, root->column,
							  "the first document holds no data")
					 : 0;
}

/*
 * JSON
 */

/* Whether it is, to the last byte; else what is wrong where. */
static bool is_json(const struct spec_text *text, struct json_scan *scan, struct error *ret_fault)
{
	int token;

	json_scan_init(scan, "", text->data + text->start, text->size - text->start);
	do
		token = json_scan_next(scan, ret_fault);
	while (token > JSON_TOKEN_END);
	return token == JSON_TOKEN_END;
}

/* A key, a string, a number or a word. */
static int take_json_scalar(struct reader *r, const struct json_scan *scan, int token,
			    const struct spec_start *start)
{
	const bool quoted = token == JSON_TOKEN_KEY || token == JSON_TOKEN_STRING;

	if (!quoted)
		return spec_tree_scalar(&r->tree, start, scan->data + scan->start,
					scan->end - scan->start, true);
	const char *text = json_scan_text(r->tree.arena, scan);
	if (!text)
		return error_memory(r->tree.report->err);
	return spec_tree_scalar(&r->tree, start, text, strlen(text), false);
}

static int take_json_token(struct reader *r, const struct json_scan *scan, int token,
			   const struct spec_start *start)
{
	switch (token) {
	case JSON_TOKEN_OBJECT:
		return spec_tree_open(&r->tree, start, VALUE_MAP);
	case JSON_TOKEN_ARRAY:
		return spec_tree_open(&r->tree, start, VALUE_LIST);
	case JSON_TOKEN_OBJECT_END:
	case JSON_TOKEN_ARRAY_END:
		return spec_tree_close(&r->tree, start);
	default:
		return take_json_scalar(r, scan, token, start);
	}
}

static int read_json(struct reader *r)
{
	struct spec_position at = spec_text_begin(&r->text);
	struct json_scan scan;
	int token, ret = 0;

	json_scan_init(&scan, "", r->text.data + r->text.start, r->text.size - r->text.start);
	/* Nothing fails here: is_json() has been through all of it. */
	while (ret >= 0 && (token = json_scan_next(&scan, r->tree.report->err)) > JSON_TOKEN_END) {
		spec_text_go_to(&r->text, &at, r->text.start + scan.start);
		const struct spec_start start = {.line = at.line, .column = at.column};
		ret = take_json_token(r, &scan, token, &start);
	}
	return ret < 0 ? ret : check_root(r);
}

/*
 * YAML
 */

/* libyaml counts from 0. */
static unsigned from_one(size_t n)
{
	return (unsigned)n + 1;
}

static int parser_problem(struct reader *r)
{
	const yaml_parser_t *parser = &r->parser;
	char buffer[YAML_PROBLEM_MAX];
	struct yaml_problem problem = {
		.problem = parser->problem,
		.context = parser->context,
		.line = from_one(parser->problem_mark.line),
		.context_line = from_one(parser->context_mark.line),
	};
	unsigned column = from_one(parser->problem_mark.column);

	if (parser->error == YAML_MEMORY_ERROR)
		return error_memory(r->tree.report->err);
	if (parser->error == YAML_READER_ERROR)
		spec_text_place(&r->text, parser->problem_offset, &problem.line, &column);
	problem.found = spec_text_at(&r->text, problem.line, column);
	return spec_tree_fail(&r->tree, problem.line, column, "%s",
			      yaml_problem_text(buffer, &problem));
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : parser_problem(r);
}

#define _cleanup_event_ __attribute__((cleanup(yaml_event_delete)))

/* The tag and the anchor are the event's. */
static struct spec_start start_of(const yaml_event_t *event, const yaml_char_t *tag,
				  const yaml_char_t *anchor)
{
	/* libyaml itself drops a lone "!", but not where nothing stands behind it. */
	return (struct spec_start){
		.line = from_one(event->start_mark.line),
		.column = from_one(event->start_mark.column),
		.tag = tag && strcmp((const char *)tag, "!") != 0 ? (const char *)tag : NULL,
		.anchor = (const char *)anchor,
	};
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
	struct spec_start start = start_of(event, NULL, NULL);

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		start = start_of(event, event->data.scalar.tag, event->data.scalar.anchor);
		return spec_tree_scalar(&r->tree, &start, (const char *)event->data.scalar.value,
					event->data.scalar.length,
					event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
	case YAML_ALIAS_EVENT:
		start.anchor = (const char *)event->data.alias.anchor;
		return spec_tree_alias(&r->tree, &start);
	case YAML_SEQUENCE_START_EVENT:
		start = start_of(event, event->data.sequence_start.tag,
				 event->data.sequence_start.anchor);
		return spec_tree_open(&r->tree, &start, VALUE_LIST);
	case YAML_MAPPING_START_EVENT:
		start = start_of(event, event->data.mapping_start.tag,
				 event->data.mapping_start.anchor);
		return spec_tree_open(&r->tree, &start, VALUE_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return spec_tree_close(&r->tree, &start);
	default:
		return 0;
	}
}

/*
 * Whatever follows the first document is never used, as in the reference, and never passed over in
 * silence.
 */
static int look_behind(struct reader *r)
{
	const struct cdi_report *report = r->tree.report;
	_cleanup_event_ yaml_event_t event = {0};
	struct error unused = {0};
	const struct cdi_report silent = {.file = report->file, .err = &unused};

	r->tree.report = &silent;
	int ret = next_event(r, &event);
	r->tree.report = report;
	if (ret < 0 && r->parser.error == YAML_MEMORY_ERROR)
		return error_memory(report->err);
	if (ret >= 0 && event.type == YAML_STREAM_END_EVENT)
		return 0;
	const yaml_mark_t mark = ret >= 0 ? event.start_mark : r->parser.problem_mark;
	unsigned line = from_one(mark.line), column = from_one(mark.column);
	if (r->parser.error == YAML_READER_ERROR)
		spec_text_place(&r->text, r->parser.problem_offset, &line, &column);
	cdi_report_warning(report, line, column, "",
			   "only the first document of a file is used: what follows is ignored");
	return 0;
}

static int read_document(struct reader *r)
{
	int ret;

	for (;;) {
		_cleanup_event_ yaml_event_t event = {0};

		ret = next_event(r, &event);
		if (ret < 0)
			return ret;
		if (event.type == YAML_STREAM_END_EVENT)
			return spec_tree_fail(&r->tree, 1, 1, "the file holds no data");
		if (event.type == YAML_DOCUMENT_END_EVENT)
			break;
		ret = take_event(r, &event);
		if (ret < 0)
			return ret;
	}
	/* A document has a value, if only an empty one. */
	return check_root(r) < 0 ? -EINVAL : look_behind(r);
}

static int read_yaml(struct reader *r)
{
	/* libyaml compares each directive with all others. */
	unsigned line = spec_text_directive(&r->text, LIMIT_YAML_DIRECTIVES);

	if (spec_text_is_blank(&r->text))
		return spec_tree_fail(&r->tree, 1, 1, "the file is empty");
	if (line)
		return spec_tree_fail(&r->tree, line, 1, "more than %d lines begin with %%",
				      LIMIT_YAML_DIRECTIVES);
	if (!yaml_parser_initialize(&r->parser))
		return error_memory(r->tree.report->err);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text.data, r->text.size);
	int ret = read_document(r);
	yaml_parser_delete(&r->parser);
	return ret;
}

/* JSON goes by without a word; what only looks like it from the outside is accepted and told. */
static void warn_of_yaml(const struct reader *r, const struct json_scan *scan,
			 const struct error *fault)
{
	const char *file = r->tree.report->file, *end = strrchr(file, '.');
	size_t line, column;

	if (!end || strcmp(end, ".json") != 0)
		return;
	json_place(scan->data, scan->fault, &line, &column);
	/* The words begin behind the place, which has no blank in it. */
	cdi_report_warning(r->tree.report, (unsigned)line, (unsigned)column, "",
			   "%s: this is no JSON, and other readers may refuse it: it is read as "
			   "YAML",
			   strchr(fault->text, ' ') + 1);
}

int spec_read(struct arena *arena, const struct cdi_report *report, const char *data, size_t size,
	      const struct value **ret_root)
{
	struct error fault = {0};
	struct json_scan scan;
	struct reader r;
	int ret;

	spec_tree_init(&r.tree, arena, report);
	spec_text_init(&r.text, data, size);
	if (is_json(&r.text, &scan, &fault)) {
		ret = read_json(&r);
	} else {
		ret = read_yaml(&r);
		if (ret >= 0)
			warn_of_yaml(&r, &scan, &fault);
	}
	*ret_root = r.tree.root;
	spec_tree_done(&r.tree);
	return ret;
}
