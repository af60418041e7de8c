/**
 * One file of `migrations/` as node-pg-migrate runs it. A file runs in one transaction, unless its first line says
 * `-- Up Migration (no transaction)`: then its statements run one after the other, each committed by itself, which is
 * what `CREATE INDEX CONCURRENTLY` and updates in batches need. Such a file may be interrupted after any statement, so
 * each of them must be repeatable (docs/operations/backup-and-upgrade.md, "Writing a migration"; a test enforces it).
 */
import { readFile } from 'node:fs/promises';
import type { MigrationBuilder, RunnerOption } from 'node-pg-migrate';
import type { Logger } from '../telemetry/log.ts';

/** One statement of a file without a transaction. */
export interface MigrationStatement {
  readonly sql: string;
  /** Run again until it changes no row: the line `-- Repeat until no row changes` is before it. */
  readonly isRepeated: boolean;
}

export interface MigrationFile {
  readonly isTransaction: boolean;
  readonly text: string;
  /** The statements of a file without a transaction; otherwise empty. */
  readonly statements: readonly MigrationStatement[];
}

const NO_TRANSACTION = '-- Up Migration (no transaction)';
const REPEATED = '-- Repeat until no row changes';

/** @throws {SyntaxError} a file without a transaction has a body in dollar quotes, which is not split. */
export function parseMigration(text: string): MigrationFile {
  const lines = text.split('\n').map((line) => line.trimEnd());
  if (!lines.includes(NO_TRANSACTION)) return { isTransaction: true, text, statements: [] };
  if (text.includes('$$')) throw new SyntaxError('no dollar quotes in a migration without a transaction');
  const statements: MigrationStatement[] = [];
  let [sql, isRepeated] = ['', false];
  for (const line of lines) {
    if (line === REPEATED) isRepeated = true;
    if (!line.trimStart().startsWith('--')) sql += `${line}\n`;
    if (!sql.endsWith(';\n')) continue;
    statements.push({ sql: sql.trim().slice(0, -1), isRepeated });
    [sql, isRepeated] = ['', false];
  }
  if (sql.trim() !== '') statements.push({ sql: sql.trim(), isRepeated });
  return { isTransaction: false, text, statements };
}

function wordsOf(sql: string): string[] {
  return sql.split(/\s/).filter((word) => word !== '');
}

/** The name of the index that a statement builds concurrently. */
function concurrentIndexOf(sql: string): string | undefined {
  const words = wordsOf(sql);
  const name = words.findIndex((word) => word.toUpperCase() === 'ON') - 1;
  const isBuilt = ['INDEX', 'CONCURRENTLY'].every((word) => words.slice(0, name).includes(word));
  return isBuilt && words[0] === 'CREATE' ? words[name] : undefined;
}

/** Its lock conflicts with no read and no write, neither while it is held nor while it is waited for. */
function blocksNobody(sql: string): boolean {
  const words = wordsOf(sql);
  return words.includes('CONCURRENTLY') || words.includes('VALIDATE');
}

/** @param lockTimeoutMs for statements whose wait would make others wait behind them. */
export function migrationLoader(
  lockTimeoutMs: number,
  logger: Logger,
): NonNullable<RunnerOption['migrationLoaderStrategies']> {
  return [
    {
      extensions: ['.sql'],
      loader: (filePaths) =>
        Promise.all(
          filePaths.map(async (filePath) => {
            const file = parseMigration(await readFile(filePath, 'utf8'));
            const up = async (pgm: MigrationBuilder): Promise<void> => {
              if (file.isTransaction) {
                pgm.sql(file.text);
                return;
              }
              pgm.noTransaction();
              for (const statement of file.statements) await run(pgm.db, statement, lockTimeoutMs, logger);
            };
            return { id: filePath, filePaths: [filePath], actions: { up, down: false as const } };
          }),
        ),
    },
  ];
}

async function run(
  db: MigrationBuilder['db'],
  { sql, isRepeated }: MigrationStatement,
  lockTimeoutMs: number,
  logger: Logger,
): Promise<void> {
  const index = concurrentIndexOf(sql);
  await db.query(`SET lock_timeout = ${blocksNobody(sql) ? 0 : lockTimeoutMs}`);
  if (index !== undefined) await dropInvalidIndex(db, index, logger);
  for (;;) {
    const { rowCount } = await db.query(sql);
    if (!isRepeated || (rowCount ?? 0) === 0) break;
  }
  await db.query(`SET lock_timeout = ${lockTimeoutMs}`);
}

/** `IF NOT EXISTS` would take an index that an interrupted run left half built for a good one. */
async function dropInvalidIndex(db: MigrationBuilder['db'], index: string, logger: Logger): Promise<void> {
  const invalid: unknown[] = await db.select({
    text: 'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
    values: [index],
  });
  if (invalid.length === 0) return;
  logger.warn({ index }, 'rebuilding an index that an interrupted migration left invalid');
  await db.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
}
