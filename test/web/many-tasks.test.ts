/**
 * A list of a hundred thousand tasks in a real browser: scrolled to its end and back, it shows the right rows in
 * their order, uses few elements and little memory, and reads each page once.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { fill } from '../bench/lists/rows.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

const TASKS = 100_000;
/** Contract §3: the page size limit. */
const PAGE_SIZE = 100;
/** More than fit on any screen, and far fewer than the list has. */
const MOST_ROWS = 100;
/** About 1 kB for each task that was read, and the page itself. */
const MOST_HEAP_BYTES = 200_000_000;
const GRID = '[role="grid"]';

/** Evaluated in the page: the existing rows. */
const ROWS = `[...document.querySelectorAll('[role="row"][data-task-id]')]`;

/** The existing rows: the index of each in the list, from 0, and its task. */
function rowsOn(page: Page): Promise<[number, string][]> {
  return page.evaluate<[number, string][]>(
    `${ROWS}.map((row) => [Number(row.getAttribute('aria-rowindex')) - 2, row.dataset.taskId])`,
  );
}

/** The heights of the screen at which no row is visible, below the header above the rows. */
function blanksOn(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(
    `Array.from({ length: Math.floor((innerHeight - 160) / 40) }, (_, index) => 120 + index * 40)
       .filter((y) => y > document.querySelector('[role="rowgroup"]').getBoundingClientRect().top)
       .filter((y) => !document.elementFromPoint(innerWidth / 2, y)?.closest('[role="row"][data-task-id]'))`,
  );
}

interface Scrolled {
  /** The maximum number of rows that existed at once. */
  readonly most: number;
  /** Tasks in the list so far. */
  readonly read: number;
}

/**
 * Scrolls to the end repeatedly for some hundred pages. It runs in the page, because a round trip for each step would
 * take longer than the step.
 */
function scrollDown(page: Page): Promise<Scrolled> {
  return page.evaluate<Scrolled>(`(async () => {
    const rows = () => ${ROWS};
    const read = () => Math.round(document.querySelector('[role="rowgroup"]').offsetHeight / rows()[0].offsetHeight);
    const goal = Math.min(${TASKS}, read() + ${TASKS / 10});
    const deadline = Date.now() + ${GIVE_UP_MS};
    let most = 0;
    while (read() < goal && Date.now() < deadline) {
      scrollTo(0, document.documentElement.scrollHeight);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      most = Math.max(most, rows().length);
    }
    return { most, read: read() };
  })()`);
}

describe('the list of an account with a hundred thousand tasks', () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  let browser: Browser;
  let opened: SignedInPage;
  before(async () => {
    // No worker processes the tasks: they stay as they are.
    darkroom = await startDarkroom({ workers: 0 });
    account = await darkroom.createAccount();
    await fill(darkroom.testDatabase.url, account.id, account.keyId, TASKS);
    // Their images do not exist as files: only the rows are tested.
    browser = await launchBrowser();
    opened = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    opened.expect(/\/media\//);
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  it('is scrolled to its end and back', async () => {
    const { page } = opened;
    const expected = (
      await darkroom.testDatabase.database.query<{ id: string }>(
        {
          name: 'all_tasks_in_order',
          text: 'SELECT id FROM tasks WHERE account_id = $1 ORDER BY created_at DESC, id DESC',
        },
        [account.id],
      )
    ).map(({ id }) => id);
    const pagesRead: string[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      const isPage = url.pathname === '/v1/tasks' && url.searchParams.get('size') === String(PAGE_SIZE);
      if (isPage && !url.searchParams.has('ids')) pagesRead.push(url.searchParams.get('cursor') ?? '');
    });
    const checkRows = async (what: string): Promise<void> => {
      await waitFor(
        () => `no blank row ${what}`,
        async () => (await blanksOn(page)).length === 0,
      );
      const rows = await rowsOn(page);
      assert.ok(rows.length > 5 && rows.length < MOST_ROWS, `${rows.length} rows ${what}`);
      for (const [index, taskId] of rows) assert.equal(taskId, expected[index], `the row ${index} ${what}`);
      const indexes = rows.map(([index]) => index);
      assert.deepEqual(
        indexes,
        indexes.toSorted((a, b) => a - b),
      );
    };

    await page.goto(`${darkroom.url}/tasks`);
    await page.locator(`${GRID} [data-task-id]`).first().waitFor();
    await page.getByRole('status').filter({ hasText: 'More than 10,000 tasks' }).waitFor();
    await page.locator(`${GRID}[aria-rowcount="-1"]`).waitFor();
    await checkRows('at the top');

    let most = 0;
    let index = 0;
    while (index < TASKS) {
      const seen = await scrollDown(page);
      most = Math.max(most, seen.most);
      assert.ok(seen.read > index, `no more than ${seen.read} tasks were read`);
      index = seen.read;
      await checkRows(`of ${index}`);
    }
    assert.ok(most < MOST_ROWS, `${most} rows at once`);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await waitFor('the last row', async () => (await rowsOn(page)).some(([row]) => row === TASKS - 1));
    await page.locator(`${GRID}[aria-rowcount="${TASKS + 1}"]`).waitFor();

    for (const share of [0.75, 0.5, 0.1, 0]) {
      await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${share})`);
      await checkRows(`at ${share} of the way`);
    }
    assert.equal((await rowsOn(page))[0]?.[0], 0);

    assert.equal(pagesRead.length, TASKS / PAGE_SIZE);
    assert.equal(new Set(pagesRead).size, pagesRead.length, 'a page was read twice');

    const protocol = await page.context().newCDPSession(page);
    await protocol.send('HeapProfiler.collectGarbage');
    const { usedSize } = await protocol.send('Runtime.getHeapUsage');
    assert.ok(usedSize < MOST_HEAP_BYTES, `${Math.round(usedSize / 1e6)} MB`);
    await opened.close();
  });
});
