/**
 * Open responses end when their authorization ends: those of one api process end within seconds of a revocation, a
 * suspension or a sign-out in another process (contract §7). Two real processes; no worker processes the tasks.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { textDefinition } from '../catalogue/definitions.ts';
import { runAdminCommand } from '../commands/admin-command.ts';
import { openEventSource } from '../http/event-source.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Sends a token every 5 s. */
const ENDLESS = textDefinition({
  name: 'acme/endless',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 0.2 } }],
});
/** Far above the two seconds that it takes, and below everything that would end such a response by itself. */
const WITHIN_MS = 20_000;

let modelsDir: string;
let darkroom: Darkroom;
let here: string;
let elsewhere: string;
before(async () => {
  modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-revoked-'));
  await writeFile(path.join(modelsDir, 'endless.json'), JSON.stringify(ENDLESS));
  darkroom = await startDarkroom({ apis: 2, workers: 0, environment: { MODELS_DIR: modelsDir } });
  [here = '', elsewhere = ''] = darkroom.urls;
});
after(async () => {
  await darkroom.stop();
  await rm(modelsDir, { recursive: true, force: true });
});

interface Ended {
  readonly status: number;
  readonly text: string;
}

function bearer(account: TestAccount): Record<string, string> {
  return { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
}

/** A request whose response is complete only when something ends it. @returns the response, once it has ended. */
async function opened(
  account: TestAccount,
  method: string,
  address: string,
  sent?: object,
  headers: Record<string, string> = {},
): Promise<{ readonly ended: Promise<Ended> }> {
  const response = fetch(`${here}${address}`, {
    method,
    headers: { ...bearer(account), ...headers },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    signal: AbortSignal.timeout(2 * WITHIN_MS),
  });
  const ended = response.then(async (answer) => ({ status: answer.status, text: await answer.text() }));
  // Those who await it see the error; a test that failed before does not await it.
  ended.catch(() => undefined);
  return { ended };
}

const question = { messages: [{ role: 'user', content: 'Write a long essay about the sea.' }] };

async function callsUnderWay({ id }: TestAccount): Promise<number> {
  const text = 'SELECT count(*)::integer AS calls FROM text_calls WHERE account_id = $1 AND settled_at IS NULL';
  const [row] = await darkroom.testDatabase.database.query<{ calls: number }>({ name: 'test_calls', text }, [id]);
  return row?.calls ?? 0;
}

/** Everything that one key can have open at one process. */
async function openAll(account: TestAccount) {
  const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lake' } });
  const { taskId } = body.data;
  const place = `/v1/tasks/${taskId}`;
  const events = await openEventSource(`${here}${place}/events`, account.client.key);
  await events.waitFor(1);
  const text = { model: 'acme/endless', max_tokens: 500, ...question };
  const asked = { model: 'acme/endless', max_output_tokens: 500, input: 'Write a long essay.', stream: true };
  const call = { name: 'get_task', arguments: { task_id: taskId, wait_seconds: 120 } };
  const [poll, chat, whole, response, tool] = [
    await opened(account, 'GET', place, undefined, { Prefer: 'wait=30' }),
    await opened(account, 'POST', '/v1/chat/completions', { ...text, stream: true }),
    await opened(account, 'POST', '/v1/chat/completions', text),
    await opened(account, 'POST', '/v1/responses', asked),
    await opened(
      account,
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      { Accept: 'application/json, text/event-stream' },
    ),
  ];
  await waitFor('the text calls are under way', async () => (await callsUnderWay(account)) === 3);
  return {
    taskId,
    events,
    poll: poll.ended,
    chat: chat.ended,
    whole: whole.ended,
    response: response.ended,
    tool: tool.ended,
  };
}

/** Asserts that all of them have ended, each in the form of its protocol. */
async function assertAllEnd(
  open: Awaited<ReturnType<typeof openAll>>,
  account: TestAccount,
  status: 401 | 403,
): Promise<void> {
  const begun = performance.now();
  const [chat, whole, response, tool, poll] = await Promise.all([
    open.chat,
    open.whole,
    open.response,
    open.tool,
    open.poll,
    open.events.ended(),
  ]);
  assert.ok(performance.now() - begun < WITHIN_MS, `${performance.now() - begun} ms`);
  const code = status === 401 ? 'permission_denied' : 'account_suspended';
  assert.equal(chat.status, 200);
  assert.match(chat.text, new RegExp(`"error".*"${code}"[^]*data: \\[DONE\\]\\n\\n$`));
  assert.match(response.text, new RegExp(`"${code}"[^]*data: \\[DONE\\]\\n\\n$`));
  assert.equal(whole.status, status);
  assert.equal(poll.status, status, poll.text);
  assert.match(tool.text, /"isError":true/);

  // What was delivered is charged, and nothing is held.
  await waitFor('the text calls are settled', async () => (await callsUnderWay(account)) === 0);
  const paid = await darkroom.testDatabase.database.query<{ captured: bigint }>(
    { name: 'test_paid', text: 'SELECT captured_micro_usd AS captured FROM text_calls WHERE account_id = $1' },
    [account.id],
  );
  assert.equal(paid.length, 3);
  assert.ok(paid.every(({ captured }) => captured > 0n));

  // A client that reconnects gets the reason.
  const again = await openEventSource(`${here}/v1/tasks/${open.taskId}/events`, account.client.key);
  assert.equal(again.status, status);
}

/** Signs in to the dashboard. @returns the headers that its pages send with every request. */
async function signIn(account: TestAccount): Promise<Record<string, string>> {
  const ours = { Origin: here, 'X-Darkroom-Dashboard': '1', 'Content-Type': 'application/json' };
  const answer = await fetch(`${here}/session`, {
    method: 'POST',
    headers: ours,
    body: JSON.stringify({ key: account.client.key }),
  });
  assert.equal(answer.status, 200);
  return { ...ours, Cookie: (answer.headers.get('Set-Cookie') ?? '').split(';')[0] ?? '' };
}

/** A stream that a page of the dashboard reads. @returns whether it has ended. */
async function watch(taskId: string, session: Record<string, string>): Promise<() => boolean> {
  const answer = await fetch(`${here}/v1/tasks/${taskId}/events`, {
    headers: { ...session, Accept: 'text/event-stream' },
    signal: AbortSignal.timeout(2 * WITHIN_MS),
  });
  assert.equal(answer.status, 200);
  let isOver = false;
  void answer
    .text()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  return () => isOver;
}

describe('open responses', () => {
  it('are closed in all processes when their key is revoked in one; those of other keys stay open', async () => {
    const [account, other] = [await darkroom.createAccount(), await darkroom.createAccount()];
    const [open, kept] = [await openAll(account), await openAll(other)];

    const revoked = await fetch(`${elsewhere}/v1/account/keys/${account.keyId}`, {
      method: 'DELETE',
      headers: bearer(account),
    });
    assert.equal(revoked.status, 200);

    await assertAllEnd(open, account, 401);
    assert.equal(kept.events.isOver, false);
    assert.equal(await callsUnderWay(other), 3);
    kept.events.leave();
  });

  it('are closed when their account is suspended', async () => {
    const account = await darkroom.createAccount();
    const open = await openAll(account);

    const { code, stderr } = await runAdminCommand(['accounts', 'suspend', account.id, '--reason', 'a test'], {
      ...programEnvironment(darkroom.testDatabase.url),
    });
    assert.equal(code, 0, stderr);

    await assertAllEnd(open, account, 403);
  });

  it('of a session are closed with it, and those of another session of the same key stay open', async () => {
    const account = await darkroom.createAccount();
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lake' } });
    const { taskId } = body.data;
    const [session, other] = [await signIn(account), await signIn(account)];
    const [isOver, isOtherOver] = [await watch(taskId, session), await watch(taskId, other)];

    const ended = await fetch(`${elsewhere}/session`, { method: 'DELETE', headers: session });
    assert.equal(ended.status, 200);

    await waitFor('the stream of the session has ended', isOver);
    assert.equal(isOtherOver(), false);
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${here}/session`, { headers })).status;
    await waitFor('this process has forgotten the session', async () => (await statusOf(session)) === 401);
    assert.equal(await statusOf(other), 200);
  });
});
