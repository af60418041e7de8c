/**
 * Responses that stay open for long: event streams, long polls, text calls, tool calls. A request is authenticated
 * once, when it arrives, so that without this a revoked key or a suspended account would continue to read for as long
 * as it keeps its connection. Each process checks once a second whether the callers of its open responses still have
 * access, and ends the other responses: together with the second for which a key's row is cached (authenticate.ts)
 * that is about two seconds after the revocation, whichever process it reached.
 *
 * If the database does not respond, no response is ended: nothing is known of any caller then, and an outage of the
 * database must not become one of every open response. The next check that succeeds makes up for it.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { createPoller } from '../database/poller.ts';
import type { Logger } from '../telemetry/log.ts';
import { AccountSuspendedError, UnauthenticatedError } from './authenticate.ts';
import type { Caller } from './authenticate.ts';

/** Why a response was ended: the error that the next request of the same caller gets. */
export type AccessEnded = UnauthenticatedError | AccountSuspendedError;

export interface OpenResponses {
  /**
   * Has a response ended once its caller no longer has access.
   *
   * @param end called at most once, with the reason; must not throw.
   * @returns a function to call when the response has ended.
   */
  register(caller: Caller, end: (reason: AccessEnded) => void): () => void;
  /**
   * Checks now, and not only after the next second. @throws {DatabaseUnavailableError} no response was ended.
   */
  check(): Promise<void>;
  /** How many are open. */
  count(): number;
}

/** The time between two checks in milliseconds. Checks run only while there are open responses. */
const CHECK_EVERY_MS = 1_000;
/** The maximum number of keys and sessions in one statement. For more of them a process runs several statements. */
const CHECKED_AT_ONCE = 5_000;

/**
 * Only those that no longer have access. $1 keys, $2 their sessions as hexadecimal SHA-256 or null, $3 the time, $4
 * their tokens or null.
 */
const selectEnded: Statement = {
  name: 'select_callers_without_access',
  text: `SELECT c.key_id AS "keyId", c.session_id AS "sessionId", c.token_id AS "tokenId",
                k.revoked_at IS NULL AND coalesce(k.expires_at > $3, true) AND a.status = 'suspended'
                  AND (c.session_id IS NULL OR s.expires_at > $3) IS TRUE
                  AND (c.token_id IS NULL OR t.expires_at > $3) IS TRUE AS "isSuspended"
           FROM unnest($1::text[], $2::text[], $4::text[]) AS c (key_id, session_id, token_id)
           LEFT JOIN api_keys k ON k.id = c.key_id
           LEFT JOIN accounts a ON a.id = k.account_id
           LEFT JOIN tokens t ON t.id = c.token_id
           LEFT JOIN dashboard_sessions s ON s.secret_sha256 = decode(c.session_id, 'hex')
          WHERE k.id IS NULL OR k.revoked_at IS NOT NULL OR k.expires_at <= $3 OR a.status = 'suspended'
             OR (c.session_id IS NOT NULL AND (s.expires_at > $3) IS NOT TRUE)
             OR (c.token_id IS NOT NULL AND (t.expires_at > $3) IS NOT TRUE)`,
};

interface EndedRow {
  readonly keyId: string;
  readonly sessionId: string | null;
  readonly tokenId: string | null;
  readonly isSuspended: boolean;
}

/** The open responses of one key, or of one session or token of it. */
interface Open {
  readonly caller: Caller;
  readonly ends: Set<(reason: AccessEnded) => void>;
}

/** @param now milliseconds since 1970. */
export function createOpenResponses(options: {
  readonly database: Queryable;
  readonly logger: Logger;
  readonly now: () => number;
  /** Notified of each key or token whose responses have ended: what is cached of it is no longer true. */
  readonly forget: (id: string) => void;
}): OpenResponses {
  const { database, logger, now, forget } = options;
  const open = new Map<string, Open>();

  const endThoseOf = ({ keyId, sessionId, tokenId, isSuspended }: EndedRow): void => {
    const id = idOf({ keyId, sessionId: sessionId ?? undefined, tokenId: tokenId ?? undefined });
    const ended = open.get(id);
    if (ended === undefined) return;
    open.delete(id);
    forget(keyId);
    if (tokenId !== null) forget(tokenId);
    const { caller, ends } = ended;
    const reason = isSuspended ? new AccountSuspendedError(caller) : new UnauthenticatedError(caller.origins);
    logger.info({ keyId, accountId: caller.accountId, answers: ends.size, reason: reason.name }, 'responses ended');
    for (const end of ends) end(reason);
  };

  const check = async (): Promise<void> => {
    const callers = [...open.values()].map(({ caller }) => caller);
    for (let index = 0; index < callers.length; index += CHECKED_AT_ONCE) {
      const some = callers.slice(index, index + CHECKED_AT_ONCE);
      const rows = await database.query<EndedRow>(selectEnded, [
        some.map(({ keyId }) => keyId),
        some.map(({ sessionId }) => sessionId ?? null),
        new Date(now()),
        some.map(({ tokenId }) => tokenId ?? null),
      ]);
      for (const row of rows) endThoseOf(row);
    }
  };

  const poller = createPoller({
    what: 'the access of the callers of open responses',
    poll: check,
    isNeeded: () => open.size > 0,
    waitMs: () => CHECK_EVERY_MS,
    logger,
  });

  return {
    register(caller, end) {
      const id = idOf(caller);
      const others = open.get(id);
      const entry = others ?? { caller, ends: new Set() };
      if (others === undefined) open.set(id, entry);
      // Of its own, so that one function may be registered for several responses.
      const own = (reason: AccessEnded): void => end(reason);
      entry.ends.add(own);
      poller.schedule();
      return () => {
        entry.ends.delete(own);
        if (entry.ends.size > 0 || open.get(id) !== entry) return;
        open.delete(id);
        if (open.size === 0) poller.stop();
      };
    },
    check,
    count: () => [...open.values()].reduce((sum, { ends }) => sum + ends.size, 0),
  };
}

interface Access {
  readonly keyId: string;
  readonly sessionId?: string | undefined;
  readonly tokenId?: string | undefined;
}

function idOf({ keyId, sessionId = '', tokenId = '' }: Access): string {
  return `${keyId} ${sessionId} ${tokenId}`;
}
