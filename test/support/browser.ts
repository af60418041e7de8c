/**
 * A real Chromium for tests of the dashboard: it comes whole from the registry, with the codecs for films and sounds.
 */
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';
import type { Browser } from 'playwright-core';

/**
 * Starts one without a window. The caller closes it. The package's own arguments are left out: they are made for crawling,
 * and switch off the very rules of browsers that the tests are about.
 */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // Containers often run as root, which Chromium's sandbox refuses.
    args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
    headless: true,
  });
}
