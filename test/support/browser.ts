/**
 * A real Chromium for tests of the dashboard: the registry provides it completely, with the codecs for video and
 * audio.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium as playwright } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import { withFileLock } from '../../src/standalone/file-lock.ts';
import { cacheDirectory } from '../deploy/go-programs.ts';

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
    executablePath: await obtainChromium(),
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

/**
 * The executable, extracted once for each version. The package itself extracts into the directory for temporary files,
 * where it takes any file of that name for complete: one that another process is still writing, or never finished.
 */
async function obtainChromium(): Promise<string> {
  const { version } = JSON.parse(
    await readFile(packageFile('node_modules/@sparticuz/chromium/package.json'), 'utf8'),
  ) as {
    readonly version: string;
  };
  const directory = path.join(cacheDirectory(), `chromium-${version}`);
  const extract = async (): Promise<void> => {
    if (existsSync(directory)) return;
    const unfinished = await mkdtemp(`${directory}-`);
    try {
      await promisify(execFile)(process.execPath, [packageFile('test/support/extract-chromium.mjs')], {
        env: { ...process.env, TMPDIR: unfinished },
      });
      await rename(unfinished, directory);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  };
  if (!existsSync(directory)) {
    await mkdir(cacheDirectory(), { recursive: true });
    await withFileLock(`${directory}.lock`, extract, () => {});
  }
  return path.join(directory, 'chromium');
}
