/** Bounds the wait for work that cannot be interrupted, or that may ignore an abort signal. */
import { abortReason } from './abort-reason.ts';

/** @throws the signal's reason as soon as it fires; the work then continues unobserved. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(abortReason(signal));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
