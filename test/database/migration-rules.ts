/**
 * What a new migration must not do, because it runs while processes of the previous release are at work and on tables
 * of any size (docs/operations/backup-and-upgrade.md, "Writing a migration"). Reads simple SQL like that of
 * `migrations/`; what it does not understand it does not forbid: the upgrade tests run each migration on the database
 * of a release as well.
 */
import { parseMigration } from '../../src/database/migration-file.ts';

/** A file of `migrations/`. */
export interface MigrationText {
  readonly name: string;
  readonly text: string;
}

const CREATE_TABLE = /\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)"?/gi;
const CREATE_INDEX = /^CREATE\s+(?:UNIQUE\s+)?INDEX\b.*?\bON\s+(?:ONLY\s+)?"?(\w+)"?/is;
const ALTER_TABLE = /^ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?"?(\w+)"?/i;
const REPEATABLE =
  /\bIF\s+(?:NOT\s+)?EXISTS\b|\bVALIDATE\s+CONSTRAINT\b|\bNOT\s+VALID\b|\bON\s+CONFLICT\b|^SET\s|^UPDATE\b|^DELETE\b/i;
const CONTRACT = /^--\s*Contract: last used by \d+\.\d+\.\d+/m;

/** @returns one line for each rule that a file breaks. @param earlier the files that ran before it. */
export function migrationProblems({ name, text }: MigrationText, earlier: readonly MigrationText[]): readonly string[] {
  const existing = new Set(earlier.flatMap((file) => tablesOf(file.text)));
  const { isTransaction, statements } = parseMigration(text);
  const all = isTransaction ? split(text) : statements.map(({ sql }) => sql);
  const problems = all.flatMap((sql) => problemsOf(sql, existing));
  for (const { sql, isRepeated } of statements) {
    const [, added] = /\bADD\s+CONSTRAINT\s+(\w+)/i.exec(sql) ?? [];
    if (added !== undefined && !text.includes(`DROP CONSTRAINT IF EXISTS ${added};`)) {
      problems.push(`not repeatable without DROP CONSTRAINT IF EXISTS ${added} before it`);
    }
    if (!REPEATABLE.test(sql)) problems.push(`not repeatable, and nothing takes it back: ${firstLine(sql)}`);
    if (isRepeated && !/\bLIMIT\b/i.test(sql)) problems.push(`a batch needs a LIMIT: ${firstLine(sql)}`);
    if (/^(UPDATE|DELETE)\b/i.test(sql) && !isRepeated) problems.push(`change rows in batches: ${firstLine(sql)}`);
  }
  if (isTransaction) {
    const locked = new Set(all.flatMap((sql) => lockedTables(sql)).filter((table) => existing.has(table)));
    // Each lock may have to wait while the previous one is held.
    if (locked.size > 1) problems.push(`locks ${[...locked].join(', ')} in one transaction: one file for each`);
    if (/\bCONCURRENTLY\b/i.test(all.join(';'))) problems.push('CONCURRENTLY needs a file without a transaction');
  }
  if (all.some((sql) => /\bDROP\s+(TABLE|COLUMN)\b/i.test(sql)) && !CONTRACT.test(text)) {
    problems.push('drops what the release before may use: say `-- Contract: last used by <version>`');
  }
  return problems.map((problem) => `${name}: ${problem}`);
}

function problemsOf(sql: string, existing: ReadonlySet<string>): string[] {
  const line = firstLine(sql);
  const [, indexed = ''] = CREATE_INDEX.exec(sql) ?? [];
  if (existing.has(indexed)) {
    if (!/\bINDEX\s+CONCURRENTLY\s+IF\s+NOT\s+EXISTS\b/i.test(sql)) {
      return [`stops writes to ${indexed}: CREATE INDEX CONCURRENTLY IF NOT EXISTS: ${line}`];
    }
  }
  const [, changed = ''] = /^(?:UPDATE|DELETE\s+FROM)\s+(?:ONLY\s+)?"?(\w+)"?/i.exec(sql) ?? [];
  if (existing.has(changed) && !/\bLIMIT\b/i.test(sql)) return [`changes all rows of ${changed} at once: ${line}`];
  const [, altered = ''] = ALTER_TABLE.exec(sql) ?? [];
  return existing.has(altered) ? alterProblems(sql).map((problem) => `${problem}: ${line}`) : [];
}

/**
 * Changes that scan or rewrite a table under a lock that blocks readers, or break the statements of the previous
 * release.
 */
function alterProblems(sql: string): string[] {
  const problems: string[] = [];
  const forbid = (pattern: RegExp, problem: string): void => {
    if (pattern.test(sql)) problems.push(problem);
  };
  forbid(/\bALTER\s+(?:COLUMN\s+)?"?\w+"?\s+(?:SET\s+DATA\s+)?TYPE\b/i, 'a new type rewrites the table: add a column');
  forbid(/\bSET\s+NOT\s+NULL\b/i, 'SET NOT NULL reads the whole table: CHECK (… IS NOT NULL) NOT VALID, then VALIDATE');
  forbid(/\bRENAME\b/i, 'the release before knows the old name');
  forbid(/\bSET\s+(?:UN)?LOGGED\b|\bSET\s+(?:TABLESPACE|ACCESS\s+METHOD)\b|\bCLUSTER\b/i, 'rewrites the table');
  for (const column of sql.split(/\bADD\s+COLUMN\b/i).slice(1)) {
    if (/\bGENERATED\b|\bSERIAL\b|\bBIGSERIAL\b/i.test(column)) problems.push('a generated column rewrites the table');
    if (/\bDEFAULT\s+(?!now\(\))\w+\s*\(/i.test(column))
      problems.push('a default that is a call may rewrite the table');
    if (/\bNOT\s+NULL\b/i.test(column) && !/\bDEFAULT\b/i.test(column)) {
      problems.push('the release before writes rows without it: NOT NULL needs a DEFAULT');
    }
    if (/\b(?:CHECK|REFERENCES|UNIQUE|PRIMARY\s+KEY)\b/i.test(column.split(/\bADD\s+CONSTRAINT\b/i)[0] ?? '')) {
      problems.push('a constraint of a new column reads the whole table: ADD CONSTRAINT … NOT VALID, then VALIDATE');
    }
  }
  for (const constraint of sql.split(/\bADD\s+CONSTRAINT\b/i).slice(1)) {
    if (!/\bNOT\s+VALID\b|\bUSING\s+INDEX\b/i.test(constraint)) {
      problems.push('a constraint reads the whole table: NOT VALID, then VALIDATE; a unique one USING INDEX');
    }
  }
  return problems;
}

/** Tables that a statement locks against writers or readers. */
function lockedTables(sql: string): string[] {
  const [, altered] = ALTER_TABLE.exec(sql) ?? [];
  const [, other] =
    /^(?:CREATE\s+(?:OR\s+REPLACE\s+)?TRIGGER\b.*?\bON|DROP\s+TRIGGER\b.*?\bON|DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?|LOCK\s+TABLE)\s+"?(\w+)"?/is.exec(
      sql,
    ) ?? [];
  const referenced = [...sql.matchAll(/\bREFERENCES\s+"?(\w+)"?/gi)].map(([, table]) => table);
  return [altered, other, ...referenced].filter((table) => table !== undefined);
}

function tablesOf(text: string): string[] {
  return [...withoutComments(text).matchAll(CREATE_TABLE)].map(([, table = '']) => table);
}

function split(text: string): string[] {
  // Function bodies are not inspected.
  return withoutComments(text)
    .replace(/\$\$.*?\$\$/gs, "''")
    .split(/;\s*$/m)
    .map((sql) => sql.trim())
    .filter((sql) => sql !== '');
}

function withoutComments(text: string): string {
  return text.replace(/--.*$/gm, '');
}

function firstLine(sql: string): string {
  return sql.split('\n', 1)[0] ?? '';
}
