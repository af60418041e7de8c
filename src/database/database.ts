/**
 * Access to PostgreSQL: one pool, named statements, transactions, and errors translated at this edge so that no other
 * module knows a driver's codes. SQL itself is in the module that owns the table.
 */
import pg from 'pg';
import { timeOutMs } from '../config/time-outs.ts';
import type { DatabaseConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import { watchConnectionWaits } from './connection-waits.ts';
import { beginWith, queryWith } from './limited-query.ts';
import { findPoolerProblem, isDeniedByPooler, verifyPooler } from './pooler.ts';
import type { PooledConnection } from './pooler.ts';
import { DarkroomError, errorCodeOf } from '../domain/darkroom-error.ts';

/** One statement, prepared under its name once per connection, unless there is a pooler between. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** How long to wait for its result, if that is longer than usual; the transaction allows it to the server. */
  readonly timeoutMs?: number;
}

/** Something that runs statements: the pool, or a transaction. Stores take this, so that a caller can compose. */
export interface Queryable {
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export interface Database extends Queryable {
  /** Runs all of `work` in one transaction; whatever it throws rolls everything back. */
  transaction<T>(work: (transaction: Queryable) => Promise<T>): Promise<T>;
  /** Throws unless the database responds. */
  check(): Promise<void>;
  /**
   * The same, and that the settings say rightly whether there is a pooler between.
   *
   * @throws {PoolerError}
   */
  verify(): Promise<void>;
  /** The connections of the pool, and the callers that wait for one. */
  pool(): PoolState;
  close(): Promise<void>;
}

/** Numbers of connections, and of callers that wait for one. */
export interface PoolState {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** PostgreSQL cannot be reached, or the connection was lost. Whether the statement took effect is unknown. */
export class DatabaseUnavailableError extends DarkroomError {
  override readonly name: string = 'DatabaseUnavailableError';
  override readonly kind = 'unavailable';
}

/** Another transaction held a row locked for longer than the statement allows (`lock_timeout`). Nothing was done. */
export class LockTimeoutError extends DatabaseUnavailableError {
  override readonly name = 'LockTimeoutError';
}

/** PostgreSQL responds but denies access. The connection URL is wrong, so retrying is useless. */
export class DatabaseAccessDeniedError extends DarkroomError {
  override readonly name = 'DatabaseAccessDeniedError';
  override readonly kind = 'operator_action_required';
}

/** A unique constraint rejected a row. */
export class UniqueViolationError extends Error {
  override readonly name = 'UniqueViolationError';
  readonly constraint: string;

  constructor(constraint: string, options: { cause: unknown }) {
    super(`unique constraint ${constraint}`, options);
    this.constraint = constraint;
  }
}

/** The time after which an attempt to connect fails, in milliseconds: the database is unavailable. */
const CONNECTION_TIMEOUT_MS = timeOutMs(5_000);
/**
 * The time after which the server ends a statement, in milliseconds. None of our statements takes that long, and a slow
 * one holds locks for which others wait.
 */
const STATEMENT_TIMEOUT_MS = timeOutMs(15_000);
/**
 * The time after which a statement without a response fails here, in milliseconds. Usually the server has ended it
 * before; this limit is for a server that has become unreachable.
 */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + timeOutMs(5_000);
/**
 * The longest wait for a connection of the pool, in milliseconds. By then each statement that had one when the wait
 * began has ended, so a pool that is only busy is waited for. How many wait is bounded before (limits/row-databases.ts).
 */
const POOL_WAIT_MS = ANSWER_TIMEOUT_MS;
/**
 * How long to wait, with a connection, for a row that another transaction has locked: longer than the transactions
 * of a busy account hold its row, one after the other; far below what the server grants to one that has stopped.
 */
const LOCK_TIMEOUT_MS = timeOutMs(2_000);
/**
 * The time after which the server ends an idle transaction, in milliseconds: a process that dies inside a transaction
 * must not keep an account's row locked for long.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = timeOutMs(10_000);

const LIMITS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
};
const BEGIN_WITH_LIMITS = beginWith(LIMITS);

/** The pool has one time-out for its queue and for new connections; these have a shorter one of their own. */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
  }
}

const INT8_OID = 20;

/** Reads `bigint` columns as `bigint`: money never passes through a floating-point number. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8_OID && format !== 'binary') return (text: string) => BigInt(text);
    return pg.types.getTypeParser(oid, format ?? 'text');
  },
};

/**
 * Opens a pool. Nothing is connected until the first statement. Behind a pooler nothing depends on a session: each
 * transaction sets its own timeouts (limited-query.ts), and statements have names only where the pooler tracks them.
 */
export function openDatabase(
  config: DatabaseConfig,
  logger: Logger,
  observe?: (statementName: string) => void,
): Database {
  const { isPooled = false, preparesStatements = !isPooled, variable = 'DATABASE_URL' } = config;
  const translateError = (error: unknown): unknown => translate(error, { isPooled, preparesStatements, variable });
  const pool = new pg.Pool({
    connectionString: config.url,
    max: config.poolSize,
    Client,
    connectionTimeoutMillis: POOL_WAIT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    ...(isPooled ? {} : LIMITS),
    keepAlive: true,
    application_name: 'darkroom',
    types,
  });
  // Without a listener a connection that dies while idle would end the process.
  pool.on('error', (error) => logger.warn({ err: error }, 'idle database connection lost'));
  // Likewise one that dies between two statements of a transaction: the next statement fails, which is enough.
  pool.on('connect', (client) => {
    client.on('error', (error) => logger.debug({ err: error }, 'database connection lost while in use'));
  });

  const waits = watchConnectionWaits();

  const run = async <Row>(
    client: pg.Pool | pg.PoolClient,
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> => {
    if (client === pool) waits?.assertMayWait(statement.name);
    observe?.(statement.name);
    try {
      const { name, text, timeoutMs } = statement;
      const query: pg.QueryConfig & { query_timeout?: number } = {
        // Where it has no name, pg_stat_activity and traces of the protocol still show which one it is.
        ...(preparesStatements ? { name, text } : { text: `/* ${name} */ ${text}` }),
        values: [...values],
      };
      if (timeoutMs !== undefined) query.query_timeout = timeoutMs;
      const isAlone = client === pool && isPooled;
      const result = await (isAlone ? queryWith(LIMITS, pool, query) : client.query(query));
      return result.rows as Row[];
    } catch (error) {
      throw translateError(error);
    }
  };

  /** A pooler accepts connections and makes their first statements wait: the wait is the same as for a connection. */
  const begin = async (client: pg.PoolClient): Promise<void> => {
    if (!isPooled) {
      await client.query('BEGIN');
      return;
    }
    const query: pg.QueryConfig & { query_timeout?: number } = { text: BEGIN_WITH_LIMITS };
    query.query_timeout = POOL_WAIT_MS;
    await client.query(query);
  };

  const database: Database = {
    query: (statement, values) => run(pool, statement, values),
    async transaction(work) {
      waits?.assertMayWait('a transaction');
      const client = await pool.connect().catch((error: unknown) => {
        throw translateError(error);
      });
      let isBroken = false;
      try {
        await begin(client).catch((error: unknown) => {
          isBroken = true;
          throw error;
        });
        const transaction: Queryable = { query: (statement, values) => run(client, statement, values) };
        const result = await (waits === undefined ? work(transaction) : waits.hold(() => work(transaction)));
        observe?.('commit');
        await client.query('COMMIT');
        return result;
      } catch (error) {
        // A transaction that never began ends with its connection, which may not answer.
        if (!isBroken) {
          await client.query('ROLLBACK').catch(() => {
            isBroken = true;
          });
        }
        throw translateError(error);
      } finally {
        client.release(isBroken);
      }
    },
    async check() {
      await run(pool, { name: 'check', text: 'SELECT 1' });
    },
    verify: () =>
      verifyPooler(database, { isPooled, preparesStatements, variable, statementTimeoutMs: STATEMENT_TIMEOUT_MS }),
    pool: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
  return database;
}

/**
 * Classes 08 (connection), 53 (resources), 57P (shutdown and crash), 57014 (our own statement timeout), 58 (its
 * disk), 40 (rolled back by a deadlock or a conflict), 25006 (a replica that was the primary), XX000 (an error inside
 * the server: a file that may not grow is one): the server's state, not the statement, is at fault, and the same
 * statement may well succeed later.
 */
const UNAVAILABLE_SQLSTATE = /^(08|53|57P|57014|58|40|25006|XX000)/;
const UNAVAILABLE_SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
]);
const UNIQUE_VIOLATION = '23505';
const LOCK_NOT_AVAILABLE = '55P03';

/** The SQLSTATEs of an unknown user, a wrong password and an unknown database. */
const ACCESS_DENIED_SQLSTATES = new Set(['28000', '28P01', '3D000']);

function translate(error: unknown, connection: PooledConnection): unknown {
  if (!(error instanceof Error) || error instanceof DarkroomError) return error;
  const problem = findPoolerProblem(error, connection);
  if (problem !== undefined) return problem;
  const code = errorCodeOf(error) ?? '';
  if (code === UNIQUE_VIOLATION) {
    const constraint = 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : '';
    return new UniqueViolationError(constraint, { cause: error });
  }
  if (code === LOCK_NOT_AVAILABLE) {
    return new LockTimeoutError('a row stayed locked by another transaction', { cause: error });
  }
  if (ACCESS_DENIED_SQLSTATES.has(code) || isDeniedByPooler(error)) {
    return new DatabaseAccessDeniedError(`${connection.variable}: PostgreSQL denies access: ${error.message}`, {
      cause: error,
    });
  }
  const isConnectionLoss =
    /connection terminated|not queryable|query read timeout|timeout expired|timeout exceeded when trying to connect|connection ended/i.test(
      error.message,
    );
  if (isConnectionLoss || UNAVAILABLE_SYSTEM_CODES.has(code) || UNAVAILABLE_SQLSTATE.test(code)) {
    return new DatabaseUnavailableError('the database is not available', { cause: error });
  }
  return error;
}
