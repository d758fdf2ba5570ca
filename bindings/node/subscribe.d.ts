// SPDX-License-Identifier: MIT

// It has an effect when it is loaded, and exports nothing.
export {};
