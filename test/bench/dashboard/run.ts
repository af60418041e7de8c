/**
 * `npm run bench -- dashboard`: how long until the dashboard can be used, in a real Chromium on this machine: from
 * the navigation until the first control that a user acts on is drawn and the page is free to react to a press. With
 * an empty browser cache and as a returning visitor; signed out and signed in. And how much script is sent for it.
 *
 * Exits with 0 even if something is slow: the bench reports numbers, and they are not failures.
 */
import { loadavg } from 'node:os';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { Command } from '@commander-js/extra-typings';
import { launchBrowser } from '../../support/browser.ts';
import { startInstallation } from '../../../scripts/gallery/installation.ts';
import type { Installation } from '../../../scripts/gallery/installation.ts';
import { median } from '../measures.ts';
import { count } from '../../support/number-options.ts';

/** What was promised, on loopback. */
const PROMISED_MS = 1000;
const PROMISED_BYTES = 250 * 1024;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- dashboard')
  .description('Measures how long until the dashboard can be used.')
  .option('--times <number>', 'how often each page is opened', count, 15)
  .parse()
  .opts();

interface Opened {
  readonly name: string;
  readonly path: string;
  readonly isSignedIn: boolean;
  /** CSS selector of the first control that a user acts on. */
  readonly acts: string;
}

const PAGES: readonly Opened[] = [
  { name: 'sign in', path: '/sign-in', isSignedIn: false, acts: 'main input, form input' },
  { name: 'start', path: '/', isSignedIn: true, acts: 'main button, main a' },
  { name: 'models', path: '/models', isSignedIn: true, acts: 'main a[href^="/playground"]' },
  { name: 'tasks', path: '/tasks', isSignedIn: true, acts: 'main input' },
];

/** Records when a control is there and drawn, and the page has nothing else to do. */
const watchFor = (selector: string): string => `(() => {
  window.usableAt = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    };
    requestAnimationFrame(look);
  });
})()`;

const installation = await startInstallation(print);
const browser = await launchBrowser();
try {
  await measure(installation, browser);
} finally {
  await browser.close();
  await installation.stop();
}

async function measure({ url, key }: Installation, opener: Browser): Promise<void> {
  const { origin } = new URL(url);
  const session = await signIn(opener, origin, key);
  print(`load of the machine ${loadavg()[0]?.toFixed(1)}; promised: ${PROMISED_MS} ms, ${PROMISED_BYTES / 1024} kB`);
  for (const page of PAGES) {
    const cold: number[] = [];
    const warm: number[] = [];
    let bytes = 0;
    for (let time = 0; time < options.times; time += 1) {
      const context = await opener.newContext(page.isSignedIn ? { storageState: session } : {});
      await context.addInitScript({ content: watchFor(page.acts) });
      const tab = await context.newPage();
      const first = await openOnce(tab, origin + page.path);
      cold.push(first.ms);
      bytes = first.scriptBytes;
      warm.push((await openOnce(tab, origin + page.path)).ms);
      await context.close();
    }
    print(
      `${page.name.padEnd(8)} first visit ${formatTimes(cold)}; again ${formatTimes(warm)}; script ${(bytes / 1024).toFixed(0)} kB`,
    );
  }
}

async function signIn(opener: Browser, origin: string, key: string): ReturnType<BrowserContext['storageState']> {
  const context = await opener.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** @returns milliseconds since the navigation began, and the bytes of script as they were sent, without cached ones. */
async function openOnce(page: Page, address: string): Promise<{ readonly ms: number; readonly scriptBytes: number }> {
  await page.goto(address);
  const ms = await page.evaluate<number>('window.usableAt');
  const scriptBytes = await page.evaluate<number>(
    `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize, transferSize }) => sum + (transferSize === 0 ? 0 : encodedBodySize), 0)`,
  );
  return { ms, scriptBytes };
}

function formatTimes(all: readonly number[]): string {
  const worst = all.toSorted((left, right) => left - right)[Math.ceil(all.length * 0.95) - 1] ?? 0;
  const middle = median(all);
  return `${middle.toFixed(0)} ms (${(middle / PROMISED_MS).toFixed(2)} of the promise), p95 ${worst.toFixed(0)} ms`;
}
