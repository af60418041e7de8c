/**
 * Temporal as a launcher sees it, where the test decides when a start is answered: starts are counted in round trips
 * and not in time. Also a database that reports when no statement is running, so that a test knows when a launcher
 * has done all that it does without being woken.
 */
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { StartResult, TaskStart } from '../../src/temporal/workflow-gateway.ts';
import { scriptedGateway } from './scripted-gateway.ts';

/** After this many turns of the event loop without a running statement, none will follow by itself. */
const QUIET_TURNS = 5;

export class HeldGateway {
  /** Every requested start, in order. */
  readonly asked: TaskId[] = [];
  readonly started = new Set<TaskId>();
  /** Temporal is unavailable: every start fails at once. */
  isAway = false;
  /** Tasks that are never accepted. */
  readonly rejected = new Set<TaskId>();
  /** Starts are answered as soon as they are requested. */
  answersAtOnce = false;
  #held: (() => void)[] = [];

  readonly gateway = scriptedGateway({
    startTask: (task: TaskStart) => this.#start(task),
    cancelTask: () => (this.isAway ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(true)),
  });

  /** How many starts wait for their answer. */
  get inFlight(): number {
    return this.#held.length;
  }

  /** Answers the oldest of them. */
  answer(count = this.#held.length): void {
    for (const release of this.#held.splice(0, count)) release();
  }

  async #start({ taskId }: Pick<TaskStart, 'taskId'>): Promise<StartResult> {
    this.asked.push(taskId);
    if (this.isAway || this.rejected.has(taskId)) throw new Error('Temporal rejects it');
    if (!this.answersAtOnce) await new Promise<void>((resolve) => this.#held.push(resolve));
    this.started.add(taskId);
    return { kind: 'running' };
  }
}

export interface WatchedDatabase {
  readonly database: Database;
  /** Rows that were claimed for the first time. */
  claimed(): number;
  /** How many rows could be claimed when a claim returned nothing, for each such claim. */
  readonly emptyClaims: number[];
  /** Waits until nothing more happens without a timer or a gateway. */
  quiet(): Promise<void>;
}

function isFirstClaim(row: unknown): boolean {
  return typeof row === 'object' && row !== null && 'deliveries' in row && row.deliveries === 0;
}

/** @param rows the total number of rows to claim. */
export function watchDatabase(database: Database, rows: number): WatchedDatabase {
  const emptyClaims: number[] = [];
  let underWay = 0;
  let claimed = 0;
  const query: Database['query'] = async <Row>(...[statement, values]: Parameters<Database['query']>) => {
    underWay += 1;
    try {
      const found = await database.query<Row>(statement, values);
      if (statement.name === 'claim_outbox') {
        claimed += found.filter(isFirstClaim).length;
        if (found.length === 0) emptyClaims.push(rows - claimed);
      }
      return found;
    } finally {
      underWay -= 1;
    }
  };
  return {
    database: { ...database, query },
    claimed: () => claimed,
    emptyClaims,
    async quiet() {
      for (let turns = 0; turns < QUIET_TURNS; turns++) {
        await new Promise((resolve) => setImmediate(resolve));
        if (underWay > 0) turns = 0;
      }
    },
  };
}
