/**
 * Keeps an element in view while its container grows: until the user scrolls away from it, and again once they are
 * back.
 */
import { useEffect } from 'react';
import type { RefObject } from 'react';

export function useFollowing(target: RefObject<HTMLElement | null>, within: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let isFollowed = isInSight(target.current);
    let lastY = window.scrollY;
    const look = (): void => {
      // The element may have moved out of view since it was last followed, which the user did not intend. Scrolling
      // back is intended.
      if (isInSight(target.current)) isFollowed = true;
      else if (window.scrollY < lastY) isFollowed = false;
      lastY = window.scrollY;
    };
    const follow = new ResizeObserver(() => {
      if (isFollowed) target.current?.scrollIntoView({ block: 'nearest' });
    });
    if (within.current !== null) follow.observe(within.current);
    window.addEventListener('scroll', look, { passive: true });
    return () => {
      follow.disconnect();
      window.removeEventListener('scroll', look);
    };
  }, [target, within]);
}

function isInSight(element: HTMLElement | null): boolean {
  if (element === null) return false;
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
}
