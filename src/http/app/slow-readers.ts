/**
 * Ends connections whose client requested something and does not read it: a file read a byte at a time holds a
 * connection and its buffers for as long as the client likes. All connections are checked at intervals, and nothing
 * is done for each request. The bounds of event streams are tighter (event-stream.ts, text/stream.ts).
 *
 * What counts is the time for which a client was behind without a break, against what it read in that time and what
 * is still buffered for it: a body that was written in one piece counts as read only when all of it was sent.
 */
import type { Socket } from 'node:net';

export interface ReadingBounds {
  /** How long a client may be behind, however little it reads. 60 s is what other servers allow, too. */
  readonly graceMs: number;
  /** The average rate that it has to reach from then on. */
  readonly bytesPerSecond: number;
  readonly checkIntervalMs: number;
}

/**
 * The minimum rate at which a client must read: 4 kB/s. At this rate the largest file takes some 15 h; every usable
 * connection is faster.
 */
export const READING_BOUNDS: ReadingBounds = { graceMs: 60_000, bytesPerSecond: 4_000, checkIntervalMs: 5_000 };

/** Since when a client has been behind, and what it had read by then. */
interface Behind {
  readonly since: number;
  readonly taken: number;
}

/** @returns a function that stops the checks. */
export function cutSlowReaders(open: ReadonlySet<Socket>, bounds: ReadingBounds): () => void {
  const behind = new WeakMap<Socket, Behind>();

  const check = (): void => {
    const now = performance.now();
    for (const socket of open) {
      const waiting = socket.writableLength;
      if (waiting === 0) {
        behind.delete(socket);
        continue;
      }
      const taken = socket.bytesWritten - waiting;
      const begin = behind.get(socket);
      if (begin === undefined) {
        behind.set(socket, { since: now, taken });
        continue;
      }
      const allowedMs = bounds.graceMs + ((taken - begin.taken + waiting) / bounds.bytesPerSecond) * 1000;
      if (now - begin.since > allowedMs) socket.destroy();
    }
  };
  const clock = setInterval(check, bounds.checkIntervalMs);
  clock.unref();
  return () => clearInterval(clock);
}
