/**
 * The time to the second, for counters of seconds: how long something has been running. For “two minutes ago” there is
 * now.ts.
 */
import { useEffect, useState } from 'react';

const EVERY_MS = 1_000;

/** @returns milliseconds since 1970, whole seconds; it is stopped while nothing uses it. */
export function useSecond(): number {
  const [now, setNow] = useState(wholeSecond);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(wholeSecond());
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function wholeSecond(): number {
  return Math.floor(Date.now() / 1000) * 1000;
}
