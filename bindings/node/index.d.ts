// SPDX-License-Identifier: MIT

/** Records an event with a value for each field of its layout, in their order: a number or bigint; a boolean for
 * bool; a text or its bytes for str; a view of bytes for bytes; an array of numbers; the name of a member of an
 * enum; for json, what JSON.stringify() takes. */
export type Event = (...values: unknown[]) => void;

/** Opens an event type, and returns the function that records its events. The layout is a text, as in
 * posixtrace-layout(5), or an object that has a type for each field, such as { id: 'u64', sql: 'str' }. Without
 * a layout the function takes a text, bytes or nothing. */
export function event(name: string, layout?: string | { readonly [field: string]: string }): Event;

/** Records an event. The first call makes the layout of the name from the values: a number is f64, a bigint i64,
 * a string str, a boolean bool. Later calls need the same fields. */
export function trace<T extends { [field in keyof T]: number | bigint | string | boolean }>(
    name: string,
    fields?: T,
): void;

/** Calls a function, and records NAME.begin before and NAME.end when it has returned or thrown; if it returns a
 * promise, when that is settled. */
export function span<T>(name: string, run: () => T): T;

/** A span that has no function of its own. */
export interface Span {
    /** Records NAME.end. Further calls do nothing. */
    end(): void;
}

/** Records NAME.begin; end() of the result records NAME.end. */
export function startSpan(name: string): Span;

/** The key of the innermost span() around this code, also across await and callbacks; 0n if there is none. */
export function currentKey(): bigint;

/** Whether a stream traces this process; if not, no event is recorded. */
export function isTraced(): boolean;

/** The version of the library, such as 'posixtrace 1.0.0'. */
export function version(): string;
