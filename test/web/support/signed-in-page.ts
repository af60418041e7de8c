/**
 * A page as a user sees it, in a real browser: of the dashboard, signed in with a key, or of the guide. Any unexpected error fails the
 * test when the page is closed: errors on the console, violations of the page's policy, and requests to third
 * parties.
 */
import assert from 'node:assert/strict';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { DASHBOARD_HEADER } from '../../../src/http/middleware/session-cookie.ts';

interface PageOptions {
  /** The URL of the dashboard. */
  readonly url: string;
  /** With the scope `dashboard`. */
  readonly key: string;
  /** The path to open once signed in; default: `/`. */
  readonly path?: string;
  readonly colorScheme?: 'light' | 'dark';
  /** Of the window, in CSS pixels; default 1280. */
  readonly width?: number;
  /** Default 900. */
  readonly height?: number;
}

export interface SignedInPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** An error that the test itself causes: matching lines of the console are ignored. */
  expect(trouble: RegExp): void;
  /** @throws {assert.AssertionError} there were errors meanwhile. */
  close(): Promise<void>;
}

/**
 * Opens a page in a context of its own, with empty storage. The caller closes it. The session starts with the request
 * that the sign-in page sends, without that page: its tests are in sign-in.test.ts.
 */
export async function openSignedInPage(browser: Browser, options: PageOptions): Promise<SignedInPage> {
  const { url, key, path = '/' } = options;
  const { origin } = new URL(url);
  const { signedIn, waitForSignedIn } = await openPage(browser, origin, options);
  const session = await signedIn.context.request.post(`${url}/session`, {
    headers: { Origin: origin, [DASHBOARD_HEADER]: '1' },
    data: { key },
  });
  assert.equal(session.status(), 200, await session.text());
  await signedIn.page.goto(url + path);
  await waitForSignedIn();
  return signedIn;
}

/** The same with a link that signs in. @param link still valid: it is used up. */
export async function openPageByLink(browser: Browser, link: string): Promise<SignedInPage> {
  const { signedIn, waitForSignedIn } = await openPage(browser, new URL(link).origin, {});
  await signedIn.page.goto(link);
  await waitForSignedIn();
  return signedIn;
}

/** A page that needs no sign-in. */
export async function openPublicPage(browser: Browser, options: Omit<PageOptions, 'key'>): Promise<SignedInPage> {
  const { url, path = '/' } = options;
  const { signedIn } = await openPage(browser, new URL(url).origin, options);
  await signedIn.page.goto(url + path);
  return signedIn;
}

async function openPage(
  browser: Browser,
  origin: string,
  { colorScheme = 'light', width = 1280, height = 900 }: Partial<PageOptions>,
): Promise<{ readonly signedIn: SignedInPage; readonly waitForSignedIn: () => Promise<void> }> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    // Colours are measured, and animations need not be awaited.
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const expected: RegExp[] = [];
  const troubles: string[] = [];
  await reportTroubles(page, origin, (trouble) => troubles.push(trouble));
  const signedIn: SignedInPage = {
    page,
    context,
    expect: (trouble) => expected.push(trouble),
    async close() {
      await context.close();
      const unexpected = troubles.filter((trouble) => !expected.some((each) => each.test(trouble)));
      assert.deepEqual(unexpected, [], 'nothing else went wrong on the page');
    },
  };
  const waitForSignedIn = async (): Promise<void> => {
    await page.locator('#content').waitFor();
    // Before that there was no session, which the browser logs as errors too.
    troubles.length = 0;
  };
  return { signedIn, waitForSignedIn };
}

async function reportTroubles(page: Page, origin: string, report: (trouble: string) => void): Promise<void> {
  page.on('console', (message) => {
    if (message.type() === 'error') report(`console: ${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => report(`thrown: ${error.message}`));
  page.on('request', (request) => {
    const { origin: asked, protocol } = new URL(request.url());
    if (/^https?:$/.test(protocol) && asked !== origin) report(`foreign request: ${request.url()}`);
  });
  await page.exposeFunction('reportBreach', (breach: string) => report(`policy: ${breach}`));
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      window.reportBreach(violatedDirective + ' ' + blockedURI));`,
  });
}

/** Waits until the new colours are drawn, and transitions to them have ended. */
const COLOURS_SETTLED = `(async () => {
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await drawn();
  const ending = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(ending.map(({ finished }) => finished));
  await drawn();
})()`;

/** The document while it is in a colour scheme, as the dashboard marks it. */
const schemeOfDashboard = (colorScheme: 'light' | 'dark'): string => `html[data-mantine-color-scheme="${colorScheme}"]`;

/**
 * Measures the page in its current state with axe, in both colour schemes. @throws {assert.AssertionError} the
 * violations.
 */
export async function expectNoViolations(page: Page, documentIn = schemeOfDashboard): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(documentIn(colorScheme)).waitFor({ state: 'attached' });
    await page.evaluate(COLOURS_SETTLED);
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    const found = violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html.slice(0, 300)}\n  ${failureSummary ?? ''}`),
    );
    assert.deepEqual(found, [], `axe finds nothing in ${colorScheme} colours at ${page.url()}`);
  }
}
