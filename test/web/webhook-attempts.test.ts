/**
 * What the webhooks page shows about deliveries, in a real browser: every attempt and its outcome, failing receivers,
 * and what a key may not see.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Scope } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { reservePort } from '../support/reserve-port.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { expectNoViolations } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';
import { button, focused, openWebhooks, part, sendTest } from './support/webhooks-page.ts';

const OVER_AND_DONE = ['delivered', 'exhausted', 'stopped'];
/** Three attempts each: one more than a page has. */
const FAILING_TASKS = 7;

describe('deliveries on the page of webhooks', () => {
  let outside: DarkroomWithUpstreams;
  let browser: Browser;
  let closedPort: number;
  before(async () => {
    closedPort = await reservePort();
    outside = await startDarkroomWithUpstreams({}, [`http://127.0.0.1:${closedPort}`]);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await outside?.stop();
  });

  const open = (key: string, width?: number): Promise<SignedInPage> =>
    openWebhooks(browser, outside.darkroom.url, key, width);

  /** Delivers the callback of a task. @returns its id, once that has ended. */
  async function callBack(account: TestAccount, url: string): Promise<string> {
    const taskId = await outside.create(account, {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      callback: { url },
    });
    await account.client.waitFor(taskId, ({ callback }) => OVER_AND_DONE.includes(callback?.state ?? ''));
    return taskId;
  }

  it('lists every attempt with its outcome, and reports a failing endpoint until a delivery succeeds', async () => {
    const account = await outside.darkroom.createAccount();
    const { url } = outside.receiver;
    const delivered = await callBack(account, `${url}/ok/listed`);
    const lost = await callBack(account, `http://127.0.0.1:${closedPort}/`);
    const rejected = await callBack(account, `${url}/status/503/listed`);
    const opened = await open(account.client.key, 360);
    const { page } = opened;
    const attempts = part(page, 'Deliveries');
    const rowsOf = (taskId: string): Locator => attempts.getByRole('row').filter({ hasText: taskId });
    await attempts.getByText('7 attempts shown').waitFor();

    assert.match(await rowsOf(delivered).innerText(), /\/ok\/listed.*HTTP 204.*delivered/s);
    assert.equal(await rowsOf(rejected).filter({ hasText: 'HTTP 503' }).filter({ hasText: 'failed' }).count(), 3);
    assert.equal(await rowsOf(lost).filter({ hasText: 'unreachable' }).count(), 3);
    const failing = page.getByRole('status').filter({ hasText: 'Deliveries are failing' });
    await failing
      .getByText(`${url} is not accepting deliveries, and 1 callback has run out of attempts. Last response: HTTP 503.`)
      .waitFor();
    await failing.getByText('Last response: unreachable.').waitFor();
    await expectNoViolations(page);
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(overhang <= 0, `${overhang} px stand over`);

    await button(failing, `Show attempts at ${url}`).press('Enter');
    await attempts.getByText('4 attempts shown').waitFor();
    await page.locator(':focus').filter({ has: attempts }).waitFor();
    assert.equal(await rowsOf(lost).count(), 0);
    await page.getByRole('combobox', { name: 'Status' }).press('Enter');
    await page.getByRole('option', { name: 'delivered' }).click();
    await attempts.getByText('1 attempt shown').waitFor();
    await page.getByRole('combobox', { name: 'Status' }).press('Enter');
    await page.getByRole('option', { name: 'stopped by the endpoint' }).click();
    await page.getByRole('heading', { name: 'No attempts match' }).waitFor();

    await sendTest(page, `${url}/ok/fixed`);
    await failing.getByText(`${url} is not accepting deliveries`).waitFor({ state: 'detached' });
    await failing.getByText(`http://127.0.0.1:${closedPort} is not accepting deliveries`).waitFor();
    await opened.close();
  });

  it('loads older attempts by pages, and keeps the focus', async () => {
    const account = await outside.darkroom.createAccount();
    const address = `${outside.receiver.url}/status/500/many`;
    await Promise.all(Array.from({ length: FAILING_TASKS }, () => callBack(account, address)));
    const opened = await open(account.client.key);
    const { page } = opened;
    const attempts = part(page, 'Deliveries');
    await attempts.getByText('20 attempts shown').waitFor();

    await button(attempts, 'Show older attempts').press('Enter');

    const shown = attempts.getByText('21 attempts shown');
    await focused(page, shown).waitFor();
    assert.equal(await button(attempts, 'Show older attempts').count(), 0);
    await callBack(account, `${outside.receiver.url}/ok/later`);
    await button(attempts, 'Refresh').press('Enter');
    await attempts.getByText('22 attempts shown').waitFor();
    await focused(page, button(attempts, 'Refresh')).waitFor();
    await expectNoViolations(page);
    await opened.close();
  });

  it('says what is missing to a key without all scopes', async () => {
    const account = await outside.darkroom.createAccount();
    await callBack(account, `${outside.receiver.url}/status/500/scopes`);
    const withScopes = async (scopes: readonly Scope[]): Promise<SignedInPage> => {
      const { secret } = await createKey(outside.darkroom.testDatabase.database, account.id, { name: 'less', scopes });
      return open(secret);
    };
    const few = await withScopes(['dashboard']);
    await few.page.getByRole('heading', { name: 'Your key cannot manage the signing secret' }).waitFor();
    await few.page.getByText('webhooks:manage').waitFor();
    await few.page.getByRole('heading', { name: 'Your key cannot read deliveries' }).waitFor();
    await few.page.getByText('scope billing:read').waitFor();
    assert.equal(
      (await button(few.page, 'Send test delivery').count()) + (await button(few.page, 'Create secret').count()),
      0,
    );
    await part(few.page, 'Verify deliveries').getByRole('tab', { name: 'Go' }).waitFor();
    await expectNoViolations(few.page);
    await few.close();

    const most = await withScopes(SCOPES.filter((scope) => scope !== 'tasks:read'));
    await most.page.getByText('Deliveries are failing').waitFor();
    assert.equal(await button(most.page, `Show attempts at ${outside.receiver.url}`).count(), 0);
    await expectNoViolations(most.page);
    await most.close();
  });
});
