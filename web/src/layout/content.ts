/** The part of the window that changes with the page. */

export const CONTENT_ID = 'content';

/** Whoever chose a page goes on in it: by keyboard, and with what reads the screen. */
export function focusContent(): void {
  document.querySelector<HTMLElement>(`#${CONTENT_ID}`)?.focus({ preventScroll: true });
}
