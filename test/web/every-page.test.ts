/**
 * Every page of the dashboard, with something on it: reached and walked by keyboard alone, measured by axe in both colour
 * schemes, and within the window from a small telephone to a 4K screen. Nothing is asked of anybody else, and nothing moves
 * for who does not want it to.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { GIVE_UP_MS, until } from '../support/until.ts';
import { ACCOUNT_PAGES, OPERATOR_PAGES, routesOf, settled } from './support/every-page.ts';
import type { Shown } from './support/every-page.ts';
import { expectEscapable, expectReachableByKeyboard } from './support/keyboard-walk.ts';
import { startOperatorPages } from './support/operator-page.ts';
import type { OperatorPages } from './support/operator-page.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

/** CSS pixels: the smallest telephone, a tablet, a notebook, 4K. */
const WIDTHS = [360, 768, 1280, 3840];

/** As an address in the name of a test. */
const ANY: Shown = { taskId: ':taskId', accountId: ':accountId' };

/**
 * What can be acted on and is not within the window, although one sees it: beyond its left or right edge, unless it stands
 * in something that scrolls by itself; and what of the head lies over something else of it, over the page or its name.
 */
const MISPLACED = `(() => {
  const isSeen = (each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && each.closest('[inert], .skip-link') === null;
  const scrolls = (each) => each !== null && each !== document.documentElement
    && (['auto', 'scroll'].includes(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
  const name = (each) => each.outerHTML.slice(0, 160);
  const found = [];
  for (const each of document.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    const { left, right, width } = each.getBoundingClientRect();
    if (width > 1 && isSeen(each) && (left < 0 || right > innerWidth) && !scrolls(each.parentElement)) found.push('outside: ' + name(each));
  }
  const overlaps = (one, other) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    return a.width > 0 && b.width > 0 && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  };
  const parts = [...document.querySelectorAll('header a, header button')].filter(isSeen);
  parts.forEach((one, place) => parts.slice(place + 1).forEach((other) => {
    if (!one.contains(other) && overlaps(one, other)) found.push('overlaps: ' + name(one) + ' ' + name(other));
  }));
  const title = document.querySelector('h1');
  const around = [...document.querySelectorAll('header, nav')].filter((each) => isSeen(each) && each.closest('main') === null);
  for (const each of around) if (title !== null && overlaps(each, title)) found.push('covers the title: ' + name(each));
  return found;
})()`;

/** The page as it is now, at every width. */
async function expectWithinTheWindow(page: Page): Promise<void> {
  await page.evaluate('window.scrollTo(0, 0)');
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await until(`nothing of ${page.url()} sticks out of ${width} pixels`, async () => {
      const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      return beyond === 0;
    });
    let misplaced: readonly string[] = [];
    await until(
      () => `everything of ${page.url()} is in its place at ${width} pixels: ${misplaced.join('\n')}`,
      async () => (misplaced = await page.evaluate<readonly string[]>(MISPLACED)).length === 0,
    );
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** What moves, for somebody who asked that nothing does. */
async function expectStill(page: Page): Promise<void> {
  const moving = await page.evaluate(
    'document.getAnimations().map(({ effect }) => effect.target.outerHTML.slice(0, 160) + effect.pseudoElement)',
  );
  assert.deepEqual(moving, [], `nothing moves on ${page.url()}`);
}

async function expectUsable(page: Page): Promise<void> {
  await settled(page);
  await expectReachableByKeyboard(page);
  await expectEscapable(page);
  await expectStill(page);
  await expectNoViolations(page);
  await expectWithinTheWindow(page);
}

/** The same in a narrow window, where the pages' names are behind a button. */
async function expectUsableWhenNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.evaluate('window.scrollTo(0, 0)');
  await expectReachableByKeyboard(page);
  const opener = page.getByRole('button', { name: 'Open the pages' });
  await opener.press('Enter');
  await opener.and(page.locator('[aria-expanded="true"]')).waitFor();
  await page.keyboard.press('Tab');
  await expectNoViolations(page);
  const last = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /Usage|Service/ });
  await last.press('Enter');
  await opener.and(page.locator('[aria-expanded="false"]')).waitFor();
  await page.getByRole('heading', { level: 1, name: /Usage|Service/ }).waitFor();
  await page.locator('main:focus').waitFor();
}

/** The first stop of the keyboard leads past the pages' names. */
async function expectSkipLink(page: Page): Promise<void> {
  await page.keyboard.press('Tab');
  await page.getByRole('link', { name: 'Skip to the content' }).and(page.locator(':focus')).press('Enter');
  await page.keyboard.press('Tab');
  await page.locator('main :focus').waitFor();
}

/** Every page that is named in the navigation is opened from there, and says that it is another one. */
async function expectNavigable(page: Page, links: readonly string[]): Promise<void> {
  const titles = new Set<string>();
  const navigation = page.getByRole('navigation', { name: 'Pages' });
  for (const link of links) {
    await navigation.getByRole('link', { name: link, exact: true }).press('Enter');
    await navigation.locator('a[aria-current="page"]').getByText(link, { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('main:focus').waitFor();
    titles.add(await page.title());
  }
  assert.equal(titles.size, links.length, 'each has a title of its own');
}

const linksOf = (pages: readonly { readonly link?: string }[]): readonly string[] =>
  pages.map(({ link }) => link).filter((link) => link !== undefined);

describe('every page of an account', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  let key: string;
  let shown: Shown;
  before(async () => {
    darkroom = await startDarkroom();
    browser = await launchBrowser();
    const { id, client } = await darkroom.createAccount();
    ({ key } = client);
    await client.send('POST', '/v1/account/webhook-key/rotate');
    const { body } = await client.create({
      model: 'darkroom/scene',
      input: { prompt: 'a pier' },
      storage: 'persistent',
    });
    shown = { taskId: body.data.taskId, accountId: id };
    await client.until(shown.taskId, ({ status }) => status === 'success');
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  async function open(path: string): Promise<SignedInPage> {
    const opened = await openSignedInPage(browser, { url: darkroom.url, key, path });
    opened.page.setDefaultTimeout(GIVE_UP_MS);
    return opened;
  }

  it('is in the table of this test', async () => {
    const isLoggedOut = (route: string) => route === '/sign-in';
    assert.deepEqual(
      new Set((await routesOf('web/src/app.tsx')).filter((route) => !isLoggedOut(route))),
      new Set(ACCOUNT_PAGES.map(({ route }) => route).filter((route) => route !== undefined)),
    );
  });

  for (const { route, path } of ACCOUNT_PAGES) {
    it(`${path(ANY)} is walked by keyboard, fits, and has a title`, async () => {
      const { page, expect, close } = await open(path(shown));
      if (route === undefined) expect(/status of 404/);
      await expectUsable(page);
      assert.match(await page.title(), / · Darkroom$/);
      await expectUsableWhenNarrow(page);
      await close();
    });
  }

  it('is reached from the navigation, by keyboard alone', async () => {
    const { page, close } = await open('/');
    await expectNavigable(page, linksOf(ACCOUNT_PAGES));
    await page.goto(`${darkroom.url}/models`);
    await settled(page);
    await expectSkipLink(page);
    await close();
  });

  it('has menus and choices that are as accessible as the page, while they are open', async () => {
    const { page, close } = await open('/keys');
    for (const opener of [/^Account$/, /^Actions for/]) {
      await page.getByRole('button', { name: opener }).first().press('Enter');
      await page.locator('[role="menuitem"]:focus').waitFor();
      await expectNoViolations(page);
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'detached' });
    }
    for (const path of ['/tasks', '/storage', '/webhooks', '/playground']) {
      await page.goto(darkroom.url + path);
      await settled(page);
      const choice = page.getByRole('main').locator('input[aria-haspopup="listbox"]:visible').first();
      await choice.press('ArrowDown');
      await page.getByRole('listbox').waitFor();
      await expectNoViolations(page);
      await page.keyboard.press('Escape');
      await page.getByRole('listbox').waitFor({ state: 'detached' });
    }
    await close();
  });

  it('is still while it loads, for who wants it still', async () => {
    const { page, close } = await open('/keys');
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route('**/v1/models*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Models' }).click();
    await page.locator('main .mantine-Loader-root').waitFor();
    await expectStill(page);
    letGo();
    await settled(page);
    await close();
  });

  it('before signing in is walked by keyboard too', async () => {
    // Whoever is signed in is signed out first: troubles of the page are looked at from its beginning then.
    const { page, context, expect, close } = await open('/keys');
    expect(/status of 401/);
    await context.clearCookies();
    await page.goto(`${darkroom.url}/sign-in`);
    await page.getByRole('textbox', { name: 'API key' }).and(page.locator(':focus')).waitFor();
    assert.equal(await page.title(), 'Sign in to Darkroom');
    await expectUsable(page);
    await close();
  });
});

describe('every page of an operator', () => {
  let pages: OperatorPages;
  let shown: Shown;
  before(async () => {
    pages = await startOperatorPages();
    const { id, client } = await pages.darkroom.createAccount();
    const { body } = await client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    shown = { taskId: body.data.taskId, accountId: id };
  });
  after(() => pages?.stop());

  it('is in the table of this test', async () => {
    assert.deepEqual(
      new Set(await routesOf('web/src/pages/admin/admin-app.tsx')),
      new Set(OPERATOR_PAGES.map(({ route }) => route).filter((route) => route !== undefined)),
    );
  });

  for (const { route, path } of OPERATOR_PAGES) {
    it(`${path(ANY)} is walked by keyboard, fits, and has a title`, async () => {
      const walk = async (page: Page): Promise<void> => {
        page.setDefaultTimeout(GIVE_UP_MS);
        await pages.signIn(page, path(shown));
        await expectUsable(page);
        assert.match(await page.title(), / · Operator · Darkroom$/);
        await expectUsableWhenNarrow(page);
      };
      await pages.withPage(walk, route === undefined ? { expect: /status of 404/ } : {});
    });
  }

  it('is reached from the navigation, by keyboard alone', async () => {
    await pages.withPage(async (page) => {
      page.setDefaultTimeout(GIVE_UP_MS);
      await pages.signIn(page, '/service');
      await settled(page);
      await expectNavigable(page, linksOf(OPERATOR_PAGES));
    });
  });

  it('before the token is typed is walked by keyboard too', async () => {
    await pages.withPage(async (page) => {
      page.setDefaultTimeout(GIVE_UP_MS);
      await page.goto(`${pages.url}/service`);
      await page.getByRole('textbox', { name: 'Operator’s token' }).and(page.locator(':focus')).waitFor();
      await expectUsable(page);
    });
  });
});
