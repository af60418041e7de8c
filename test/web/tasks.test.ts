/** The tasks of an account in a real browser: found, watched, cancelled, erased, and their callbacks redelivered. */
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

/** More than fit on a screen. */
const MANY = 30;
const UNKNOWN = 'tk-svc-00000000000000000000000000';

describe('the tasks of the dashboard', () => {
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

  async function open(account: TestAccount, path: string, width?: number): Promise<SignedInPage> {
    const { url } = outside.darkroom;
    return openSignedInPage(browser, {
      url,
      key: account.client.key,
      path,
      ...(width === undefined ? {} : { width }),
    });
  }
  const create = (account: TestAccount, prompt: string, more: Readonly<Record<string, unknown>> = {}) =>
    outside.create(account, { model: 'test/tasks', input: { prompt }, ...more });
  const rows = (page: Page) => page.locator('[role="row"][data-task-id]');
  const rowOf = (page: Page, taskId: string) => page.locator(`[role="row"][data-task-id="${taskId}"]`);
  const idsOn = (page: Page): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('[role="row"][data-task-id]')]
         .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.dataset.taskId)`,
    );

  it('are listed newest first, and opened by the keyboard', async () => {
    const account = await outside.darkroom.createAccount();
    const older = await create(account, 'a boat');
    await account.client.waitForTerminal(older);
    const newer = await create(account, 'a boat [fail]');
    await account.client.waitForTerminal(newer);
    const opened = await open(account, '/tasks');
    const { page } = opened;

    await rowOf(page, newer).getByText('fail', { exact: true }).waitFor();
    assert.deepEqual(await idsOn(page), [newer, older]);
    await rowOf(page, older).locator('img').waitFor();
    await expectNoViolations(page);

    await rowOf(page, newer).focus();
    await page.keyboard.press('ArrowDown');
    await page.locator(`[data-task-id="${older}"]:focus`).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'test/tasks' }).waitFor();
    assert.ok(page.url().endsWith(`/tasks/${older}`), page.url());
    await page.getByRole('region', { name: 'Outputs' }).locator('img').waitFor();
    await page.getByRole('region', { name: 'The input as JSON' }).getByText('a boat').waitFor();
    await page.getByRole('region', { name: 'Timeline' }).getByText('Completed', { exact: true }).waitFor();
    await expectNoViolations(page);

    await page.goBack();
    await page.locator(`[data-task-id="${older}"][tabindex="0"]`).waitFor();
    await opened.close();
  });

  it('are cards where there is little room', async () => {
    const account = await outside.darkroom.createAccount();
    const taskId = await create(account, 'a boat', { metadata: { order: '7' } });
    await account.client.waitForTerminal(taskId);
    const opened = await open(account, '/tasks', 375);
    const { page } = opened;

    await rowOf(page, taskId).getByText('order=7').waitFor();
    await expectNoViolations(page);
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(overhang <= 0, `${overhang} px stand over`);
    await opened.close();
  });

  it('are found by metadata, status and id, and the URL keeps the filter', async () => {
    const account = await outside.darkroom.createAccount({ runningCap: 0 });
    const wanted = await create(account, 'one', { metadata: { order: '1' } });
    await create(account, 'two', { metadata: { order: '2' } });
    const opened = await open(account, '/tasks');
    const { page } = opened;
    const search = page.getByRole('searchbox');
    await rows(page).nth(1).waitFor();

    await search.fill('order=1');
    await search.press('Enter');
    await page.getByText('1 task matches').waitFor();
    assert.deepEqual(await idsOn(page), [wanted]);
    assert.equal(new URL(page.url()).search, '?metadata.order=1');
    await page.reload();
    await page.getByText('1 task matches').waitFor();
    assert.deepEqual(await idsOn(page), [wanted]);

    await page.getByRole('button', { name: 'Remove the filter order' }).click();
    await page.getByText('2 tasks', { exact: true }).waitFor();
    await page.goto(`${outside.darkroom.url}/tasks?status=fail,success&model=test/tasks`);
    await page.getByText('No tasks match').waitFor();
    await expectNoViolations(page);
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await rows(page).nth(1).waitFor();

    await search.fill('neither');
    await search.press('Enter');
    await page.getByText('Enter a task ID (tk-svc-…)').waitFor();
    await search.fill(` ${wanted.toLowerCase()} `);
    await search.press('Enter');
    await page.getByText(wanted, { exact: true }).waitFor();
    await opened.close();
  });

  it('appear by themselves at the top, and are offered where one reads further down', async () => {
    const account = await outside.darkroom.createAccount({ runningCap: 0 });
    const opened = await open(account, '/tasks');
    const { page } = opened;
    await page.getByText('No tasks yet').waitFor();
    await expectNoViolations(page);

    for (let number = 0; number < MANY; number++) await create(account, `number ${number}`);
    await page.getByText(`${MANY} tasks`, { exact: true }).waitFor();
    await waitFor('the rows have moved', async () => {
      // Repeated, if there were too few rows yet to scroll that far.
      await page.evaluate('scrollTo(0, 600)');
      return (await page.evaluate<number>('scrollY')) === 600;
    });
    const latest = await create(account, 'the latest');

    const button = page.getByRole('button', { name: '1 new task' });
    await button.waitFor();
    assert.equal(await page.evaluate<number>('scrollY'), 600);
    assert.equal(await rowOf(page, latest).count(), 0);
    await button.click();
    await rowOf(page, latest).waitFor();
    assert.equal((await idsOn(page))[0], latest);
    await opened.close();
  });

  it('are watched while they run', async () => {
    const account = await outside.darkroom.createAccount();
    // No worker processes it before the page watches it.
    const [worker] = outside.darkroom.workers;
    await worker?.kill('SIGTERM');
    const taskId = await create(account, 'a boat [hold]');
    const opened = await open(account, `/tasks/${taskId}`);
    const { page } = opened;
    await page.getByRole('region', { name: 'Timeline' }).getByText('Created', { exact: true }).waitFor();

    await worker?.start();

    await page.getByText('Task status: handling').waitFor({ state: 'attached' });
    await outside.provider.release('a boat');
    await page.getByText('Task status: success').waitFor({ state: 'attached' });
    await page.getByRole('region', { name: 'Outputs' }).locator('img').waitFor();
    const timeline = page.getByRole('region', { name: 'Timeline' });
    for (const event of ['Created', 'Started', 'Submitted to a provider', 'Archived', 'Completed']) {
      await timeline.getByText(event, { exact: true }).waitFor();
    }
    await opened.close();
  });

  it('show their last events even if their end is known before the stream has brought them', async () => {
    const account = await outside.darkroom.createAccount();
    const taskId = await create(account, 'a train [hold]');
    const opened = await open(account, '/tasks');
    const { page } = opened;
    const first = { seq: 1, at: Math.floor(Date.now() / 1_000), type: 'accepted', detail: {} };
    await page.route(`**/v1/tasks/${taskId}/events*`, async (route, request) => {
      const isStream = request.headers()['accept'] === 'text/event-stream';
      if (!isStream) return route.continue();
      const body = `id: 1\nevent: accepted\ndata: ${JSON.stringify(first)}\n\n`;
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    await rowOf(page, taskId).focus();
    await page.keyboard.press('Enter');
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('Created', { exact: true }).waitFor();

    await outside.provider.release('a train');

    await page.getByText('Task status: success').waitFor({ state: 'attached' });
    for (const event of ['Archived', 'Completed']) await timeline.getByText(event, { exact: true }).waitFor();
    await opened.close();
  });

  it('are cancelled once that is confirmed', async () => {
    const account = await outside.darkroom.createAccount({ runningCap: 0 });
    const taskId = await create(account, 'a boat');
    const opened = await open(account, `/tasks/${taskId}`);
    const { page } = opened;
    const cancel = page.getByRole('button', { name: 'Cancel task' });

    await cancel.click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' });
    await dialog.waitFor();
    await expectNoViolations(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await account.client.get(taskId)).body.data.status, 'queued');
    await cancel.click();
    await dialog.getByRole('button', { name: 'Cancel task' }).click();

    await page.getByRole('alert').getByText('The task was cancelled').waitFor();
    assert.equal(await page.getByText('would fail again').count(), 0);
    assert.equal((await account.client.get(taskId)).body.data.status, 'fail');
    await expectNoViolations(page);
    await opened.close();
  });

  it('are erased once that is confirmed', async () => {
    const account = await outside.darkroom.createAccount();
    const taskId = await create(account, 'a secret boat');
    await account.client.waitForTerminal(taskId);
    const opened = await open(account, `/tasks/${taskId}`);
    const { page } = opened;

    await page.getByText('a secret boat').waitFor();
    await page.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('button', { name: 'Erase permanently' }).click();

    await page.getByText('The input was erased.').waitFor();
    await page.getByText('None of the outputs are stored anymore.').waitFor();
    assert.equal(await page.getByText('a secret boat').count(), 0);
    assert.deepEqual((await account.client.get(taskId)).body.data.output, []);
    await opened.close();
  });

  it('show each attempt of their callback, and deliver it once more', async () => {
    const account = await outside.darkroom.createAccount();
    const taskId = await create(account, 'a boat', { callback: { url: `${outside.receiver.url}/ok` } });
    await account.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
    const opened = await open(account, `/tasks/${taskId}`);
    const { page } = opened;
    const attempts = page.getByRole('table', { name: 'Callback attempts' });

    await attempts.getByText('HTTP 204').waitFor();
    await expectNoViolations(page);
    await page.getByRole('button', { name: 'Redeliver' }).click();

    await attempts.getByText('HTTP 204').nth(1).waitFor();
    assert.equal((await outside.callbacksOf(taskId)).length, 2);
    await opened.close();
  });

  it('say so if there is none, or if the key cannot read them', async () => {
    const account = await outside.darkroom.createAccount();
    const opened = await open(account, `/tasks/${UNKNOWN}`);
    opened.expect(/404/);
    await opened.page.getByText('Task not found').waitFor();
    await expectNoViolations(opened.page);
    await opened.close();

    const { body } = await account.client.send('POST', '/v1/account/keys', { name: 'narrow', scopes: ['dashboard'] });
    const narrow = (body.data as unknown as { readonly key: string }).key;
    const closed = await openSignedInPage(browser, { url: outside.darkroom.url, key: narrow, path: '/tasks' });
    await closed.page.getByText('Your key cannot read tasks').waitFor();
    await expectNoViolations(closed.page);
    await closed.close();
  });
});
