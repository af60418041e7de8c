/**
 * `npm run screenshots`: takes screenshots of every page of the dashboard, light, dark and narrow, for
 * `docs/screenshots`. The browser is real, and so is the installation: one of its own, in which an account first
 * creates some history.
 */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { Command, Option } from '@commander-js/extra-typings';
import { createDirectory } from '../../src/config/create-directory.ts';
import { launchBrowser } from '../../test/support/browser.ts';
import { startInstallation } from '../gallery/installation.ts';
import type { Installation } from '../gallery/installation.ts';
import { live } from './life.ts';
import {
  OPERATOR_SIGN_IN_PAGES,
  SIGN_IN_PAGES,
  accountPages,
  operatorPages,
  signInAsAccount,
  signInAsOperator,
} from './pages.ts';
import type { PhotographedPage } from './pages.ts';
import { startReceiver } from './receiver.ts';

interface Look {
  readonly name: string;
  readonly colorScheme: 'light' | 'dark';
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
}

const LOOKS: readonly Look[] = [
  { name: 'light', colorScheme: 'light', width: 1280, height: 900 },
  { name: 'dark', colorScheme: 'dark', width: 1280, height: 900 },
  { name: 'narrow', colorScheme: 'light', width: 375, height: 812 },
];

/** Of a screenshot, in CSS pixels. */
const MOST_HEIGHT = 2400;

const print = (line: string): boolean => process.stderr.write(`${line}\n`);

const options = new Command('npm run screenshots --')
  .description('Photographs every page of the dashboard, light, dark and narrow.')
  .option('--out <folder>', 'directory for the images', 'docs/screenshots')
  .option('--only <words...>', 'only pages whose name has this in it')
  .addOption(new Option('--format <format>', 'of the images').choices(['webp', 'png']).default('webp'))
  .parse()
  .opts();

const folder = path.resolve(options.out);
const receiver = await startReceiver();
const installation = await startInstallation(print, { EGRESS_ALLOW: new URL(receiver.url).origin });
const browser = await launchBrowser();
try {
  await photographAll(installation, browser);
} finally {
  await browser.close();
  await installation.stop();
  receiver.close();
}

async function photographAll(at: Installation, with_: Browser): Promise<void> {
  print('Creating sample tasks: this takes a minute or two.');
  const life = await live(at, receiver);
  if (options.only === undefined) await rm(folder, { recursive: true, force: true });
  await createDirectory(folder);
  const origin = new URL(at.url).origin;
  for (const look of LOOKS) {
    await inWindow(with_, look, async (page) => {
      await photograph(page, look, origin, SIGN_IN_PAGES);
      await signInAsAccount(page, origin, at.key);
      await photograph(page, look, origin, accountPages(life));
    });
    await inWindow(with_, look, async (page) => {
      await photograph(page, look, at.adminUrl, OPERATOR_SIGN_IN_PAGES);
      await signInAsOperator(page, at.adminUrl, at.adminToken);
      await photograph(page, look, at.adminUrl, operatorPages(life));
    });
  }
}

async function inWindow(opener: Browser, look: Look, use: (page: Page) => Promise<void>): Promise<void> {
  const { colorScheme, width, height } = look;
  const context = await opener.newContext({ colorScheme, viewport: { width, height }, reducedMotion: 'reduce' });
  try {
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

async function photograph(page: Page, look: Look, origin: string, pages: readonly PhotographedPage[]): Promise<void> {
  for (const { name, open } of pages) {
    if (options.only !== undefined && !options.only.some((part) => name.includes(part))) continue;
    await open(page, origin).catch(async (error: unknown) => {
      await page.screenshot({ path: path.join(folder, `${name}-failed.png`) });
      throw error;
    });
    const image = await drawn(page, look);
    const file = path.join(folder, `${name}-${look.name}.${options.format}`);
    await writeFile(
      file,
      await (options.format === 'png' ? image.png({ palette: true }) : image.webp({ quality: 82 })).toBuffer(),
    );
    print(file);
  }
}

/** The whole page down to a maximum height, in a window of that height. */
async function drawn(page: Page, { width, height }: Look): Promise<Sharp> {
  const whole = Number(await page.evaluate('document.documentElement.scrollHeight'));
  await page.setViewportSize({ width, height: Math.min(Math.max(whole, height), MOST_HEIGHT) });
  // Lazy content is loaded only when it becomes visible.
  await page.waitForFunction('[...document.images].every((image) => image.complete)');
  const image = sharp(await page.screenshot());
  await page.setViewportSize({ width, height });
  return image;
}
