/**
 * The lines of batches as the bodies of requests: what they take in memory is their account's share of it, and large
 * ones are parsed in the same threads. They are not charged to its bytes per minute: no client waits for them, and their
 * pace is that of the shares. What needs more than the account can have, as the answer of a line may, counts as most of
 * its share, and so is in memory alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LineBodies } from '../../batches/line.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import type { HttpContext } from '../app/context.ts';
import { parseJson } from './json-body.ts';

/** A reservation that finds no room is repeated after this long, and so never stands before a request in a line. */
const RESERVE_AGAIN_MS = 500;

export function createLineBodies(http: Pick<HttpContext, 'bodies' | 'bodyThreads' | 'turns'>): LineBodies {
  const { bodies, bodyThreads: threads, turns } = http;
  return {
    async reserve(accountId, bytes, signal) {
      const allowance = bodies.ofAccount({ accountId });
      for (;;) {
        signal.throwIfAborted();
        try {
          allowance.hold(Math.min(bytes, bodies.mostAtOnce));
          return () => allowance.release();
        } catch (error) {
          if (!(error instanceof ShareExhaustedError)) throw error;
        }
        await sleep(RESERVE_AGAIN_MS, undefined, { signal });
      }
    },
    parse: (tenant, bytes, { values, needed }) =>
      parseJson(bytes, values, {
        threads,
        turns,
        tenant,
        factsOf: needed === 'task' ? 'body' : undefined,
        isOutline: needed === 'outline',
      }),
  };
}
