/**
 * What a client sees through the proxies that we give configurations for, while a part of the installation is away: an
 * answer as documented, or an error of the API with `Retry-After`, from whichever of the two it comes.
 */
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { openLink } from '../chaos/world/proxy.ts';
import type { Link } from '../chaos/world/proxy.ts';
import { documentedCaddyfile, shippedCaddyfile, startCaddy, whyNoCaddy } from '../deploy/caddy-program.ts';
import { ApiClient } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { reservePort } from '../support/reserve-port.ts';
import { temporalAddress } from '../support/test-namespace.ts';

const CREATE = { model: 'darkroom/poster', input: { prompt: 'a lighthouse' } };

for (const [name, caddyfile] of [
  ['docs/operations/scale.md', documentedCaddyfile],
  ['deploy/docker/caddy/Caddyfile', shippedCaddyfile],
] as const) {
  describe(`a client of the proxy of ${name}`, { skip: whyNoCaddy() }, () => {
    let wire: DatabaseWire;
    let temporal: Link;
    let darkroom: Darkroom;
    let stopCaddy: (() => Promise<void>) | undefined;
    let url: string;
    let client: ApiClient;
    let done: { readonly taskId: string; readonly download: string };

    before(async () => {
      wire = await startDatabaseWire(servingUrl());
      temporal = await openLink(Number(new URL(`http://${temporalAddress()}`).port));
      darkroom = await startDarkroom({ apis: 2, databaseServer: wire.url });
      for (const role of [...darkroom.apis, ...darkroom.workers]) {
        await role.kill('SIGTERM');
        await role.start({ TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` });
      }
      url = `http://127.0.0.1:${await reservePort()}`;
      const apis = darkroom.urls.map((each) => new URL(each).host);
      stopCaddy = await startCaddy(caddyfile(url, apis));
      const account = await darkroom.createAccount();
      client = new ApiClient([url], account.client.key);
      await waitForService();
      const created = await client.create(CREATE);
      assert.equal(created.status, 200, JSON.stringify(created.body));
      const { taskId, output } = await client.waitForTerminal(created.body.data.taskId);
      done = { taskId, download: `${url}${new URL(output?.[0]?.url ?? '').pathname}` };
    });

    after(async () => {
      temporal?.set('pass');
      wire?.repair();
      await stopCaddy?.();
      await darkroom?.stop();
      await temporal?.close();
      wire?.close();
    });

    const waitForService = (): Promise<void> =>
      waitFor(
        'the proxy reaches an api',
        async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
      );

    const send = (path: string, body: object): Promise<Response> =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const post = (): Promise<Response> => send('/v1/tasks', CREATE);
    const poll = (): Promise<Response> =>
      fetch(`${url}/v1/tasks/${done.taskId}`, { headers: { Authorization: `Bearer ${client.key}` } });
    const chat = (): Promise<Response> => {
      const messages = [{ role: 'user', content: 'hello' }];
      return send('/v1/chat/completions', { model: 'darkroom/conformance-text', messages });
    };
    const download = (): Promise<Response> => fetch(done.download);

    async function assertUnavailable(response: Response): Promise<void> {
      const text = await response.text();
      assert.equal(response.status, 503, text);
      assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
      assert.notEqual(response.headers.get('x-request-id') ?? '', '');
      const body = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual([body['code'], body['error_code'], body['data']], [503, 'SERVICE_UNAVAILABLE', null]);
      assert.equal(typeof body['message'], 'string');
    }

    async function assertServed(response: Response): Promise<void> {
      const body = await response.arrayBuffer();
      assert.equal(response.status, 200, Buffer.from(body).toString().slice(0, 500));
    }

    it('creates, polls and downloads', async () => {
      for (const request of [post, poll, chat, download]) await assertServed(await request());
    });

    it('gets an error of the API while the database is away, from an api or from the proxy', async () => {
      wire.cut();
      try {
        // Until the proxy has noticed, and after that.
        let fromProxy = false;
        await waitFor('both have answered, or the proxy does not look', async () => {
          for (const request of [post, poll, chat]) {
            const response = await request();
            fromProxy ||= response.headers.get('server') === 'Caddy' && response.headers.get('via') === null;
            await assertUnavailable(response);
          }
          return fromProxy || !caddyfile(url, []).includes('health_uri');
        });
      } finally {
        wire.repair();
      }
      await waitForService();
      await assertServed(await post());
    });

    it('creates and polls while the store is away, and only what needs the store is an error', async () => {
      const { storeDirectory } = darkroom;
      await rename(storeDirectory, `${storeDirectory}-away`);
      await writeFile(storeDirectory, 'no directory');
      try {
        await waitFor('the apis know', async () => {
          const { store } = (await (await fetch(`${url}/readyz`)).json()) as { store: boolean | null };
          return store === false;
        });
        // Longer than it takes the proxy to take out an api that is not ready.
        for (let round = 0; round < 30; round++) {
          for (const request of [post, poll, chat]) await assertServed(await request());
          await assertUnavailable(await download());
        }
      } finally {
        await rm(storeDirectory);
        await rename(`${storeDirectory}-away`, storeDirectory);
      }
      await waitFor('downloads are served again', async () => (await download()).status === 200);
    });

    it('creates, polls and downloads while Temporal is away', async () => {
      temporal.set('refuse');
      try {
        for (let round = 0; round < 30; round++) {
          for (const request of [post, poll, chat, download]) await assertServed(await request());
        }
      } finally {
        temporal.set('pass');
      }
    });

    it('gets an error of the API from the proxy while all apis are away, and service when they are back', async () => {
      for (const api of darkroom.apis) await api.kill('SIGKILL');
      for (const request of [post, poll, chat, download]) await assertUnavailable(await request());

      for (const api of darkroom.apis) await api.start();
      await waitForService();
      await assertServed(await post());
    });
  });
}
