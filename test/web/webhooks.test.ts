/**
 * The webhooks page in a real browser: the signing secret is created, replaced and deleted, and the secret and the
 * code on the page verify what a real receiver gets. For attempts see webhook-attempts.test.ts.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Browser, Locator, Page } from 'playwright-core';
import { reservePort } from '../support/reserve-port.ts';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import { launchBrowser } from '../support/browser.ts';
import type { ReceivedCallback } from '../support/callback-receiver.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { makeCertificate } from '../support/test-certificate.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { startReceiverProgram } from '../support/verifying-receiver.ts';
import { expectNoViolations } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';
import { button, clipboard, focused, openWebhooks, part, sendTest } from './support/webhooks-page.ts';

const PREFIX = 'X-Studio';

describe('the webhooks of the dashboard', () => {
  let outside: DarkroomWithUpstreams;
  let browser: Browser;
  let closedPort: number;
  let programsPort: number;
  let untrusted: Server;
  let untrustedUrl: string;
  before(async () => {
    closedPort = await reservePort();
    programsPort = await reservePort();
    const untrustedPort = await reservePort();
    untrustedUrl = `https://127.0.0.1:${untrustedPort}`;
    untrusted = createServer(makeCertificate('unknown'), (_request, response) => response.writeHead(204).end());
    untrusted.listen(untrustedPort, '127.0.0.1');
    outside = await startDarkroomWithUpstreams({ CALLBACK_HEADER_PREFIX: PREFIX }, [
      `http://127.0.0.1:${closedPort}`,
      `http://127.0.0.1:${programsPort}`,
      `127.0.0.1:${untrustedPort}`,
    ]);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await outside?.stop();
    untrusted?.close();
    untrusted?.closeAllConnections();
  });

  const open = (account: TestAccount): Promise<SignedInPage> =>
    openWebhooks(browser, outside.darkroom.url, account.client.key);
  const keyOf = async ({ client }: TestAccount): Promise<WireWebhookKey> =>
    (await client.send('GET', '/v1/account/webhook-key')).body.data as unknown as WireWebhookKey;
  /** Deliveries that reached one path of the receiver. */
  const receivedAt = async (wanted: string): Promise<readonly ReceivedCallback[]> =>
    (await outside.receiver.readLog()).filter((received) => received.path === wanted);
  const verify = (whsec: string, { body, headers }: ReceivedCallback): unknown =>
    new Webhook(whsec).verify(body, headers as Record<string, string>);

  /** Presses a button that opens a dialog, with the keyboard. */
  async function openDialog(page: Page, name: string): Promise<Locator> {
    await button(part(page, 'Signing secret'), name).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await expectNoViolations(page);
    return dialog;
  }

  // Proves S5.5-2.
  it('creates a secret if there is none, keeps it hidden, and the copied secret verifies deliveries', async () => {
    const account = await outside.darkroom.createAccount();
    const opened = await open(account);
    const { page } = opened;
    await page.getByText('There is no signing secret. Deliveries are not signed').waitFor();
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    await expectNoViolations(page);
    assert.match(
      await sendTest(page, `${outside.receiver.url}/ok/unsigned`),
      /Delivered: HTTP 204.*It was not signed/s,
    );
    assert.equal((await receivedAt('/ok/unsigned'))[0]?.headers['webhook-signature'], undefined);

    await button(page, 'Create secret').press('Enter');
    await page.getByText('Deliveries are now signed.').waitFor();

    await focused(page, button(page, 'Rotate')).waitFor();
    const { secret = '', whsec = '' } = await keyOf(account);
    assert.ok(!(await page.content()).includes(secret), 'it is hidden until it is revealed');
    await button(page, 'Copy the Standard Webhooks secret').press('Enter');
    await waitFor('it is copied', async () => (await clipboard(page)) === whsec);
    await button(page, 'Copy the raw secret').press('Enter');
    await waitFor('it is copied', async () => (await clipboard(page)) === secret);
    await button(page, 'Reveal secret').press('Enter');
    assert.equal(await page.getByRole('textbox', { name: 'Raw secret' }).inputValue(), secret);
    const shown = await page.getByRole('textbox', { name: 'Standard Webhooks secret' }).inputValue();
    await expectNoViolations(page);
    await button(page, 'Hide secret').press('Enter');
    assert.equal(await page.getByRole('textbox', { name: 'Raw secret' }).inputValue(), '');

    assert.match(await sendTest(page, `${outside.receiver.url}/ok/signed`), /Delivered: HTTP 204.*It was signed\./s);
    const [received, ...more] = await receivedAt('/ok/signed');
    assert.ok(received !== undefined && more.length === 0);
    assert.equal((verify(shown, received) as { metadata: unknown }).metadata !== undefined, true);
    assert.throws(() => verify(shown, { ...received, body: `${received.body} ` }), /No matching signature/);
    assert.ok(`${PREFIX}-Signature`.toLowerCase() in received.headers);
    await expectNoViolations(page);
    await opened.close();
  });

  it('rotates a secret, says how long the old one also signs, and deletes it once that is confirmed', async () => {
    const account = await outside.darkroom.createAccount();
    await account.client.send('POST', '/v1/account/webhook-key/rotate');
    const { whsec: first = '' } = await keyOf(account);
    const opened = await open(account);
    const { page } = opened;
    let dialog = await openDialog(page, 'Rotate');
    await dialog.getByText('For 24 hours, deliveries are signed with the old one too').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await focused(page, button(page, 'Rotate')).waitFor();
    assert.equal((await keyOf(account)).whsec, first);

    dialog = await openDialog(page, 'Rotate');
    await button(dialog, 'Rotate secret').press('Enter');
    await page.getByText('Deliveries are also signed with the previous secret until').waitFor();
    await focused(page, button(page, 'Rotate')).waitFor();
    const { whsec: second = '' } = await keyOf(account);
    assert.notEqual(second, first);
    await sendTest(page, `${outside.receiver.url}/ok/rotated`);
    const [both] = await receivedAt('/ok/rotated');
    for (const each of [first, second]) verify(each, both ?? assert.fail('nothing arrived'));

    dialog = await openDialog(page, 'Rotate');
    await dialog.getByText('it stops working immediately').waitFor();
    await button(dialog, 'Cancel').press('Enter');
    await dialog.waitFor({ state: 'detached' });

    dialog = await openDialog(page, 'Set your own');
    const field = dialog.getByRole('textbox', { name: 'Secret' });
    await focused(page, field).waitFor();
    await page.keyboard.type('short');
    await page.keyboard.press('Enter');
    await dialog.getByText('Enter at least 16 characters. You entered 5.').waitFor();
    await expectNoViolations(page);
    await field.fill('x'.repeat(257));
    await dialog.getByText('Enter at most 256 characters. You entered 257.').waitFor();
    await field.fill('a secret of the receiver, with ü');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await focused(page, button(page, 'Set your own')).waitFor();
    assert.equal((await keyOf(account)).secret, 'a secret of the receiver, with ü');

    dialog = await openDialog(page, 'Delete');
    await focused(page, button(dialog, 'Cancel')).waitFor();
    await button(dialog, 'Delete secret').press('Enter');
    await page.getByText('There is no signing secret').waitFor();
    await focused(page, button(page, 'Create secret')).waitFor();
    assert.deepEqual(await keyOf(account), { hasKey: false });
    await expectNoViolations(page);
    await opened.close();
  });

  it('explains why a test delivery failed', async () => {
    const opened = await open(await outside.darkroom.createAccount());
    const { page } = opened;
    const { url } = outside.receiver;
    const failures: readonly (readonly [string, RegExp, RegExp])[] = [
      [`${url}/status/401`, /Not delivered: HTTP 401, after \d/, /check that it has this signing secret/],
      [`${url}/status/404`, /HTTP 404/, /Check that the path is correct/],
      [`${url}/gone/now`, /HTTP 410/, /stops the delivery of a callback at once/],
      [`${url}/status/500`, /HTTP 500/, /The endpoint failed/],
      [`${url}/redirect`, /HTTP 302/, /Redirects are not followed/],
      [`${url}/hang`, /Not delivered: timed out after 10 s\n/, /Respond first and do the work afterwards/],
      [`http://127.0.0.1:${closedPort}/`, /unreachable/, /Check that the name resolves/],
      [`${untrustedUrl}/`, /TLS error/, /The certificate was not accepted/],
    ];
    for (const [address, outcome, advice] of failures) {
      const text = await sendTest(page, address);
      assert.match(text, outcome);
      assert.match(text, advice);
    }
    await expectNoViolations(page);

    opened.expect(/status of 400/);
    assert.match(await sendTest(page, 'https://10.0.0.1/'), /10\.0\.0\.1 is not a public address/);
    await page.getByRole('textbox', { name: 'Endpoint URL' }).fill('example.com/hook');
    await page.keyboard.press('Enter');
    await page.getByText('Enter a URL that starts with https://.').waitFor();
    assert.equal(await page.getByText('is not a public address').count(), 0);
    await expectNoViolations(page);
    await opened.close();
  });

  it('shows code in four languages, and the copied code accepts what is signed with the copied secret', async () => {
    const account = await outside.darkroom.createAccount();
    const opened = await open(account);
    const { page } = opened;
    const code = part(page, 'Verify deliveries');
    await code.getByRole('tab', { name: 'PHP' }).click();
    for (const [language, start] of [
      ['JavaScript', 'node receiver.mjs'],
      ['Python', 'python3 receiver.py'],
      ['Go', 'go run receiver.go'],
      ['PHP', 'receiver.php'],
    ] as const) {
      await page.keyboard.press('ArrowRight');
      const shown = await code.getByRole('region', { name: `An endpoint in ${language}` }).innerText();
      assert.ok(shown.includes(start) && shown.includes(PREFIX) && !shown.includes('X-Darkroom'), shown);
      await expectNoViolations(page);
    }
    await code.getByRole('tab', { name: 'JavaScript' }).click();
    await button(code, 'Copy').press('Enter');
    await waitFor('it is copied', async () => (await clipboard(page)).includes('createHmac'));
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-receiver-'));
    await writeFile(path.join(directory, 'receiver.mjs'), await clipboard(page));
    await button(page, 'Create secret').press('Enter');
    await button(page, 'Copy the raw secret').press('Enter');
    await waitFor('it is copied', async () => (await clipboard(page)) === (await keyOf(account)).secret);
    const setting = { directory, secret: await clipboard(page), port: programsPort };
    const program = startReceiverProgram(setting, [process.execPath, 'receiver.mjs']);
    const address = `http://127.0.0.1:${programsPort}/`;
    try {
      await waitFor(
        () => `it listens; it said: ${program.said()}`,
        () =>
          fetch(address).then(
            () => true,
            () => false,
          ),
      );
      assert.match(await sendTest(page, address), /Delivered: HTTP 204/);
      await account.client.send('POST', '/v1/account/webhook-key/rotate');
      assert.match(await sendTest(page, address), /Delivered: HTTP 204/);
      await account.client.send('POST', '/v1/account/webhook-key/rotate');
      assert.match(await sendTest(page, address), /HTTP 401.*check that it has this signing secret/s);
    } finally {
      await program.stop();
      await rm(directory, { recursive: true, force: true });
    }
    await opened.close();
  });
});
