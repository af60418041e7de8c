/**
 * What the pages show while the service is unavailable: nothing listens, its database is gone, it is overloaded, the
 * session has ended. Each continues by itself when it is available again, and no typed text is lost.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { DASHBOARD_HEADER } from '../../src/http/middleware/session-cookie.ts';
import { ApiClient } from '../support/api-client.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { ACCOUNT_PAGES, goWithin, settled } from './support/every-page.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

/** A different page: nothing of this one is loaded there. */
const elsewhere = (path: string): string => (path === '/keys' ? '/models' : '/keys');

/** What a browser logs about missing responses, and about rejections. */
const UNAVAILABLE = /net::ERR_|status of (?:503|429)|UnreachableError|PageNotLoadedError/;
const SIGNED_OUT = /status of 401/;

describe('a dashboard whose service is unavailable', () => {
  let wire: DatabaseWire;
  let darkroom: Darkroom;
  let api: Role;
  let browser: Browser;
  let account: TestAccount;
  let paths: readonly string[];
  before(async () => {
    wire = await startDatabaseWire(servingUrl());
    darkroom = await startDarkroom({ workers: 0, databaseServer: wire.url });
    const [only] = darkroom.apis;
    assert.ok(only !== undefined);
    api = only;
    browser = await launchBrowser();
    account = await darkroom.createAccount();
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    const shown = { taskId: body.data.taskId, accountId: account.id };
    paths = ACCOUNT_PAGES.filter(({ route }) => route !== undefined).map(({ path }) => path(shown));
  });
  // What one test breaks must not affect another.
  afterEach(() => wire.repair());
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
    wire?.close();
  });

  async function open(path: string, key = account.client.key): Promise<SignedInPage> {
    const opened = await openSignedInPage(browser, { url: darkroom.url, key, path });
    opened.expect(UNAVAILABLE);
    return opened;
  }

  /** One window for each page, all of the same session. @param first the initial path of each. */
  async function openAll(first: (path: string) => string): Promise<{
    readonly context: BrowserContext;
    readonly windows: readonly { readonly path: string; readonly page: Page }[];
    close(): Promise<void>;
  }> {
    const opened = await open('/keys');
    const windows = [];
    for (const path of paths) {
      const page = await opened.context.newPage();
      await page.goto(darkroom.url + first(path));
      await settled(page);
      windows.push({ path, page });
    }
    return { context: opened.context, windows, close: () => opened.close() };
  }

  /** Cuts the wire, and waits until the service no longer answers from its cache of a session and its key. */
  async function loseDatabase(context: BrowserContext): Promise<void> {
    wire.cut();
    const headers = { [DASHBOARD_HEADER]: '1' };
    await waitFor(
      'the service has no session',
      async () => (await context.request.get(`${darkroom.url}/v1/models`, { headers })).status() === 503,
    );
  }

  /** The page is shown, and nothing on it is wrong any more. */
  async function expectWhole(page: Page): Promise<void> {
    await waitFor(
      () => `${page.url()} is whole again`,
      async () => (await page.getByRole('heading', { level: 1 }).count()) === 1 && (await complaints(page)) === 0,
    );
    await settled(page);
  }

  const complaints = (page: Page): Promise<number> =>
    page.getByText(/Darkroom is not responding|Temporarily unavailable|Darkroom cannot be reached/).count();

  /** Ends the session, and follows a link: the page knows of the end only then, because its own reads are held. */
  async function loseSession(context: BrowserContext, page: Page): Promise<void> {
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/v1/**', async (route) => {
      await released;
      await route.continue();
    });
    await context.clearCookies();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tasks' }).click();
    release();
  }

  async function expectAlert(page: Page, words: string): Promise<void> {
    const alert = page.getByRole('alert').filter({ hasText: words }).first();
    await waitFor(
      () => `${page.url()} says “${words}”`,
      () => alert.isVisible(),
    );
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
  }

  it('says on every page that Darkroom is not responding, and shows each once it is', async () => {
    const { windows, close } = await openAll(elsewhere);
    await api.kill();
    for (const { path, page } of windows) await goWithin(page, path);
    for (const { page } of windows) {
      await expectAlert(page, 'Darkroom is not responding');
      await expectNoViolations(page);
    }

    await api.start();

    for (const { page } of windows) await expectWhole(page);
    await close();
  });

  it('says on every page that it is not available, and shows each once it is', async () => {
    const { context, windows, close } = await openAll(elsewhere);
    await loseDatabase(context);
    for (const { path, page } of windows) await goWithin(page, path);
    for (const { page } of windows) {
      await expectAlert(page, 'Temporarily unavailable');
      await expectNoViolations(page);
    }

    wire.repair();

    for (const { page } of windows) await expectWhole(page);
    await close();
  });

  it('says on every page that its data may be out of date, until it is there again', async () => {
    const { windows, close } = await openAll((path) => path);
    await api.kill();
    for (const { page } of windows) {
      await page.getByRole('status').getByText('Darkroom cannot be reached').waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
    }

    await api.start();

    for (const { page } of windows) await expectWhole(page);
    await close();
  });

  it('says so if it cannot read the session either, and continues from there', async () => {
    const { context, page, close } = await open('/keys');
    await loseDatabase(context);
    await page.reload();
    await expectAlert(page, 'Temporarily unavailable');
    // The message stays while the page tries again.
    await page.waitForRequest((request) => new URL(request.url()).pathname === '/session');
    assert.ok(await page.getByRole('alert').filter({ hasText: 'Temporarily unavailable' }).isVisible());
    await expectNoViolations(page);

    wire.repair();

    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await close();
  });

  it('says that there are too many requests, and retries after the given delay', async () => {
    const { database } = darkroom.testDatabase;
    const { secret } = await database.transaction(async (transaction) => {
      // One more every ten seconds: too long to wait for without a message.
      const id = await createAccount(transaction, 'busy', { readsPerMinute: 6 });
      return createKey(transaction, id, { name: 'busy', scopes: SCOPES });
    });
    const { page, close } = await open('/keys', secret);
    const program = new ApiClient(darkroom.urls, secret);
    await waitFor('nothing more may be read', async () => (await program.send('GET', '/v1/account')).status === 429, 0);

    await goWithin(page, '/models');
    await expectAlert(page, 'Too many requests');
    await expectNoViolations(page);

    await page.getByRole('link', { name: 'darkroom/scene' }).first().waitFor();
    await close();
  });

  it('keeps a form that could not be sent', async () => {
    const { page, close } = await open('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.fill('web shop');
    await dialog.getByRole('textbox', { name: 'Per day' }).fill('5.25');
    await api.kill();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('alert').getByText('Darkroom is not responding').waitFor();
    await expectNoViolations(page);

    await api.start();
    assert.deepEqual(
      [await name.inputValue(), await dialog.getByRole('textbox', { name: 'Per day' }).inputValue()],
      ['web shop', '5.25'],
    );
    await dialog.getByRole('button', { name: 'Create key' }).click();

    await page.getByRole('dialog', { name: 'Save your key' }).waitFor();
    await close();
  });

  it('does not reload the page while a draft would be lost', async () => {
    const { page, close } = await open('/playground/darkroom/scene');
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
    await prompt.fill('A quiet bay');
    await api.kill();
    const navigation = page.getByRole('navigation', { name: 'Main' });
    await navigation.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'This page could not be loaded' }).waitFor();
    await page.getByText('discards your drafts in the playground').waitFor();
    await expectNoViolations(page);

    await api.start();
    await page.getByText('Darkroom cannot be reached').waitFor({ state: 'detached' });
    await page.goBack();

    assert.equal(await prompt.inputValue(), 'A quiet bay');
    await navigation.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await close();
  });

  it('prompts to sign in again after the session has ended, and continues with the draft', async () => {
    const { page, context, expect, close } = await open('/playground/darkroom/scene');
    expect(SIGNED_OUT);
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
    await prompt.fill('A quiet bay');
    await loseSession(context, page);

    await page.getByText('Your session has expired').waitFor();
    assert.equal(await page.title(), 'Sign in to Darkroom');
    await expectNoViolations(page);
    await page.getByRole('textbox', { name: 'API key' }).fill(account.client.key);
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/tasks');
    await page.goBack();
    assert.equal(await prompt.inputValue(), 'A quiet bay');
    await close();
  });

  it('shows no draft to a user who signs in with another key', async () => {
    const { page, context, expect, close } = await open('/playground/darkroom/scene');
    expect(SIGNED_OUT);
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A secret bay');
    await loseSession(context, page);
    const other = await darkroom.createAccount();
    await page.getByRole('textbox', { name: 'API key' }).fill(other.client.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();

    await page.goBack();

    assert.equal(await page.getByRole('textbox', { name: 'Prompt', exact: true }).inputValue(), '');
    assert.ok(!(await page.content()).includes('secret'));
    await close();
  });
});
