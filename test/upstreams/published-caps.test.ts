/**
 * Which caps apis publish, and which of several apis is believed. The effect of a published cap is tested in
 * caps-in-force.test.ts.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { LockTimeoutError } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { pauseUpstream } from '../../src/upstreams/states.ts';
import { publishCaps, startPublishingCaps } from '../../src/upstreams/published-caps.ts';
import { definition, textDefinition } from '../catalogue/definitions.ts';
import { unreachableDatabase } from '../http/serve.ts';
import { lockRows } from '../support/locked-rows.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

const EARLIER = Date.now();
const LATER = EARLIER + 1;

/** A model of one upstream. */
function modelAt(id: string, concurrency?: number): ModelDefinition {
  const cap = concurrency === undefined ? {} : { concurrency };
  return definition({
    name: `acme/${newId('req')}`,
    routes: { default: { upstreams: [{ id, protocol: 'tasks', model: 'a', ...cap }] } },
  });
}

/** @returns undefined: nothing is known about the upstream. */
async function capInForce(upstream: string): Promise<number | null | undefined> {
  const [row] = await room.rows<{ cap: number | null }>(
    'SELECT cap FROM upstream_states WHERE upstream = $1',
    upstream,
  );
  return row?.cap;
}

const publish = (upstream: string, caps: readonly number[], since: number): Promise<void> =>
  publishCaps(room.database, new Map([[upstream, caps]]), since);

describe('an api', () => {
  it('publishes the smallest cap that its models have for an upstream, and reports differences', async () => {
    const [alike, different] = [newId('req'), newId('req')];
    const lines: { upstream?: string; caps?: readonly number[] }[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as object) });
    const catalogue = createCatalogue([
      modelAt(alike, 3),
      modelAt(alike, 3),
      modelAt(different, 7),
      modelAt(different),
      modelAt(different, 2),
      textDefinition(),
    ]);

    const publishing = await startPublishingCaps({ database: room.database, catalogue, logger });
    await publishing.close();

    assert.deepEqual([await capInForce(alike), await capInForce(different)], [3, 2]);
    assert.deepEqual(
      lines.map(({ upstream, caps }) => [upstream, caps]),
      [[different, [2, 7]]],
    );
  });

  it('publishes changed models without a request', async () => {
    const upstream = newId('req');
    let current = createCatalogue([modelAt(upstream, 1)], () => EARLIER);
    const catalogue = {
      get models() {
        return current.models;
      },
      state: () => current.state(),
    };
    const publishing = await startPublishingCaps({
      database: room.database,
      catalogue,
      logger: silentLogger(),
      everyMs: 20,
    });
    assert.equal(await capInForce(upstream), 1);

    current = createCatalogue([modelAt(upstream, 4)], () => LATER);
    await waitFor('the new cap is in force', async () => (await capInForce(upstream)) === 4);
    current = createCatalogue([modelAt(upstream)], () => LATER);
    await waitFor('there is no cap any more', async () => (await capInForce(upstream)) === null);
    await publishing.close();
  });

  it('leaves the cap of an upstream that no model uses, for the tasks that are still there', async () => {
    const upstream = newId('req');
    await publish(upstream, [2], EARLIER);

    await publish(newId('req'), [5], LATER);

    assert.equal(await capInForce(upstream), 2);
  });

  it('records also an upstream without a cap and without failures, and those of text', async () => {
    const [quiet, paused] = [newId('req'), newId('req')];
    await pauseUpstream(room.database, paused, 1_000);
    const upstreams = [
      { id: quiet.toLowerCase(), protocol: 'openai' as const, baseUrl: 'https://w.example', model: 'w' },
    ];

    const catalogue = createCatalogue([modelAt(quiet), modelAt(paused), textDefinition({ upstreams })], () => EARLIER);
    const publishing = await startPublishingCaps({ database: room.database, catalogue, logger: silentLogger() });
    await publishing.close();

    for (const name of [quiet, paused, `text:${quiet.toLowerCase()}`]) assert.equal(await capInForce(name), null, name);
  });

  it('overrides those that loaded their models earlier, for as long as it publishes', async () => {
    const upstream = newId('req');
    await publish(upstream, [1], EARLIER);
    await publish(upstream, [4], LATER);
    await publish(upstream, [1], EARLIER);
    assert.equal(await capInForce(upstream), 4);

    await room.rows(
      `UPDATE upstream_states SET cap_published_at = cap_published_at - interval '61 seconds' WHERE upstream = $1`,
      upstream,
    );
    await publish(upstream, [1], EARLIER);
    assert.equal(await capInForce(upstream), 1);
  });

  it('publishes the caps of all other upstreams while the row of one stays locked', async () => {
    const [before, locked, behind] = ['a', 'b', 'c'].map((suffix) => `${newId('req')}-${suffix}`);
    assert.ok(before && locked && behind);
    const upstreams = [before, locked, behind];
    const publishAll = (cap: number): Promise<void> =>
      publishCaps(room.database, new Map(upstreams.map((upstream) => [upstream, [cap]])), EARLIER);
    await publishAll(1);
    const row = await lockRows(room.url, 'SELECT 1 FROM upstream_states WHERE upstream = $1 FOR UPDATE', locked);
    try {
      await assert.rejects(publishAll(2), LockTimeoutError);
    } finally {
      await row.release();
    }

    assert.deepEqual(await Promise.all(upstreams.map((upstream) => capInForce(upstream))), [2, 1, 2]);
  });

  it('starts also when the database is unavailable', async () => {
    const catalogue = createCatalogue([modelAt(newId('req'), 1)]);
    const publishing = await startPublishingCaps({
      database: unreachableDatabase(),
      catalogue,
      logger: silentLogger(),
    });
    await publishing.close();
  });
});
