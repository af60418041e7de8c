/** What the pages say while the api is away, and that they go on by themselves when it is there again; the same for a session. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { GIVE_UP_MS } from '../support/until.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';

const PAGES = ['Start', 'Models', 'Playground', 'Tasks', 'Storage', 'Keys', 'Webhooks', 'Usage'];

describe('a dashboard whose api is away', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  let account: TestAccount;
  before(async () => {
    darkroom = await startDarkroom({ workers: 0 });
    browser = await launchBrowser();
    account = await darkroom.createAccount();
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  it('says so on every page, and shows each once it answers again', async () => {
    const opened = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    opened.expect(/net::ERR_|UnreachableError/);
    const { page } = opened;
    page.setDefaultTimeout(GIVE_UP_MS);
    const [api] = darkroom.apis;
    assert.ok(api !== undefined);
    await api.kill();

    for (const name of PAGES.slice(1)) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
      await page.getByRole('alert').getByText('Darkroom does not answer').first().waitFor();
      await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    }
    await expectNoViolations(page);

    await api.start();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    for (const name of PAGES.slice(1)) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    await opened.close();
  });

  it('asks to sign in again where the session has ended, and goes on at the same page', async () => {
    const { client } = await darkroom.createAccount();
    const opened = await openSignedInPage(browser, { url: darkroom.url, key: client.key, path: '/tasks' });
    opened.expect(/401/);
    const { page } = opened;
    page.setDefaultTimeout(GIVE_UP_MS);
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    await page.context().clearCookies();

    await page.getByRole('textbox', { name: 'API key' }).fill(client.key);
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/tasks');
    await opened.close();
  });
});
