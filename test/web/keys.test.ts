/**
 * The page of keys in a real browser: keys are created within the rights of the current key, shown once, rotated and
 * revoked, and their rights are shown. The content of the page is checked against what the API does with the keys.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { createKey } from '../../src/accounts/keys.ts';
import type { KeyRights } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { WireKey } from '@darkroom/api/tasks/key';
import { ApiClient } from '../support/api-client.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

describe('the keys of the dashboard', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  before(async () => {
    darkroom = await startDarkroom({ workers: 0 });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  const open = (key: string, width = 1280): Promise<SignedInPage> =>
    openSignedInPage(browser, { url: darkroom.url, key, path: '/keys', width });

  /** One more key of an account. */
  const moreKey = ({ id }: TestAccount, rights: Partial<KeyRights>) =>
    createKey(darkroom.testDatabase.database, id, { name: 'another', scopes: SCOPES, ...rights });

  async function listed({ client }: Pick<TestAccount, 'client'>): Promise<readonly WireKey[]> {
    const { body } = await client.send('GET', '/v1/account/keys');
    return (body.data as unknown as { readonly keys: readonly WireKey[] }).keys;
  }

  const statusOf = async (key: string, path: string): Promise<number> =>
    (await new ApiClient(darkroom.urls, key).send('GET', path)).status;
  const cardOf = (page: Page, name: string): Locator =>
    page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });
  const button = (page: Page | Locator, name: string): Locator => page.getByRole('button', { name, exact: true });

  /** The element, if it has the focus. */
  const focused = (page: Page, what: Locator): Locator => what.and(page.locator(':focus'));

  /** Creates a task as a user of a terminal does. @returns the response body. */
  async function createByCurl(
    key: string,
    body: unknown,
  ): Promise<{ readonly code: number; readonly data: { readonly taskId: string } | null }> {
    const { stdout } = await promisify(execFile)('curl', [
      '-sS',
      `${darkroom.url}/v1/tasks`,
      '-H',
      `Authorization: Bearer ${key}`,
      '-H',
      'Content-Type: application/json',
      '-d',
      JSON.stringify(body),
    ]);
    return JSON.parse(stdout) as Awaited<ReturnType<typeof createByCurl>>;
  }

  /** Chooses from a key's menu, with the keyboard alone. */
  async function choose(page: Page, keyName: string, action: 'Rotate' | 'Revoke'): Promise<Locator> {
    await button(page, `Actions for “${keyName}”`).press('Enter');
    await page.getByRole('menuitem', { name: action }).press('Enter');
    const dialog = page.getByRole('dialog');
    // Until the dialog has the focus, the closing menu has it, and handles Escape itself.
    await dialog.locator(':focus').waitFor();
    return dialog;
  }

  /** @returns the key that the dialog shows, once it is closed. */
  async function takeKey(page: Page): Promise<string> {
    const dialog = page.getByRole('dialog', { name: 'Save your key' });
    const key = await dialog.getByRole('textbox', { name: 'Key' }).inputValue();
    await dialog.getByText(`Authorization: Bearer ${key}`).waitFor();
    await expectNoViolations(page);
    await page.keyboard.press('Escape');
    assert.ok(await button(page, 'Done').isDisabled(), 'it stays until the user confirms that it is stored');
    await dialog.getByRole('checkbox').check();
    await button(page, 'Done').click();
    await dialog.waitFor({ state: 'detached' });
    return key;
  }

  it('creates a key as requested, shows it once, and it works', async () => {
    const account = await darkroom.createAccount();
    const opened = await open(account.client.key);
    const { page } = opened;
    await cardOf(page, 'test').getByText('this session').waitFor();
    await expectNoViolations(page);

    await button(page, 'Create key').press('Enter');
    await button(page.getByRole('dialog'), 'Create key').click();
    await page.getByText('Enter a name.').first().waitFor();
    await focused(page, page.getByRole('textbox', { name: 'Name' })).waitFor();
    await page.keyboard.type('web shop');
    await page.getByRole('checkbox', { name: 'Read the balance' }).check();
    await page.getByRole('textbox', { name: 'Per day' }).fill('five');
    await page.getByText('Enter an amount in dollars').first().waitFor();
    await expectNoViolations(page);
    await page.getByRole('textbox', { name: 'Per day' }).fill('5.25');
    await page.getByLabel('Expiration date').fill('2100-01-31');
    await page.getByRole('combobox', { name: 'Models' }).fill('canvas');
    await page.getByRole('option', { name: 'darkroom/canvas' }).click();
    await page.keyboard.press('Tab');
    await button(page.getByRole('dialog'), 'Create key').click();
    const key = await takeKey(page);

    const card = cardOf(page, 'web shop');
    await card.getByText('$0.00 of $5.25').waitFor();
    await card.getByText('darkroom/canvas').waitFor();
    assert.ok(!(await page.content()).includes(key), 'it is not shown anymore');
    assert.deepEqual([await statusOf(key, '/v1/account'), await statusOf(key, '/v1/account/keys')], [200, 403]);
    const made = (await listed(account)).find(({ name }) => name === 'web shop');
    assert.deepEqual(
      [made?.models, made?.spendCaps, made?.scopes.toSorted()],
      [['darkroom/canvas'], { day: '5.25', total: null }, ['billing:read', 'models:read', 'tasks:read', 'tasks:write']],
    );
    assert.ok((made?.expiresAt ?? 0) > Date.parse('2100-01-30') / 1000);
    await focused(page, button(page, 'Create key')).waitFor();
    await opened.close();
  });

  it('creates a key that curl uses, until it is revoked', async () => {
    const account = await darkroom.createAccount();
    const opened = await open(account.client.key);
    const { page } = opened;
    await button(page, 'Create key').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
    await page.getByRole('checkbox', { name: 'Create, cancel' }).check();
    await button(page.getByRole('dialog'), 'Create key').click();
    const key = await takeKey(page);
    const body = { model: 'darkroom/scene', input: { prompt: 'a pier' } };

    const accepted = await createByCurl(key, body);
    assert.deepEqual([accepted.code, typeof accepted.data?.taskId], [200, 'string']);

    const dialog = await choose(page, 'laptop', 'Revoke');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual([(await createByCurl(key, body)).code], [401]);
    await opened.close();
  });

  it('offers at most the scopes of the session’s key, and shows why the service rejects a key', async () => {
    const account = await darkroom.createAccount();
    const expiresAt = new Date(Date.now() + 3 * 86_400_000);
    const own = await moreKey(account, {
      scopes: ['keys:manage', 'dashboard', 'tasks:read'],
      models: ['darkroom/canvas'],
      expiresAt,
      spendCaps: { dayMicroUsd: 1_000_000n },
    });
    const opened = await open(own.secret);
    const { page } = opened;
    await button(page, 'Create key').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('narrow');

    assert.ok(await page.getByRole('checkbox', { name: 'Create, cancel' }).isDisabled());
    assert.equal(await page.getByText('Your key does not have this scope.').count(), SCOPES.length - 3);
    await button(page.getByRole('dialog'), 'Create key').click();
    await page.getByText('Your key cannot use all models. Select at least one.').first().waitFor();
    await page.getByRole('combobox', { name: 'Models' }).click();
    assert.deepEqual(await page.getByRole('option').allTextContents(), ['darkroom/canvas']);
    await page.getByRole('option').click();
    await page.keyboard.press('Tab');
    await page.getByLabel('Expiration date').fill('2100-01-31');
    await page.getByText('Your own key expires before this date.').first().waitFor();
    await page.getByLabel('Expiration date').fill('');
    await page.getByRole('textbox', { name: 'Per day' }).fill('2');
    opened.expect(/403/);
    await button(page.getByRole('dialog'), 'Create key').click();
    await page.getByText('this key may spend 1 USD a day').waitFor();
    await expectNoViolations(page);
    await page.getByRole('textbox', { name: 'Per day' }).fill('1');
    await button(page.getByRole('dialog'), 'Create key').click();
    await takeKey(page);

    const made = (await listed(account)).find(({ name }) => name === 'narrow');
    assert.deepEqual([made?.scopes, made?.expiresAt], [['tasks:read'], Math.floor(expiresAt.getTime() / 1000)]);
    await opened.close();
  });

  it('rotates a key: the old one works for as long as selected', async () => {
    const account = await darkroom.createAccount();
    const old = await moreKey(account, { name: 'robot', scopes: ['billing:read'] });
    const opened = await open(account.client.key);
    const { page } = opened;
    const dialog = await choose(page, 'robot', 'Rotate');
    await expectNoViolations(page);
    await dialog.getByRole('radio', { name: 'in 1 hour' }).check();
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    const successor = await takeKey(page);

    await page.getByText('being replaced').waitFor();
    assert.deepEqual([await statusOf(old.secret, '/v1/account'), await statusOf(successor, '/v1/account')], [200, 200]);
    const rotated = (await listed(account)).find(({ id }) => id === old.id);
    const secondsLeft = (rotated?.expiresAt ?? 0) - Date.now() / 1000;
    assert.ok(secondsLeft > 0 && secondsLeft <= 3_600);
    await opened.close();
  });

  it('revokes a key once that is confirmed, and collapses it', async () => {
    const account = await darkroom.createAccount();
    const robot = await moreKey(account, { name: 'robot', scopes: ['billing:read'] });
    const opened = await open(account.client.key, 360);
    const { page } = opened;
    await choose(page, 'robot', 'Revoke');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focused(page, button(page, 'Actions for “robot”')).waitFor();
    assert.equal(await statusOf(robot.secret, '/v1/account'), 200);

    const dialog = await choose(page, 'robot', 'Revoke');
    await expectNoViolations(page);
    await dialog.getByRole('button', { name: 'Revoke key' }).click();

    await page.getByText('“robot” has been revoked.').waitFor();
    await button(page, 'Show 1 inactive key').click();
    await cardOf(page, 'robot').getByText('revoked', { exact: true }).first().waitFor();
    assert.equal(await button(page, 'Actions for “robot”').count(), 0);
    await waitFor('it is rejected', async () => (await statusOf(robot.secret, '/v1/account')) === 401);
    await expectNoViolations(page);
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(overhang <= 0, `${overhang} px stand over`);
    await opened.close();
  });

  it('warns that revoking the session’s own key signs out, and then it does', async () => {
    const account = await darkroom.createAccount();
    const opened = await open(account.client.key);
    const { page } = opened;
    opened.expect(/401/);
    const dialog = await choose(page, 'test', 'Revoke');
    await dialog.getByText('Revoking it signs you out').waitFor();
    await dialog.getByRole('button', { name: 'Revoke key and sign out' }).click();
    await page.getByRole('textbox', { name: 'API key' }).waitFor();
    await opened.close();
  });

  it('says what is missing to a key that cannot manage keys', async () => {
    const account = await darkroom.createAccount();
    const { secret } = await moreKey(account, { scopes: ['dashboard', 'tasks:read'] });
    const opened = await open(secret);
    const { page } = opened;
    await page.getByRole('heading', { name: 'Your key cannot manage keys' }).waitFor();
    assert.equal(await button(page, 'Create key').count(), 0);
    await expectNoViolations(page);
    await opened.close();
  });
});
