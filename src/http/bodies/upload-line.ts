/**
 * The body of an upload as it arrives, on a line that may be slow (contract §7 "Uploads"). The request time-out does
 * not fit a hundred megabytes on such a line, so an upload has limits of its own: for silence, for the average rate,
 * and for the total time.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { ObjectTooLargeError } from '../../objects/stores/object-store.ts';
import { MAX_UPLOAD_BYTES } from '../../objects/uploads.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import { exemptFromTimeout } from '../app/server.ts';
import { drainRejected } from './json-body.ts';

export interface UploadBounds {
  readonly maxBytes: number;
  /** How long a line may deliver nothing while we wait for it. */
  readonly idleMs: number;
  /** In each period of this length in which we wait for the line, it has to deliver `minBytesPerSecond` on average. */
  readonly paceMs: number;
  readonly minBytesPerSecond: number;
  readonly wholeMs: number;
}

export const UPLOAD_BOUNDS: UploadBounds = {
  maxBytes: MAX_UPLOAD_BYTES,
  // What an ordinary request may take in total.
  idleMs: 30_000,
  // The rate at which a client has to read a file (connections.ts): a line that is too slow ends within two minutes,
  // whatever it had delivered before.
  paceMs: 60_000,
  minBytesPerSecond: 4_000,
  // The largest file at 28 kB/s.
  wholeMs: 3_600_000,
};

/** The maximum size of the boundaries and headers of a form, in addition to the file. */
export const FORM_OVERHEAD_BYTES = 64 * 1024;

/**
 * Receives a body within the bounds.
 *
 * @param read reads the body, and throws when `stop` fires.
 * @throws {RequestError} 400, 408 or 413, and what `read` throws.
 */
export async function receiveBody<Result>(
  request: IncomingMessage,
  bounds: UploadBounds,
  read: (body: Readable, stop: AbortController) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  // One for each file that is being stored.
  setMaxListeners(0, stop.signal);
  const release = exemptFromTimeout(request);
  const { body, stopWatching } = watched(request, bounds, stop);
  try {
    return await read(body, stop);
  } catch (error) {
    drainRejected(request);
    if (error instanceof ObjectTooLargeError) throw tooLarge(error.maxBytes);
    throw error;
  } finally {
    stopWatching();
    release();
  }
}

/** The body as it arrives, with the line monitored: whatever ends it early fires `stop`. */
function watched(
  request: IncomingMessage,
  bounds: UploadBounds,
  stop: AbortController,
): { readonly body: Readable; readonly stopWatching: () => void } {
  let bytes = 0;
  let isWhole = false;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isWhole) idle.refresh();
      bytes += chunk.length;
      // Before the first part of a form, and between its lines, there may be anything of any length.
      if (bytes > bounds.maxBytes + FORM_OVERHEAD_BYTES) stop.abort(tooLarge(bounds.maxBytes));
      done(null, chunk);
    },
  });
  const idle = setTimeout(() => {
    const before = bytes;
    afterReading(() => {
      // More has arrived, which has restarted the timer, or everything has.
      if (isWhole || bytes > before) return;
      // Where the store is slow, it is we who hold up the line.
      if (body.writableNeedDrain) idle.refresh();
      else stop.abort(tooSlow());
    });
  }, bounds.idleMs);
  const pace = watchPace(
    bounds,
    () => bytes,
    () => stop.abort(tooSlow()),
  );
  // Emitted by the pipe when the store is behind, and when it has caught up.
  request.on('pause', pace.hold);
  body.on('drain', pace.resume);
  const whole = setTimeout(() => stop.abort(tooSlow()), bounds.wholeMs);
  const onClose = (): void => {
    // Data that had arrived and was not read is lost.
    if (!request.readableEnded) stop.abort(notWhole());
  };
  // The line has delivered everything; what follows takes as long as the store does.
  const onEnd = (): void => {
    isWhole = true;
    clearTimeout(idle);
    pace.stop();
  };
  request.once('end', onEnd);
  request.once('close', onClose);
  // The close that follows reports it; without a listener it would end the process.
  request.on('error', onClose);
  body.on('error', () => undefined);
  stop.signal.addEventListener('abort', () => body.destroy(stop.signal.reason as Error), { once: true });
  // A client that disconnected before there was a listener emits no further event.
  if (request.destroyed) onClose();
  // Unlike a pipeline, this does not destroy the request with the body: the error response needs its connection.
  request.pipe(body);
  return {
    body,
    stopWatching: () => {
      onEnd();
      clearTimeout(whole);
      request.off('end', onEnd);
      request.off('pause', pace.hold);
      request.off('close', onClose);
    },
  };
}

/** A process that stood still runs its timers before it reads what has arrived meanwhile. */
function afterReading(check: () => void): void {
  setImmediate(check);
}

/**
 * Checks the rate of a line period by period, so that sending fast at first earns no credit for later. Time in
 * which the upload waits for the service does not count.
 *
 * @param bytesSoFar the bytes that have arrived.
 */
function watchPace(
  { paceMs, minBytesPerSecond }: UploadBounds,
  bytesSoFar: () => number,
  onSlow: () => void,
): { readonly hold: () => void; readonly resume: () => void; readonly stop: () => void } {
  let before = 0;
  let heldSince: number | undefined;
  let heldMs = 0;
  const resume = (): void => {
    if (heldSince !== undefined) heldMs += performance.now() - heldSince;
    heldSince = undefined;
  };
  const checkPace = (): void => {
    const isHeld = heldSince !== undefined;
    resume();
    if (isHeld) heldSince = performance.now();
    if (heldMs >= 1) {
      // The line still has that time.
      timer = setTimeout(checkPace, heldMs);
      heldMs = 0;
      return;
    }
    afterReading(() => {
      if (isStopped) return;
      const bytes = bytesSoFar();
      if (bytes - before < (minBytesPerSecond * paceMs) / 1000) {
        onSlow();
        return;
      }
      before = bytes;
      timer = setTimeout(checkPace, paceMs);
    });
  };
  let isStopped = false;
  let timer = setTimeout(checkPace, paceMs);
  return {
    hold() {
      heldSince ??= performance.now();
    },
    resume,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** 413 for a file. */
export function tooLarge(maxBytes: number): RequestError {
  const message = `the file is larger than ${maxBytes} bytes`;
  return new RequestError('payload_too_large', message);
}

function tooSlow(): RequestError {
  const message = 'the upload did not arrive in time';
  // The rest of the upload must not be taken for the next request.
  const headers = { Connection: 'close' };
  return new RequestError('request_timeout', message, { headers });
}

function notWhole(): RequestError {
  return invalidRequest('invalid request: the body did not arrive whole');
}
