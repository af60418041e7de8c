/** The hooks that providers call, and who is woken by them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { urlKeyId } from '../../src/objects/urls/url-keys.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import {
  createHookFeed,
  createHookUrls,
  forgetProviderHook,
  readProviderHooks,
  recordProviderHook,
} from '../../src/upstreams/provider-hooks.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { endTask } from './workers-at.ts';

const KEY = 'a signing key of at least 32 characters';
/** No test waits this long: one that does has failed. */
const FOR_EVER_MS = 180_000;

describe('the URL for a provider’s hooks', () => {
  const publicUrl = 'https://api.example.com';
  const signingKey = 'x'.repeat(32);
  const urls = createHookUrls({ publicUrl, signingKey: KEY });
  const upstream = { name: 'replicate:api.example.org', baseUrl: 'https://api.example.org/v1' };

  function tokenOf(url: string | undefined): string {
    return url?.split('/').at(-1) ?? assert.fail('there is no address');
  }

  it('names the upstream and is valid for one task of that upstream only', () => {
    const taskId = newTaskId();
    const url = urls.urlFor(upstream, taskId);
    const token = tokenOf(url);

    assert.ok(url?.startsWith('https://api.example.com/hooks/replicate%3Aapi.example.org/'), url);
    assert.equal(urls.taskOf(upstream.name, token), taskId);
    assert.equal(urls.taskOf('replicate:other', token), undefined);
    assert.equal(urls.urlFor(upstream, taskId), url);
  });

  it('is rejected when it is altered, truncated, of another task, or signed with another key', () => {
    const taskId = newTaskId();
    const token = tokenOf(urls.urlFor(upstream, taskId));
    const [, mac = ''] = token.split('.');
    const strange = createHookUrls({ publicUrl, signingKey });

    const forged = [
      `${taskId}.${mac.slice(0, -1)}${mac.endsWith('A') ? 'B' : 'A'}`,
      `${newTaskId()}.${mac}`,
      token.slice(0, -1),
      `${token}A`,
      taskId,
      `.${mac}`,
      '',
      tokenOf(strange.urlFor(upstream, taskId)),
    ];
    for (const each of forged) assert.equal(urls.taskOf(upstream.name, each), undefined, each);
  });

  it('is accepted while its key is a fallback, and created with the current key only', () => {
    const taskId = newTaskId();
    const rotated = createHookUrls({ publicUrl, signingKey, signingKeyFallbacks: [KEY] });
    const [before, after] = [urls, rotated].map((each) => tokenOf(each.urlFor(upstream, taskId)));

    assert.equal(rotated.taskOf(upstream.name, before ?? ''), taskId);
    assert.equal(urls.taskOf(upstream.name, after ?? ''), undefined);
    assert.equal(rotated.taskOf(upstream.name, after ?? ''), taskId);
  });

  it('is signed with the requested key while that one is accepted, and otherwise with the current one', () => {
    const taskId = newTaskId();
    const after = createHookUrls({ publicUrl, signingKey, signingKeyFallbacks: [KEY] });
    const atLast = createHookUrls({ publicUrl, signingKey });

    assert.equal(after.urlFor(upstream, taskId, urlKeyId(KEY)), urls.urlFor(upstream, taskId));
    assert.equal(atLast.urlFor(upstream, taskId, urlKeyId(KEY)), after.urlFor(upstream, taskId));
    assert.equal(after.urlFor(upstream, taskId, null), after.urlFor(upstream, taskId));
  });

  it('is sent only to an upstream that can be expected to reach it', () => {
    const at = (publicUrl: string, baseUrl: string | undefined): boolean =>
      createHookUrls({ publicUrl, signingKey: KEY }).urlFor({ name: 'u', baseUrl }, newTaskId()) !== undefined;

    assert.ok(at('https://api.example.com', 'https://api.example.org/v1'));
    assert.ok(at('https://api.example.com', 'http://10.0.0.7:5000'));
    assert.ok(at('http://10.0.0.2:8787', 'http://10.0.0.7:5000'));
    assert.ok(at('http://127.0.0.1:8787', 'http://127.0.0.1:5000'));
    assert.ok(at('http://127.0.0.1:8787', 'http://localhost:5000'));
    assert.ok(!at('http://127.0.0.1:8787', 'http://10.0.0.7:5000'));
    assert.ok(!at('http://127.0.0.1:8787', 'https://api.example.org/v1'));
    assert.ok(!at('http://10.0.0.2:8787', 'https://api.example.org/v1'));
    assert.ok(!at('https://api.example.com', undefined));
  });
});

describe('waiting for a provider’s hook', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  const never = new AbortController().signal;
  const newFeed = () => createHookFeed({ database: room.database, logger: silentLogger() });
  async function newTask(): Promise<TaskId> {
    return (await room.creator.create(await room.newCaller(), body(), undefined)).taskId;
  }

  it('ends when the hook arrives, for that task only, and reports that hooks arrive', async () => {
    const feed = newFeed();
    const [called, other] = [await newTask(), await newTask()];
    const stop = new AbortController();
    const waitsOn = feed.wait(other, 0, FOR_EVER_MS, stop.signal);
    const woken = feed.wait(called, 0, FOR_EVER_MS, never);
    assert.equal(feed.isHeard('one'), false);

    await recordProviderHook(room.database, called, 'one');

    assert.equal(await woken, 1);
    assert.equal(feed.isHeard('one'), true);
    assert.equal(feed.isHeard('two'), false);
    stop.abort(new Error('stopped'));
    await assert.rejects(waitsOn, { message: 'stopped' });
  });

  it('ends immediately for a hook that arrived before, and waits for another after one that was seen', async () => {
    const feed = newFeed();
    const taskId = await newTask();
    await recordProviderHook(room.database, taskId, 'early');

    assert.equal(await feed.wait(taskId, 0, FOR_EVER_MS, never), 1);
    const second = feed.wait(taskId, 1, FOR_EVER_MS, never);
    await recordProviderHook(room.database, taskId, 'early');
    assert.equal(await second, 2);
  });

  it('ends after its time without any hook', async () => {
    assert.equal(await newFeed().wait(await newTask(), 3, 20, never), 3);
  });

  it('throws the reason of a signal that has fired already', async () => {
    await assert.rejects(newFeed().wait(newTaskId(), 0, FOR_EVER_MS, AbortSignal.abort(new Error('over'))), {
      message: 'over',
    });
  });

  it('queries nothing without waiters, and once for many waiters', async () => {
    const feed = newFeed();
    const tasks = await Promise.all([newTask(), newTask(), newTask(), newTask()]);
    room.forgetStatements();
    const waiting = tasks.map((taskId) => feed.wait(taskId, 0, FOR_EVER_MS, never));
    await Promise.all(tasks.map((taskId) => recordProviderHook(room.database, taskId, 'many')));
    await Promise.all(waiting);

    const reads = room.statements.filter((name) => name === 'select_provider_hooks').length;
    assert.ok(reads >= 1 && reads < tasks.length, String(reads));
  });

  it('is not triggered by a hook of an ended or unknown task, which leaves nothing behind', async () => {
    const over = await newTask();
    await recordProviderHook(room.database, over, 'late');
    await forgetProviderHook(room.database, over);
    await endTask(room, over, 0);
    const unknownTaskId = newTaskId();

    for (const taskId of [over, unknownTaskId]) await recordProviderHook(room.database, taskId, 'late');

    assert.deepEqual(await readProviderHooks(room.database, [over, unknownTaskId]), []);
  });
});
