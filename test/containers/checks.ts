/** What a stack of containers must do, as its users and operators see it. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { ContainerClient } from './client.ts';
import { CONFINEMENT_CHECKS } from './confinement-checks.ts';
import type { Engine } from './engine.ts';
import { RECEIVER, firstCallback, startReceiver } from './receiver.ts';
import type { Stack } from './stack.ts';
import type { TemporalUiLogin } from './temporal-ui-login.ts';

export interface CheckContext {
  readonly engine: Engine;
  readonly stack: Stack;
  readonly client: ContainerClient;
  readonly login: TemporalUiLogin;
}

export interface Check {
  readonly name: string;
  /** Throws if it does not hold. @returns what was measured, for the report. */
  check(context: CheckContext): Promise<string | undefined>;
}

const WEBHOOK_SECRET = 'a secret of the receiver, with ü';

/** A small one for each modality. */
const MEDIA: readonly Readonly<Record<string, unknown>>[] = [
  { model: 'darkroom/scene', input: { prompt: 'a lighthouse at dusk' } },
  { model: 'darkroom/motion', input: { prompt: 'a forest', duration: 1, resolution: '480p', draft: true } },
  { model: 'darkroom/sound', input: { prompt: 'rain on a tin roof', duration: 3 } },
  { model: 'darkroom/speech', input: { text: 'The night train departs.', voice: 'slt' } },
  { model: 'darkroom/instrumental', input: { prompt: 'Calm acoustic guitar, 80 bpm', duration: 10 } },
];

export const CHECKS: readonly Check[] = [
  {
    name: 'an account and a key are made by the commands of the README',
    async check({ stack, client }) {
      const admin = (...args: readonly string[]): Promise<string> =>
        stack.compose('run', '--rm', '-T', 'api', 'admin', ...args, '--json');
      await admin('accounts', 'create', '--name', 'first', '--usd', '50');
      client.key = (JSON.parse(await admin('keys', 'create')) as { apiKey: string }).apiKey;
      return undefined;
    },
  },
  ...MEDIA.map((body): Check => ({
    name: `a task of ${String(body['model'])} succeeds, and its output is downloaded`,
    async check({ client }) {
      const [output] = (await client.makeMedia(body)).output ?? [];
      return `${output?.mimeType} of ${output?.sizeBytes} bytes`;
    },
  })),
  {
    name: 'a task works on the output of another',
    async check({ client }) {
      const [image] = (await client.makeMedia(MEDIA[0] ?? {})).output ?? [];
      await client.makeMedia({
        model: 'darkroom/edit',
        input: { prompt: 'make it night', image_urls: [image?.url] },
      });
      return undefined;
    },
  },
  {
    name: 'a text model answers',
    async check({ client }) {
      const body = { model: 'darkroom/conformance-text', messages: [{ role: 'user', content: 'Say hello.' }] };
      const answer = (await client.ask('POST', '/v1/chat/completions', body)) as {
        choices: { message: { content: string } }[];
      };
      assert.notEqual(answer.choices[0]?.message.content ?? '', '');
      return undefined;
    },
  },
  {
    name: 'a callback arrives, and both of its signatures are right',
    async check({ client, engine }) {
      const stopReceiver = await startReceiver(engine);
      try {
        await client.ask('PUT', '/v1/account/webhook-key', { secret: WEBHOOK_SECRET });
        const task = await client.makeMedia({ ...MEDIA[0], callback: { url: RECEIVER.url } });
        const { headers, body } = await firstCallback(engine);

        const key = Buffer.from(WEBHOOK_SECRET, 'utf8');
        const signed = `${headers['x-darkroom-timestamp']}.${body}`;
        assert.equal(headers['x-darkroom-signature'], createHmac('sha256', key).update(signed).digest('hex'));
        new Webhook(key.toString('base64')).verify(body, { ...headers });
        assert.equal((JSON.parse(body) as { taskId: string }).taskId, task.taskId);
        await client.waitFor(task.taskId, ({ callback }) => callback?.state === 'delivered');
      } finally {
        await stopReceiver();
      }
      return undefined;
    },
  },
  {
    name: 'the dashboard shows its sign-in page, and a session reads the account',
    async check({ client, stack }) {
      const page = await client.send('GET', '/sign-in');
      assert.equal(page.status, 200, page.text.slice(0, 300));
      assert.match(page.text, /<html/i);
      const origin = `https://localhost:${stack.httpsPort}`;
      const dashboard = { 'x-darkroom-dashboard': '1', origin };
      const signedIn = await client.send('POST', '/session', { body: { key: client.key }, headers: dashboard });
      assert.equal(signedIn.status, 200, signedIn.text);
      const [cookie = ''] = [signedIn.headers['set-cookie']].flat();
      assert.match(cookie, /^__Host-darkroom=.*Secure/);
      const session = { ...dashboard, cookie: cookie.split(';')[0] ?? '' };
      const account = await client.send('GET', '/v1/account', { headers: session });
      assert.equal(account.status, 200, account.text);
      return undefined;
    },
  },
  {
    name: 'Temporal’s Web UI asks for its login, and is there with it',
    async check({ stack, client, login }) {
      const base = `https://localhost:${stack.temporalUiPort}`;
      const without = await client.send('GET', `${base}/`);
      assert.equal(without.status, 401);
      const wrong = `Basic ${Buffer.from('operator:wrong').toString('base64')}`;
      assert.equal((await client.send('GET', `${base}/`, { headers: { authorization: wrong } })).status, 401);
      assert.equal((await client.send('GET', `${base}/api/v1/namespaces`)).status, 401);

      const headers = { authorization: login.authorization };
      const page = await client.send('GET', `${base}/`, { headers });
      assert.equal(page.status, 200, page.text.slice(0, 300));
      assert.match(page.text, /<html/i);
      const namespaces = await client.send('GET', `${base}/api/v1/namespaces`, { headers });
      assert.match(namespaces.text, /darkroom/);
      return undefined;
    },
  },
  ...CONFINEMENT_CHECKS,
];
