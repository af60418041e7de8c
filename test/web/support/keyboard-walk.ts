/** Walks a page with the key Tab alone, as somebody without a pointer does. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { until } from '../../support/until.ts';

/** Marks whatever can be acted on, and names it. What a script cannot focus by Tab is reached by arrows from what it can. */
const FIND_CONTROLS = `(() => {
  const isOneOfGroup = (each) => each.type === 'radio' && each.name !== ''
    && each !== (document.querySelector('input[name="' + CSS.escape(each.name) + '"]:checked')
      ?? document.querySelector('input[name="' + CSS.escape(each.name) + '"]'));
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, audio[controls], video[controls], [tabindex]')]
    .filter((each) => each.tabIndex >= 0 && !each.disabled && each.type !== 'hidden' && !isOneOfGroup(each)
      && each.closest('[inert]') === null && each.checkVisibility({ visibilityProperty: true }));
  return controls.map((each, place) => {
    each.dataset.walk = String(place);
    return each.outerHTML.slice(0, 160);
  });
})()`;

/**
 * Where the keyboard is, and whether that shows: an outline on it, on its label or around it, or a field's dark border; and
 * whether it is outside of the window, or below something that stays where it is while the page scrolls.
 */
const FOCUSED = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return { place: null, isShown: true, isCovered: false, html: '' };
  const outlined = (each) => each !== null && getComputedStyle(each).outlineStyle !== 'none' && getComputedStyle(each).outlineWidth !== '0px';
  const isField = at.matches('input, textarea, select') && getComputedStyle(at).borderTopColor === getComputedStyle(document.body).color;
  const isShown = [at, at.nextElementSibling, at.parentElement, at.parentElement?.nextElementSibling ?? null].some(outlined)
    || isField || at.matches('audio, video');
  const { top, bottom, left, right } = at.getBoundingClientRect();
  let above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  while (above !== null && !above.contains(at) && !['fixed', 'sticky'].includes(getComputedStyle(above).position)) above = above.parentElement;
  const isOutside = bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth;
  const isCovered = isOutside || (above !== null && !above.contains(at) && !at.contains(above));
  return { place: at.dataset.walk ?? null, isShown, isCovered, html: at.outerHTML.slice(0, 160) };
})()`;

interface Focused {
  readonly place: string | null;
  readonly isShown: boolean;
  readonly isCovered: boolean;
  readonly html: string;
}

const START_ID = 'walk-start';

/** The walk begins where the page does, wherever one clicked before: at something that stays there until the first Tab. */
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

/** More than any page has: whoever gets so far is in a trap. */
const MOST_STEPS = 400;

/**
 * Presses Tab until the keyboard has left the page, and Shift+Tab all the way back.
 *
 * @throws {assert.AssertionError} something cannot be reached or left in either direction, comes out of the page's order,
 *   or does not show that it has the keyboard.
 */
export async function expectReachableByKeyboard(page: Page): Promise<void> {
  let controls: readonly string[] = [];
  await until('the keyboard stays where the page begins', async () => {
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

/** @returns the places of the controls, in the order in which they were reached first. */
async function walk(page: Page, key: string, controls: readonly string[]): Promise<readonly number[]> {
  const reached = new Set<number>();
  const hidden = new Set<string>();
  const covered = new Set<string>();
  let steps = 0;
  for (; steps < MOST_STEPS; steps += 1) {
    await page.keyboard.press(key);
    const { place, isShown, isCovered, html } = await page.evaluate<Focused>(FOCUSED);
    if (html === '') break;
    if (place !== null) reached.add(Number(place));
    if (!isShown) hidden.add(html);
    if (isCovered) covered.add(html);
  }
  assert.ok(steps < MOST_STEPS, `${key} leaves ${page.url()} again`);
  const missed = controls.filter((_, place) => !reached.has(place));
  assert.deepEqual(missed, [], `everything on ${page.url()} is reached by ${key}`);
  assert.deepEqual([...hidden], [], `on ${page.url()} one sees where the keyboard is`);
  assert.deepEqual([...covered], [], `on ${page.url()} nothing lies over what has the keyboard`);
  return [...reached];
}

/** Whatever opens something: menus, dialogs, lists of choices. */
const OPENERS = 'button[aria-haspopup]:enabled:visible';

/**
 * Opens what buttons open, by Enter, and closes it by Escape.
 *
 * @throws {assert.AssertionError} something does not open or close, or the keyboard is elsewhere then.
 */
export async function expectEscapable(page: Page): Promise<void> {
  const openers = page.locator(OPENERS);
  // Rows of a list all have the same ones.
  const count = Math.min(await openers.count(), 4);
  for (let place = 0; place < count; place += 1) {
    const opener = openers.nth(place);
    await opener.press('Enter');
    await opener.and(page.locator('[aria-expanded="true"]')).waitFor();
    // What opened takes the keyboard, for whoever goes on in it.
    const focused = opener.and(page.locator(':focus'));
    await until('the keyboard is in what opened', async () => (await focused.count()) === 0);
    await page.keyboard.press('Escape');
    await opener.and(page.locator('[aria-expanded="false"]')).and(focused).waitFor();
    await page.locator('[role="menu"]').waitFor({ state: 'detached' });
  }
}
