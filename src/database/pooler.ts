/**
 * Connection poolers between a process and PostgreSQL (docs/operations/scale.md). In transaction mode two
 * transactions of a connection may run on two sessions, and one session serves many connections. What goes wrong where
 * the settings do not say so is seldom clear by itself (`prepared statement "check" does not exist`, at random), so it
 * is looked for when a process starts, and named wherever it is met.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DatabaseVariable } from '../config/connections.ts';
import { DarkroomError, errorCodeOf } from '../domain/darkroom-error.ts';
import type { Database, Statement } from './database.ts';

/** The settings do not fit what is between this process and PostgreSQL. Retrying is useless. */
export class PoolerError extends DarkroomError {
  override readonly name = 'PoolerError';
  override readonly kind = 'operator_action_required';
}

/** What the settings say about connections. */
export interface PooledConnection {
  readonly isPooled: boolean;
  readonly preparesStatements: boolean;
  /** The setting that has the address. */
  readonly variable: DatabaseVariable;
}

/** The server cannot be reached, or denies access. */
export class ConnectionFailedError extends DarkroomError {
  override readonly name = 'ConnectionFailedError';
  override readonly kind = 'unavailable';
}

const ADVICE: Readonly<Record<DatabaseVariable, string>> = {
  DATABASE_URL:
    'If it is a pooler, such as PgBouncer: set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL to PostgreSQL itself',
  DATABASE_DIRECT_URL: 'It has to be PostgreSQL itself, and no pooler such as PgBouncer',
};
const NO_STATEMENTS =
  'DATABASE_URL: the pooler does not keep track of prepared statements. Leave DATABASE_STATEMENTS unset, or set max_prepared_statements of PgBouncer 1.21 or later';

/** The SQLSTATEs of a named statement that the session does not have, and of one that it has already. */
const STATEMENT_SQLSTATES = new Set(['26000', '42P05']);
/** PgBouncer gives it to everything that it reports itself. */
const PROTOCOL_VIOLATION = '08P01';

/** @returns undefined if the error has nothing to do with a pooler. */
export function findPoolerProblem(error: Error, connection: PooledConnection): PoolerError | undefined {
  const problem = describeProblem(error, connection);
  return problem === undefined ? undefined : new PoolerError(problem, { cause: error });
}

function describeProblem(
  error: Error,
  { isPooled, preparesStatements, variable }: PooledConnection,
): string | undefined {
  const code = errorCodeOf(error) ?? '';
  if (STATEMENT_SQLSTATES.has(code) && preparesStatements) {
    if (isPooled) return NO_STATEMENTS;
    return `${variable}: another session than the one that prepared a statement was asked to run it (${error.message}). ${ADVICE[variable]}`;
  }
  if (code !== PROTOCOL_VIOLATION) return undefined;
  if (error.message.startsWith('unsupported startup parameter')) {
    return `${variable}: the server rejects the settings of a session (${error.message}). ${ADVICE[variable]}`;
  }
  if (error.message.includes('transaction blocks not allowed in statement pooling mode')) {
    return `${variable}: the pooler allows no transactions (${error.message}). Set its pool_mode to transaction`;
  }
  return undefined;
}

/** What PgBouncer says of a client, or of its own login, that no retry will change; PostgreSQL has codes for them. */
const ACCESS_DENIED =
  /^(?:SASL authentication failed|no such (?:database|user)|(?:server login failed: )?(?:FATAL )?(?:password authentication failed|database "[^"]*" does not exist))/;

/** Whether a pooler denies access, or reports that PostgreSQL does. */
export function isDeniedByPooler(error: Error): boolean {
  return errorCodeOf(error) === PROTOCOL_VIOLATION && ACCESS_DENIED.test(error.message);
}

const selectTimeout: Statement = {
  name: 'select_statement_timeout',
  text: `SELECT setting::integer AS ms FROM pg_settings WHERE name = 'statement_timeout'`,
};

/**
 * @param database opened with this connection.
 * @param options.statementTimeoutMs what it asks its sessions for.
 * @throws {PoolerError} the settings and the server disagree.
 * @throws {DatabaseUnavailableError}
 */
export async function verifyPooler(
  database: Pick<Database, 'query' | 'transaction'>,
  {
    isPooled,
    preparesStatements,
    variable,
    statementTimeoutMs,
  }: PooledConnection & { readonly statementTimeoutMs: number },
): Promise<void> {
  // In a transaction, which a pooler in statement mode rejects.
  const [found] = await database.transaction((transaction) => transaction.query<{ ms: number }>(selectTimeout));
  if (!isPooled && found?.ms !== statementTimeoutMs) {
    throw new PoolerError(
      `${variable}: the server ignores the settings of a session (statement_timeout is ${found?.ms} ms instead of ${statementTimeoutMs}). ${ADVICE[variable]}`,
    );
  }
  if (isPooled && preparesStatements) await verifyStatements(database);
}

/**
 * A pooler that keeps track of prepared statements gives them names of its own, because two clients may use the same.
 * The statement looks for its own name where it runs, which is where it was prepared.
 */
async function verifyStatements(database: Pick<Database, 'query'>): Promise<void> {
  const name = `verify_statements_${randomBytes(6).toString('hex')}`;
  const text = `SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = $1) AS "isKept"`;
  const [row] = await database.query<{ isKept: boolean }>({ name, text }, [name]);
  if (row?.isKept === true) throw new PoolerError(NO_STATEMENTS);
}

/** How often two connections are compared: servers of a pooler that is in use change between any two transactions. */
const COMPARISONS = 10;

/**
 * Connects to a session of its own, as session settings and advisory locks need it.
 *
 * @throws {ConnectionFailedError}
 * @throws {PoolerError} it is one of a pooler in transaction mode. One that keeps a session for each client until it
 *   leaves is fine.
 */
export async function connectSession(
  connectionString: string,
  applicationName: string,
  purpose: string,
  variable: DatabaseVariable = 'DATABASE_URL',
): Promise<pg.Client> {
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString, keepAlive: true, application_name: applicationName });
    // Queries on it fail with the same error, and without a listener it would end the process in the middle of them.
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      throw new ConnectionFailedError(`${variable}: ${addressOf(connectionString)}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
    return client;
  };
  const client = await connect();
  try {
    if (!(await hasOwnSession(client, connect))) {
      throw new PoolerError(
        `${variable}: ${addressOf(connectionString)} is a pooler that shares sessions between its clients, such as PgBouncer in transaction mode, and ${purpose} needs a session of its own. Set DATABASE_DIRECT_URL to PostgreSQL itself`,
      );
    }
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** @param connect opens another connection of the same kind. */
async function hasOwnSession(client: pg.Client, connect: () => Promise<pg.Client>): Promise<boolean> {
  const first = await sessionOf(client);
  // Poolers have process ids of their own for their clients. The types of pg leave out that of the connection.
  if ('processID' in client && client.processID === first) return true;
  const other = await connect();
  try {
    const [own, others] = [new Set([first]), new Set<number>()];
    for (let round = 0; round < COMPARISONS; round++) {
      others.add(await sessionOf(other));
      own.add(await sessionOf(client));
    }
    return own.size === 1 && !others.has(first);
  } finally {
    await other.end();
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL did not return its process id');
  return row.pid;
}

/** A host name with several addresses fails with an error for each, and without a message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Without user and password. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) return 'the address of the database';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
