/** How PostgreSQL executes the statements of pruning text calls: by addresses and indexes, however large the table is. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import type { Statement } from '../../../src/database/database.ts';
import { recording } from '../../tasks/recorded-statements.ts';
import { openTaskRoom } from '../../tasks/task-room.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import { copyCalls, createOldCalls, openCallPruningRoom } from './old-calls.ts';
import type { CallPruningRoom } from './old-calls.ts';
import { openTextProcess } from './text-processes.ts';

const CALLS = 20_000;
const TABLES = ['text_calls', 'ledger_entries', 'background_calls', 'pruned_text_spend'];

let room: TaskRoom;
let pruning: CallPruningRoom;
let client: pg.Client;
before(async () => {
  room = await openTaskRoom();
  pruning = await openCallPruningRoom(room);
  client = new pg.Client({ connectionString: room.url });
  await client.connect();
  const process = await openTextProcess(room);
  const [call] = await createOldCalls(room, process, await room.newCaller(), 1);
  await process.close();
  await copyCalls(room, call?.id ?? '', CALLS);
  await room.rows(`VACUUM (ANALYZE) ${TABLES.join(', ')}`);
});
after(async () => {
  await client.end();
  await pruning.close();
  await room.close();
});

it('a page reads no large table as a whole', async () => {
  const statements = new Map<string, Statement>();

  const pruned = await pruning.prune({ endAt: 0 }, recording(room.direct, statements));

  assert.ok(pruned > 1_000 && pruned < 5_000, String(pruned));
  assert.ok(statements.has('delete_pruned_text_calls'));
  for (const { name, text } of statements.values()) {
    if (!/^\s*(?:WITH|SELECT|UPDATE|INSERT|DELETE)/.test(text)) continue;
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    assert.doesNotMatch(plan, /Seq Scan on (?:text_calls|ledger_entries)\b/, `${name}\n${plan}`);
    if (name === 'select_text_calls_to_export') assert.match(plan, /Tid Range Scan on text_calls/);
  }
});
