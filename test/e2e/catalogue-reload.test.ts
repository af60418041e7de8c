/**
 * Model files that change under running processes: every api loads them by itself, clients see the new catalogue
 * everywhere, and tasks continue as they were accepted.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { updateLimits } from '../../src/accounts/accounts.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { reservePort } from '../support/reserve-port.ts';
import { definition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';
const NAME = 'own/colours';

/** A model of the embedded engine that makes the smallest image. */
function model(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  return definition({
    name: NAME,
    routes: { default: { upstreams: [{ protocol: 'embedded', model: 'swatch' }] } },
    pricing: { unit: 'image', usd: '0.01' },
    ...changes,
  });
}

let directory: string;
let darkroom: Darkroom;
let adminUrl: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-own-'));
  await put('colours.json', model());
  const port = await reservePort();
  adminUrl = `http://127.0.0.1:${port}/admin/catalogue`;
  darkroom = await startDarkroom({
    environment: { MODELS_DIR: directory, ADMIN_TOKEN, ADMIN_PORT: String(port) },
  });
});
after(async () => {
  await darkroom.stop();
  await rm(directory, { recursive: true, force: true });
});

async function put(name: string, content: ModelDefinition): Promise<void> {
  const file = path.join(directory, name);
  await writeFile(`${file}.new`, JSON.stringify(content));
  await rename(`${file}.new`, file);
}

/** The hash of a model's definition, as operators see it. */
async function hashOf(name: string): Promise<string | undefined> {
  const response = await fetch(adminUrl, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  assert.equal(response.status, 200);
  const { data } = (await response.json()) as { data: { models: readonly { name: string; hash: string }[] } };
  return data.models.find((each) => each.name === name)?.hash;
}

/** The values of `model` in a create, according to the API reference. */
async function formsInReference(): Promise<string> {
  return JSON.stringify(await (await fetch(`${darkroom.url}/openapi.json`)).json());
}

describe('a model file', () => {
  it('that is added is available to clients of every process, without a restart', async () => {
    const { client } = await darkroom.createAccount();
    const body = { model: 'own/new', input: { prompt: 'teal' } };
    assert.equal((await client.create(body)).body.error_code, 'MODEL_UNAVAILABLE');
    assert.doesNotMatch(await formsInReference(), /own\/new/);

    await put('new.json', model({ name: 'own/new' }));
    await waitFor('it is listed', async () => (await client.send('GET', '/v1/models/own/new')).status === 200);

    assert.match(JSON.stringify((await client.send('GET', '/v1/models')).body), /"own\/new"/);
    assert.match(await formsInReference(), /"own\/new"/);
    const created = await client.create(body);
    assert.equal(created.status, 200);
    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success');

    await unlink(path.join(directory, 'new.json'));
    await waitFor('it is gone', async () => (await client.send('GET', '/v1/models/own/new')).status === 404);
    assert.equal((await client.create(body)).body.error_code, 'MODEL_UNAVAILABLE');
    assert.equal((await client.get(created.body.data.taskId)).body.data.status, 'success');
  });

  it('that changes, and is then removed, does not affect a task that was accepted before', async () => {
    const { id, client } = await darkroom.createAccount({ runningCap: 0 });
    const body = { model: NAME, input: { prompt: 'teal' } };
    const before = await client.create(body);
    const hash = await hashOf(NAME);

    await put('colours.json', model({ pricing: { unit: 'image', usd: '0.5' }, routes: GONE }));
    await waitFor('it is another', async () => (await hashOf(NAME)) !== hash);
    const dearer = await client.send('POST', '/v1/tasks/estimate', body);
    await unlink(path.join(directory, 'colours.json'));
    await waitFor('it is gone', async () => (await hashOf(NAME)) === undefined);
    await updateLimits(darkroom.testDatabase.database, id, { runningCap: 5 });

    const task = await client.waitForTerminal(before.body.data.taskId);
    assert.equal((dearer.body.data as unknown as { maxCost: string }).maxCost, '0.5');
    assert.equal(task.status, 'success');
    assert.equal(task.billing.captured, '0.01');
    await put('colours.json', model());
    await waitFor('it is what it was', async () => (await hashOf(NAME)) === hash);
  });
});

/** An engine that this version does not have: no task accepted under it could succeed. */
const GONE = { default: { upstreams: [{ protocol: 'embedded', model: 'nothing' }] } };
