/** Walks a page with the Tab key alone, like a user without a pointer. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { waitFor } from '@darkroom/testing/wait-for';

/**
 * Marks and names every control that can be focused. In a group of radio buttons, only one is reached by Tab, and the
 * others by arrow keys.
 */
const FIND_CONTROLS = `(() => {
  const isOneOfGroup = (each) => each.type === 'radio' && each.name !== ''
    && each !== (document.querySelector('input[name="' + CSS.escape(each.name) + '"]:checked')
      ?? document.querySelector('input[name="' + CSS.escape(each.name) + '"]'));
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, audio[controls], video[controls], [tabindex]')]
    .filter((each) => each.tabIndex >= 0 && !each.disabled && each.type !== 'hidden' && !isOneOfGroup(each)
      && each.closest('[inert]') === null && each.checkVisibility({ visibilityProperty: true }));
  return controls.map((each, index) => {
    each.dataset.walk = String(index);
    return each.outerHTML.slice(0, 160);
  });
})()`;

/**
 * The focused element, and whether its focus is visible: an outline on it, on its label or around it, or a field's
 * dark border; and whether it is outside of the window, or covered by something that stays fixed while the page
 * scrolls.
 */
const FOCUSED = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return { index: null, isShown: true, isCovered: false, html: '' };
  const outlined = (each) => each !== null && getComputedStyle(each).outlineStyle !== 'none' && getComputedStyle(each).outlineWidth !== '0px';
  const isField = at.matches('input, textarea, select') && getComputedStyle(at).borderTopColor === getComputedStyle(document.body).color;
  const isShown = [at, at.nextElementSibling, at.parentElement, at.parentElement?.nextElementSibling ?? null].some(outlined)
    || isField || at.matches('audio, video');
  const { top, bottom, left, right } = at.getBoundingClientRect();
  let above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  while (above !== null && !above.contains(at) && !['fixed', 'sticky'].includes(getComputedStyle(above).position)) above = above.parentElement;
  const isOutside = bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth;
  const isCovered = isOutside || (above !== null && !above.contains(at) && !at.contains(above));
  return { index: at.dataset.walk ?? null, isShown, isCovered, html: at.outerHTML.slice(0, 160) };
})()`;

interface Focused {
  readonly index: string | null;
  readonly isShown: boolean;
  readonly isCovered: boolean;
  readonly html: string;
}

const START_ID = 'walk-start';

/**
 * The walk starts at the beginning of the page, wherever the last click was: at an element that exists until the
 * first Tab.
 */
const START_THE_PAGE = `(() => {
  window.scrollTo(0, 0);
  const start = document.createElement('span');
  start.id = '${START_ID}';
  start.tabIndex = -1;
  start.style.position = 'fixed';
  document.body.prepend(start);
  start.addEventListener('blur', () => start.remove());
  start.focus({ preventScroll: true });
})()`;

/** More than any page has: reaching it means that the focus is trapped. */
const MOST_STEPS = 400;

/**
 * Presses Tab until the focus has left the page, and Shift+Tab all the way back.
 *
 * @throws {assert.AssertionError} a control cannot be reached or left in either direction, is out of the page's
 *   order, or does not show its focus.
 */
export async function expectReachableByKeyboard(page: Page): Promise<void> {
  let controls: readonly string[] = [];
  await waitFor('the keyboard stays where the page begins', async () => {
    await page.evaluate(START_THE_PAGE);
    controls = await page.evaluate<readonly string[]>(FIND_CONTROLS);
    return (await page.evaluate('document.activeElement?.id')) === START_ID;
  });
  assert.ok(controls.length > 0);
  const onward = await walk(page, 'Tab', controls);
  assert.deepEqual(
    onward,
    onward.toSorted((left, right) => left - right),
    `one goes through ${page.url()} in its order`,
  );
  const back = await walk(page, 'Shift+Tab', controls);
  assert.deepEqual(back.toReversed(), onward, `the way back through ${page.url()} is the same`);
}

/** @returns the indexes of the controls, in the order in which they were reached first. */
async function walk(page: Page, key: string, controls: readonly string[]): Promise<readonly number[]> {
  const reached = new Set<number>();
  const hidden = new Set<string>();
  const covered = new Set<string>();
  let steps = 0;
  for (; steps < MOST_STEPS; steps += 1) {
    await page.keyboard.press(key);
    const { index, isShown, isCovered, html } = await page.evaluate<Focused>(FOCUSED);
    if (html === '') break;
    if (index !== null) reached.add(Number(index));
    if (!isShown) hidden.add(html);
    if (isCovered) covered.add(html);
  }
  assert.ok(steps < MOST_STEPS, `${key} leaves ${page.url()} again`);
  const missed = controls.filter((_, index) => !reached.has(index));
  assert.deepEqual(missed, [], `everything on ${page.url()} is reached by ${key}`);
  assert.deepEqual([...hidden], [], `on ${page.url()} one sees where the keyboard is`);
  assert.deepEqual([...covered], [], `on ${page.url()} nothing lies over what has the keyboard`);
  return [...reached];
}

/** Buttons that open something: menus, dialogs, lists of choices. */
const OPENERS = 'button[aria-haspopup]:enabled:visible';

/**
 * Opens with Enter what each button opens, and closes it with Escape.
 *
 * @throws {assert.AssertionError} something does not open or close, or the focus is wrong afterwards.
 */
export async function expectEscapable(page: Page): Promise<void> {
  const openers = page.locator(OPENERS);
  // All rows of a list have the same ones.
  const count = Math.min(await openers.count(), 4);
  for (let index = 0; index < count; index += 1) {
    const opener = openers.nth(index);
    await opener.press('Enter');
    await opener.and(page.locator('[aria-expanded="true"]')).waitFor();
    // What opened takes the focus, so that the user can continue in it.
    const focused = opener.and(page.locator(':focus'));
    await waitFor('the keyboard is in what opened', async () => (await focused.count()) === 0);
    await page.keyboard.press('Escape');
    await opener.and(page.locator('[aria-expanded="false"]')).and(focused).waitFor();
    await page.locator('[role="menu"]').waitFor({ state: 'detached' });
  }
}
