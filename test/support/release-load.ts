/**
 * The statements of an earlier release, sent as its processes would send them while a migration runs: creates, reads,
 * authentication and the launcher's claims, in loops that do not wait for one another.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { packageFile } from '../../src/config/package-root.ts';

interface RecordedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface ReleaseLoad {
  /** How often each statement was answered so far, by its name. */
  readonly answered: ReadonlyMap<string, number>;
  /** Ends the loops. @throws {Error} the first failure of a statement. */
  stop(): Promise<void>;
}

/** @param mostWaitMs for a lock: a statement that waits longer fails, and with it `stop`. */
export async function startReleaseLoad(options: {
  readonly url: string;
  readonly version: string;
  readonly account: { readonly id: string; readonly keyId: string };
  readonly mostWaitMs: number;
}): Promise<ReleaseLoad> {
  const file = packageFile(path.join('test/fixtures/releases', options.version, 'statements.json'));
  const statements = JSON.parse(await readFile(file, 'utf8')) as readonly RecordedStatement[];
  const answered = new Map(statements.map(({ name }) => [name, 0]));
  const state = { isStopped: false };
  /** The task that was created most recently. */
  const latest = { taskId: '' };

  const loop = async ({ name, text, values }: RecordedStatement): Promise<void> => {
    const client = new pg.Client({ connectionString: options.url, application_name: 'old release' });
    await client.connect();
    try {
      await client.query(`SET lock_timeout = ${options.mostWaitMs}`);
      while (!state.isStopped) {
        const taskId = name === 'accept_tasks' ? newTaskId() : latest.taskId;
        const facts = { taskId, accountId: options.account.id, keyId: options.account.keyId, key: taskId };
        const { rowCount } = await client.query({ name, text, values: values.map((value) => fill(value, facts)) });
        if (name === 'accept_tasks') {
          if (rowCount !== 1) throw new Error(`a create of the old release was answered with ${rowCount} rows`);
          latest.taskId = taskId;
        }
        answered.set(name, (answered.get(name) ?? 0) + 1);
      }
    } catch (error) {
      throw new Error(`${name} of ${options.version} failed`, { cause: error });
    } finally {
      await client.end();
    }
  };
  const loops = statements.map(loop);
  // Only `stop` throws it.
  for (const each of loops) each.catch(() => undefined);
  return {
    answered,
    async stop() {
      state.isStopped = true;
      const ends = await Promise.allSettled(loops);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

function newTaskId(): string {
  return `tk-svc-${randomBytes(13).toString('hex').toUpperCase()}`;
}

function fill(value: unknown, facts: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((each) => fill(each, facts));
  if (typeof value !== 'string') return value;
  return facts[/^\{(\w+)\}$/.exec(value)?.[1] ?? ''] ?? value;
}
