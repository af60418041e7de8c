/**
 * When each key was last used, to the minute or so. Requests only leave a note here; many notes are written in one
 * statement in the background, so that no request waits for it.
 */
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

/** The interval at which the last use of a key is written, in milliseconds, even if the key is used all the time. */
const NOTE_EVERY_MS = 60_000;
/** How long uses are collected before they are written, in milliseconds. */
const WRITE_AFTER_MS = 5_000;
/** The maximum number of remembered keys: as many as the authenticator caches. */
const REMEMBERED_KEYS = 10_000;

/**
 * A row that another transaction holds is left for the next time: this must never wait for a lock, nor cause a
 * deadlock. What another process wrote within the minute stays.
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
  /** Records that a key was used just now. */
  note(keyId: string): void;
  /**
   * Writes what was recorded, and waits for a write in progress; if the database is not available, it is kept for the
   * next time. Also for the end of a process.
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
      logger.warn({ err: error, keys: uses.length }, 'recording the last use of keys failed; retrying');
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
