/**
 * The body of a response as a stream that never yields more bytes than agreed, nor yields them too slowly: what the
 * guarded client and the providers' own downloads have in common, whichever made the connection.
 */
import { Readable } from 'node:stream';
import { abortReason } from '../domain/abort-reason.ts';
import { EgressError } from './egress-error.ts';
import type { Deadline } from './exchange.ts';
import { createPaceKeeper } from './response-bounds.ts';
import type { Pace } from './response-bounds.ts';

/** How a body is read. */
export interface BodyBounds {
  readonly maxBytes: number;
  readonly pace: Pace;
  /** Cleared when the stream closes; if it fires before, the stream fails with its reason. */
  readonly deadline: Deadline;
  /** What the reader sees instead of an error. */
  readonly failureOf: (error: unknown) => unknown;
  /** Closes the connection; called once, when the stream closes. */
  readonly end: () => void;
}

/** The body as a stream that ends the exchange when it closes, however that comes about. */
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
