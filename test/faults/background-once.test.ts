/**
 * A request for a response in the background is paid for, and therefore sent once: whether its api is stopped while the
 * upstream works on it, or Temporal is away.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { openLink } from '../chaos/world/proxy.ts';
import type { Link } from '../chaos/world/proxy.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BackgroundClient } from '../e2e/background-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { createGate } from '../support/held-answers.ts';
import type { Gate } from '../support/held-answers.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';

const MODEL = 'acme/held';

describe('a response in the background whose upstream works', () => {
  let upstream: TestUpstream;
  let link: Link;
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-background-once-'));
    upstream = await startTestUpstream();
    const model = textDefinition({
      name: MODEL,
      upstreams: [{ protocol: 'openai', baseUrl: upstream.baseUrl, model: 'held' }],
      // The upstream answers when the test lets it.
      limits: { firstByteSeconds: 900, idleSeconds: 900, totalSeconds: 900 },
    });
    await writeFile(path.join(modelsDir, 'held.json'), JSON.stringify(model));
    link = await openLink(Number(new URL(`http://${temporalAddress()}`).port));
    darkroom = await startDarkroom({
      apis: 2,
      workers: 1,
      environment: {
        MODELS_DIR: modelsDir,
        TEMPORAL_ADDRESS: `127.0.0.1:${link.port}`,
        UPSTREAM_GRACE_SECONDS: '900',
      },
    });
  });
  after(async () => {
    link?.set('pass');
    await darkroom?.stop();
    await link?.close();
    await upstream?.close();
    await rm(modelsDir, { recursive: true, force: true });
  });

  /** @returns a response that the upstream works on until the gate is opened. */
  async function begin(
    gate: Gate,
    ...urls: string[]
  ): Promise<{ id: string; client: BackgroundClient; isAskedOnce: () => boolean }> {
    const asked = upstream.requests.length;
    upstream.script({ pace: () => gate.opened });
    const account = await darkroom.createAccount();
    const client = new BackgroundClient(urls.length > 0 ? urls : darkroom.urls, account.client.key);
    const { id } = await client.create({ model: MODEL, input: 'What is 17 * 3?', background: true });
    await waitFor('the upstream has the request', () => upstream.requests.length > asked);
    return { id, client, isAskedOnce: () => upstream.requests.length === asked + 1 };
  }

  /** What the operator may have to pay for requests of a call that are lost. */
  async function lostCosts(id: string): Promise<readonly unknown[]> {
    const cost = { name: 'test_lost_costs', text: 'SELECT reason FROM operator_costs WHERE task_id = $1' };
    return darkroom.testDatabase.database.query(cost, [`${id}:lost`]);
  }

  it('is answered by the api that is stopped meanwhile, and requested once', async () => {
    const [api = assert.fail(), other = assert.fail()] = darkroom.apis;
    await other.kill('SIGTERM');
    const gate = createGate();
    const { id, client, isAskedOnce } = await begin(gate, darkroom.url);
    await other.start();

    const stopped = api.kill('SIGTERM');
    await waitFor('it stops', async () => {
      const response = await fetch(`${darkroom.url}/readyz`).catch(() => undefined);
      return response?.status !== 200;
    });
    gate.open();

    assert.equal(await stopped, 0);
    await api.start();
    assert.equal((await client.waitForStatus(id, 'completed', 'failed')).status, 'completed');
    assert.ok(isAskedOnce());
    assert.deepEqual(await lostCosts(id), []);
  });

  it('is answered while Temporal cannot be reached', async () => {
    link.set('half-open');
    const gate = createGate();
    const { id, client, isAskedOnce } = await begin(gate);
    gate.open();

    assert.equal((await client.waitForStatus(id, 'completed', 'failed')).status, 'completed');
    link.set('pass');
    assert.ok(isAskedOnce());
    assert.deepEqual(await lostCosts(id), []);
  });
});
