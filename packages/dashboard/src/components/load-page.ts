/**
 * Pages are loaded when they are first opened, which fails if the service is unavailable, or has a different version
 * by now. React caches that failure permanently, so only a full reload helps.
 */
import { lazy } from 'react';
import type { ComponentType, LazyExoticComponent } from 'react';
import { UnreachableError } from '../api/api.ts';

/** A page's code could not be loaded. */
export class PageNotLoadedError extends UnreachableError {}

/** Like React's `lazy`, with an error that states clearly what is wrong. */
export function lazyPage<Props>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new PageNotLoadedError('the page could not be loaded', { cause });
    }),
  );
}

/** Reloads everything once the service answers: before that the browser would show its own error page. */
export async function reloadIfAnswered(): Promise<void> {
  const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined);
  if (answer?.ok === true) location.reload();
}
