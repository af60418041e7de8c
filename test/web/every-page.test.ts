/**
 * Every page of the dashboard, with something on it: reached and walked by keyboard alone, measured by axe in both colour
 * schemes, and within the window from a small telephone to a 4K screen. Nothing is asked of anybody else.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { packageFile } from '../../src/config/package-root.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { GIVE_UP_MS, until } from '../support/until.ts';
import { expectReachableByKeyboard } from './support/keyboard-walk.ts';
import { expectAccessible, startOperatorPages } from './support/operator-page.ts';
import type { OperatorPages } from './support/operator-page.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';

/** CSS pixels: the smallest telephone, a tablet, 4K. */
const WIDTHS = [360, 768, 3840];

/** What leads there in the navigation, the route of `web/src/app.tsx`, and an address of it. */
interface VisitedPage {
  readonly route: string;
  readonly path: (made: { readonly taskId: string; readonly accountId: string }) => string;
  /** In the navigation. */
  readonly link?: string;
}

const ACCOUNT_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/', link: 'Start' },
  { route: '/models', path: () => '/models', link: 'Models' },
  { route: '/models/*', path: () => '/models/darkroom/scene' },
  { route: '/playground', path: () => '/playground', link: 'Playground' },
  { route: '/playground/*', path: () => '/playground/darkroom/canvas' },
  { route: '/playground/*', path: () => '/playground/darkroom/conformance-text' },
  { route: '/tasks', path: () => '/tasks', link: 'Tasks' },
  { route: '/tasks/:taskId', path: ({ taskId }) => `/tasks/${taskId}` },
  { route: '/storage', path: () => '/storage', link: 'Storage' },
  { route: '/keys', path: () => '/keys', link: 'Keys' },
  { route: '/webhooks', path: () => '/webhooks', link: 'Webhooks' },
  { route: '/usage', path: () => '/usage', link: 'Usage' },
];

const OPERATOR_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/' },
  { route: '/accounts', path: () => '/accounts', link: 'Accounts' },
  ...['', '/limits', '/books', '/usage'].map((part) => ({
    route: '/accounts/:accountId/:part?',
    path: ({ accountId }: { readonly accountId: string }) => `/accounts/${accountId}${part}`,
  })),
  { route: '/service', path: () => '/service', link: 'Service' },
  { route: '/service/tasks/:taskId', path: ({ taskId }) => `/service/tasks/${taskId}` },
];

/** The routes that a file of the dashboard has. */
async function routesOf(file: string): Promise<readonly string[]> {
  const source = await readFile(packageFile(file), 'utf8');
  return [...source.matchAll(/<Route path="([^"]+)"/g)].map(([, route = '']) => route);
}

/** The page as it is now, at every width. */
async function expectWithinTheWindow(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await until(`nothing of ${page.url()} sticks out of ${width} pixels`, async () => {
      const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      return beyond === 0;
    });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** What is loaded by and by is there. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  const loading = page.locator('main .mantine-Loader-root');
  await until('everything is loaded', async () => (await loading.count()) === 0);
}

describe('every page of an account', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  let account: TestAccount;
  let taskId: string;
  before(async () => {
    darkroom = await startDarkroom();
    browser = await launchBrowser();
    account = await darkroom.createAccount();
    await account.client.send('POST', '/v1/account/webhook-key/rotate');
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    ({ taskId } = body.data);
    await account.client.until(taskId, ({ status }) => status === 'success');
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  it('is in the table of this test', async () => {
    const isLoggedOut = (route: string) => route === '/sign-in';
    assert.deepEqual(
      new Set((await routesOf('web/src/app.tsx')).filter((route) => !isLoggedOut(route))),
      new Set(ACCOUNT_PAGES.map(({ route }) => route)),
    );
  });

  for (const { route, path } of ACCOUNT_PAGES) {
    it(`${path({ taskId: ':taskId', accountId: '' })} is walked by keyboard, and fits`, async () => {
      const opened = await openSignedInPage(browser, {
        url: darkroom.url,
        key: account.client.key,
        path: path({ taskId, accountId: account.id }),
      });
      const { page } = opened;
      page.setDefaultTimeout(GIVE_UP_MS);
      await settled(page);
      await expectReachableByKeyboard(page);
      await expectNoViolations(page);
      await expectWithinTheWindow(page);
      assert.notEqual(await page.title(), 'Darkroom', `${route} has a title of its own`);
      await opened.close();
    });
  }

  it('is reached from the navigation, by keyboard alone', async () => {
    const opened = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    const { page } = opened;
    const titles = new Set<string>();
    for (const { link } of ACCOUNT_PAGES) {
      if (link === undefined) continue;
      const place = page.getByRole('navigation').getByRole('link', { name: link, exact: true });
      await place.press('Enter');
      await page.locator(`nav a[aria-current="page"]`).getByText(link, { exact: true }).waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
      titles.add(await page.title());
    }
    assert.equal(titles.size, ACCOUNT_PAGES.filter(({ link }) => link !== undefined).length);
    await page.goto(`${darkroom.url}/models`);
    await settled(page);
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Skip to the content' }).and(page.locator(':focus')).press('Enter');
    await page.keyboard.press('Tab');
    await page.locator('main :focus').waitFor();
    await opened.close();
  });

  it('before signing in is walked by keyboard too', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    const page = await context.newPage();
    await page.goto(`${darkroom.url}/sign-in`);
    await page.getByRole('textbox', { name: 'API key' }).waitFor();
    await expectReachableByKeyboard(page);
    await expectNoViolations(page);
    await expectWithinTheWindow(page);
    await context.close();
  });
});

describe('every page of an operator', () => {
  let pages: OperatorPages;
  let account: TestAccount;
  let taskId: string;
  before(async () => {
    pages = await startOperatorPages();
    account = await pages.darkroom.createAccount();
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    ({ taskId } = body.data);
  });
  after(() => pages?.stop());

  it('is in the table of this test', async () => {
    assert.deepEqual(
      new Set(await routesOf('web/src/pages/admin/admin-app.tsx')),
      new Set(OPERATOR_PAGES.map(({ route }) => route)),
    );
  });

  for (const { path } of OPERATOR_PAGES) {
    it(`${path({ taskId: ':taskId', accountId: ':accountId' })} is walked by keyboard, and fits`, async () => {
      await pages.withPage(async (page) => {
        page.setDefaultTimeout(GIVE_UP_MS);
        await pages.signIn(page, path({ taskId, accountId: account.id }));
        await settled(page);
        await expectReachableByKeyboard(page);
        await expectAccessible(page);
        await expectWithinTheWindow(page);
      });
    });
  }
});
