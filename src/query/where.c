/* SPDX-License-Identifier: MIT */
/* The evaluation of expressions, and questions about their contents. */
#include "config.h"
#include "src/query/where.h"

#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/query/where_tree.h"

/* A match of a pattern of the shell (~) is decided only if the size of the pattern times the size of the text is
 * at most this. */
enum { GLOB_WORK_MAX = 16 << 20 };

/* Calls the function for the operand and, if that is a calculation, for the operands of the
 * calculation. */
static void visit_operand(struct ptrc_operand *o, void (*visit)(struct ptrc_operand *, void *),
			  void *arg)
{
	visit(o, arg);
	for (size_t i = 0; o->calculation && i < 2; i++)
		visit_operand(&o->calculation->operands[i], visit, arg);
}

static void visit_operands(struct ptrc_node *n, void (*visit)(struct ptrc_operand *, void *),
			   void *arg)
{
	if (!n)
		return;
	for (size_t i = 0; i < 2; i++) {
		visit_operand(&n->operands[i], visit, arg);
		visit_operands(n->children[i], visit, arg);
	}
}

static void resolve(struct ptrc_operand *o, void *arg)
{
	const struct ptrc_where *w = arg;
	int64_t base_ns = o->when.base == PTRC_WHEN_FROM_BEGIN ? w->first_ns : w->last_ns;

	if (o->when.base != PTRC_WHEN_ABSOLUTE)
		ptrc_operand_set(o, ptrc_quantity_whole(PTRC_DIMENSION_MOMENT,
							ptrc_when_add(base_ns, o->when.ns)));
}

void ptrc_where_resolve(struct ptrc_where *w, int64_t first_ns, int64_t last_ns)
{
	w->is_resolved = true;
	w->first_ns = first_ns;
	w->last_ns = last_ns;
	visit_operands(w->root, resolve, w);
}

bool ptrc_where_has_base(const struct ptrc_where *w, enum ptrc_when_base base)
{
	return w->bases & 1U << base;
}

bool ptrc_where_has_field(const struct ptrc_where *w, enum ptrc_field_id id)
{
	return w->fields & UINT64_C(1) << id;
}

bool ptrc_where_has_source_field(const struct ptrc_where *w)
{
	bool is_found = false;

	for (enum ptrc_field_id id = 0; id <= PTRC_FIELD_MEMBER; id++)
		is_found |= ptrc_field_is_of_source(id) && ptrc_where_has_field(w, id);
	return is_found;
}

uint64_t *ptrc_where_undecided(struct ptrc_where *w)
{
	return &w->undecided_count;
}

const char *ptrc_where_text(const struct ptrc_where *w)
{
	return w->text;
}

/* ---- values ---- */

/* The value of operand i in the form in which it is compared, see ptrc_value_settle(). A value of an enum, which is in
 * *room, still has its name and its number. */
static const struct ptrc_value *evaluate(struct ptrc_where *w, const struct ptrc_node *n, size_t i,
					 struct ptrc_view *view, struct ptrc_value *room)
{
	const struct ptrc_operand *o = &n->operands[i];
	struct ptrc_buffer *b = &w->scratch[i];

	if (!o->is_field)
		return &o->literal;
	ptrc_view_get(view, &o->field, room);
	if (__builtin_expect(room->kind >= PTRC_VALUE_BYTES, 0))
		ptrc_value_settle(room, b);
	return room;
}

static bool whole_of(const struct ptrc_operand *o, const struct ptrc_value *v, ptrc_whole *number)
{
	if (!o->is_field) {
		*number = o->number.whole;
		return o->has_number && o->number.is_whole;
	}
	if (v->kind == PTRC_VALUE_DOUBLE)
		return v->is_rounded && ptrc_quantity_read_whole(v->bytes, v->size, number);
	*number = v->kind == PTRC_VALUE_SIGNED ? (ptrc_whole)v->i : (ptrc_whole)v->u;
	return v->kind == PTRC_VALUE_SIGNED || v->kind == PTRC_VALUE_UNSIGNED ||
	       v->kind == PTRC_VALUE_HEX;
}

/* Like whole_of(), but also takes the digits of a text, which comparisons with another text must not. */
static bool digits_of(const struct ptrc_operand *o, const struct ptrc_value *v, ptrc_whole *number)
{
	return o->is_field && v->kind == PTRC_VALUE_TEXT
		       ? ptrc_quantity_read_whole(v->bytes, v->size, number)
		       : whole_of(o, v, number);
}

static bool number_of(const struct ptrc_operand *o, const struct ptrc_value *v,
		      struct ptrc_quantity *q)
{
	if (!o->is_field) {
		*q = o->number;
		return o->has_number;
	}
	*q = (struct ptrc_quantity){0};
	q->is_whole = digits_of(o, v, &q->whole);
	return q->is_whole || ptrc_value_number(v, &q->number);
}

/* ---- comparisons ---- */

/* An enum is compared with a text or another enum by its name, with anything else by its number. */
static void settle_enum(struct ptrc_value *v, const struct ptrc_value *other)
{
	if (other->kind == PTRC_VALUE_TEXT || other->kind == PTRC_VALUE_ENUM)
		ptrc_value_take_name(v);
	else
		ptrc_value_take_number(v);
}

static int compare_texts(const struct ptrc_value *a, const struct ptrc_value *b)
{
	size_t size = a->size < b->size ? a->size : b->size;
	int order = size ? memcmp(a->bytes, b->bytes, size) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Stores the value of a field as a quantity. Returns false if it is not a number. */
static bool quantify_value(const struct ptrc_operand *o, const struct ptrc_value *v,
			   struct ptrc_quantity *q)
{
	long double number;
	ptrc_whole whole;

	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		*q = ptrc_quantity_whole(o->dimensions, v->i);
		break;
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
		*q = ptrc_quantity_whole(o->dimensions, v->u);
		break;
	case PTRC_VALUE_BOOL:
		*q = ptrc_quantity_whole(PTRC_DIMENSION_BOOL, v->u);
		break;
	default:
		if (!ptrc_value_number(v, &number))
			return false;
		if (v->kind == PTRC_VALUE_FLOAT)
			number = ptrc_value_shown_float(v);
		*q = digits_of(o, v, &whole) ? ptrc_quantity_whole(o->dimensions, whole)
					     : ptrc_quantity_number(o->dimensions, number);
		break;
	}
	if (o->field.id != PTRC_FIELD_MEMBER) {
		/* A field that may be a number or text, such as `data`, is a number here. */
		if (q->dimension & (q->dimension - 1))
			q->dimension = PTRC_DIMENSION_NUMBER;
	} else if (q->dimension != PTRC_DIMENSION_BOOL) {
		ptrc_quantity_take_unit(q, v->unit);
	}
	return true;
}

/* Stores the operand as a quantity. Returns false if it is not a number for this event. */
static bool quantify(const struct ptrc_operand *o, struct ptrc_view *view, struct ptrc_quantity *q)
{
	const struct ptrc_calculation *c = o->calculation;
	struct ptrc_quantity a;
	struct ptrc_quantity b;
	struct ptrc_buffer text = PTRC_BUFFER_INIT;
	struct ptrc_value v;
	bool is_number;

	if (c)
		return quantify(&c->operands[0], view, &a) && quantify(&c->operands[1], view, &b) &&
		       ptrc_quantity_calculate(c->operation, &a, &b, q);
	if (!o->is_field) {
		*q = o->number;
		return o->has_number;
	}
	ptrc_view_get(view, &o->field, &v);
	ptrc_value_take_number(&v);
	if (v.kind != PTRC_VALUE_JSON)
		return quantify_value(o, &v, q);
	ptrc_value_settle(&v, &text);
	is_number = quantify_value(o, &v, q);
	ptrc_buffer_free(&text);
	return is_number;
}

static bool compare(struct ptrc_where *w, const struct ptrc_node *n, struct ptrc_view *view)
{
	struct ptrc_value room[2];
	const struct ptrc_value *u = evaluate(w, n, 0, view, &room[0]);
	const struct ptrc_value *v = evaluate(w, n, 1, view, &room[1]);
	ptrc_whole i;
	ptrc_whole j;
	struct ptrc_quantity a;
	struct ptrc_quantity b;

	if (u->kind == PTRC_VALUE_ENUM)
		settle_enum(&room[0], v);
	if (v->kind == PTRC_VALUE_ENUM)
		settle_enum(&room[1], u);
	if (whole_of(&n->operands[0], u, &i) && whole_of(&n->operands[1], v, &j))
		return n->relations & (i < j ? PTRC_BELOW : i == j ? PTRC_EQUAL : PTRC_ABOVE);
	if (u->kind == PTRC_VALUE_TEXT && v->kind == PTRC_VALUE_TEXT) {
		a = ptrc_quantity_whole(PTRC_DIMENSION_NUMBER, compare_texts(u, v));
		b = ptrc_quantity_whole(PTRC_DIMENSION_NUMBER, 0);
	} else if (!number_of(&n->operands[0], u, &a) || !number_of(&n->operands[1], v, &b)) {
		return false;
	}
	/* A value of type f32 counts as the number that is printed for it, 0.1 for instance, which rounds to the f32.
	 * That changes the result only if the other operand rounds to the same f32. */
	if ((u->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_FLOAT) &&
	    (float)ptrc_quantity_value(&a) == (float)ptrc_quantity_value(&b)) {
		if (u->kind == PTRC_VALUE_FLOAT)
			a.number = ptrc_value_shown_float(u);
		if (v->kind == PTRC_VALUE_FLOAT)
			b.number = ptrc_value_shown_float(v);
	}
	return n->relations & ptrc_quantity_relation(&a, &b);
}

static bool compare_calculated(struct ptrc_where *w, const struct ptrc_node *n,
			       struct ptrc_view *view)
{
	struct ptrc_quantity a;
	struct ptrc_quantity b;

	if (quantify(&n->operands[0], view, &a) && quantify(&n->operands[1], view, &b))
		return ptrc_dimension_is_comparable(a.dimension, b.dimension) &&
		       (n->relations & ptrc_quantity_relation(&a, &b));
	/* In the layout of this event the field may be text, though another layout gives it a unit. Then compares
	 * the values without converting them. */
	return !n->operands[0].calculation && !n->operands[1].calculation && compare(w, n, view);
}

static bool is_true(struct ptrc_where *w, const struct ptrc_node *n, struct ptrc_view *view)
{
	struct ptrc_value room;
	const struct ptrc_value *v;
	struct ptrc_quantity q;
	const char *inside;

	if (n->operands[0].calculation)
		return quantify(&n->operands[0], view, &q) && ptrc_quantity_value(&q) != 0;
	v = evaluate(w, n, 0, view, &room);
	if (v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_ARRAY)
		return v->size;
	if (v->kind == PTRC_VALUE_JSON) {
		/* The value is an array or an object, and ends with a bracket. */
		inside = v->bytes + 1 + strspn(v->bytes + 1, " \t\r\n");
		return *inside != ']' && *inside != '}';
	}
	return number_of(&n->operands[0], v, &q) && ptrc_quantity_value(&q) != 0;
}

/* ---- answers ---- */

static enum ptrc_answer answer_of(bool is_so)
{
	return is_so ? PTRC_YES : PTRC_NO;
}

/* Matches a value with a pattern of the shell. Uses the second scratch buffer, because evaluate() may have put
 * the value into the first one. */
static enum ptrc_answer matches_glob(struct ptrc_where *w, const struct ptrc_operand *pattern,
				     const struct ptrc_value *v)
{
	struct ptrc_buffer *b = &w->scratch[1];

	if (v->size > GLOB_WORK_MAX / (pattern->literal.size + 1))
		return PTRC_UNDECIDED;
	b->used = 0;
	/* A null byte would end the text. A pattern cannot have one, so another byte that is rare in patterns
	 * stands for it. */
	for (size_t i = 0; i < v->size; i++)
		ptrc_buffer_char(b, v->bytes[i] ? v->bytes[i] : '\1');
	ptrc_buffer_char(b, '\0');
	return answer_of(ptrc_glob_matches(pattern->text, b->bytes));
}

static enum ptrc_answer matches(struct ptrc_where *w, const struct ptrc_node *n,
				struct ptrc_view *view)
{
	struct ptrc_value room;
	const struct ptrc_value *v = evaluate(w, n, 0, view, &room);

	if (v->kind == PTRC_VALUE_ENUM)
		ptrc_value_take_name(&room);
	if (v->kind != PTRC_VALUE_TEXT)
		return PTRC_NO;
	return n->kind == PTRC_NODE_GLOB ? matches_glob(w, &n->operands[1], v)
					 : ptrc_regex_match(n->regex, v->bytes, v->size);
}

static enum ptrc_answer join_answers(enum ptrc_node_kind kind, enum ptrc_answer a,
				     enum ptrc_answer b)
{
	return (kind == PTRC_NODE_OR) == (a > b) ? a : b;
}

/* Whether one of the fields has lost data. Looks at all fields, even after one is found: this decodes the event, so
 * that it is counted if it does not fit its layout. */
static bool has_lost(const struct ptrc_operand operands[2], struct ptrc_view *view)
{
	bool is_found = false;

	for (const struct ptrc_operand *o = operands; o < operands + 2; o++)
		is_found |= o->calculation ? has_lost(o->calculation->operands, view)
					   : o->is_field && ptrc_view_has_lost(view, &o->field);
	return is_found;
}

static enum ptrc_answer judge(struct ptrc_where *w, struct ptrc_node *n, struct ptrc_view *view)
{
	enum ptrc_answer a;

	switch (n->kind) {
	case PTRC_NODE_OR:
	case PTRC_NODE_AND:
		a = judge(w, n->children[0], view);
		if (a == answer_of(n->kind == PTRC_NODE_OR))
			return a;
		return join_answers(n->kind, a, judge(w, n->children[1], view));
	case PTRC_NODE_NOT:
		return PTRC_YES - judge(w, n->children[0], view);
	default:
		break;
	}
	if (w->has_doubts && has_lost(n->operands, view))
		return PTRC_UNDECIDED;
	if (n->kind == PTRC_NODE_TRUTH)
		return answer_of(is_true(w, n, view));
	if (n->kind != PTRC_NODE_COMPARISON)
		return matches(w, n, view);
	return answer_of(n->is_calculated ? compare_calculated(w, n, view) : compare(w, n, view));
}

bool ptrc_where_all_hold(struct ptrc_where *const *wheres, size_t count, struct ptrc_view *view)
{
	struct ptrc_where *undecided = NULL;

	for (size_t i = 0; i < count; i++) {
		enum ptrc_answer answer =
			wheres[i] ? judge(wheres[i], wheres[i]->root, view) : PTRC_YES;

		if (answer == PTRC_NO)
			return false;
		if (answer == PTRC_UNDECIDED)
			undecided = wheres[i];
	}
	if (undecided)
		undecided->undecided_count++;
	return !undecided;
}

bool ptrc_where_may_hold(struct ptrc_where *w, struct ptrc_view *view, bool *is_unsure)
{
	enum ptrc_answer answer;

	w->has_doubts = true;
	answer = judge(w, w->root, view);
	w->has_doubts = false;
	*is_unsure = answer == PTRC_UNDECIDED;
	return answer != PTRC_NO;
}

/* ---- bounds ---- */

/* Whether the operand is a field that is an integer in every event, or a member of the data. The sieve checks for each
 * layout whether the member is an integer. */
static bool is_whole_field(const struct ptrc_operand *o)
{
	const struct ptrc_field *f = &o->field;

	if (!o->is_field || f->is_of_begin)
		return false;
	/* Leaves out data.NAME[N] and data.NAME.KEY. */
	if (f->id == PTRC_FIELD_MEMBER)
		return !f->text[f->path];
	return f->id == PTRC_FIELD_TYPE_ID || f->id == PTRC_FIELD_PID || f->id == PTRC_FIELD_TID ||
	       f->id == PTRC_FIELD_LEN || f->id == PTRC_FIELD_NS || f->id == PTRC_FIELD_TIME;
}

bool ptrc_where_get_bounds(const struct ptrc_where *w, struct ptrc_where_bounds *b)
{
	/* Greater than any number of 64 bits. */
	const ptrc_whole far = (ptrc_whole)1 << 100;
	const struct ptrc_node *n = w->root;
	const struct ptrc_operand *literal;
	ptrc_whole whole;
	unsigned int relations;
	bool is_left;

	while (n->kind == PTRC_NODE_AND)
		n = n->children[0];
	if (n->kind != PTRC_NODE_COMPARISON || n->is_calculated)
		return false;
	is_left = is_whole_field(&n->operands[0]);
	literal = &n->operands[is_left];
	if (!is_whole_field(&n->operands[!is_left]) || !ptrc_operand_is_literal(literal) ||
	    !whole_of(literal, &literal->literal, &whole) || whole > far / 2 || whole < -far / 2)
		return false;
	relations = n->relations & (PTRC_BELOW | PTRC_EQUAL | PTRC_ABOVE);
	/* Turns the relation around, as if the field were on the left. */
	if (!is_left)
		relations = (relations & PTRC_EQUAL) | (relations & PTRC_BELOW ? PTRC_ABOVE : 0) |
			    (relations & PTRC_ABOVE ? PTRC_BELOW : 0);
	*b = (struct ptrc_where_bounds){
		.field = &n->operands[!is_left].field,
		.low = relations & PTRC_BELOW ? -far : whole + !(relations & PTRC_EQUAL),
		.high = relations & PTRC_ABOVE ? far : whole - !(relations & PTRC_EQUAL),
	};
	/* A relation that includes both less and greater is !=. */
	if ((relations & PTRC_BELOW) && (relations & PTRC_ABOVE)) {
		b->low = b->high = whole;
		b->is_outside = true;
	}
	return true;
}

/* ---- names ---- */

/* Whether the node compares this field with a name or pattern. */
static bool is_about(const struct ptrc_node *n, enum ptrc_field_id field)
{
	return n->name && n->operands[n->name == &n->operands[0]].field.id == field;
}

static enum ptrc_answer judge_name(struct ptrc_node *n, const char *name, size_t size)
{
	const struct ptrc_operand *wanted = n->name;
	enum ptrc_answer answer;

	if (n->kind == PTRC_NODE_REGEX)
		answer = ptrc_regex_match(n->regex, name, size);
	else if (n->kind == PTRC_NODE_GLOB)
		answer = answer_of(ptrc_glob_matches(wanted->text, name));
	else
		answer = answer_of(size == wanted->literal.size &&
				   !memcmp(name, wanted->text, size));
	n->has_name |= answer != PTRC_NO;
	return n->kind == PTRC_NODE_COMPARISON && n->relations == PTRC_UNEQUAL ? PTRC_YES - answer
									       : answer;
}

/* Decides the condition for events or pairs with this name. Evaluates all children, so that each comparison sees the
 * name. Conditions on other fields are undecided. */
static enum ptrc_answer look(struct ptrc_node *n, enum ptrc_field_id field, const char *name,
			     size_t size)
{
	enum ptrc_answer a;

	if (n->kind == PTRC_NODE_NOT)
		return PTRC_YES - look(n->children[0], field, name, size);
	if (n->kind == PTRC_NODE_OR || n->kind == PTRC_NODE_AND) {
		a = look(n->children[0], field, name, size);
		return join_answers(n->kind, a, look(n->children[1], field, name, size));
	}
	return is_about(n, field) ? judge_name(n, name, size) : PTRC_UNDECIDED;
}

bool ptrc_where_try_name(struct ptrc_where *w, enum ptrc_field_id field, const char *name,
			 size_t size)
{
	return look(w->root, field, name, size) != PTRC_NO;
}

/* Whether the list has an earlier comparison with the same name or pattern that has not matched. If so, the message
 * about it was already given. */
static bool is_repeated(const struct ptrc_where *w, const struct ptrc_node *n)
{
	for (const struct ptrc_node *m = w->names; m != n; m = m->next_of_names)
		if (!m->has_name && m->kind == n->kind && !strcmp(m->name->text, n->name->text))
			return true;
	return false;
}

const char *ptrc_where_next_missing(const struct ptrc_where *w, enum ptrc_field_id field,
				    const void **place, bool *is_name)
{
	const struct ptrc_node *n =
		*place ? ((const struct ptrc_node *)*place)->next_of_names : w->names;
	const char *text;

	while (n && (n->has_name || !is_about(n, field) || is_repeated(w, n)))
		n = n->next_of_names;
	*place = n;
	if (!n)
		return NULL;
	text = n->name->text;
	*is_name = n->kind == PTRC_NODE_COMPARISON ||
		   !strpbrk(text, n->kind == PTRC_NODE_GLOB ? "*?[\\" : "*?[\\^$+(|{");
	return text;
}

/* ---- missing fields ---- */

struct search {
	ptrc_where_find *find;
	struct ptrc_query *query;
	const char *event;
};

static void check_field(struct ptrc_operand *o, void *arg)
{
	const struct search *s = arg;

	o->missing = o->is_field ? s->find(s->query, &o->field, s->event) : NULL;
}

static void find_missing(struct ptrc_operand *o, void *arg)
{
	bool *is_any = arg;

	*is_any |= o->missing != NULL;
}

static void add_missing(struct ptrc_operand *o, void *vain)
{
	if (o->missing)
		ptrc_cli_add_copy(vain, o->missing);
}

static void free_missing(struct ptrc_operand *o, void *arg)
{
	(void)arg;
	free(o->missing);
}

/* Decides the condition for events that lack the missing fields. Conditions on other fields are undecided. */
static enum ptrc_answer presume(struct ptrc_node *n)
{
	bool is_missing = false;

	if (n->kind == PTRC_NODE_NOT)
		return PTRC_YES - presume(n->children[0]);
	if (n->kind == PTRC_NODE_OR || n->kind == PTRC_NODE_AND)
		return join_answers(n->kind, presume(n->children[0]), presume(n->children[1]));
	visit_operands(n, find_missing, &is_missing);
	return is_missing ? PTRC_NO : PTRC_UNDECIDED;
}

/* Adds the messages of the missing fields because of which the condition has this answer. */
static void blame(struct ptrc_node *n, enum ptrc_answer answer, struct ptrc_cli_texts *vain)
{
	if (presume(n) != answer)
		return;
	if (n->kind == PTRC_NODE_NOT) {
		blame(n->children[0], PTRC_YES - answer, vain);
	} else if (n->kind == PTRC_NODE_OR || n->kind == PTRC_NODE_AND) {
		blame(n->children[0], answer, vain);
		blame(n->children[1], answer, vain);
	} else {
		visit_operands(n, add_missing, vain);
	}
}

void ptrc_where_find_vain(struct ptrc_where *w, ptrc_where_find *find, struct ptrc_query *query,
			  const char *event, struct ptrc_cli_texts *vain)
{
	visit_operands(w->root, check_field, &(struct search){find, query, event});
	blame(w->root, PTRC_NO, vain);
	visit_operands(w->root, free_missing, NULL);
}
