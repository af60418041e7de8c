/** What is served besides the API: the dashboard, Temporal's Web UI, and metrics where they belong. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { packageFile } from '../../src/config/package-root.ts';
import { launchBrowser } from '../support/browser.ts';
import { waitForImage } from '../web/support/loaded-image.ts';
import { openPublicPage } from '../web/support/signed-in-page.ts';
import type { Check } from './checks.ts';
import { IMAGE, METRICS_PORT, PROJECT } from './stack.ts';

const SCENE = 'darkroom/scene';

/** Exits with 0 if the address of its argument answers with metrics. */
const READ_METRICS = `
fetch(process.argv[1]).then(async (answer) => process.exit((await answer.text()).includes('darkroom_') ? 0 : 1),
  () => process.exit(2));`;

export const PAGE_CHECKS: readonly Check[] = [
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
  {
    name: 'the dashboard works in Chromium: signing in, a task and its image, without an error or a violated policy',
    async check({ client, stack }) {
      const task = await client.makeMedia({ model: SCENE, input: { prompt: 'a lighthouse at dusk' } });
      const url = `https://localhost:${stack.httpsPort}`;
      const browser = await launchBrowser({ trustedKey: await client.keyOfServer() });
      try {
        const { page, expect, close } = await openPublicPage(browser, { url });
        // Until there is a session.
        expect(/status of 401/);
        await page.getByRole('textbox', { name: 'API key' }).fill(client.key);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('navigation', { name: 'Main' }).waitFor();
        await page.goto(`${url}/tasks/${task.taskId}`);
        await waitForImage(page.getByRole('region', { name: 'Outputs' }).locator('img').first());
        await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
        await page.getByRole('link', { name: SCENE, exact: true }).waitFor();
        await close();
      } finally {
        await browser.close();
      }
      return undefined;
    },
  },
  {
    name: 'metrics are served to the targets of the shipped prometheus.yml in the network, and not at the proxy',
    async check({ client, engine }) {
      assert.equal((await client.send('GET', '/metrics')).status, 404);
      for (const role of ['api', 'worker']) {
        assert.ok(
          (await readFile(packageFile('deploy/docker/prometheus/prometheus.yml'), 'utf8')).includes(
            `${role}:${METRICS_PORT}`,
          ),
        );
        const network = ['--network', `${PROJECT}_default`, '--entrypoint', 'node', IMAGE];
        const elsewhere = [...network, '-e', READ_METRICS, `http://${role}:${METRICS_PORT}/metrics`];
        await engine.docker(['run', '--rm', ...elsewhere]);
      }
      return undefined;
    },
  },
];
