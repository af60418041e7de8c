/**
 * The terminal notification as a receiver sees it (spec §6, contract §6), checked with the receiver's own log and
 * with signatures computed here, from the contract's text alone.
 */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { reservePort } from '../support/reserve-port.ts';
import type { ApiTask } from '../support/api-client.ts';
import type { ReceivedCallback } from '../support/callback-receiver.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';

const ENCRYPTION_KEY = randomBytes(24).toString('hex');
const SECRET = 'a secret of the receiver, with ü';
const OVER_AND_DONE = ['delivered', 'exhausted', 'stopped'];

/** Contract §6: hex HMAC-SHA256(secret, timestamp + "." + raw body); the same in the Standard Webhooks form. */
function assertSigned({ headers, body }: ReceivedCallback, taskId: string, secret: string): void {
  const timestamp = String(headers['x-darkroom-timestamp']);
  const own = createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${timestamp}.${body}`).digest('hex');
  assert.equal(headers['x-darkroom-signature'], own);

  assert.equal(headers['webhook-id'], `msg_${taskId}`);
  assert.equal(headers['webhook-timestamp'], timestamp);
  const signed = `msg_${taskId}.${timestamp}.${body}`;
  const standard = createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('base64');
  assert.equal(headers['webhook-signature'], `v1,${standard}`);
}

/** A detail without what may differ in a later read: the delivery's own state, and the signatures of URLs. */
function lasting(task: ApiTask): unknown {
  const { callback: _, ...rest } = task;
  return { ...rest, output: task.output?.map(({ url: _url, expireAt: _expireAt, ...facts }) => facts) };
}

describe('callbacks', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  let unusedPort: number;
  let inspected: InspectingReceiver;
  let account: TestAccount;
  before(async () => {
    unusedPort = await reservePort();
    inspected = await startInspectingReceiver();
    outside = await startDarkroomWithUpstreams({ ENCRYPTION_KEY }, [
      `http://127.0.0.1:${unusedPort}`,
      `http://127.0.0.1:${inspected.port}`,
    ]);
    account = await createSigningAccount();
  });
  after(async () => {
    await outside.stop();
    inspected.close();
  });

  async function createSigningAccount(): Promise<TestAccount> {
    const signing = await outside.darkroom.createAccount();
    await outside.darkroom.testDatabase.database.transaction((transaction) =>
      createWebhookKeys(ENCRYPTION_KEY).replace(transaction, signing.id, SECRET, Date.now()),
    );
    return signing;
  }

  /** Creates a task with that callback, and waits until its delivery is over. */
  async function deliver(path: string, owner: TestAccount = account, prompt = 'a boat'): Promise<Delivery> {
    const taskId = await outside.create(owner, {
      model: 'test/openai',
      input: { prompt },
      callback: { url: path.startsWith('http') ? path : `${outside.receiver.url}${path}` },
    });
    const task = await owner.client.waitFor(taskId, ({ callback }) => OVER_AND_DONE.includes(callback?.state ?? ''));
    const attempts = await outside.darkroom.testDatabase.database.query<Attempt>(
      {
        name: 'test_attempts',
        text: `SELECT attempt, http_status AS status, error_class AS "errorClass", finished_at IS NOT NULL AS "isFinished"
                 FROM callback_attempts WHERE task_id = $1 ORDER BY attempt`,
      },
      [taskId],
    );
    const statuses = attempts.map(({ status }) => status);
    return { taskId, task, attempts, statuses, received: await outside.callbacksOf(taskId) };
  }

  // Proves S3-2, S5.5-1, S6.1-1, C4-13, C6-1, C6-2.
  it('delivers a success once: signed in both forms, with the same body as a read', async () => {
    const { taskId, task, attempts, received } = await deliver('/ok/once');

    assert.equal(task.status, 'success');
    assert.deepEqual(task.callback, { state: 'delivered', attempts: 1, nextAttempt: 0 });
    assert.deepEqual(attempts, [{ attempt: 1, status: 204, errorClass: null, isFinished: true }]);
    const [callback] = received;
    assert.ok(callback);
    assert.equal(received.length, 1);
    assert.equal(callback.method, 'POST');
    assert.match(String(callback.headers['content-type']), /^application\/json/);
    assertSigned(callback, taskId, SECRET);

    const body = JSON.parse(callback.body) as ApiTask;
    assert.deepEqual(lasting(body), lasting(task));
    // Its URLs work, and need no key.
    const [output] = body.output ?? [];
    assert.ok(output);
    const bytes = Buffer.from(await (await fetch(output.url)).arrayBuffer());
    assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
  });

  // Proves S3-2, S6.1-1.
  it('delivers a failure just as well', async () => {
    const { taskId, task, received } = await deliver('/ok/failed', account, 'a boat [content]');

    assert.equal(task.status, 'fail');
    assert.equal(received.length, 1);
    const [callback] = received;
    assert.ok(callback);
    assertSigned(callback, taskId, SECRET);
    const body = JSON.parse(callback.body) as ApiTask;
    assert.deepEqual(lasting(body), lasting(task));
    assert.equal(body.error?.reason, 'content_rejected');
  });

  // Proves S4.2-2.
  it('lets a receiver read the success while the callback is being delivered', async () => {
    inspected.owner = account;
    const { taskId } = await deliver(`http://127.0.0.1:${inspected.port}/`);

    assert.equal(inspected.statusWhenNotified.get(taskId), 'success');
  });

  // Proves S6.3-1, C6-5.
  it('retries by the schedule until a receiver returns 2xx, each time under the same id', async () => {
    const { taskId, task, statuses, received } = await deliver('/fail/2/recovering');

    assert.deepEqual(task.callback, { state: 'delivered', attempts: 3, nextAttempt: 0 });
    assert.deepEqual(statuses, [500, 500, 204]);
    assert.equal(received.length, 3);
    for (const callback of received) assertSigned(callback, taskId, SECRET);
    assertApart(received, [1_000, 1_000]);
  });

  // Proves C6-15.
  it('waits as long as a receiver requests when that is longer than the schedule', async () => {
    const { statuses, received } = await deliver('/retry-after/2/busy');

    assert.deepEqual(statuses, [503, 204]);
    assertApart(received, [2_000]);
  });

  // Proves C6-13.
  it('stops for good when the receiver returns 410', async () => {
    const { task, statuses, received } = await deliver('/gone/1');

    assert.deepEqual(task.callback, { state: 'stopped', attempts: 1, nextAttempt: 0 });
    assert.deepEqual(statuses, [410]);
    assert.equal(received.length, 1);
  });

  // Proves S6.2-1, S6.4-1, C6-14, C6-19.
  it('gives up when the schedule is used up, and leaves the task unchanged', async () => {
    const { task, attempts, received } = await deliver('/status/500/always');

    assert.deepEqual(task.callback, { state: 'exhausted', attempts: 3, nextAttempt: 0 });
    assert.deepEqual(
      attempts.map(({ status, isFinished }) => ({ status, isFinished })),
      [1, 2, 3].map(() => ({ status: 500, isFinished: true })),
    );
    assert.equal(received.length, 3);
    assert.equal(task.status, 'success');
  });

  // Proves C6-12.
  it('follows no redirect: that is a failed attempt', async () => {
    const { task, statuses, received } = await deliver('/redirect/away');

    assert.equal(task.callback?.state, 'exhausted');
    assert.deepEqual(statuses, [302, 302, 302]);
    assert.deepEqual(
      received.map(({ path }) => path),
      statuses.map(() => '/redirect/away'),
    );
  });

  // Proves S6.4-1, C6-18.
  it('records an unreachable receiver without its network details', async () => {
    const { task, attempts } = await deliver(`http://127.0.0.1:${unusedPort}/`);

    assert.equal(task.callback?.state, 'exhausted');
    assert.deepEqual(
      attempts.map(({ status, errorClass }) => ({ status, errorClass })),
      [1, 2, 3].map(() => ({ status: null, errorClass: 'unreachable' })),
    );
  });

  // Proves C6-7.
  it('signs with both secrets during a rotation', async () => {
    const rotating = await createSigningAccount();
    const replacement = 'the secret that came after it';
    await outside.darkroom.testDatabase.database.transaction((transaction) =>
      createWebhookKeys(ENCRYPTION_KEY).replace(transaction, rotating.id, replacement, Date.now()),
    );
    const { taskId, received } = await deliver('/ok/rotated', rotating);

    const [callback] = received;
    assert.ok(callback);
    const signed = `msg_${taskId}.${String(callback.headers['webhook-timestamp'])}.${callback.body}`;
    assert.deepEqual(
      String(callback.headers['webhook-signature']).split(' '),
      [replacement, SECRET].map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`),
    );
  });

  // Proves C6-4.
  it('sends no signature when the account has no signing secret', async () => {
    const { received } = await deliver('/ok/unsigned', await outside.darkroom.createAccount());

    assert.equal(received.length, 1);
    const names = Object.keys(received[0]?.headers ?? {});
    assert.deepEqual(
      names.filter((name) => name.startsWith('webhook-') || name.startsWith('x-darkroom')),
      [],
    );
  });

  // Proves S2.1-3, S6.6-1.
  it('shows no callback, and starts no delivery, when none was requested', async () => {
    const taskId = await outside.create(account, { model: 'test/openai', input: { prompt: 'a boat' } });

    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.callback, undefined);
    await assert.rejects(outside.darkroom.temporal.workflow.getHandle(`callback-${taskId}`).describe(), {
      name: 'WorkflowNotFoundError',
    });
  });
});

interface Delivery {
  readonly taskId: string;
  readonly task: ApiTask;
  readonly attempts: readonly Attempt[];
  /** Of the responses to the attempts. */
  readonly statuses: readonly (number | null)[];
  readonly received: readonly ReceivedCallback[];
}

interface Attempt {
  readonly attempt: number;
  readonly status: number | null;
  readonly errorClass: string | null;
  readonly isFinished: boolean;
}

/** Asserts that attempts were at least this far apart; 5 % less, because two clocks are read. */
function assertApart(received: readonly ReceivedCallback[], leastMs: readonly number[]): void {
  const gaps = received.slice(1).map(({ at }, index) => at - (received[index]?.at ?? 0));
  assert.equal(gaps.length, leastMs.length);
  for (const [index, least] of leastMs.entries()) {
    assert.ok((gaps[index] ?? 0) >= least * 0.95, `attempts were ${gaps.join(', ')} ms apart`);
  }
}

interface InspectingReceiver {
  readonly port: number;
  /** The account whose key it reads with. */
  owner: TestAccount | undefined;
  readonly statusWhenNotified: Map<string, string>;
  close(): void;
}

/** A receiver that reads the task before it responds, as one that trusts only the API does. */
async function startInspectingReceiver(): Promise<InspectingReceiver> {
  const statusWhenNotified = new Map<string, string>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { taskId } = JSON.parse(body) as { taskId: string };
      const read = receiver.owner?.client.get(taskId);
      void Promise.resolve(read)
        .then((answer) => statusWhenNotified.set(taskId, answer?.body.data.status ?? 'not read'))
        .finally(() => response.writeHead(204).end());
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const receiver: InspectingReceiver = {
    port: (server.address() as AddressInfo).port,
    owner: undefined,
    statusWhenNotified,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}
