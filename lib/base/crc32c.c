/* SPDX-License-Identifier: MIT */
#include "lib/base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"

#if defined(__x86_64__)
#define CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__clang__)
#define CRC_TARGET __attribute__((target("crc")))
#else
#define CRC_TARGET __attribute__((target("+crc")))
#endif

uint32_t ptrc_crc32c_table(uint32_t crc, const void *data, size_t bytes)
{
	/* Entry n is XORed into the CRC when its lowest four bits, which have the value n, are
	 * shifted out. */
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *p = data;

	crc = ~crc;
	while (bytes--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)
static bool processor_has_crc(void)
{
	uint32_t a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return c >> 20 & 1; /* SSE4.2 */
}

CRC_TARGET static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *p, size_t bytes)
{
	uint64_t c = ~crc;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; bytes; bytes--, p++)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p);
	return ~(uint32_t)c;
}
#else
#define AT_HWCAP_NUMBER 16U
#define HWCAP_CRC32_BIT (1U << 7)

/* Reads /proc, because the keeper has no C library, and so no getauxval(). */
static bool processor_has_crc(void)
{
	uint64_t entry[2];
	bool has = false;
	long fd = ptrc_sys(SYS_openat, -100 /* AT_FDCWD */, "/proc/self/auxv", 02000000, 0);

	if (fd < 0)
		return false;
	while (ptrc_sys(SYS_read, fd, entry, sizeof(entry)) == sizeof(entry) && entry[0] != 0)
		if (entry[0] == AT_HWCAP_NUMBER)
			has = entry[1] & HWCAP_CRC32_BIT;
	ptrc_sys(SYS_close, fd);
	return has;
}

CRC_TARGET static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *p, size_t bytes)
{
	uint32_t c = ~crc;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		__asm__("crc32cx %w0, %w0, %1" : "+r"(c) : "r"(word));
	}
	for (; bytes; bytes--, p++)
		__asm__("crc32cb %w0, %w0, %w1" : "+r"(c) : "r"((uint32_t)*p));
	return ~c;
}
#endif

uint32_t ptrc_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	static _Atomic int known; /* the processor has the instruction: 0 unknown, 1 no, 2 yes */
	int has = ptrc_load_relaxed(&known);

	if (has == 0) {
		has = processor_has_crc() ? 2 : 1;
		ptrc_store_relaxed(&known, has);
	}
	if (has == 2)
		return crc_by_instruction(crc, data, bytes);
	return ptrc_crc32c_table(crc, data, bytes);
}
