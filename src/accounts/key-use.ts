/**
 * When each key was last used, to the minute or so. Requests only leave a note here; the notes of many are written in
 * one statement behind their backs, so that no request waits for it.
 */
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

/** A key that is used all the time is written down once in this time. */
const NOTE_EVERY_MS = 60_000;
/** How long notes wait for one another. */
const WRITE_AFTER_MS = 5_000;
/** As many keys as the authenticator remembers. */
const REMEMBERED_KEYS = 10_000;

/**
 * A row that somebody holds is left for the next time: this must never wait for a lock, nor make others wait in a
 * circle. What another process wrote within the minute stays.
 */
const writeUses: Statement = {
  name: 'write_key_uses',
  text: `WITH used AS (SELECT * FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at)),
              free AS (
           SELECT k.id, u.at FROM api_keys k JOIN used u ON u.id = k.id
            WHERE k.last_used_at IS NULL OR k.last_used_at <= u.at - make_interval(secs => $3)
              FOR NO KEY UPDATE OF k SKIP LOCKED)
         UPDATE api_keys k SET last_used_at = f.at FROM free f WHERE k.id = f.id`,
};

export interface KeyUse {
  /** Notes that a key was used just now. */
  note(keyId: string): void;
  /**
   * Writes what was noted, and waits for what is being written already; where the database is away, it is kept for the
   * next time. For the end of a process, too.
   */
  flush(): Promise<void>;
}

/** @param options `now` in milliseconds since 1970. */
export function createKeyUse(options: {
  readonly database: Queryable;
  readonly now: () => number;
  readonly logger: Logger;
}): KeyUse {
  const { database, now, logger } = options;
  const noted = new LRUCache<string, number>({ max: REMEMBERED_KEYS });
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  let writing = Promise.resolve();
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  };
  const write = async (): Promise<void> => {
    if (waiting.size === 0) return;
    const uses = [...waiting];
    waiting.clear();
    try {
      const times = uses.map(([, at]) => new Date(at));
      await database.query(writeUses, [uses.map(([id]) => id), times, NOTE_EVERY_MS / 1000]);
    } catch (error) {
      logger.warn({ err: error, keys: uses.length }, 'when keys were used could not be written; it is tried again');
      for (const [id, at] of uses) if (!waiting.has(id)) waiting.set(id, at);
    }
  };

  return {
    note(keyId) {
      const at = now();
      const before = noted.get(keyId);
      if (before !== undefined && at - before < NOTE_EVERY_MS) return;
      noted.set(keyId, at);
      waiting.set(keyId, at);
      timer ??= setTimeout(() => void flush(), WRITE_AFTER_MS).unref();
    },
    flush,
  };
}
