/** The page of webhooks as its tests use it: opened, its parts found, a test delivery sent. */
import type { Browser, Locator, Page } from 'playwright-core';
import { openSignedInPage } from './signed-in-page.ts';
import type { SignedInPage } from './signed-in-page.ts';

/** Signs in, goes there, and gets permission to read the clipboard. */
export async function openWebhooks(browser: Browser, url: string, key: string, width = 1280): Promise<SignedInPage> {
  const opened = await openSignedInPage(browser, { url, key, path: '/webhooks', width });
  await opened.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await opened.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  return opened;
}

export const button = (within: Page | Locator, name: string): Locator =>
  within.getByRole('button', { name, exact: true });

/** @param name its heading. */
export const part = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

/** The element, if it has the focus. */
export const focused = (page: Page, what: Locator): Locator => what.and(page.locator(':focus'));

export const clipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

/** Sends a test delivery with the keyboard alone. @returns what the page shows about it. */
export async function sendTest(page: Page, url: string): Promise<string> {
  await page.getByRole('textbox', { name: 'Endpoint URL' }).fill(url);
  const answered = page.waitForResponse((response) => response.url().endsWith('/webhook-key/test'));
  await button(page, 'Send test delivery').press('Enter');
  await answered;
  const outcome = await part(page, 'Test delivery').getByRole('alert').innerText();
  await focused(page, button(page, 'Send test delivery')).waitFor();
  return outcome;
}
