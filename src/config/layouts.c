/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/layouts.h"

#include <string.h>

#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/config/configuration.h"
#include "src/config/yaml_file.h"

/* Finds the '=' in EVENT=LAYOUT: the last '=' that is not within the braces of an enum, such as {ok=0}. */
static const char *find_sign(const char *text)
{
	size_t depth = 0;

	for (const char *at = text + strlen(text); at > text;) {
		at--;
		if (*at == '}')
			depth++;
		else if (*at == '{' && depth)
			depth--;
		else if (*at == '=' && !depth)
			return at;
	}
	return NULL;
}

void ptrc_config_take_layout(struct ptrc_layouts *l, const char *text)
{
	const char *sign = find_sign(text);
	PTRC_SCOPED char *pattern = NULL;
	struct ptrc_cli_reason why;

	if (!sign || sign == text)
		ptrc_cli_usage("--decode", "'%s' is not EVENT=LAYOUT", text);
	pattern = strndup(text, (size_t)(sign - text));
	if (!pattern)
		ptrc_cli_no_memory();
	if (!ptrc_layouts_add(l, pattern, sign + 1, &why))
		ptrc_cli_usage("--decode", "%s: %s", pattern, why.text);
}

void ptrc_config_read_layouts(struct ptrc_layouts *l, const char *path, const char *session)
{
	static struct ptrc_config_file file;
	const struct ptrc_config *only = NULL;
	struct ptrc_cli_reason why;

	ptrc_config_read(&file, path, PTRC_CONFIG_FOR_DUMP);
	for (size_t i = 0; i < file.count && session; i++)
		if (file.sessions[i].name && !strcmp(file.sessions[i].name, session))
			only = &file.sessions[i];
	for (size_t i = 0; i < file.count; i++) {
		const struct ptrc_config_map *map = &file.sessions[i].decode;

		if (only && only != &file.sessions[i])
			continue;
		for (size_t k = 0; k < map->count; k++) {
			const struct ptrc_config_layout *layout = &map->layouts[k];

			if (!ptrc_layouts_add(l, layout->event, layout->text, &why))
				ptrc_yaml_refuse_at(file.name, &layout->mark, "decode: %s: %s",
						    layout->event, why.text);
		}
	}
}
