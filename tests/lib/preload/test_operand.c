/* SPDX-License-Identifier: MIT */
/* The arguments of probes: which forms are known, what their values are, and which layout they give. */
#include "config.h"

#include <ucontext.h>

#include "lib/preload/operand.h"
#include "tests/support/harness.h"

/* Registers with values that tell which was read; the stack pointer is valid. */
static ucontext_t context;
static uint64_t memory[8] = {0x1111, 0x2222, 0x3333333333333333, 0xfedcba9876543210};

static uint64_t value_of(const char *text)
{
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
	size_t count;

	if (!ptrc_operands_read(text, operands, &count) || count != 1)
		harness_fail("'%s' was refused", text);
	return ptrc_operand_value(&operands[0], &context, true);
}

static void refuse(const char *text)
{
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
	size_t count;

	if (ptrc_operands_read(text, operands, &count))
		harness_fail("'%s' was taken", text);
}

TEST(sizes_and_signs_are_those_of_the_argument, "")
{
#if defined(__x86_64__)
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)memory;
	context.uc_mcontext.gregs[REG_RAX] = (greg_t)0xfffffffffffff280;
	context.uc_mcontext.gregs[REG_RDX] = 0x0123456789abcdef;
	context.uc_mcontext.gregs[REG_R15] = 2;
	context.uc_mcontext.gregs[REG_RBP] = (greg_t)&memory[4];
	CHECK_EQ(value_of("8@%rdx"), 0x0123456789abcdef);
	CHECK_EQ(value_of("4@%edx"), 0x89abcdef);
	CHECK_EQ(value_of("-4@%edx"), 0xffffffff89abcdef);
	CHECK_EQ(value_of("2@%ax"), 0xf280);
	CHECK_EQ(value_of("-1@%al"), (uint64_t)-128);
	CHECK_EQ(value_of("1@%ah"), 0xf2);
	CHECK_EQ(value_of("8@%r15"), 2);
	CHECK_EQ(value_of("4@%r15d"), 2);
	CHECK_EQ(value_of("4@$7"), 7);
	CHECK_EQ(value_of("-4@$-7"), (uint64_t)-7);
	CHECK_EQ(value_of("8@$0x10"), 16);
	CHECK_EQ(value_of("8@(%rsp)"), 0x1111);
	CHECK_EQ(value_of("8@8(%rsp)"), 0x2222);
	CHECK_EQ(value_of("-8@-8(%rbp)"), 0xfedcba9876543210);
	CHECK_EQ(value_of("-4@-8(%rbp)"), 0x76543210);
	CHECK_EQ(value_of("8@(%rsp,%r15,8)"), 0x3333333333333333);
	CHECK_EQ(value_of("8@-8(%rsp,%r15,8)"), 0x2222);
	/* An address that cannot be read. */
	CHECK_EQ(value_of("8@8(%rdx)"), 0);
#else
	context.uc_mcontext.sp = (uint64_t)memory;
	context.uc_mcontext.regs[3] = 0x0123456789abcdef;
	context.uc_mcontext.regs[4] = 2;
	context.uc_mcontext.regs[29] = (uint64_t)&memory[4];
	CHECK_EQ(value_of("8@x3"), 0x0123456789abcdef);
	CHECK_EQ(value_of("-4@w3"), 0xffffffff89abcdef);
	CHECK_EQ(value_of("4@wzr"), 0);
	CHECK_EQ(value_of("4@7"), 7);
	CHECK_EQ(value_of("-4@-7"), (uint64_t)-7);
	CHECK_EQ(value_of("8@[sp]"), 0x1111);
	CHECK_EQ(value_of("8@[sp, 8]"), 0x2222);
	CHECK_EQ(value_of("-8@[x29, -8]"), 0xfedcba9876543210);
	CHECK_EQ(value_of("8@[sp, x4, lsl 3]"), 0x3333333333333333);
	CHECK_EQ(value_of("8@[x3, 8]"), 0);
#endif
}

#if defined(__x86_64__)
#define NUMBER "$1"
#define FIRST "%rax"
#define VECTOR "%xmm1"
#else
#define NUMBER "1"
#define FIRST "x0"
#define VECTOR "d1"
#endif

TEST(what_is_not_known_is_refused, "")
{
	/* clang-format off */
	static const char *const texts[] = {
		"8", "8@", "@%rax", "3@%eax", "9@%rax", "0@%rax", "99999999999@%eax",
		"-9223372036854775808@%eax", "2f@%ax", "8@%", "8@%xyz", "8@sym(%rip)",
		"8@8(%rip)", "8@sym", "8@(%rax", "8@8", "8@(%rax,%rbx,3)", "8@(%ah)",
		"8@(%xmm0)", "8f@%xmm16", "8@%fs:8(%rax)", "8@%raxx", "8@[", "8@[x0",
		"8@[x0,", "8@x31", "8@[d0]", "8@%rax@",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
#if defined(__x86_64__)
		refuse(texts[i]);
#else
		if (!strchr(texts[i], '%') && strcmp(texts[i], "8@8") != 0)
			refuse(texts[i]);
#endif
	/* Thirteen arguments. */
	refuse("1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER
	       " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER " 1@" NUMBER
	       " 1@" NUMBER);
}

/* The layout of a probe with these arguments at its places; NULL: the last place is refused. */
static const char *layout_of(const char *const *places, size_t count)
{
	static char layout[PTRC_ARGUMENTS_LAYOUT_BYTES];
	struct ptrc_arguments a = {0};
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
	bool is_added = true;
	size_t n;

	for (size_t i = 0; i < count; i++) {
		CHECK(ptrc_operands_read(places[i], operands, &n));
		is_added = ptrc_arguments_add(&a, operands, n);
	}
	ptrc_arguments_layout(&a, layout);
	return is_added ? layout : NULL;
}

TEST(the_layout_fits_all_places_of_a_probe, "")
{
	CHECK_STR_EQ(layout_of((const char *const[]){""}, 1), "");
	CHECK_STR_EQ(layout_of((const char *const[]){"-4@" FIRST " 8f@" VECTOR " 1@" FIRST}, 1),
		     "i32 a1, f64 a2, u8 a3");
	CHECK_STR_EQ(layout_of((const char *const[]){"2@" FIRST, "-4@" FIRST, "1@" FIRST}, 3),
		     "i32 a1");
	CHECK(!layout_of((const char *const[]){"2@" FIRST, "2@" FIRST " 2@" FIRST}, 2));
	CHECK(!layout_of((const char *const[]){"8f@" VECTOR, "8@" FIRST}, 2));
	CHECK(!layout_of((const char *const[]){"8f@" VECTOR, "4f@" VECTOR}, 2));
	CHECK_STR_EQ(
		layout_of((const char *const[]){" 1@" FIRST " 1@" FIRST " 1@" FIRST " 1@" FIRST
						" 1@" FIRST " 1@" FIRST " 1@" FIRST " 1@" FIRST
						" 1@" FIRST " 8@" FIRST " 8@" FIRST " -8@" FIRST},
			  1),
		"u8 a1, u8 a2, u8 a3, u8 a4, u8 a5, u8 a6, u8 a7, u8 a8, u8 a9, u64 a10, u64 a11, i64 a12");
}
