/** The part of the window that changes with the page. */

export const CONTENT_ID = 'content';

/** After navigation the focus moves to the page, for the keyboard and for screen readers. */
export function focusContent(): void {
  document.querySelector<HTMLElement>(`#${CONTENT_ID}`)?.focus({ preventScroll: true });
}
