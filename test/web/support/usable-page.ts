/**
 * What every page of the dashboard must fulfil: it is walked by keyboard alone, measured by axe in both colour
 * schemes, and fits the window from a small phone to a 4K screen, without an amount that breaks inside, and nothing
 * moves for users who prefer reduced motion.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { waitFor } from '@darkroom/testing/wait-for';
import { settled } from './every-page.ts';
import type { Shown } from './every-page.ts';
import { expectEscapable, expectReachableByKeyboard } from './keyboard-walk.ts';
import { expectNoViolations } from './signed-in-page.ts';

/** CSS pixels: the smallest phone, a notebook at 200 %, a tablet, a notebook, 4K. */
const WIDTHS = [360, 640, 768, 1280, 3840];

/** An account with it has amounts that are as wide as they get, in micro-USD. */
export const WIDE_MICRO_USD = 123_456_789_123_456n;

/** For a path in the name of a test. */
export const ANY: Shown = { taskId: ':taskId', accountId: ':accountId' };

/**
 * Visible controls that are outside the window, beyond its left or right edge, unless they are in something that
 * scrolls by itself; and parts of the header that overlap each other, the page or its title.
 */
const MISPLACED = `(() => {
  const isSeen = (each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && each.closest('[inert], .skip-link') === null;
  const scrolls = (each) => each !== null && each !== document.documentElement
    && (['auto', 'scroll'].includes(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
  const name = (each) => each.outerHTML.slice(0, 160);
  const found = [];
  for (const each of document.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    const { left, right, width } = each.getBoundingClientRect();
    if (width > 1 && isSeen(each) && (left < 0 || right > innerWidth) && !scrolls(each.parentElement)) found.push('outside: ' + name(each));
  }
  const overlaps = (one, other) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    return a.width > 0 && b.width > 0 && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  };
  const parts = [...document.querySelectorAll('header a, header button')].filter(isSeen);
  parts.forEach((one, index) => parts.slice(index + 1).forEach((other) => {
    if (!one.contains(other) && overlaps(one, other)) found.push('overlaps: ' + name(one) + ' ' + name(other));
  }));
  const title = document.querySelector('h1');
  const around = [...document.querySelectorAll('header, nav')].filter((each) => isSeen(each) && each.closest('main') === null);
  for (const each of around) if (title !== null && overlaps(each, title)) found.push('covers the title: ' + name(each));
  return found;
})()`;

/** Amounts of which a part is on another line than the rest. */
const BROKEN_AMOUNTS = `(() => {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    for (const { 0: amount, index } of text.data.matchAll(/[−+]?[$][0-9,]+[.][0-9]+/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + amount.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) found.push(amount);
    }
  }
  return found;
})()`;

/** The page in its current state, at every width. */
async function expectWithinTheWindow(page: Page): Promise<void> {
  await page.evaluate('window.scrollTo(0, 0)');
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await waitFor(`nothing of ${page.url()} sticks out of ${width} pixels`, async () => {
      const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      return beyond === 0;
    });
    let misplaced: readonly string[] = [];
    await waitFor(
      () => `everything of ${page.url()} fits at ${width} pixels: ${misplaced.join('\n')}`,
      async () => (misplaced = await page.evaluate<readonly string[]>(MISPLACED)).length === 0,
    );
    const broken = await page.evaluate<readonly string[]>(BROKEN_AMOUNTS);
    assert.deepEqual(broken, [], `amounts of ${page.url()} that break inside at ${width} pixels`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** What moves for a user who prefers reduced motion. */
export async function expectStill(page: Page): Promise<void> {
  const moving = await page.evaluate(
    'document.getAnimations().map(({ effect }) => effect.target.outerHTML.slice(0, 160) + effect.pseudoElement)',
  );
  assert.deepEqual(moving, [], `nothing moves on ${page.url()}`);
}

export async function expectUsable(page: Page): Promise<void> {
  await settled(page);
  await expectReachableByKeyboard(page);
  await expectEscapable(page);
  await expectStill(page);
  await expectNoViolations(page);
  await expectWithinTheWindow(page);
}

/** The same in a narrow window, where the navigation is behind a button. */
export async function expectUsableWhenNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.evaluate('window.scrollTo(0, 0)');
  await expectReachableByKeyboard(page);
  const opener = page.getByRole('button', { name: 'Toggle navigation' });
  await opener.press('Enter');
  await opener.and(page.locator('[aria-expanded="true"]')).waitFor();
  await page.keyboard.press('Tab');
  await expectNoViolations(page);
  const last = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /Usage|Service/ });
  await last.press('Enter');
  await opener.and(page.locator('[aria-expanded="false"]')).waitFor();
  await page.getByRole('heading', { level: 1, name: /Usage|Service/ }).waitFor();
  await page.locator('main:focus').waitFor();
}

/** The first Tab stop leads past the navigation. */
export async function expectSkipLink(page: Page): Promise<void> {
  await page.keyboard.press('Tab');
  await page.getByRole('link', { name: 'Skip to content' }).and(page.locator(':focus')).press('Enter');
  await page.keyboard.press('Tab');
  await page.locator('main :focus').waitFor();
}

/** Every page in the navigation is opened from there, and has a title of its own. */
export async function expectNavigable(page: Page, links: readonly string[]): Promise<void> {
  const titles = new Set<string>();
  const navigation = page.getByRole('navigation', { name: 'Main' });
  for (const link of links) {
    await navigation.getByRole('link', { name: link, exact: true }).press('Enter');
    await navigation.locator('a[aria-current="page"]').getByText(link, { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('main:focus').waitFor();
    titles.add(await page.title());
  }
  assert.equal(titles.size, links.length, 'each has a title of its own');
}

/** Their names in the navigation. */
export const linksOf = (pages: readonly { readonly link?: string }[]): readonly string[] =>
  pages.map(({ link }) => link).filter((link) => link !== undefined);
