/**
 * The usage page in a real browser, over a ledger of months: its figures are the API's, its URL contains the filters,
 * the ledger is read to its end, and the saved file contains all of it, to the millionth.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Static } from 'typebox';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { adjust } from '../../src/billing/ledger.ts';
import type { AccountSchema } from '@darkroom/api/tasks/account';
import type { WireLedger } from '@darkroom/api/tasks/ledger';
import type { UsageSchema } from '@darkroom/api/tasks/usage';
import { formatUsd } from '@darkroom/dashboard/money';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { dayBefore, noonBefore, paidRequest, writeLedger } from './support/past-ledger.ts';
import { parseCsv } from './support/csv-file.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

const FORMULA = '=HYPERLINK("http://example.test","pay, now")\r\nhere';
/** The texts of amounts that wrap onto more than one line. */
const BROKEN_AMOUNTS = `[...document.querySelectorAll('td')].filter((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return /^[−+]?[$]/.test(cell.textContent) && text.getClientRects().length !== 1;
}).map((cell) => cell.textContent)`;
const CUT_CHOICES = `[...document.querySelectorAll('[role=radiogroup] label')]
  .filter((label) => label.scrollWidth > label.clientWidth).map((label) => label.textContent)`;
const EVER = '/usage?when=always';

describe('the usage of the dashboard', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  let account: TestAccount;
  before(async () => {
    darkroom = await startDarkroom({ workers: 0 });
    browser = await launchBrowser();
    account = await darkroom.createAccount({ usd: 0n, runningCap: 10, queueCap: 10 });
    await bookMonths();
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  /**
   * 60 requests on as many days, a key that is nearly used up, an adjustment with a malicious text, and a queued
   * task.
   */
  async function bookMonths(): Promise<void> {
    const { database } = darkroom.testDatabase;
    const shop = await createKey(database, account.id, {
      name: 'web shop',
      scopes: SCOPES,
      spendCaps: { totalMicroUsd: 50_000_000n },
    });
    const days = Array.from({ length: 60 }, (_, index) => 60 - index);
    await writeLedger(database, account, [
      { kind: 'topup', reference: 'invoice 17', microUsd: 1_234_567_890n, at: noonBefore(70) },
      ...days.flatMap((day) => {
        const by = {
          model: `darkroom/${['song', 'clip', 'scene'][day % 3]}`,
          keyId: day % 2 ? shop.id : account.keyId,
        };
        return paidRequest(
          `tk-svc-${String(day).padStart(26, '0')}`,
          noonBefore(day),
          by,
          3_000_001n,
          1_100_000n + BigInt(day),
        );
      }),
    ]);
    await adjust(database, account.id, -12_345_678n, FORMULA);
    await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lighthouse' } });
  }

  const open = (path: string, key = account.client.key, width = 1280): Promise<SignedInPage> =>
    openSignedInPage(browser, { url: darkroom.url, key, path, width });

  async function answerOf<Answer>(path: string): Promise<Answer> {
    return (await account.client.send('GET', path)).body.data as unknown as Answer;
  }

  /** All entries that were ever recorded, newest first. */
  async function allEntries(): Promise<WireLedger['entries']> {
    const entries: WireLedger['entries'] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: WireLedger = await answerOf<WireLedger>(`/v1/account/ledger?size=100${query}`);
      entries.push(...page.entries);
      cursor = page.nextCursor;
    }
    return entries;
  }

  const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
  const rowsOf = (page: Page, table: string): Locator => page.getByRole('table', { name: table }).locator('tbody tr');
  const cells = async (rows: Locator): Promise<readonly (readonly string[])[]> =>
    Promise.all((await rows.all()).map((row) => row.locator('th, td').allInnerTexts()));
  const entriesOf = (page: Page): Locator => rowsOf(page, 'Ledger entries');
  const isRowCount = (rows: Locator, count: number): Promise<unknown> =>
    waitFor(`${count} rows`, async () => (await rows.count()) === count);

  /** Saves the ledger with the button. @returns the cells of the file, including the header. */
  async function saved(page: Page): Promise<readonly (readonly string[])[]> {
    const download = page.waitForEvent('download');
    await button(page, 'Export CSV').click();
    const file = await (await download).path();
    const text = await readFile(file, 'utf8');
    assert.equal(text[0], '\uFEFF', 'a spreadsheet knows its letters');
    return parseCsv(text.slice(1));
  }

  it('shows what the API returns: balance, limits, caps of keys, and spending drawn and as tables', async () => {
    const { page, close } = await open('/usage');
    const { available, held, balance } = await answerOf<Static<typeof AccountSchema>>('/v1/account');
    const days = `from=${dayBefore(29)}&to=${dayBefore(0)}`;
    const usage = await answerOf<Static<typeof UsageSchema>>(`/v1/account/usage?${days}&groupBy=model`);

    const money = page.getByRole('region', { name: 'Balance' });
    for (const amount of [available, held, balance])
      await money.getByText(formatUsd(amount), { exact: true }).waitFor();
    assert.notEqual(held, '0');
    await page.getByRole('heading', { name: 'API key spend caps' }).waitFor();
    await page.getByText('web shop', { exact: true }).waitFor();

    await page.locator('.recharts-bar-rectangle').first().waitFor();
    const sums = await cells(rowsOf(page, 'Spending by model'));
    assert.deepEqual(
      new Map(sums.slice(0, -1).map(([name, count, , spent]) => [name, [count, spent]])),
      new Map(usage.rows.map(({ model, count, captured }) => [model, [String(count), formatUsd(captured)]])),
    );
    assert.equal(sums.at(-1)?.at(-1), formatUsd(usage.total.captured));
    await button(page, 'Show daily table').press('Enter');
    await isRowCount(rowsOf(page, 'Spending by day'), 30);
    await expectNoViolations(page);
    await close();
  });

  it('keeps the period and the filters in the URL', async () => {
    const { page, close } = await open('/usage');
    await page.getByText('7 days', { exact: true }).click();
    await page.getByLabel('Kind').selectOption('hold');
    // A request on each of the six days before today, and the task of today.
    await isRowCount(entriesOf(page), 7);

    await page.reload();

    assert.equal(new URL(page.url()).search, '?days=7&kind=hold');
    assert.equal(await page.getByRole('radio', { name: '7 days' }).isChecked(), true);
    await isRowCount(entriesOf(page), 7);
    await button(page, 'Clear filters').click();
    await page.goto(`${darkroom.url}/usage?from=${dayBefore(11)}&to=${dayBefore(10)}`);
    assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), dayBefore(11));
    await isRowCount(entriesOf(page), 6);
    await close();
  });

  it('reads the ledger to its end by the keyboard, each entry with the balance after it', async () => {
    const { page, close } = await open(EVER);
    const all = await allEntries();
    await isRowCount(entriesOf(page), 50);
    const more = button(page, 'Show older entries');
    await more.focus();

    for (let shown = 50; shown < all.length; shown = Math.min(shown + 50, all.length)) {
      await more.and(page.locator(':focus')).press('Enter');
      await isRowCount(entriesOf(page), Math.min(shown + 50, all.length));
    }

    await page.getByText(`${all.length} entries in total`).and(page.locator(':focus')).waitFor();
    const shown = await cells(entriesOf(page));
    assert.deepEqual(
      shown.map((row) => row.slice(-2)),
      all.map((entry) => [formatUsd(entry.available), formatUsd(entry.balance)]),
    );
    await close();
  });

  it('exports all entries, exactly, and none of them as a formula', async () => {
    const { page, close } = await open(EVER);
    await entriesOf(page).first().waitFor();
    const all = await allEntries();

    const [head = [], ...lines] = await saved(page);

    const column = (name: string): readonly string[] => lines.map((line) => line[head.indexOf(name)] ?? '');
    assert.deepEqual(
      column('amount'),
      all.map(({ amount }) => amount),
    );
    const sum = column('balance_change').reduce((micros, amount) => micros + microsOf(amount), 0n);
    const { balance } = await answerOf<Static<typeof AccountSchema>>('/v1/account');
    assert.equal(sum, microsOf(balance), 'it sums to the balance');
    assert.ok(column('reference').includes(`'${FORMULA}`));
    assert.deepEqual(
      lines.flat().filter((cell) => /^[=+\-@\t\r\n]/.test(cell) && !/^-\d+(\.\d+)?$/.test(cell)),
      [],
    );
    await page.getByLabel('Kind').selectOption('topup');
    await isRowCount(entriesOf(page), 1);
    assert.equal((await saved(page)).length, 2);
    await close();
  });

  it('continues an export after a failure of the service, and says when one was stopped', async () => {
    const opened = await open(EVER);
    const { page } = opened;
    opened.expect(/503/);
    await entriesOf(page).first().waitFor();
    let failures = 0;
    await page.route(/ledger\?.*cursor=/, async (route) => {
      if (failures++ > 0) return route.continue();
      return route.fulfill({ status: 503, json: { code: 503, msg: 'not now', errorCode: 'UNAVAILABLE' } });
    });

    const file = await saved(page);

    assert.equal(file.length - 1, (await allEntries()).length);
    assert.ok(failures > 1);
    await page.unroute(/ledger\?.*cursor=/);
    await page.route(/ledger\?.*cursor=/, (route) =>
      route.fulfill({ status: 503, json: { code: 503, msg: 'not now', errorCode: 'UNAVAILABLE' } }),
    );
    await button(page, 'Export CSV').press('Enter');
    await page.getByText(/^Darkroom is not responding\. Retrying/).waitFor();
    await button(page, 'Stop').press('Enter');
    await page.getByText('Stopped. No file was saved.').waitFor();
    await opened.close();
  });

  it('reports a failure to load older entries beside them, and loads them when retried', async () => {
    const opened = await open(EVER);
    const { page } = opened;
    opened.expect(/403/);
    await isRowCount(entriesOf(page), 50);
    await page.route(/ledger\?.*cursor=/, (route) =>
      route.fulfill({ status: 403, json: { code: 403, msg: 'not for you', errorCode: 'FORBIDDEN' } }),
    );
    await button(page, 'Show older entries').press('Enter');
    await page.getByRole('alert').getByText('not for you').waitFor();
    assert.equal(await entriesOf(page).count(), 50);
    await page.unroute(/ledger\?.*cursor=/);

    await button(page, 'Show older entries').and(page.locator(':focus')).press('Enter');

    await isRowCount(entriesOf(page), 100);
    assert.equal(await page.getByRole('alert').count(), 0);
    await opened.close();
  });

  it('fits a narrow window, with every amount unbroken', async () => {
    const { page, close } = await open(EVER, account.client.key, 375);
    await entriesOf(page).first().waitFor();
    await page.locator('.recharts-bar-rectangle').first().waitFor();

    assert.equal(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);
    assert.deepEqual(await page.evaluate(BROKEN_AMOUNTS), []);
    assert.deepEqual(await page.evaluate(CUT_CHOICES), []);
    await expectNoViolations(page);
    await close();
  });

  it('says what is missing: any usage, or the scope to read it', async () => {
    const fresh = await darkroom.createAccount({ usd: 0n });
    const empty = await open('/usage', fresh.client.key);
    await empty.page.getByText('No spending in this period').waitFor();
    await empty.page.getByText('No key has a spend cap.').waitFor();
    assert.equal(await button(empty.page, 'Export CSV').isDisabled(), true);
    await expectNoViolations(empty.page);
    await empty.close();

    const { secret } = await createKey(darkroom.testDatabase.database, fresh.id, {
      name: 'sees nothing',
      scopes: ['dashboard', 'tasks:read'],
    });
    const barred = await open('/usage', secret);
    await barred.page.getByText('billing:read').first().waitFor();
    assert.equal(await barred.page.getByRole('heading', { name: 'Ledger', exact: true }).count(), 0);
    await expectNoViolations(barred.page);
    await barred.close();
  });
});

/** Millionths of a dollar. @param amount decimal, possibly negative. */
function microsOf(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(6, '0'));
}
