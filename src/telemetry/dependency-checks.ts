/**
 * Checks of a process's dependencies for probes and scrapes: each is answered within a time limit, even if the
 * dependency does not answer, because that is when the result is needed most.
 */
import { timeOutMs } from '../config/time-outs.ts';

/**
 * How long a dependency may take to respond, in milliseconds. Prometheus times out after 10 s by default, and probes
 * earlier.
 */
const ANSWER_WITHIN_MS = timeOutMs(3_000);

/**
 * Whether a dependency answers in time. While one check is pending no other is started: they would pile up.
 *
 * @param freshMs how long an answer is valid for later callers; 0: only for callers that wait for the same one.
 */
export function respondsInTime(freshMs: number, check: () => Promise<unknown>): () => Promise<boolean> {
  const isUp = cached(freshMs, () =>
    check().then(
      () => true,
      () => false,
    ),
  );
  return () => inTime(isUp(), false);
}

/**
 * What is known of a dependency at this moment, for those that report it and do not depend on it: never waits.
 *
 * @param freshMs after which age of an answer the next caller has it checked again.
 * @returns whether it answered in time when it was checked last; undefined: it was not checked yet.
 */
export function lastKnown(freshMs: number, check: () => Promise<unknown>): () => boolean | undefined {
  const responds = respondsInTime(freshMs, check);
  let known: boolean | undefined;
  return () => {
    void responds().then((answer) => {
      known = answer;
    });
    return known;
  };
}

/** @returns the result if it arrives within the limit, otherwise the given value. */
export async function inTime<T>(coming: Promise<T>, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ANSWER_WITHIN_MS);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads once for all concurrent callers, and for those shortly after. `read` does not fail. */
export function cached<T>(forMs: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: T } | undefined;
  let running: Promise<T> | undefined;
  return async () => {
    if (last !== undefined && performance.now() - last.at < forMs) return last.answer;
    running ??= read()
      .then((answer) => {
        last = { at: performance.now(), answer };
        return answer;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}
