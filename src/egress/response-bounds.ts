/**
 * The bounds of a response: how many bytes it may have, and how fast it must come. A deadline alone has to allow for
 * the largest file, so that a server that drips or falls silent would hold its reader just as long. Only time spent
 * waiting for the sender counts: a reader that is slow itself, because our own store is, causes no failure.
 */
import { Readable } from 'node:stream';
import { abortReason } from '../domain/waits.ts';
import { EgressError } from './egress-error.ts';
import type { Deadline } from './exchange.ts';

/** The least that is required of a sender. */
export interface Pace {
  /** Until the head of the response, redirects included. */
  readonly answerMs: number;
  /** The longest time between two pieces of the body, in milliseconds. */
  readonly silentMs: number;
  /** The time from the first piece until the average rate is checked, in milliseconds. */
  readonly graceMs: number;
  readonly leastBytesPerSecond: number;
}

/**
 * 30 s: a store that brings a file back from slow disks first. 15 s: several lost packets in a row, or a crowded
 * cell. 8 kB/s: the slowest line that anyone would call working; a photo of 500 kB passes in a minute. 20 s: what
 * starts slowly has caught up.
 */
export const PACE: Pace = { answerMs: 30_000, silentMs: 15_000, graceMs: 20_000, leastBytesPerSecond: 8_000 };

/** Follows one body. */
interface PaceKeeper {
  /**
   * Waits for the next piece and counts the time.
   *
   * @param sizeOf returns a piece's length in bytes.
   * @throws {EgressError} `timeout`: nothing came for too long, or too little in all.
   */
  wait<T>(next: Promise<T>, sizeOf: (piece: T) => number): Promise<T>;
}

function createPaceKeeper({ silentMs, graceMs, leastBytesPerSecond }: Pace): PaceKeeper {
  let waitedMs = 0;
  let received = 0;
  let hasBegun = false;
  return {
    async wait(next, sizeOf) {
      const since = performance.now();
      const piece = await within(silentMs, next);
      received += sizeOf(piece);
      // The time of the first piece does not indicate the speed of the connection.
      if (hasBegun) waitedMs += performance.now() - since;
      hasBegun = true;
      if (waitedMs > graceMs && received < (leastBytesPerSecond * waitedMs) / 1000) {
        throw new EgressError('timeout', `the file came at less than ${leastBytesPerSecond} bytes a second`);
      }
      return piece;
    },
  };
}

async function within<T>(silentMs: number, next: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new EgressError('timeout', `nothing came for ${silentMs} ms`)), silentMs);
  });
  try {
    return await Promise.race([next, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends an exchange whose response does not begin in time. @returns to be called when it has begun, or failed. */
export function awaitAnswer({ answerMs }: Pace, deadline: Deadline): () => void {
  const timer = setTimeout(() => {
    deadline.abort(new EgressError('timeout', `no answer within ${answerMs} ms`));
  }, answerMs);
  return () => clearTimeout(timer);
}

/** How a body is read. */
interface BodyBounds {
  readonly maxBytes: number;
  readonly pace: Pace;
  /** Cleared when the stream closes; if it fires before, the stream fails with its reason. */
  readonly deadline: Deadline;
  /** What the reader sees instead of an error. */
  readonly failureOf: (error: unknown) => unknown;
  /** Closes the connection; called once, when the stream closes. */
  readonly end: () => void;
}

/**
 * The body of a response as a stream that never yields more bytes than agreed, nor yields them too slowly, and that
 * ends the exchange when it closes, however that comes about: what the guarded client and the providers' own downloads
 * have in common, whichever made the connection.
 */
export function boundedBody(
  source: AsyncIterable<Buffer>,
  { maxBytes, pace, deadline, failureOf, end }: BodyBounds,
): Readable {
  const pieces = source[Symbol.asyncIterator]();
  const keeper = createPaceKeeper(pace);
  let received = 0;

  /** Called only when the reader has room. */
  async function bring(): Promise<void> {
    try {
      const piece = await keeper.wait(pieces.next(), ({ done, value }) => (done === true ? 0 : value.length));
      if (piece.done === true) {
        body.push(null);
        return;
      }
      received += piece.value.length;
      if (received > maxBytes) throw tooLarge(maxBytes);
      body.push(piece.value);
    } catch (error) {
      body.destroy(failureOf(error) as Error);
    }
  }

  const body = new Readable({ read: () => void bring() });
  // The reader sees a failure; before there is a reader, it must not end the process.
  body.on('error', () => undefined);
  const abort = (): void => {
    body.destroy(abortReason(deadline.signal));
  };
  deadline.signal.addEventListener('abort', abort, { once: true });
  body.once('close', () => {
    deadline.signal.removeEventListener('abort', abort);
    deadline.clear();
    end();
  });
  return body;
}

/** The error for a file with more bytes than its reader accepts. */
export function tooLarge(maxBytes: number): EgressError {
  return new EgressError('too_large', `the file is larger than ${maxBytes} bytes`);
}
