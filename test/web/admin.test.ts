/**
 * The operator's pages in a browser, on the admin listener of a real Darkroom: the token and where it is not, accounts with
 * their money, limits and keys, and how the service stands.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { readAccount } from '../../src/accounts/accounts.ts';
import { findFreePort } from '../../src/embedded/ports.ts';
import { countUpstreamFailure, pauseUpstream } from '../../src/upstreams/states.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { expectNoViolations } from './support/signed-in-page.ts';

const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';
const WORKFLOWS = 'https://temporal.example.com';

let darkroom: Darkroom;
let browser: Browser;
let url: string;
before(async () => {
  const port = await findFreePort();
  url = `http://127.0.0.1:${port}`;
  const environment = { ADMIN_TOKEN, ADMIN_PORT: String(port), TEMPORAL_UI_URL: WORKFLOWS };
  darkroom = await startDarkroom({ workers: 0, environment });
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await darkroom?.stop();
});

/** What goes wrong beside what the test looks at fails it at the end. */
async function withPage(work: (page: Page) => Promise<void>, options: { expect?: RegExp } = {}): Promise<void> {
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1280, height: 900 } });
  const troubles: string[] = [];
  try {
    const page = await context.newPage();
    // A breach of the page's policy is told on the console too.
    page.on('console', (message) => {
      if (message.type() === 'error') troubles.push(message.text());
    });
    page.on('pageerror', (error) => troubles.push(error.message));
    page.on('request', (request) => {
      if (/^https?:/.test(request.url()) && new URL(request.url()).origin !== url) troubles.push(request.url());
    });
    await work(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(
    troubles.filter((trouble) => options.expect?.test(trouble) !== true),
    [],
  );
}

/** Loads the page anew, so that the token has to be typed again. */
async function signIn(page: Page, path = '/accounts'): Promise<void> {
  await page.goto(url + path);
  await page.getByRole('textbox', { name: 'Operator’s token' }).fill(ADMIN_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Measures both colour schemes, and goes on in the one it began with. */
async function expectAccessible(page: Page): Promise<void> {
  await expectNoViolations(page);
  await page.emulateMedia({ colorScheme: 'light' });
}

const account = (id: string) => readAccount(darkroom.testDatabase.database, id);

async function newTask({ client }: TestAccount): Promise<string> {
  const { status, body } = await client.create({ model: 'darkroom/scene', input: { prompt: 'a secret pier' } });
  assert.equal(status, 200, JSON.stringify(body));
  return body.data.taskId;
}

describe('signing in', () => {
  it('tells a wrong token, and keeps the right one nowhere but in memory', async () => {
    await withPage(
      async (page) => {
        await page.goto(`${url}/service`);
        await page.getByRole('textbox', { name: 'Operator’s token' }).fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByText('This is not the token of this installation.').waitFor();
        await expectAccessible(page);

        await page.getByRole('textbox', { name: 'Operator’s token' }).fill(ADMIN_TOKEN);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Service', level: 1 }).waitFor();
        const kept = await page.evaluate(
          'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])',
        );
        assert.ok(!String(kept).includes(ADMIN_TOKEN));
        assert.deepEqual(await page.context().cookies(), []);

        await page.reload();
        await page.getByRole('textbox', { name: 'Operator’s token' }).waitFor();
        assert.equal(await page.getByRole('textbox', { name: 'Operator’s token' }).inputValue(), '');
      },
      { expect: /401/ },
    );
  });

  it('out takes away whatever was shown', async () => {
    await withPage(async (page) => {
      await signIn(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor();
      assert.equal(await page.getByRole('navigation').count(), 0);
    });
  });
});

describe('accounts', () => {
  it('are made, found, and get a key that works', async () => {
    await withPage(async (page) => {
      await signIn(page);
      await page.getByRole('button', { name: 'New account' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Make the account' }).click();
      await page.getByText('A name, so that you know it again.').waitFor();
      await page.getByRole('textbox', { name: 'Name' }).fill('Harbour studio');
      await page.getByRole('textbox', { name: 'Balance to begin with' }).fill('12.5');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Make the account' }).click();
      await page.getByRole('heading', { name: 'Harbour studio', level: 1 }).waitFor();

      await page.getByRole('button', { name: 'Make a key' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('first program');
      await page.getByRole('button', { name: 'Make the key' }).click();
      const key = await page.getByRole('textbox', { name: 'Key' }).inputValue();
      await expectAccessible(page);
      const answer = await fetch(`${darkroom.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
      assert.equal(answer.status, 200);
      await page.keyboard.press('Escape');
      assert.ok(await page.getByRole('dialog').isVisible(), 'a key that nobody stored is not lost by a slip');
      await page.getByRole('checkbox', { name: /stored it/ }).check();
      await page.getByRole('button', { name: 'Done' }).click();

      await page.getByRole('button', { name: 'Actions for “first program”' }).click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke it' }).click();
      await page.getByText('“first program” is revoked.').waitFor();

      await page.getByRole('link', { name: 'All accounts' }).click();
      await page.getByRole('searchbox', { name: 'Find an account' }).fill('nobody has this name');
      await page.getByRole('heading', { name: 'No account matches' }).waitFor();
      await page.getByRole('searchbox', { name: 'Find an account' }).fill('HARBOUR');
      await page.getByRole('link', { name: 'Harbour studio' }).waitFor();
      await page.getByText('1 account shown').waitFor();
      await expectAccessible(page);
    });
  });

  it('get a payment once, although its answer was lost and it was sent again', async () => {
    const { id } = await darkroom.createAccount({ usd: 1_000_000n });
    await withPage(
      async (page) => {
        await signIn(page, `/accounts/${id}`);
        await page.getByRole('button', { name: 'Add money' }).click();
        await page.getByRole('textbox', { name: 'Amount' }).fill('0');
        await page.getByRole('button', { name: 'Book the payment' }).click();
        await page.getByText('An amount in dollars above 0').waitFor();
        await page.getByRole('textbox', { name: 'Amount' }).fill('2.5');

        // The service books it, and the answer does not arrive.
        await page.route('**/top-up', async (route) => {
          await route.fetch();
          await route.abort();
        });
        await page.getByRole('button', { name: 'Book the payment' }).click();
        await page.getByText('No answer came').waitFor();
        await expectAccessible(page);
        await page.unroute('**/top-up');
        await page.getByRole('button', { name: 'Book the payment' }).click();
        await page.getByText('it was booked once').first().waitFor();

        assert.equal((await account(id)).availableMicroUsd, 3_500_000n);
        await page.getByText('$3.50').first().waitFor();
      },
      { expect: /ERR_FAILED|400/ },
    );
  });

  it('are corrected with a reason, down too', async () => {
    const { id } = await darkroom.createAccount({ usd: 1_000_000n });
    await withPage(async (page) => {
      await signIn(page, `/accounts/${id}/ledger`);
      await page.getByRole('button', { name: 'Correct the balance' }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('−0.25');
      await page.getByRole('button', { name: 'Book the correction' }).click();
      await page.getByText('Say why').waitFor();
      await page.getByRole('textbox', { name: 'Reason' }).fill('charged twice');
      await page.getByRole('button', { name: 'Book the correction' }).click();
      await page.getByRole('cell', { name: 'Correction' }).waitFor();
      assert.equal((await account(id)).availableMicroUsd, 750_000n);
      await expectAccessible(page);
    });
  });

  it('are suspended after a question, and resumed', async () => {
    const { id } = await darkroom.createAccount();
    await withPage(async (page) => {
      await signIn(page, `/accounts/${id}/usage`);
      await page.getByRole('button', { name: 'Suspend' }).click();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      assert.equal((await account(id)).status, 'active');
      await page.getByRole('button', { name: 'Suspend' }).click();
      await page.getByRole('button', { name: 'Suspend it' }).click();
      await page.getByText('This account is suspended').waitFor();
      assert.equal((await account(id)).status, 'suspended');
      await expectAccessible(page);

      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('button', { name: 'Suspend' }).waitFor();
      assert.equal((await account(id)).status, 'active');
    });
  });

  it('have limits that are changed one by one', async () => {
    const { id } = await darkroom.createAccount();
    const { limits } = await account(id);
    await withPage(async (page) => {
      await signIn(page, `/accounts/${id}/limits`);
      const field = page.getByRole('textbox', { name: 'Tasks that run at once' });
      await field.fill('many');
      await page.getByText('A whole number, 0 or more').waitFor();
      await field.fill('1,234');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('0 of 1,234').waitFor();
      assert.deepEqual((await account(id)).limits, { ...limits, runningCap: 1_234 });
    });
  });
});

describe('the service', () => {
  it('is shown with its models, queues and upstreams, and leads to a task', async () => {
    const { database } = darkroom.testDatabase;
    await pauseUpstream(database, 'slow', 600_000);
    for (let place = 0; place < 5; place++) await countUpstreamFailure(database, 'broken');
    const owner = await darkroom.createAccount();
    const taskId = await newTask(owner);
    await withPage(async (page) => {
      await signIn(page, '/service');
      await page.getByText('1 failing, 1 paused.').waitFor();
      await page.getByRole('row', { name: /broken failing/ }).waitFor();
      await page.getByRole('row', { name: /test 1 of 100/ }).waitFor();
      await page.getByRole('button', { name: 'Show the models' }).click();
      await page.getByRole('cell', { name: 'darkroom/scene', exact: true }).waitFor();
      await expectAccessible(page);

      await page.getByRole('textbox', { name: 'Look a task up' }).fill('tk-svc-1');
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.getByText('This is not the id of a task').waitFor();
      await page.getByRole('textbox', { name: 'Look a task up' }).fill(taskId);
      await page.keyboard.press('Enter');
      await page.getByText('accepted').waitFor();
      assert.equal(
        await page.getByRole('link', { name: 'Show the workflow in Temporal' }).getAttribute('href'),
        `${WORKFLOWS}/namespaces/${darkroom.namespace}/workflows/${taskId}`,
      );
      assert.ok(!(await page.content()).includes('secret pier'), 'what its owner sent is not an operator’s to read');
      await expectAccessible(page);
      await page.getByRole('link', { name: owner.id }).click();
      await page.getByRole('heading', { name: 'test', level: 1 }).waitFor();
    });
  });

  it('fits on a small screen', async () => {
    const { id } = await darkroom.createAccount();
    await withPage(async (page) => {
      await page.setViewportSize({ width: 360, height: 740 });
      await signIn(page);
      for (const path of ['/accounts', `/accounts/${id}/limits`, `/accounts/${id}/ledger`, '/service']) {
        await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
        await page.locator('h1').waitFor();
        const beyond = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
        assert.ok(Number(beyond) <= 0, `${path}: ${String(beyond)} px beyond the screen`);
      }
    });
  });
});
