/**
 * Large lines are like large bodies: their memory is reserved in the account's share before they are read, one or one
 * part at a time, and they are parsed in a thread.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { advanceBatch } from '../../src/batches/advance.ts';
import type { BatchContext } from '../../src/batches/context.ts';
import { validateBatch } from '../../src/batches/validate.ts';
import { createLineBodies } from '../../src/http/bodies/json-body.ts';
import { lineOf } from '../e2e/batch-client.ts';
import { BackgroundRoom } from '../http/background-room.ts';
import type { ServedAccount } from '../http/serve.ts';
import { NEVER, callIdsOf, closeSettledLab, feed, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const TASKS = '/v1/tasks';
const CHAT = '/v1/chat/completions';
const MB = 1_000_000;

let lab: BatchLab;
let room: BackgroundRoom;
let account: ServedAccount;
before(async () => {
  lab = await openBatchLab();
  room = new BackgroundRoom(lab.served);
  account = await lab.served.newAccount();
});
after(() => closeSettledLab(lab));

/** A line of this many megabytes, which its model rejects. */
const large = (id: string, megabytes: number): string =>
  lineOf(TASKS, id, { model: 'acme/images', input: { prompt: 7, more: 'x'.repeat(megabytes * MB) } });

/** What a context reserves and parses. */
function watch({ lineBodies, ...context }: BatchContext) {
  const seen = { held: 0, most: 0, parsed: [] as number[], kept: [] as number[], unreserved: 0 };
  const watched: BatchContext = {
    ...context,
    lineBodies: {
      async reserve(accountId, bytes, signal) {
        const release = await lineBodies.reserve(accountId, bytes, signal);
        seen.held += bytes;
        seen.most = Math.max(seen.most, seen.held);
        return () => {
          seen.held -= bytes;
          release();
        };
      },
      async parse(accountId, bytes, options) {
        if (bytes.length > 128_000 && bytes.length > seen.held) seen.unreserved += 1;
        const { length } = bytes;
        const parsed = await lineBodies.parse(accountId, bytes, options);
        // Transferred to a thread.
        if (bytes.length === 0) {
          seen.parsed.push(length);
          if (parsed.kind === 'parsed') seen.kept.push(JSON.stringify(parsed.value).length);
        }
        return parsed;
      },
    },
  };
  return { seen, watched };
}

describe('large lines', () => {
  it('are one at a time in memory, and in a thread, from validation to results', async () => {
    const batch = await lab.create(account, TASKS, [large('a', 3), large('b', 2), '{', large('c', 3)]);
    const { seen, watched } = watch(lab.context);

    await validateBatch(watched, batch, NEVER);
    assert.deepEqual([seen.parsed.length, seen.unreserved, seen.held], [3, 0, 0]);
    assert.ok(seen.most < 3.1 * MB, `${seen.most}`);

    // Together they have at most 4 MB, or there is one.
    assert.equal((await advanceBatch(watched, batch.id, NEVER)).kind, 'ended');
    assert.deepEqual([seen.parsed.length, seen.unreserved, seen.held], [9, 0, 0]);
    assert.ok(seen.most < 4 * MB, `${seen.most}`);
    // Validation and results need only what identifies a line, and no more of it leaves the thread.
    assert.deepEqual(seen.kept.filter((size) => size > MB).length, 3);
    const ended = await lab.read(batch);
    assert.deepEqual([ended.status, ended.linesFailed], ['completed', 4]);
    const failures = await lab.outcomes(account, ended.errorFileId);
    assert.deepEqual(
      failures,
      ['a', 'b', null, 'c'].map((id) => [id, 400]),
    );
  });

  it('wait while their account has no memory left, and nothing is read', async () => {
    const { http } = lab.served;
    const batch = await lab.create(account, TASKS, [large('a', 1)]);
    const others = http.bodies.ofAccount({ accountId: account.id });
    const share = (http.config.bodies.inFlightMb * MB) / 4;
    others.hold(share - 1);
    const stopping = new AbortController();
    const waiting = validateBatch(lab.context, batch, stopping.signal);
    stopping.abort(new Error('the process stops'));
    await assert.rejects(waiting, /the process stops/);
    assert.equal((await lab.read(batch)).status, 'validating');

    others.release();
    await validateBatch(lab.context, batch, NEVER);
    assert.equal((await lab.read(batch)).status, 'in_progress');
  });

  it('of a text model are reserved before they are read again, and wait if there is no room', async () => {
    const messages = [{ role: 'user', content: `What is 17 * 3? ${' '.repeat(MB)}` }];
    const batch = await lab.begin(account, CHAT, [lineOf(CHAT, 'a', { model: 'acme/text', max_tokens: 20, messages })]);
    assert.equal(await feed(lab.context, batch), true);
    const [id = ''] = await callIdsOf(lab, batch);
    const { http } = lab.served;
    const others = http.bodies.ofAccount({ accountId: account.id });
    others.hold((http.config.bodies.inFlightMb * MB) / 4 - 1);
    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.deepEqual(await room.held(id), []);
    others.release();
  });
});

describe('what is larger than the share of an account', () => {
  let small: BatchLab;
  before(async () => {
    small = await openBatchLab({ environment: { BODY_MB_IN_FLIGHT: '64' } });
  });
  after(() => closeSettledLab(small));

  it('is delivered: the answer of a line may be', async () => {
    const owner = await small.served.newAccount();
    const messages = [{ role: 'user', content: 'What is 17 * 3?' }];
    const batch = await small.begin(owner, CHAT, [lineOf(CHAT, 'a', { model: 'acme/text', max_tokens: 20, messages })]);
    assert.equal(await feed(small.context, batch), true);
    const [id = ''] = await callIdsOf(small, batch);
    assert.deepEqual(await new BackgroundRoom(small.served).attempt(id), { kind: 'ended' });
    await small.served.room.rows(
      `UPDATE background_calls SET answer = (answer::jsonb || jsonb_build_object('padding', repeat('x', 20000000)))::json
        WHERE id = $1`,
      id,
    );

    assert.equal((await small.advance(batch)).kind, 'ended');
    const ended = await small.read(batch);
    assert.deepEqual([ended.status, ended.linesCompleted], ['completed', 1]);
    const [result] = await small.results(owner, ended.outputFileId);
    assert.equal(String(result?.response?.body['padding']).length, 20 * MB);
  });

  it('is in memory one at a time, beside requests of the account', async () => {
    const { bodies } = small.served.http;
    const lineBodies = createLineBodies(small.served.http);
    const request = bodies.ofAccount({ accountId: 'owner' });
    request.hold(3 * MB);
    const releaseFirst = await lineBodies.reserve('owner', 33 * MB, NEVER);
    let hasSecond = false;
    const reserving = lineBodies.reserve('owner', 33 * MB, NEVER).then((release) => {
      hasSecond = true;
      return release;
    });
    const releaseOther = await lineBodies.reserve('other', 33 * MB, NEVER);
    assert.equal(hasSecond, false);

    releaseFirst();
    const releaseSecond = await reserving;
    for (const release of [releaseSecond, releaseOther, () => request.release()]) release();
  });
});
