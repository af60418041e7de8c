/** The stored outputs of an account in a real browser: viewed, kept permanently, deleted, and restored by undo. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

interface Stored {
  readonly id: string;
  readonly storage_tier: string;
}

/** `UNDO_SECONDS` of packages/dashboard/src/pages/storage/deletion.ts, which only a browser can import. */
const UNDO_MS = 8_000;

/**
 * Evaluated in the page: the timer of a deletion that can be undone waits for `endUndoTime()` instead of its seconds.
 * How many of them are left when it is set depends on the machine. Other timers of about the same duration, which
 * reload data, wait with it.
 */
const HOLD_DELETIONS = `(() => {
  const { setTimeout: start, clearTimeout: stop } = window;
  const held = new Map();
  window.setTimeout = (work, ms, ...rest) => {
    if (!(ms > 5_000 && ms <= ${UNDO_MS})) return start(work, ms, ...rest);
    const id = start(() => undefined, 0);
    held.set(id, work);
    return id;
  };
  window.clearTimeout = (id) => {
    held.delete(id);
    stop(id);
  };
  window.endUndoTime = () => {
    const due = [...held.values()];
    held.clear();
    for (const work of due) work();
  };
})()`;

describe('the storage of the dashboard', () => {
  let outside: DarkroomWithUpstreams;
  let browser: Browser;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await outside?.stop();
  });

  /** An account with the given number of images. */
  async function accountWith(outputs: number): Promise<TestAccount> {
    const account = await outside.darkroom.createAccount();
    const taskIds = await Promise.all(
      Array.from({ length: outputs }, () =>
        outside.create(account, { model: 'test/tasks', input: { prompt: 'a boat' } }),
      ),
    );
    for (const taskId of taskIds) await account.client.waitForTerminal(taskId);
    return account;
  }

  /** Newest first, as on the page. */
  async function storedOf(account: TestAccount): Promise<readonly Stored[]> {
    const { body } = await account.client.send('GET', '/v1/storages');
    return (body.data as unknown as { readonly items: readonly Stored[] }).items;
  }

  const open = ({ client }: TestAccount, path = '/storage', width = 1280): Promise<SignedInPage> =>
    openSignedInPage(browser, { url: outside.darkroom.url, key: client.key, path, width });
  /** The same, except that the time to undo a deletion ends when the test ends it, however slow the machine is. */
  async function openPatiently(account: TestAccount): Promise<SignedInPage> {
    const opened = await open(account);
    await opened.page.addInitScript({ content: HOLD_DELETIONS });
    await opened.page.reload();
    return opened;
  }
  /** Ends the time in which the deletion can be undone. */
  const endUndoTime = async (page: Page): Promise<void> => {
    await page.evaluate('endUndoTime()');
  };
  const tiles = (page: Page) => page.getByRole('list', { name: 'Stored outputs' }).getByRole('listitem');
  const boxes = (page: Page) => tiles(page).getByRole('checkbox');
  /** Deletes the newest output, so that it can still be undone. */
  const removeFirst = async (page: Page): Promise<void> => {
    await boxes(page).first().click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
  };

  it('says that there are no outputs yet', async () => {
    const opened = await open(await outside.darkroom.createAccount());

    await opened.page.getByText('No outputs yet').waitFor();
    await opened.page.getByText('at $0.05 per GB per month').waitFor();
    await expectNoViolations(opened.page);
    await opened.close();
  });

  it('shows outputs by filters, and one of them large', async () => {
    const account = await accountWith(2);
    const opened = await open(account, '/storage', 375);
    const { page } = opened;
    await tiles(page).nth(1).locator('img').waitFor();
    await page.getByText('6 d 23 h left').first().waitFor();
    await expectNoViolations(page);
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(overhang <= 0, `${overhang} px stand over`);

    await page.getByRole('button', { name: 'View image of test/tasks' }).first().click();
    const dialog = page.getByRole('dialog');
    const preview = dialog.locator('img');
    await preview.waitFor();
    const shown = await preview.getAttribute('src');
    await page.keyboard.press('ArrowRight');
    await waitFor('the next one is shown', async () => (await preview.getAttribute('src')) !== shown);
    await expectNoViolations(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await page.getByText('Persistent', { exact: true }).click();
    await page.getByText('No outputs match').waitFor();
    assert.equal(new URL(page.url()).search, '?storage_tier=persistent');
    await expectNoViolations(page);
    await opened.close();
  });

  it('makes the selected outputs persistent, and the list shows when that is done', async () => {
    const account = await accountWith(3);
    const opened = await open(account);
    const { page } = opened;
    await boxes(page).nth(0).click();
    await boxes(page)
      .nth(2)
      .click({ modifiers: ['Shift'] });
    await page.getByText('3 outputs selected').waitFor();
    await boxes(page).nth(2).press('ArrowLeft');
    await page.keyboard.press('Space');
    await page.getByText('2 outputs selected').waitFor();
    await expectNoViolations(page);

    await page.getByRole('button', { name: /^Make persistent/ }).click();

    await page.getByText('2 outputs will become persistent').waitFor();
    const persistent = tiles(page).getByText('persistent', { exact: true });
    await waitFor('two are persistent', async () => (await persistent.count()) === 2);
    const stored = await storedOf(account);
    assert.deepEqual(
      stored.map(({ storage_tier: tier }) => tier),
      ['persistent', 'temp', 'persistent'],
    );
    await opened.close();
  });

  it('deletes after some seconds in which it can be undone', async () => {
    const account = await accountWith(2);
    const [first, second] = await storedOf(account);
    const opened = await openPatiently(account);
    const { page } = opened;
    await boxes(page).nth(1).waitFor();

    await page.getByRole('checkbox', { name: 'Select all on this page' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await page.locator('button:focus', { hasText: 'Undo' }).waitFor();
    await expectNoViolations(page);
    await undo.click();
    await boxes(page).nth(1).waitFor();
    assert.equal((await storedOf(account)).length, 2);

    await boxes(page).nth(0).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await undo.waitFor();
    assert.equal((await storedOf(account)).length, 2);
    await endUndoTime(page);
    await page.getByText('1 output deleted.').waitFor();
    assert.deepEqual(
      (await storedOf(account)).map(({ id }) => id),
      [second?.id],
    );
    assert.equal(await page.locator(`[data-select="${first?.id}"]`).count(), 0);
    await opened.close();
  });

  it('lets a deletion be undone on another page, and deletes at once when the user leaves the dashboard', async () => {
    const account = await accountWith(2);
    const opened = await openPatiently(account);
    const { page } = opened;

    await removeFirst(page);
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.goBack();
    await boxes(page).nth(1).waitFor();
    assert.equal((await storedOf(account)).length, 2);

    await removeFirst(page);
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tasks' }).click();
    await endUndoTime(page);
    await page.getByText('1 output deleted.').waitFor();
    assert.equal((await storedOf(account)).length, 1);

    await page.goBack();
    await removeFirst(page);
    await page.goto('about:blank');
    await waitFor('both are deleted', async () => (await storedOf(account)).length === 0);
    await opened.close();
  });

  it('deletes what could still be undone before the session ends', async () => {
    const account = await accountWith(2);
    const [, second] = await storedOf(account);
    const opened = await openPatiently(account);
    const { page } = opened;
    await removeFirst(page);

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await page.getByRole('textbox', { name: 'API key' }).waitFor();

    assert.deepEqual(
      (await storedOf(account)).map(({ id }) => id),
      [second?.id],
    );
    await page.getByText('1 output deleted.').waitFor();
    await opened.close();
  });

  it('names each output that could not be deleted', async () => {
    const account = await accountWith(2);
    const [first] = await storedOf(account);
    const opened = await openPatiently(account);
    const { page } = opened;
    await boxes(page).nth(1).waitFor();

    await page.getByRole('checkbox', { name: 'Select all on this page' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await account.client.send('DELETE', `/v1/storages/${first?.id}`);
    await page.getByRole('button', { name: 'Delete now' }).click();

    await page.getByText('1 output deleted.').waitFor();
    await page.getByText('1 output could not be deleted').waitFor();
    await page.getByText(`${first?.id}: The output has already been deleted.`).waitFor();
    await opened.close();
  });
});
