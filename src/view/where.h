/* SPDX-License-Identifier: MIT */
/*
 * An expression over the fields of an event, as --where takes it:
 *
 * 	or          and { "||" and }
 * 	and         not { "&&" not }
 * 	not         "!" not | "(" or ")" | comparison
 * 	comparison  field
 * 	            operand ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand
 * 	            operand ( "=~" | "~" ) string
 * 	operand     field | number | string | "true" | "false"
 *
 * =~ matches an extended regular expression, ~ a pattern of the shell. A field alone
 * holds if the event has it and it is neither 0 nor false nor empty. A comparison with a
 * value that cannot be compared, such as a field that the event does not have, is false,
 * also with !=. Text is compared with a number as a number, if it reads as one.
 */
#ifndef PTRC_SRC_VIEW_WHERE_H
#define PTRC_SRC_VIEW_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli/message.h"
#include "src/view/view.h"

struct ptrc_where;

/* Reads an expression. The layouts must stay. Returns null with the reason, which begins
 * with the column in the text, if the expression is wrong. */
struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *,
				    struct ptrc_cli_reason *why);

/* Whether the expression holds for the event. */
bool ptrc_where_holds(struct ptrc_where *, struct ptrc_view *);

void ptrc_where_free(struct ptrc_where *);

#endif
