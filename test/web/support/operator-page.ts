/**
 * The operator's pages as an operator uses them: a real browser on the admin listener of a real Darkroom, and the
 * token typed. Any other error on the page fails the test.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { reservePort } from '../../support/reserve-port.ts';
import { launchBrowser } from '../../support/browser.ts';
import { startDarkroom } from '../../support/darkroom.ts';
import type { Darkroom } from '../../support/darkroom.ts';
import { writeModelFiles } from '../../support/model-files.ts';
import { expectNoViolations } from './signed-in-page.ts';

export const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';
/** The configured address of Temporal's Web UI. */
export const WORKFLOWS = 'https://temporal.example.com';

export interface OperatorPages {
  readonly darkroom: Darkroom;
  /** Of the admin listener. */
  readonly url: string;
  /** Where the operator's model files are. */
  readonly modelsDir: string;
  /** @param options.expect lines of the console that are no errors. */
  withPage(work: (page: Page) => Promise<void>, options?: { readonly expect?: RegExp }): Promise<void>;
  /** Reloads the page, so that the token has to be typed again. @param path default: the accounts. */
  signIn(page: Page, path?: string): Promise<void>;
  stop(): Promise<void>;
}

/** One of its models uses an upstream `capped`, which accepts three jobs at once. No worker processes tasks. */
export async function startOperatorPages(): Promise<OperatorPages> {
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  // It is never called: the models are only shown.
  const modelsDir = await writeModelFiles('http://127.0.0.1:9', {
    capped: [{ protocol: 'openai', id: 'capped', concurrency: 3 }],
  });
  const environment = {
    ADMIN_TOKEN,
    ADMIN_PORT: String(port),
    TEMPORAL_UI_URL: WORKFLOWS,
    MODELS_DIR: modelsDir,
    UPSTREAM_TEST_KEY: 'for-tests',
    // Its keys are made up, and nobody is asked about them.
    UPSTREAM_RUNWAY_URL: 'http://127.0.0.1:9/v1',
  };
  const darkroom = await startDarkroom({ workers: 0, environment });
  const browser = await launchBrowser();
  return {
    darkroom,
    url,
    modelsDir,
    withPage: (work, { expect } = {}) => withPage(browser, new URL(url).origin, work, expect),
    async signIn(page, path = '/accounts') {
      await page.goto(url + path);
      if ((await page.evaluate('sessionStorage.length')) !== 0) {
        await page.evaluate('sessionStorage.clear()');
        await page.reload();
      }
      await page.getByRole('textbox', { name: 'Operator token' }).fill(ADMIN_TOKEN);
      await page.keyboard.press('Enter');
      await page.locator('#content').waitFor();
    },
    async stop() {
      await browser.close();
      await darkroom.stop();
      await rm(modelsDir, { recursive: true });
    },
  };
}

async function withPage(
  browser: Browser,
  origin: string,
  work: (page: Page) => Promise<void>,
  expect: RegExp | undefined,
): Promise<void> {
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1280, height: 900 } });
  const troubles: string[] = [];
  try {
    const page = await context.newPage();
    // A violation of the page's policy is logged on the console too.
    page.on('console', (message) => {
      if (message.type() === 'error') troubles.push(message.text());
    });
    page.on('pageerror', (error) => troubles.push(error.message));
    page.on('request', (request) => {
      if (/^https?:/.test(request.url()) && new URL(request.url()).origin !== origin) troubles.push(request.url());
    });
    await work(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(
    troubles.filter((trouble) => expect?.test(trouble) !== true),
    [],
  );
}

/** Measures both colour schemes, and returns to the initial one. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoViolations(page);
  await page.emulateMedia({ colorScheme: 'light' });
}
