/** Walks a page with the key Tab alone, as somebody without a pointer does. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

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

/** Where the keyboard is, and whether that shows: an outline on it, on its label or around it, or a field's dark border. */
const FOCUSED = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return { place: null, isShown: true, html: '' };
  const outlined = (each) => each !== null && getComputedStyle(each).outlineStyle !== 'none' && getComputedStyle(each).outlineWidth !== '0px';
  const isField = at.matches('input, textarea, select') && getComputedStyle(at).borderTopColor === getComputedStyle(document.body).color;
  const isShown = [at, at.nextElementSibling, at.parentElement, at.parentElement?.nextElementSibling ?? null].some(outlined)
    || isField || at.matches('audio, video');
  return { place: at.dataset.walk ?? null, isShown, html: at.outerHTML.slice(0, 160) };
})()`;

interface Focused {
  readonly place: string | null;
  readonly isShown: boolean;
  readonly html: string;
}

/** More than any page has: whoever gets so far is in a trap. */
const MOST_STEPS = 400;

/**
 * Presses Tab until the keyboard has left the page.
 *
 * @throws {assert.AssertionError} something cannot be reached, cannot be left, or does not show that it has the keyboard.
 */
export async function expectReachableByKeyboard(page: Page): Promise<void> {
  await page.evaluate('document.activeElement?.blur?.(); window.scrollTo(0, 0)');
  // The walk begins where the page does, wherever one clicked before.
  await page.evaluate(`(() => {
    const start = document.createElement('span');
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
  })()`);
  const controls = await page.evaluate<readonly string[]>(FIND_CONTROLS);
  assert.ok(controls.length > 0);
  const reached = new Set<string>();
  const hidden = new Set<string>();
  let steps = 0;
  for (; steps < MOST_STEPS; steps += 1) {
    await page.keyboard.press('Tab');
    const { place, isShown, html } = await page.evaluate<Focused>(FOCUSED);
    if (html === '') break;
    if (place !== null) reached.add(place);
    if (!isShown) hidden.add(html);
  }
  assert.ok(steps < MOST_STEPS, 'the keyboard leaves the page again');
  const missed = controls.filter((_, place) => !reached.has(String(place)));
  assert.deepEqual(missed, [], `everything on ${page.url()} is reached by Tab`);
  assert.deepEqual([...hidden], [], `on ${page.url()} one sees where the keyboard is`);
}
