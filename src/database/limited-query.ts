/**
 * A statement that brings its own timeouts, for connections that a pooler shares. The settings of a session would stay
 * with whoever gets the server's connection next, and poolers reject those of a startup message, so each statement
 * sets them for its own transaction: both are sent in one write and answered together, at no extra round trip.
 * A transaction sets them when it begins (`beginWith`).
 */
import pg from 'pg';

/** In milliseconds, by the names of PostgreSQL's settings. */
export interface Limits {
  readonly statement_timeout: number;
  readonly lock_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
}

/** One message: it takes one round trip, like `BEGIN` alone. */
export function beginWith(limits: Limits): string {
  const settings = Object.entries(limits).map(([name, value]) => `; SET LOCAL ${name} = ${value}`);
  return `BEGIN${settings.join('')}`;
}

/** Without values, so that its messages are the same every time. */
function setLimits(limits: Limits): string {
  const settings = Object.entries(limits).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  return `SELECT ${settings.join(', ')}`;
}

interface LimitedQueryConfig extends pg.QueryConfig<unknown[]> {
  /** Read by the client: how long to wait for the answer, in milliseconds. */
  readonly query_timeout?: number;
}

/** What a query does with the messages of the server. */
interface Exchange {
  name: string | undefined;
  submit(connection: pg.Connection): Error | null;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

// The types of pg leave out these methods, which pg-cursor and other queries of that kind implement as well.
const Exchange = pg.Query as unknown as new (
  config: pg.QueryConfig<unknown[]> & { readonly queryMode: 'extended'; readonly callback: Callback },
) => Exchange;

/**
 * Everything before the one `Sync` of an extended query is one transaction, and each `Execute` in it has a statement
 * timeout of its own.
 */
class LimitedQuery extends Exchange {
  readonly #setLimits: string;
  readonly #name: string | undefined;
  /** Read by the client. */
  readonly query_timeout: number | undefined;
  #hasLimits = false;

  constructor({ query_timeout, ...config }: LimitedQueryConfig, limits: Limits, callback: Callback) {
    super({ ...config, queryMode: 'extended', callback });
    this.query_timeout = query_timeout;
    this.#setLimits = setLimits(limits);
    this.#name = config.name;
  }

  override submit(connection: pg.Connection): Error | null {
    connection.stream.cork();
    try {
      connection.parse({ name: '', text: this.#setLimits, types: [] }, true);
      connection.bind({ portal: '', statement: '', values: [] }, true);
      connection.execute({ portal: '' }, true);
      return super.submit(connection);
    } finally {
      connection.stream.uncork();
      // The client takes the next statement that was parsed for the one of this name, which the settings are not.
      this.name = undefined;
    }
  }

  override handleDataRow(message: unknown): void {
    if (this.#hasLimits) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    if (this.#hasLimits) {
      super.handleCommandComplete(message, connection);
      return;
    }
    this.#hasLimits = true;
    this.name = this.#name;
  }
}

/**
 * Runs one statement outside of a transaction with these limits. Like the pool's own `query`, it closes the connection
 * after any error.
 */
export async function queryWith(limits: Limits, pool: pg.Pool, config: LimitedQueryConfig): Promise<pg.QueryResult> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    const result = await new Promise<pg.QueryResult>((resolve, reject) => {
      // The client passes undefined or null where there is no error.
      client.query(new LimitedQuery(config, limits, (error, rows) => (error ? reject(error) : resolve(rows))));
    });
    isBroken = false;
    return result;
  } finally {
    client.release(isBroken);
  }
}
