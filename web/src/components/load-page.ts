/**
 * Pages are loaded when they are first opened, which fails where the service is away, or has another version by now. React
 * remembers that for good, so only loading everything anew helps.
 */
import { lazy } from 'react';
import type { ComponentType, LazyExoticComponent } from 'react';
import { UnreachableError } from '../api/api.ts';

/** A page's code did not come. */
export class PageNotLoadedError extends UnreachableError {}

/** As React's `lazy`, with an error that says in plain words what is wrong. */
export function lazyPage<Props>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new PageNotLoadedError('the page could not be loaded', { cause });
    }),
  );
}

/** Loads everything anew, once the service answers: before that the browser would show a page of its own. */
export async function reloadIfAnswered(): Promise<void> {
  const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined);
  if (answer?.ok === true) location.reload();
}
