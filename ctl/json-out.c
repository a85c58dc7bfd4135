/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not json-c: a path may have any byte, and the order of keys and the layout are part of what is promised.
 */
#include "json-out.h"

#include <stdio.h>

/* Everything before a value: comma, new line, indentation, key. */
static void put_key(struct json_out *out, const char *key)
{
	if (out->depth > 0) {
		text_put(&out->text, out->filled ? ",\n" : "\n");
		for (unsigned i = 0; i < out->depth; i++)
			text_put(&out->text, "  ");
	}
	out->filled = true;
	if (!key)
		return;
	text_put_json(&out->text, key);
	text_put(&out->text, ": ");
}

void json_out_begin(struct json_out *out, const char *key, char bracket)
{
	put_key(out, key);
	text_put_byte(&out->text, bracket);
	out->depth++;
	out->filled = false;
}

void json_out_end(struct json_out *out, char bracket)
{
	out->depth--;
	if (out->filled) {
		text_put_byte(&out->text, '\n');
		for (unsigned i = 0; i < out->depth; i++)
			text_put(&out->text, "  ");
	}
	text_put_byte(&out->text, bracket);
	out->filled = true;
}

void json_out_string(struct json_out *out, const char *key, const char *value)
{
	put_key(out, key);
	if (value)
		text_put_json(&out->text, value);
	else
		text_put(&out->text, "null");
}

void json_out_number(struct json_out *out, const char *key, long long value)
{
	put_key(out, key);
	text_printf(&out->text, "%lld", value);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
	put_key(out, key);
	text_put(&out->text, value ? "true" : "false");
}

void json_out_list(struct json_out *out, const char *key, const struct string_list *list)
{
	json_out_begin(out, key, '[');
	for (size_t i = 0; i < list->n; i++)
		json_out_string(out, NULL, list->items[i]);
	json_out_end(out, ']');
}

int json_out_print(struct json_out *out, struct error *err)
{
	const char *text = text_end(&out->text, err);

	if (!text)
		return -err->errnum;
	puts(text);
	return 0;
}
