/**
 * A real Chromium for tests of the dashboard: the registry provides it completely, with the codecs for video and
 * audio.
 */
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';

interface BrowserOptions {
  /**
   * A server's key whose certificate is accepted although its authority is unknown here: the SHA-256 of its public key
   * (SPKI, DER) in base64.
   */
  readonly trustedKey?: string;
}

/**
 * Starts a headless browser. The caller closes it. The package's own arguments are left out: they are made for
 * crawling, and switch off the very rules of browsers that the tests are about. Waits in it time out like `until`:
 * Playwright's own 30 s would be a promise about time.
 */
export async function launchBrowser({ trustedKey }: BrowserOptions = {}): Promise<Browser> {
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    // Containers often run as root, which Chromium's sandbox does not allow.
    args: [
      '--no-sandbox',
      '--autoplay-policy=no-user-gesture-required',
      ...(trustedKey === undefined ? [] : [`--ignore-certificate-errors-spki-list=${trustedKey}`]),
    ],
    headless: true,
  });
  browser.on('context', (context) => context.setDefaultTimeout(GIVE_UP_MS));
  return browser;
}
