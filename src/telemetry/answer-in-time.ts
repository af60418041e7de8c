/**
 * Questions of probes and scrapes to what a process stands on: each is answered within a bound, whatever became of what
 * was asked, because that is when the answer is wanted most.
 */

/** Prometheus gives up after 10 s by default, and probes sooner. */
const ANSWER_WITHIN_MS = 3_000;

/**
 * Whether something answers in time. While a question is out no other is asked: they would pile up.
 *
 * @param freshMs how long an answer is good for those who ask after it; 0: only for those who wait for the same one.
 */
export function answersInTime(freshMs: number, ask: () => Promise<unknown>): () => Promise<boolean> {
  const isUp = asked(freshMs, () =>
    ask().then(
      () => true,
      () => false,
    ),
  );
  return () => inTime(isUp(), false);
}

/** @returns what comes within the bound, or else what is given. */
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

/** Asks once for all who want to know at the same time, or shortly after. `read` does not fail. */
export function asked<T>(forMs: number, read: () => Promise<T>): () => Promise<T> {
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
