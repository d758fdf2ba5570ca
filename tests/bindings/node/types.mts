// SPDX-License-Identifier: MIT
// What TypeScript takes and refuses of the package.
import { trace, event, span, startSpan, currentKey, isTraced, version } from 'posixtrace';
import 'posixtrace/subscribe';
const query = event('db.query', { id: 'u64', rows: 'u32', sql: 'str' });
query(7n, 3, 'select 1');
trace('cache.miss', { key: 'user:7', size: 512, hit: false });
trace('bare');
interface Fields { a: number; b: string }
const fields: Fields = { a: 1, b: '' };
trace('fields', fields);
const n: Promise<number> = span('work', async () => 1);
const m: number = span('work', () => 1);
startSpan('x').end();
const k: bigint = currentKey();
const t: boolean = isTraced();
const v: string = version();
// @ts-expect-error
trace('x', { a: null });
// @ts-expect-error
event(7);
// @ts-expect-error
span('x');
