/**
 * Rotating `ENCRYPTION_KEY` and `URL_SIGNING_KEY` as docs/operations/secure.md says, step by step, under load: two
 * apis behind a load balancer and a worker, restarted one after the other in each step, while clients read tasks,
 * open the download URLs that they received in this step and before, read and replace signing secrets, and receive
 * callbacks. No request fails and every callback is signed.
 */
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { runAdminCommand } from '../commands/admin-command.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { startHealthCheckingProxy } from '../support/health-checking-proxy.ts';
import type { HealthCheckingProxy } from '../support/health-checking-proxy.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const REQUEST_EVERY_MS = 40;
/** Maximum requests at a time: an overloaded slow machine fails requests without any restart. */
const MOST_OPEN = 10;
/** Rounds of all kinds of requests that run during each step. */
const ROUNDS = 3;
const WEBHOOK_KEY = '/v1/account/webhook-key';

const key = (): string => randomBytes(24).toString('hex');
const OLD = { encryption: key(), urls: key() };
const NEW = { encryption: key(), urls: key() };

type Keys = Record<'ENCRYPTION_KEY' | 'URL_SIGNING_KEY' | `${'ENCRYPTION' | 'URL_SIGNING'}_KEY_FALLBACKS`, string>;

function keysOf(current: typeof OLD, fallback?: typeof OLD): Keys {
  return {
    ENCRYPTION_KEY: current.encryption,
    URL_SIGNING_KEY: current.urls,
    ENCRYPTION_KEY_FALLBACKS: fallback?.encryption ?? '',
    URL_SIGNING_KEY_FALLBACKS: fallback?.urls ?? '',
  };
}

interface Detail {
  readonly taskId: string;
  readonly output: readonly { readonly url: string }[];
}

describe('rotating the keys under load', () => {
  let outside: DarkroomWithUpstreams;
  let proxy: HealthCheckingProxy;
  /** Its secret stays; the other account's is replaced continuously. */
  let signing: TestAccount;
  let replacing: TestAccount;
  let secret: string;
  let taskId: string;
  before(async () => {
    outside = await startDarkroomWithUpstreams(
      { ...keysOf(OLD), DRAIN_SECONDS: '20', SHUTDOWN_GRACE_SECONDS: '4' },
      [],
      {},
      2,
    );
    const { darkroom } = outside;
    signing = await darkroom.createAccount();
    replacing = await darkroom.createAccount();
    proxy = await startHealthCheckingProxy(darkroom.urls);
    await waitFor('both apis are ready', () => proxy.isReady(0) && proxy.isReady(1));
    secret = await replaceSecret(signing);
    await replaceSecret(replacing);
    taskId = await outside.create(signing, { model: 'test/openai', input: { prompt: 'a boat' } });
    await signing.client.waitForTerminal(taskId);
  });
  after(async () => {
    await proxy?.close();
    await outside?.stop();
  });

  async function ask(account: TestAccount | undefined, method: string, place: string, body?: unknown): Promise<string> {
    const response = await fetch(`${proxy.url}${place}`, {
      method,
      headers: {
        ...(account === undefined ? {} : { Authorization: `Bearer ${account.client.key}` }),
        'Content-Type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${method} ${place}: ${text.slice(0, 300)}`);
    return text;
  }

  async function replaceSecret(account: TestAccount): Promise<string> {
    const chosen = key();
    await ask(account, 'PUT', WEBHOOK_KEY, { secret: chosen });
    return chosen;
  }

  /** Paths of the download URLs that were returned, each once. */
  const urls = new Set<string>();
  const calledBack: string[] = [];

  let replacement: Promise<string> | undefined;
  /**
   * Replaces a secret, or waits for the replacement under way: those of one account wait for each other's
   * transactions, which on a slow machine takes longer than a request may wait.
   */
  async function replaceInTurn(): Promise<void> {
    replacement ??= replaceSecret(replacing).finally(() => (replacement = undefined));
    await replacement;
  }

  /** Each is one kind of request; all must succeed, whichever api they reach. */
  const kinds: readonly (() => Promise<void>)[] = [
    async () => {
      const { data } = JSON.parse(await ask(signing, 'GET', `/v1/tasks/${taskId}`)) as { data: Detail };
      for (const { url } of data.output) urls.add(new URL(url).pathname);
    },
    async () => {
      for (const place of urls) await ask(undefined, 'GET', place);
    },
    async () => {
      const { data } = JSON.parse(await ask(signing, 'GET', WEBHOOK_KEY)) as { data: { secret: string } };
      assert.equal(data.secret, secret);
    },
    replaceInTurn,
    async () => void (await ask(replacing, 'GET', WEBHOOK_KEY)),
  ];

  async function createWithCallback(): Promise<void> {
    const body = {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      callback: { url: `${outside.receiver.url}/ok/a` },
    };
    const { data } = JSON.parse(await ask(signing, 'POST', '/v1/tasks', body)) as { data: { taskId: string } };
    calledBack.push(data.taskId);
  }

  /** Sends requests until `stop` is called. */
  function load(): { rounds(): number; stop(): Promise<readonly string[]> } {
    const failed: string[] = [];
    const open = new Set<Promise<void>>();
    let requests = 0;
    const timer = setInterval(() => {
      if (open.size >= MOST_OPEN) return;
      const kind = kinds[requests++ % kinds.length];
      if (kind === undefined) return;
      const asked = kind()
        .catch((error: unknown) => void failed.push(String(error)))
        .finally(() => open.delete(asked));
      open.add(asked);
    }, REQUEST_EVERY_MS);
    return {
      rounds: () => (requests - open.size) / kinds.length,
      async stop() {
        clearInterval(timer);
        await Promise.all(open);
        return failed;
      },
    };
  }

  /** Restarts every process with these keys, one after the other. */
  async function roll(keys: Keys): Promise<void> {
    const { apis, workers } = outside.darkroom;
    for (const worker of workers) {
      await worker.kill('SIGTERM');
      await worker.start(keys);
    }
    for (const [place, api] of apis.entries()) {
      await api.kill('SIGTERM');
      await api.start(keys);
      await waitFor('the balancer has it back', () => proxy.isReady(place));
      await createWithCallback();
    }
  }

  async function reencrypt(keys: Keys): Promise<Record<string, unknown>> {
    const environment = { ...keys, ...programEnvironment(outside.darkroom.testDatabase.url) };
    const { code, stdout, stderr } = await runAdminCommand(['secrets', 'reencrypt', '--json'], environment);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  async function hasRounds(loading: { rounds(): number }): Promise<void> {
    const before = loading.rounds();
    await waitFor('requests of all kinds were answered', () => loading.rounds() >= before + ROUNDS);
  }

  it('fails no request, and signs every callback', async (t) => {
    const loading = load();
    await hasRounds(loading);

    // 1. The new keys are accepted everywhere, and used nowhere.
    await roll(keysOf(OLD, NEW));
    await hasRounds(loading);
    // 2. They are used, and the old ones accepted.
    await roll(keysOf(NEW, OLD));
    await hasRounds(loading);
    // 3. Stored secrets are re-encrypted, by two commands at once.
    await Promise.all([reencrypt(keysOf(NEW, OLD)), reencrypt(keysOf(NEW, OLD))]);
    const report = await reencrypt(keysOf(NEW, OLD));
    assert.equal(report['fallback'], 0);
    assert.match(String(report['encryptionKeyFallbacks']), /^can be removed/);
    // 4. The old encryption key is gone; the old signing key stays until its URLs have expired.
    await roll({ ...keysOf(NEW, OLD), ENCRYPTION_KEY_FALLBACKS: '' });
    await hasRounds(loading);
    const failed = await loading.stop();

    assert.deepEqual(proxy.failures, []);
    assert.deepEqual(failed, []);
    assert.ok(urls.size >= 2, 'URLs of both keys were opened');
    for (const id of calledBack) {
      const [received] = await outside.waitForCalledBack(id);
      const timestamp = String(received?.headers['x-darkroom-timestamp']);
      const signature = createHmac('sha256', secret).update(`${timestamp}.${received?.body}`).digest('hex');
      assert.equal(received?.headers['x-darkroom-signature'], signature);
    }
    t.diagnostic(`${loading.rounds() * kinds.length} requests, ${calledBack.length} callbacks, ${urls.size} URLs`);
  });

  it('invalidates the URLs of a key that is no longer accepted', async () => {
    const before = await Promise.all([...urls].map(async (place) => (await fetch(`${proxy.url}${place}`)).status));

    await roll(keysOf(NEW));

    const after = await Promise.all([...urls].map(async (place) => (await fetch(`${proxy.url}${place}`)).status));
    assert.ok(before.every((status) => status === 200));
    assert.ok(after.includes(200) && after.includes(403), after.join());
  });
});
