/**
 * The public keys of providers that sign their webhooks, from the JSON Web Key Sets that they publish (RFC 7517), for
 * Ed25519 (RFC 8037). A set is fetched once for all who wait for it, and kept for a day.
 */
import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import { timeOutMs } from '../../config/time-outs.ts';
import type { Egress } from '../../egress/guarded-client.ts';
import type { Logger } from '../../telemetry/log.ts';
import { textAt, valueAt } from '../json-answer.ts';

/** "Cache the JWKS for up to 24 hours": fal's documentation of its webhooks. */
const KEPT_MS = 86_400_000;
/** Between two fetches of a set, whether they succeed or not: a call with a wrong signature asks for new keys. */
const FETCH_INTERVAL_MS = 60_000;
const TIMEOUT_MS = timeOutMs(5_000);
const MAX_BYTES = 64 * 1024;
const MAX_KEYS = 20;
const MAX_SETS = 100;
/** Whose share of the resolver is used: no account asks for keys. */
const ACCOUNT = 'provider-keys';

export interface PublicKeys {
  /** The keys at an address, as they were fetched last; none if they cannot be fetched. */
  get(url: string): Promise<readonly KeyObject[]>;
  /**
   * The keys at an address if they can be, or have just been, fetched again: the provider may sign with a new one.
   *
   * @param known what `get` gave. @returns undefined: there are no others.
   */
  renew(url: string, known: readonly KeyObject[]): Promise<readonly KeyObject[] | undefined>;
}

interface KeySet {
  keys: readonly KeyObject[];
  fetchedAtMs: number;
  triedAtMs: number;
  fetching?: Promise<void>;
}

/** @param now monotonic milliseconds, for tests. */
export function createPublicKeys({
  egress,
  logger,
  now = () => performance.now(),
}: {
  readonly egress: Pick<Egress, 'download'>;
  readonly logger: Logger;
  readonly now?: () => number;
}): PublicKeys {
  const sets = new LRUCache<string, KeySet>({ max: MAX_SETS });

  const setOf = (url: string): KeySet => {
    const known = sets.get(url);
    if (known !== undefined) return known;
    const created: KeySet = { keys: [], fetchedAtMs: -Infinity, triedAtMs: -Infinity };
    sets.set(url, created);
    return created;
  };

  const download = async (url: string, set: KeySet): Promise<void> => {
    set.triedAtMs = now();
    try {
      const { body } = await egress.download(url, { accountId: ACCOUNT, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
      set.keys = keysOf(JSON.parse((await buffer(body)).toString('utf8')));
      set.fetchedAtMs = now();
    } catch (err) {
      // Without the body, which a parser would quote.
      const error = err instanceof SyntaxError ? 'the keys are not JSON' : err;
      logger.warn({ err: error, host: new URL(url).host }, 'keys of provider hooks could not be fetched');
    }
  };

  const fetchAgain = async (url: string, set: KeySet): Promise<void> => {
    if (set.fetching === undefined) {
      if (now() - set.triedAtMs < FETCH_INTERVAL_MS) return;
      set.fetching = download(url, set).finally(() => delete set.fetching);
    }
    await set.fetching;
  };

  const isFresh = (set: KeySet): boolean => now() - set.fetchedAtMs < KEPT_MS;

  return {
    async get(url) {
      const set = setOf(url);
      if (!isFresh(set)) await fetchAgain(url, set);
      return isFresh(set) ? set.keys : [];
    },
    async renew(url, known) {
      const set = setOf(url);
      if (set.keys === known) await fetchAgain(url, set);
      return set.keys === known || !isFresh(set) ? undefined : set.keys;
    },
  };
}

function keysOf(json: unknown): readonly KeyObject[] {
  const keys = valueAt(json, 'keys');
  return (Array.isArray(keys) ? keys : []).slice(0, MAX_KEYS).flatMap((key: unknown) => {
    const x = textAt(key, 'x');
    if (textAt(key, 'kty') !== 'OKP' || textAt(key, 'crv') !== 'Ed25519' || x === undefined) return [];
    try {
      return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    } catch {
      return [];
    }
  });
}
