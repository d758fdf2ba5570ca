/* SPDX-License-Identifier: MIT */
/* The whole keeper program as data in the library, so that it need not be a file in the file
 * system. */
#ifdef __CET__
#include <cet.h>
#endif

	.section .rodata.ptrc_keeper_image,"a",%progbits
	.globl ptrc_keeper_image
	.hidden ptrc_keeper_image
	.type ptrc_keeper_image, %object
	.balign 64
ptrc_keeper_image:
	/* Relative to the top of the build tree, where make runs. */
	.incbin "lib/keeper/program"
	.size ptrc_keeper_image, . - ptrc_keeper_image

	.globl ptrc_keeper_image_end
	.hidden ptrc_keeper_image_end
	.type ptrc_keeper_image_end, %object
ptrc_keeper_image_end:
	.byte 0
	.size ptrc_keeper_image_end, 1

	.section .note.GNU-stack,"",%progbits
