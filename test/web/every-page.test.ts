/**
 * Every page of an account, with content, is as usable as `support/usable-page.ts` specifies; no third party receives
 * a request.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Route } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ACCOUNT_PAGES, routesOf, settled } from './support/every-page.ts';
import type { Shown } from './support/every-page.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';
import {
  ANY,
  WIDE_MICRO_USD,
  expectNavigable,
  expectSkipLink,
  expectStill,
  expectUsable,
  expectUsableWhenNarrow,
  linksOf,
} from './support/usable-page.ts';

describe('every page of an account', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  let key: string;
  let shown: Shown;
  before(async () => {
    darkroom = await startDarkroom();
    browser = await launchBrowser();
    const { id, client } = await darkroom.createAccount({ usd: WIDE_MICRO_USD });
    ({ key } = client);
    await client.send('POST', '/v1/account/webhook-key/rotate');
    const { body } = await client.create({
      model: 'darkroom/scene',
      input: { prompt: 'a pier' },
      storage: 'persistent',
    });
    shown = { taskId: body.data.taskId, accountId: id };
    await client.waitFor(shown.taskId, ({ status }) => status === 'success');
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  const open = (path: string): Promise<SignedInPage> => openSignedInPage(browser, { url: darkroom.url, key, path });

  it('is in the table of this test', async () => {
    const isLoggedOut = (route: string) => route === '/sign-in';
    assert.deepEqual(
      new Set((await routesOf('packages/dashboard/src/app.tsx')).filter((route) => !isLoggedOut(route))),
      new Set(ACCOUNT_PAGES.map(({ route }) => route).filter((route) => route !== undefined)),
    );
  });

  for (const { route, path } of ACCOUNT_PAGES) {
    // Proves C0-7.
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

  it('does not move while it loads, for users who prefer reduced motion', async () => {
    const { page, close } = await open('/models');
    await settled(page);
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const hold = async (route: Route): Promise<void> => {
      await held;
      await route.continue();
    };
    const navigation = page.getByRole('navigation', { name: 'Main' });
    await page.route('**/v1/account/keys*', hold);
    await page.route('**/usage-page*.js', hold);
    await navigation.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    const loader = page.locator('main .mantine-Loader-root:visible');
    await loader.waitFor();
    await expectStill(page);

    // Until the code of the next page is loaded, the previous one is hidden, and its loader with it.
    await navigation.getByRole('link', { name: 'Usage' }).click();
    await loader.waitFor();
    await expectStill(page);
    letGo();
    await settled(page);
    await close();
  });

  it('before signing in is walked by keyboard too', async () => {
    // A signed-in user is signed out first: errors on the page are recorded from its start then.
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
