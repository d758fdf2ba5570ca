/* SPDX-License-Identifier: MIT */
/* A workload of many short function calls, for bench/report. To find the cost of XRay, bench/report
 * runs this program compiled with XRay, but not traced, in turn with the same program without XRay;
 * to find the cost of samples, it runs the program with and without ptrace-run --os=samples. Does
 * the work 5 times, or as often as the argument says, and prints the nanoseconds of processor time
 * that it took. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 200000 };

static uint32_t numbers[COUNT];

static __attribute__((noinline)) uint32_t next(uint32_t n)
{
	for (int i = 0; i < 4; i++) {
		n ^= n << 13;
		n ^= n >> 17;
		n ^= n << 5;
	}
	return n;
}

static __attribute__((noinline)) void sort_short(uint32_t *a, long n)
{
	for (long i = 1; i < n; i++) {
		uint32_t v = a[i];
		long k = i;

		for (; k > 0 && a[k - 1] > v; k--)
			a[k] = a[k - 1];
		a[k] = v;
	}
}

static __attribute__((noinline)) void sort(uint32_t *a, long n)
{
	while (n > 16) {
		uint32_t pivot = a[n / 2];
		long i = 0, k = n - 1;

		while (i <= k) {
			while (a[i] < pivot)
				i++;
			while (a[k] > pivot)
				k--;
			if (i <= k) {
				uint32_t v = a[i];

				a[i++] = a[k];
				a[k--] = v;
			}
		}
		sort(a, k + 1);
		a += i;
		n -= i;
	}
	sort_short(a, n);
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	uint32_t n = 1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (int round = 0; round < rounds; round++) {
		for (long i = 0; i < COUNT; i++)
			numbers[i] = n = next(n);
		sort(numbers, COUNT);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	printf("%lld\n",
	       (long long)(end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
	return numbers[0] > numbers[COUNT - 1];
}
