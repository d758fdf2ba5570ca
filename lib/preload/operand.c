/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/operand.h"

#include <string.h>
#include <sys/uio.h>

#include "lib/base/common.h"
#include "lib/base/digits.h"
#include "lib/base/sys.h"

/* the smallest size of a page */
#define PAGE_BYTES UINT64_C(4096)

static bool skip(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static bool take_number(const char **at, int64_t *number)
{
	bool is_negative = skip(at, '-');
	uint64_t n = 0;
	const char *first;
	unsigned int base = 10;

	if ((*at)[0] == '0' && (*at)[1] == 'x') {
		*at += 2;
		base = 16;
	}
	for (first = *at;; ++*at) {
		char c = **at;
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : 99;

		if (digit >= base)
			break;
		n = n * base + digit;
	}
	*number = (int64_t)(is_negative ? 0 - n : n);
	return *at > first;
}

static size_t word_size(const char *at)
{
	size_t size = 0;

	while ((at[size] >= 'a' && at[size] <= 'z') || (at[size] >= '0' && at[size] <= '9'))
		size++;
	return size;
}

#if defined(__x86_64__)

/* The registers by their numbers in <sys/ucontext.h>; each has names for its 8, 4, 2 and 1 low
 * bytes. */
static const struct {
	int16_t number;
	char names[4][5];
} registers[] = {
	{REG_RAX, {"rax", "eax", "ax", "al"}},	    {REG_RBX, {"rbx", "ebx", "bx", "bl"}},
	{REG_RCX, {"rcx", "ecx", "cx", "cl"}},	    {REG_RDX, {"rdx", "edx", "dx", "dl"}},
	{REG_RSI, {"rsi", "esi", "si", "sil"}},	    {REG_RDI, {"rdi", "edi", "di", "dil"}},
	{REG_RBP, {"rbp", "ebp", "bp", "bpl"}},	    {REG_RSP, {"rsp", "esp", "sp", "spl"}},
	{REG_R8, {"r8", "r8d", "r8w", "r8b"}},	    {REG_R9, {"r9", "r9d", "r9w", "r9b"}},
	{REG_R10, {"r10", "r10d", "r10w", "r10b"}}, {REG_R11, {"r11", "r11d", "r11w", "r11b"}},
	{REG_R12, {"r12", "r12d", "r12w", "r12b"}}, {REG_R13, {"r13", "r13d", "r13w", "r13b"}},
	{REG_R14, {"r14", "r14d", "r14w", "r14b"}}, {REG_R15, {"r15", "r15d", "r15w", "r15b"}},
};

/* The second bytes of four registers have names of their own. */
static const struct {
	int16_t number;
	char name[3];
} second_bytes[] = {{REG_RAX, "ah"}, {REG_RBX, "bh"}, {REG_RCX, "ch"}, {REG_RDX, "dh"}};

static bool is_word(const char *at, size_t size, const char *name)
{
	return size && strlen(name) == size && !strncmp(at, name, size);
}

/* Parses the name of a register; its '%' has been passed. */
static bool take_register(const char **at, struct ptrc_operand *o, uint8_t *number)
{
	size_t size = word_size(*at);
	const char *word = *at;

	*at += size;
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(registers); i++)
		for (size_t k = 0; k < 4; k++)
			if (is_word(word, size, registers[i].names[k])) {
				*number = (uint8_t)registers[i].number;
				return true;
			}
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(second_bytes); i++)
		if (is_word(word, size, second_bytes[i].name)) {
			*number = (uint8_t)second_bytes[i].number;
			o->skip = 8;
			return true;
		}
	if (size > 3 && !strncmp(word, "xmm", 3)) {
		int64_t n = -1;

		word += 3;
		o->place = PTRC_OPERAND_VECTOR;
		if (!take_number(&word, &n) || n < 0 || n > 15)
			return false;
		*number = (uint8_t)n;
		return word == *at;
	}
	return false;
}

/* Parses the place, which follows N@: $NUMBER, %REGISTER, or NUMBER(%BASE,%INDEX,SCALE), of which
 * NUMBER, %BASE, %INDEX and SCALE may be missing. */
static bool take_place(const char **at, struct ptrc_operand *o)
{
	int64_t scale = 1;

	if (skip(at, '$'))
		return take_number(at, &o->number);
	o->place = PTRC_OPERAND_REGISTER;
	if (skip(at, '%'))
		return take_register(at, o, &o->base);
	o->place = PTRC_OPERAND_MEMORY;
	if (**at != '(' && !take_number(at, &o->number))
		return false;
	if (!skip(at, '('))
		return false;
	if (skip(at, '%') && !take_register(at, o, &o->base))
		return false;
	if (skip(at, ',') && (!skip(at, '%') || !take_register(at, o, &o->index)))
		return false;
	if (skip(at, ',') && !take_number(at, &scale))
		return false;
	if (!skip(at, ')') || o->skip || o->place != PTRC_OPERAND_MEMORY)
		return false;
	while (scale > 1 && scale % 2 == 0) {
		scale /= 2;
		o->shift++;
	}
	return scale == 1 && o->shift <= 3;
}

static uint64_t read_register(const ucontext_t *c, uint8_t number)
{
	return (uint64_t)c->uc_mcontext.gregs[number];
}

static uint64_t read_vector(const ucontext_t *c, uint8_t number)
{
	uint64_t value = 0;

	if (c->uc_mcontext.fpregs)
		memcpy(&value, &c->uc_mcontext.fpregs->_xmm[number], sizeof(value));
	return value;
}

static uint64_t stack_pointer(const ucontext_t *c)
{
	return (uint64_t)c->uc_mcontext.gregs[REG_RSP];
}

#else

enum { STACK_POINTER = 31, ZERO = 32 };

/* Parses the name of a register: x0 to x30, w0 to w30, xzr, wzr, sp, v0 to v31, d0 to d31, s0 to
 * s31. */
static bool take_register(const char **at, struct ptrc_operand *o, uint8_t *number)
{
	size_t size = word_size(*at);
	const char *word = *at, *digits = word + 1;
	int64_t n = -1;

	*at += size;
	if (size == 2 && !strncmp(word, "sp", 2)) {
		*number = STACK_POINTER;
		return true;
	}
	if (size == 3 && (*word == 'x' || *word == 'w') && !strncmp(digits, "zr", 2)) {
		*number = ZERO;
		return true;
	}
	if (size < 2 || !take_number(&digits, &n) || digits != *at || n < 0 || n > 31)
		return false;
	*number = (uint8_t)n;
	if (*word == 'v' || *word == 'd' || *word == 's')
		o->place = PTRC_OPERAND_VECTOR;
	return o->place == PTRC_OPERAND_VECTOR || ((*word == 'x' || *word == 'w') && n < 31);
}

/* Parses the place, which follows N@: NUMBER, REGISTER, [BASE], [BASE, NUMBER], [BASE, INDEX] or
 * [BASE, INDEX, lsl NUMBER]. */
static bool take_place(const char **at, struct ptrc_operand *o)
{
	int64_t shift = 0;

	if (**at == '-' || (**at >= '0' && **at <= '9'))
		return take_number(at, &o->number);
	o->place = PTRC_OPERAND_REGISTER;
	if (!skip(at, '['))
		return take_register(at, o, &o->base);
	o->place = PTRC_OPERAND_MEMORY;
	if (!take_register(at, o, &o->base))
		return false;
	if (skip(at, ',')) {
		*at += strspn(*at, " ");
		if ((**at == '-' || (**at >= '0' && **at <= '9'))
			    ? !take_number(at, &o->number)
			    : !take_register(at, o, &o->index))
			return false;
	}
	if (skip(at, ',')) {
		*at += strspn(*at, " ");
		if (strncmp(*at, "lsl ", 4) != 0)
			return false;
		*at += 4;
		skip(at, '#');
		if (!take_number(at, &shift) || shift < 0 || shift > 3)
			return false;
		o->shift = (uint8_t)shift;
	}
	return skip(at, ']') && o->place == PTRC_OPERAND_MEMORY;
}

static uint64_t read_register(const ucontext_t *c, uint8_t number)
{
	return number == ZERO		 ? 0
	       : number == STACK_POINTER ? c->uc_mcontext.sp
					 : c->uc_mcontext.regs[number];
}

/* Finds the kernel's record of the vector registers in the list of records at the end of the
 * context. */
static uint64_t read_vector(const ucontext_t *c, uint8_t number)
{
	enum { MAGIC = 0x46508001, VECTORS_AT = 16, VECTOR_BYTES = 16 };
	const unsigned char *at = (const unsigned char *)c->uc_mcontext.__reserved;
	const unsigned char *end = at + sizeof(c->uc_mcontext.__reserved);
	uint64_t value = 0;
	uint32_t head[2];

	while (at + sizeof(head) <= end) {
		memcpy(head, at, sizeof(head));
		if (head[0] == MAGIC)
			memcpy(&value, at + VECTORS_AT + (size_t)number * VECTOR_BYTES,
			       sizeof(value));
		if (head[0] == MAGIC || head[1] < sizeof(head))
			break;
		at += head[1];
	}
	return value;
}

static uint64_t stack_pointer(const ucontext_t *c)
{
	return c->uc_mcontext.sp;
}

#endif

static bool take_operand(const char **at, struct ptrc_operand *o)
{
	int64_t size;

	*o = (struct ptrc_operand){.base = PTRC_OPERAND_NONE, .index = PTRC_OPERAND_NONE};
	if (!take_number(at, &size) || size < -8 || size > 8)
		return false;
	o->is_signed = size < 0;
	o->size = (uint8_t)(size < 0 ? -size : size);
	if (o->size != 1 && o->size != 2 && o->size != 4 && o->size != 8)
		return false;
	o->is_float = skip(at, 'f');
	if (o->is_float && o->size < 4)
		return false;
	return skip(at, '@') && take_place(at, o) && (!**at || **at == ' ');
}

bool ptrc_operands_read(const char *text, struct ptrc_operand operands[PTRC_OPERANDS_MAX],
			size_t *count)
{
	for (*count = 0;; ++*count) {
		text += strspn(text, " ");
		if (!*text)
			return true;
		if (*count == PTRC_OPERANDS_MAX || !take_operand(&text, &operands[*count]))
			return false;
	}
}

bool ptrc_arguments_add(struct ptrc_arguments *a, const struct ptrc_operand *operands, size_t count)
{
	if (a->place_count && a->count != count)
		return false;
	for (size_t i = 0; i < count && a->place_count; i++)
		if (a->list[i].is_float != operands[i].is_float ||
		    (a->list[i].is_float && a->list[i].size != operands[i].size))
			return false;
	a->place_count++;
	a->count = count;
	for (size_t i = 0; i < count; i++) {
		if (operands[i].size > a->list[i].size)
			a->list[i].size = operands[i].size;
		a->list[i].is_signed |= operands[i].is_signed;
		a->list[i].is_float = operands[i].is_float;
	}
	return true;
}

void ptrc_arguments_layout(const struct ptrc_arguments *a, char *at)
{
	for (size_t i = 0; i < a->count; i++) {
		if (i) {
			*at++ = ',';
			*at++ = ' ';
		}
		*at++ = a->list[i].is_float ? 'f' : a->list[i].is_signed ? 'i' : 'u';
		at = ptrc_digits_put(at, 8U * a->list[i].size);
		*at++ = ' ';
		*at++ = 'a';
		at = ptrc_digits_put(at, i + 1);
	}
	*at = '\0';
}

/* Reads `size` bytes of the program's memory. An address on the page of the stack pointer, `stack`,
 * is readable. Another address may be wrong, so the kernel is asked to copy the bytes. */
static uint64_t read_memory(uint64_t address, size_t size, uint64_t stack, bool may_call)
{
	uint64_t value = 0;
	struct iovec to = {&value, size}, from = {(void *)address, size};

	if (address >= stack && size <= PAGE_BYTES - stack % PAGE_BYTES &&
	    address - stack <= PAGE_BYTES - stack % PAGE_BYTES - size)
		memcpy(&value, (const void *)address, size);
	else if (!may_call || ptrc_sys(SYS_process_vm_readv, ptrc_sys_getpid(), &to, 1, &from, 1,
				       0) != (long)size)
		value = 0;
	return value;
}

uint64_t ptrc_operand_value(const struct ptrc_operand *o, const ucontext_t *c, bool may_call)
{
	unsigned int unused = 64 - 8U * o->size;
	uint64_t value = (uint64_t)o->number;

	if (o->place == PTRC_OPERAND_REGISTER) {
		value = read_register(c, o->base) >> o->skip;
	} else if (o->place == PTRC_OPERAND_VECTOR) {
		value = read_vector(c, o->base);
	} else if (o->place == PTRC_OPERAND_MEMORY) {
		if (o->base != PTRC_OPERAND_NONE)
			value += read_register(c, o->base);
		if (o->index != PTRC_OPERAND_NONE)
			value += read_register(c, o->index) << o->shift;
		value = read_memory(value, o->size, stack_pointer(c), may_call);
	}
	value <<= unused;
	return o->is_signed && !o->is_float ? (uint64_t)((int64_t)value >> unused)
					    : value >> unused;
}
