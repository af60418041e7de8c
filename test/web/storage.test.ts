/** The stored outputs of an account in a real browser: looked at, kept for good, deleted, and not deleted after all. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { GIVE_UP_MS, until } from '../support/until.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

interface Stored {
  readonly id: string;
  readonly storage_tier: string;
}

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

  /** An account with so many pictures. */
  async function accountWith(pictures: number): Promise<TestAccount> {
    const account = await outside.darkroom.createAccount();
    const taskIds = await Promise.all(
      Array.from({ length: pictures }, () =>
        outside.create(account, { model: 'test/tasks', input: { prompt: 'a boat' } }),
      ),
    );
    for (const taskId of taskIds) await account.client.untilTerminal(taskId);
    return account;
  }

  /** Newest first, as the page has them. */
  async function storedOf(account: TestAccount): Promise<readonly Stored[]> {
    const { body } = await account.client.send('GET', '/v1/storages');
    return (body.data as unknown as { readonly items: readonly Stored[] }).items;
  }

  async function open(account: TestAccount, path = '/storage', width = 1280): Promise<SignedInPage> {
    const opened = await openSignedInPage(browser, {
      url: outside.darkroom.url,
      key: account.client.key,
      path,
      width,
    });
    opened.page.setDefaultTimeout(GIVE_UP_MS);
    return opened;
  }
  const tiles = (page: Page) => page.getByRole('list', { name: 'Stored outputs' }).getByRole('listitem');
  const boxes = (page: Page) => tiles(page).getByRole('checkbox');

  it('says that nothing is stored yet', async () => {
    const opened = await open(await outside.darkroom.createAccount());

    await opened.page.getByText('Nothing is stored yet').waitFor();
    await opened.page.getByText('at $0.05 per GB and month').waitFor();
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

    await page.getByRole('button', { name: 'Look at image of test/tasks' }).first().click();
    const dialog = page.getByRole('dialog');
    const picture = dialog.locator('img');
    await picture.waitFor();
    const shown = await picture.getAttribute('src');
    await page.keyboard.press('ArrowRight');
    await until('the next one is shown', async () => (await picture.getAttribute('src')) !== shown);
    await expectNoViolations(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await page.getByText('Persistent', { exact: true }).click();
    await page.getByText('No output matches').waitFor();
    assert.equal(new URL(page.url()).search, '?storage_tier=persistent');
    await expectNoViolations(page);
    await opened.close();
  });

  it('keeps all for good that are selected, as the list tells when it is so', async () => {
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

    await page.getByRole('button', { name: /^Keep permanently/ }).click();

    await page.getByText('2 outputs will be kept permanently').waitFor();
    const persistent = tiles(page).getByText('persistent', { exact: true });
    await until('two are persistent', async () => (await persistent.count()) === 2);
    const stored = await storedOf(account);
    assert.deepEqual(
      stored.map(({ storage_tier: tier }) => tier),
      ['persistent', 'temp', 'persistent'],
    );
    await opened.close();
  });

  it('deletes after some seconds in which one can think better of it', async () => {
    const account = await accountWith(2);
    const [first, second] = await storedOf(account);
    const opened = await open(account);
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
    await page.getByText('1 output deleted.').waitFor();
    assert.deepEqual(
      (await storedOf(account)).map(({ id }) => id),
      [second?.id],
    );
    assert.equal(await page.locator(`[data-select="${first?.id}"]`).count(), 0);
    await opened.close();
  });

  it('deletes at once when one leaves, for another page or altogether', async () => {
    const account = await accountWith(2);
    const opened = await open(account);
    const { page } = opened;
    const remove = async (): Promise<void> => {
      await boxes(page).first().click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: 'Undo' }).waitFor();
    };

    await remove();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tasks' }).click();
    await until('one is deleted', async () => (await storedOf(account)).length === 1);
    await page.goBack();
    await remove();
    await page.goto('about:blank');
    await until('both are deleted', async () => (await storedOf(account)).length === 0);
    await opened.close();
  });

  it('tells of each output that was refused', async () => {
    const account = await accountWith(2);
    const [first] = await storedOf(account);
    const opened = await open(account);
    const { page } = opened;
    await boxes(page).nth(1).waitFor();

    await page.getByRole('checkbox', { name: 'Select all on this page' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await account.client.send('DELETE', `/v1/storages/${first?.id}`);
    await page.getByRole('button', { name: 'Delete now' }).click();

    await page.getByText('1 output deleted.').waitFor();
    await page.getByText('1 output could not be deleted').waitFor();
    await page.getByText(`${first?.id}: It is gone already.`).waitFor();
    await opened.close();
  });
});
