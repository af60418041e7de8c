/** The guide in a browser: its search works with files of the api alone, and every kind of page is accessible. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { waitFor } from '@darkroom/testing/wait-for';
import { serveApp } from '../http/serve.ts';
import type { ServedApp } from '../http/serve.ts';
import { launchBrowser } from '../support/browser.ts';
import { expectNoViolations, openPublicPage } from './support/signed-in-page.ts';
import type { SignedInPage } from './support/signed-in-page.ts';

/** The generator marks the document where it is dark. */
const schemeOfGuide = (colorScheme: 'light' | 'dark'): string =>
  colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)';
const NARROW = 375;

let served: ServedApp;
let browser: Browser;
before(async () => {
  served = await serveApp();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await served?.close();
});

const open = (path: string, width?: number): Promise<SignedInPage> =>
  openPublicPage(browser, { url: served.url, path: `/guide/${path}`, ...(width === undefined ? {} : { width }) });

async function search(page: Page, words: string): Promise<void> {
  await page.getByRole('button', { name: 'Search', exact: true }).first().click();
  await page.getByRole('combobox').fill(words);
  await page.getByRole('option').first().waitFor();
}

describe('the search of the guide', () => {
  it('finds a word of a page, marks it, and opens the page at its place', async () => {
    const { page, close } = await open('');
    await search(page, 'redelivered');
    await expectNoViolations(page, schemeOfGuide);
    await page.getByRole('option', { name: 'Callbacks > When a receiver fails' }).click();
    await page.waitForURL(/\/guide\/guides\/callbacks#when-a-receiver-fails$/);
    await page.getByRole('heading', { level: 2, name: /^When a receiver fails/ }).waitFor();
    await close();
  });

  it('reports when it finds nothing', async () => {
    const { page, close } = await open('contract');
    await page.getByRole('button', { name: 'Search', exact: true }).first().click();
    await page.getByRole('combobox').fill('xyzzyplugh');
    await page.getByText(/No results for/).waitFor();
    await expectNoViolations(page, schemeOfGuide);
    await close();
  });
});

/** Opens the menu of a narrow window, and closes it again. */
async function expectMenu(page: Page): Promise<void> {
  const button = page.locator('.VPNavBarHamburger');
  await button.click();
  await page.getByRole('link', { name: 'API reference' }).waitFor();
  await expectNoViolations(page, schemeOfGuide);
  await button.click();
}

describe('a page of the guide', () => {
  for (const path of ['', 'guides/first-task', 'reference/limits', 'dashboard', 'operations/runbook']) {
    it(`has no violations: /guide/${path}`, async () => {
      for (const width of [1280, NARROW]) {
        const { page, close } = await open(path, width);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await expectNoViolations(page, schemeOfGuide);
        const beyond = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        assert.equal(beyond, 0, `${path} fits ${width} pixels`);
        if (width === NARROW) await expectMenu(page);
        await close();
      }
    });
  }

  it('leads to the next without reloading, and to the reference and the dashboard', async () => {
    const { page, close } = await open('guides/first-task');
    await page.evaluate('window.isKept = true');
    await page.getByRole('navigation', { name: 'Pager' }).getByRole('link').last().click();
    await page.waitForURL(/\/guide\/guides\/callbacks$/);
    await waitFor('the page is shown', async () =>
      (await page.getByRole('heading', { level: 1 }).innerText()).startsWith('Callbacks'),
    );
    assert.equal(await page.evaluate('window.isKept'), true);
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.waitForURL(`${served.url}/docs`);
    await close();
  });

  it('works at the address without a slash at the end', async () => {
    const { page, close } = await openPublicPage(browser, { url: served.url, path: '/guide' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await search(page, 'outbox');
    await close();
  });

  it('stays dark for a user who chose dark', async () => {
    const { page, close } = await open('');
    await page.getByRole('switch').first().click();
    await page.locator('html.dark').waitFor({ state: 'attached' });
    await page.goto(`${served.url}/guide/contract`);
    await page.locator('html.dark').waitFor({ state: 'attached' });
    await close();
  });

  it('that does not exist says so, and leads back', async () => {
    const { page, expect, close } = await open('no/such/page');
    expect(/status of 404/);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await expectNoViolations(page, schemeOfGuide);
    await page.getByRole('main').getByRole('link').first().click();
    await page.waitForURL(`${served.url}/guide/`);
    await close();
  });
});
